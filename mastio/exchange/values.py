"""The values of one exchange: head, credentials, principal, action, message, the stages, the reply, entries. Pure.

Values only; nothing here decides, reads or sends. The stages are the order of `mastio.pipeline.order` as types: each
can only be made from the one before it, and `dispatch` takes the last. Leaving a stage out does not type-check
(`tests/mastio/exchange/test_stages.py` runs the type checker on such code).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from mastio.exchange.errors import BadRequest, MastioError
from mastio.exchange.inspection import Finding, Layout, Watch

Role = Literal["agent", "auditor", "operator", "admin"]
Dialect = Literal["openai", "anthropic", "gemini", "problem", "oauth"]
Phase = Literal["intent", "outcome", "event"]
Plane = Literal["control", "data"]
JSON = Any  # a value that JSON can express

OPEN: frozenset[Role] = frozenset()
"""`Route.requires` of a route that nobody needs to be known for."""

LONG_BODY = 100_000
"""Bytes. The edge sends bodies of this size and more to `long_workers`, by the number of digits of `Content-Length`.
Bodies of unknown length go there too."""


@dataclass(frozen=True, slots=True)
class Route:
    """One row of the route table: the only way anything becomes reachable.

    `path` has `{name}` segments, `{name...}` as last segment takes the rest. `requires` lists the roles of which one
    is needed (`OPEN`: none). `kind` is the action kind, which exactly one plugin dispatches. `recorded`: "all" writes
    intent and outcome, "refusals" one event for each refusal, "none" nothing (probes and public documents).
    `limit` bounds the body in bytes; `hooks.TakeIn` may say less. `streams`: the reply may come in pieces, so the edge
    must not buffer it, or take long, so it ends when the client hangs up.
    `credential_in_body`: the body is read before authentication because it may carry the credential (RFC 7521 §4.2);
    keep `limit` small there, since strangers reach it. `plane`: the program that serves it. Not given: "data" if an
    agent may call it, otherwise "control". All routes of one path have one plane. `other_dialects`: names of headers,
    and the dialect of the callers who send one, where several dialects share a path.
    For OpenAPI: `produces` and `consumes` are media types of good replies and of bodies, `parameters` are those of the
    query with their meanings, `body` is the pydantic model of a JSON body, if it has one.
    """

    path: str
    methods: tuple[str, ...]
    requires: frozenset[Role]
    kind: str
    summary: str
    dialect: Dialect = "problem"
    recorded: Literal["all", "refusals", "none"] = "all"
    limit: int = 64 * 1024
    streams: bool = False
    credential_in_body: bool = False
    other_dialects: tuple[tuple[bytes, Dialect], ...] = ()
    produces: tuple[str, ...] = ()
    consumes: tuple[str, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    body: Any = None
    plane: Plane | None = None

    def __post_init__(self) -> None:
        if self.plane is None:
            object.__setattr__(self, "plane", "data" if "agent" in self.requires else "control")


@dataclass(frozen=True, slots=True)
class RequestHead:
    """Method, path and headers of a request; the body is not read yet.

    `headers` are as received, names in lower case. `certificate` is the client certificate as the edge passed it
    (URL-encoded PEM), `None` where the client showed none; it can only come from the edge.
    """

    id: str
    method: str
    path: str
    query: bytes
    params: Mapping[str, str]
    headers: list[tuple[bytes, bytes]]
    route: Route
    certificate: bytes | None
    client_address: str

    def all(self, name: bytes) -> list[bytes]:
        """Every value of a header, in the order received; `name` in lower case."""
        return [value for key, value in self.headers if key == name]

    def header(self, name: bytes) -> bytes | None:
        """The value of a header that may appear once. Raises `BadRequest` when it appears twice."""
        values = self.all(name)
        if len(values) > 1:
            raise BadRequest(f"The header {name.decode('latin-1')} may appear only once.")
        return values[0] if values else None

    @property
    def dialect(self) -> Dialect:
        """The error dialect of the caller: from a header that identifies its client, otherwise the route's."""
        for header, dialect in self.route.other_dialects:
            if any(name == header for name, _ in self.headers):
                return dialect
        return self.route.dialect


# --- credentials: what the authenticate hooks return ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CertificateCredential:
    """A client certificate whose chain was validated. `thumbprint` is `x5t#S256` (RFC 8705 §3.1)."""

    subject: str
    thumbprint: str
    serial: str
    not_after: float
    issued_at: float = 0.0


@dataclass(frozen=True, slots=True)
class ProofCredential:
    """A DPoP proof that passed RFC 9449 §4.3. It names nobody; it proves a key. `ath` is None where it had none."""

    thumbprint: str
    ath: str | None


@dataclass(frozen=True, slots=True)
class TokenCredential:
    """An access token of ours. It is worth nothing without the key in `jkt` or the certificate in `x5t`.

    `enrolled_at` is the `created_at` of the agent that it was minted for: whoever gets the name later is another.
    """

    subject: str
    scheme: Literal["DPoP", "Bearer"]
    ath: str
    jkt: str | None
    x5t: str | None
    expires_at: float
    enrolled_at: float
    issued_at: float = 0.0


@dataclass(frozen=True, slots=True)
class AdminCredential:
    """A named admin token. `token_hash` finds it again."""

    name: str
    role: Role
    token_hash: str


@dataclass(frozen=True, slots=True)
class AssertionCredential:
    """A `private_key_jwt` client assertion (RFC 7523 §2.2), signed by a key that the agent enrolled with."""

    subject: str
    thumbprint: str
    jti: str
    expires_at: float


@dataclass(frozen=True, slots=True)
class Restriction:
    """The limits that a credential adds to the policies of its agent (`mastio.identity.restriction`).

    Globs for `kinds` of actions, `models` (`provider/model`, a model's own name, or an alias) and request `paths`. An
    empty tuple sets no limit. A caller under any restriction, even an empty one, gets no credential of the agent
    itself.
    """

    kinds: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApiKeyCredential:
    """An API key of `subject` that is in force. `id` names it without giving it away; `key_hash` finds it again."""

    subject: str
    id: str
    restriction: Restriction
    key_hash: str
    issued_at: float = 0.0


Credential = (
    AssertionCredential | CertificateCredential | ProofCredential | TokenCredential | ApiKeyCredential | AdminCredential
)


@dataclass(frozen=True, slots=True)
class Principal:
    """The enrolled identity that all credentials of a request are bound to. `name` is empty for an unknown caller.

    `credential` describes how the identity was proven, for the audit entry (thumbprints only). `version` changes
    whenever anything that a policy can read changes; caches use it as a key. `restriction` limits what the agent may
    do; the core enforces it, authorizers can ignore it. `address` is the client address that the edge saw.
    `credential_since` is the time when the credential was issued (Unix seconds; 0: not known).
    """

    name: str
    roles: frozenset[Role]
    groups: frozenset[str] = frozenset()
    attributes: Mapping[str, JSON] = field(default_factory=dict)
    spiffe_id: str | None = None
    credential: Mapping[str, str] = field(default_factory=dict)
    version: int = 0
    restriction: Restriction | None = None
    address: str = ""
    credential_since: float = 0.0

    @property
    def is_agent(self) -> bool:
        return "agent" in self.roles


STRANGER = Principal(name="", roles=frozenset())


# --- action, message, decisions --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Action:
    """The operation that a caller requests: its kind (`llm.chat`), its target (`target_type::"target"`), its
    attributes. Policies can read `attributes`. `alias` is another name that an admin gave the target, if the caller
    used that name. `alternatives` are the same action on other targets that can replace this one. The first allowed one
    is taken; dispatch may go on to each of the others that `services.permits` allows.
    """

    kind: str
    target_type: str
    target: str
    attributes: Mapping[str, JSON] = field(default_factory=dict)
    alias: str | None = None
    alternatives: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class Bound:
    """The most that carrying an action out may use: what limits set aside until it is known what it did use.

    `nano_usd` is None where nobody knows what it costs: no limit of money can let that pass. Where dispatch can keep it
    to less, `enough` is what will do while others have set much aside, and `least` what will do when no more is left.
    """

    tokens: int
    nano_usd: int | None
    enough: Bound | None = None
    least: Bound | None = None


@dataclass(frozen=True, slots=True)
class AnswerInputs:
    """The inputs, besides the body, that determine the answer to a request. Used to answer from a cache.

    `context`: everything else that goes upstream and may change the answer (operation, target, query, headers).
    `has_one_answer`: True if a repeated request is meant to get the same answer (no sampling, no outside lookup).
    """

    context: tuple[bytes, ...]
    has_one_answer: bool


class Stream(Protocol):
    """A body that goes on as it arrives. Its pieces can be had once, one at a time: who takes long holds its sender up.

    Where its sender goes away, or sends more than allowed, the exchange ends and there is no next piece.
    """

    length: int | None
    """The length that the sender declared, in bytes; None: not declared."""
    size: int
    """Bytes received so far."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    def digest(self) -> str:
        """Of what has come, keyed, for the audit entry."""

    def tell(self, cut: Callable[[MastioError | None], None], done: Callable[[], None]) -> None:
        """Sets two callbacks: `cut` ends the exchange (with an error, or None when the sender has gone); `done`: no
        more is read."""

    async def gather(self, limit: int) -> bytes:
        """All of it, in place of its pieces. Raises `BadRequest` (413, 408)."""


@dataclass(frozen=True, slots=True)
class Intake:
    """The rules for receiving the body of a request. `limit`: its maximum size, in bytes.

    `streams`: the body is forwarded as it arrives, without inspection; a small one is still read first.
    """

    limit: int
    streams: bool = False


Narrow = Callable[[], Awaitable["tuple[Action, Message] | None"]]
"""Called after authorization, for work that a forbidden caller must not cause. Returns the action and the message that
can be carried out, or None when all alternatives can. Raises `BadRequest` when none can."""


@dataclass(frozen=True, slots=True)
class Message:
    """The body as it came (`raw`: these bytes go upstream unless an inspector changes them) and as parsed.

    `details` are facts for the audit entry: sizes, names, numbers; never content. `reckon` gives the most that a body
    may use, and is None for what costs nothing; `question` is None for what is no question.
    """

    raw: bytes
    document: JSON = None
    details: Mapping[str, JSON] = field(default_factory=dict)
    plan: Any = None
    """The result of `read` that `dispatch` needs (for example the chosen provider); opaque to the pipeline."""
    reckon: Callable[[bytes], Bound] | None = None
    question: AnswerInputs | None = None
    layout: Layout | None = None
    """The positions of texts in the message and in its reply; None: there are no texts, and nothing is inspected."""
    stream: Stream | None = None
    """The body, where it goes on as it arrives; `raw` is empty then."""
    headers: Sequence[tuple[str, str]] = ()
    """The caller's headers that go upstream as part of what is done, where the action has any."""
    narrow: Narrow | None = None
    """Finishes reading once the action is authorized, or None when nothing is left to read."""
    written: frozenset[str] = frozenset()
    """The names of those details that the caller wrote: values that are found in them do not go into the entry."""

    @property
    def bound(self) -> Bound | None:
        """The most that carrying it out may use; None for what costs nothing."""
        return None if self.reckon is None else self.reckon(self.raw)


@dataclass(frozen=True, slots=True)
class Allow:
    """A decision for the action. `rule` names the policy. `notes` are more for the entry: names and numbers."""

    rule: str
    notes: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def effect(self) -> str:
        return "allow"

    def noting(self, **notes: JSON) -> Allow:
        return replace(self, notes={**self.notes, **notes})


@dataclass(frozen=True, slots=True)
class Deny:
    """A decision against it. One Deny wins. `code` is of `codes.CODES`: `denied`, or `rate_limited` for a limit."""

    rule: str
    message: str
    code: str = "denied"
    headers: tuple[tuple[str, str], ...] = ()
    notes: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def effect(self) -> str:
        return "deny"

    def noting(self, **notes: JSON) -> Deny:
        return replace(self, notes={**self.notes, **notes})


@dataclass(frozen=True, slots=True)
class NeedsApproval:
    """A decision that is a human's: nothing else speaks against the action. `message` says why, for the caller.

    `seconds`: how long a human has to decide, and how long what was approved may be used. `wait`: how long the request
    waits for it before it is told to come back. `shows_content`: whether who decides is shown what inspection left of
    the content.
    """

    rule: str
    message: str
    seconds: int
    wait: float = 0.0
    shows_content: bool = False
    notes: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def effect(self) -> str:
        return "hold"

    def noting(self, **notes: JSON) -> NeedsApproval:
        return replace(self, notes={**self.notes, **notes})


Decision = Allow | Deny | NeedsApproval


# --- the stages: each is made from the one before ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Received:
    """A request on a known route. Nothing is believed yet."""

    head: RequestHead


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The credentials are bound to one principal, or there are none and the route is open.

    `at` (Unix seconds) and `version` of the directory: when that was looked up.
    """

    received: Received
    principal: Principal
    credentials: tuple[Credential, ...]
    at: float
    version: int


@dataclass(frozen=True, slots=True)
class Read:
    """The body has been read and parsed into an action and a message."""

    authenticated: Authenticated
    action: Action
    message: Message


@dataclass(frozen=True, slots=True)
class Authorized:
    """Somebody allowed it, or a human may, and nobody denied it."""

    read: Read
    decision: Allow | NeedsApproval


@dataclass(frozen=True, slots=True)
class Inspected:
    """Every inspector has seen the message; `message` is what may leave, redactions applied. `watches` will see the
    reply. `decision`: as it is now that the content is known too."""

    authorized: Authorized
    message: Message
    decision: Allow | NeedsApproval
    findings: tuple[Finding, ...] = ()
    watches: tuple[Watch, ...] = ()


Usage = Mapping[str, int]
"""The amounts that an exchange used, by name: `input_tokens`, `output_tokens`, `cost_nano_usd` and the like."""

Settle = Callable[[Usage | None], None]
"""Gives back what was set aside and counts what was used. None: it was not carried out, and counts for nothing; empty:
it was, and is not known to have used anything. Called exactly once. Cannot fail."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """The reservation of one limit. `granted`: a bound lower than the message's own, which dispatch must obey."""

    settle: Settle
    granted: Bound | None = None


@dataclass(frozen=True, slots=True)
class Approved:
    """Nothing more has to be decided. `hold` names what a human approved, where one had to: it is taken with the
    intent."""

    inspected: Inspected
    decision: Allow
    hold: str | None = None


@dataclass(frozen=True, slots=True)
class Reserved:
    """Every limit has room for it; `holds` are those that set something aside."""

    approved: Approved
    holds: tuple[Reservation, ...]

    @property
    def inspected(self) -> Inspected:
        return self.approved.inspected

    @property
    def granted(self) -> tuple[Bound, ...]:
        """The reduced bounds that dispatch must obey, all of them. Empty: only the message's own bound applies."""
        return tuple(hold.granted for hold in self.holds if hold.granted is not None)


MOST_USED = 2**53 - 1
"""No use counts for more, whatever anybody says of it: beyond it readers of JSON do not agree on numbers."""


class Meter:
    """The usage of one exchange so far. Dispatch must keep it current, because the exchange can end at any moment:
    it sets `usage`, or passes `follow` a function that reads it. Call `begin` before each new try.
    """

    __slots__ = ("_before", "_read", "_usage")

    def __init__(self) -> None:
        self._before: dict[str, int] | None = None
        self._usage: dict[str, int] | None = None
        self._read: Callable[[], dict[str, int] | None] | None = None

    def begin(self) -> None:
        """Another try begins: what those before it used stays."""
        self._before, self._usage, self._read = self.usage, None, None

    @property
    def follows(self) -> bool:
        """True if the usage of the latest try is read by a function that was passed to `follow`."""
        return self._read is not None

    @property
    def usage(self) -> dict[str, int] | None:
        """The usage of all tries together. The setter sets the usage of the latest try alone."""
        before, latest = self._before, self._usage if self._read is None else self._read()
        if before is None or latest is None:
            return latest if before is None else before
        return {name: min(before.get(name, 0) + latest.get(name, 0), MOST_USED) for name in {**before, **latest}}

    @usage.setter
    def usage(self, usage: dict[str, int] | None) -> None:
        self._usage, self._read = usage, None

    def follow(self, read: Callable[[], dict[str, int] | None]) -> None:
        self._read = read


@dataclass(frozen=True, slots=True)
class Recorded:
    """The intent is on stable storage at index `receipt` (None: the route is not recorded). Only this dispatches."""

    reserved: Reserved
    receipt: int | None
    meter: Meter = field(default_factory=Meter)

    @property
    def inspected(self) -> Inspected:
        return self.reserved.inspected

    @property
    def authenticated(self) -> Authenticated:
        return self.inspected.authorized.read.authenticated

    @property
    def head(self) -> RequestHead:
        return self.authenticated.received.head

    @property
    def principal(self) -> Principal:
        return self.authenticated.principal

    @property
    def credentials(self) -> tuple[Credential, ...]:
        return self.authenticated.credentials

    @property
    def action(self) -> Action:
        return self.inspected.authorized.read.action

    @property
    def message(self) -> Message:
        return self.inspected.message

    @property
    def is_redacted(self) -> bool:
        """True if inspection changed the bytes of the message."""
        return self.message.raw is not self.inspected.authorized.read.message.raw


# --- the reply -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Window:
    """A piece of a streamed reply that is inspected and released as one.

    `last` marks the piece after which the caller holds a complete answer: it is released only when the outcome is
    durable. A stream that never marks one has its end withheld instead. `failure`: the error code of a stream that ends
    here because the upstream itself said, in these bytes, that it cannot go on.
    """

    data: bytes
    last: bool = False
    failure: str | None = None


async def _nothing() -> None:
    return None


@dataclass(slots=True)
class Reply:
    """The result of dispatch. `facts` go into the outcome entry; a stream completes them before its end.

    `close` releases the upstream of a streamed body; it is called exactly once, also when the client hangs up.
    `encode_break` returns the last bytes of a stream that cannot continue. None: an error event in the caller's dialect
    if the reply is a stream of server-sent events, and nothing otherwise.
    """

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes | AsyncIterator[Window] = b""
    facts: dict[str, JSON] = field(default_factory=dict)
    close: Callable[[], Awaitable[None]] = _nothing
    encode_break: Callable[[MastioError], bytes] | None = None


# --- the record ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """One audit entry before the log has given it its place (`v seq prev time` are the log's).

    Content never: `request` and `response` hold sizes and keyed digests, `credential` thumbprints. Integers, strings,
    booleans, null, lists and objects only: no floating point, so that the canonical form is the same everywhere.
    """

    id: str
    phase: Phase
    kind: str
    target: str | None = None
    agent: str | None = None
    credential: Mapping[str, JSON] | None = None
    decision: Mapping[str, JSON] | None = None
    request: Mapping[str, JSON] | None = None
    response: Mapping[str, JSON] | None = None
    outcome: Mapping[str, JSON] | None = None
    usage: Usage | None = None


@dataclass(slots=True)
class Timings:
    """Seconds spent in each stage, for `Server-Timing` and the metrics; `started` is a monotonic clock reading."""

    started: float
    auth: float = 0.0
    policy: float = 0.0
    inspect: float = 0.0
    audit: float = 0.0
    upstream: float = 0.0
