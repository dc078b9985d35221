"""The rows of the control plane as values, and the Protocols of the stores, each with the consistency it needs.

Plugins may import this module, and nothing else of `mastio.store`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

AdminRole = Literal["admin", "operator", "auditor"]
AgentStatus = Literal["active", "suspended", "revoked"]


@dataclass(frozen=True, slots=True)
class Agent:
    """An enrolled agent. Times are Unix seconds, thumbprints base64url SHA-256 without padding (`x5t#S256`, `jkt`).

    `cert_sha256` is the pin: the only leaf that speaks for this agent, besides `previous_cert_sha256` until
    `previous_until`. `dpop_jkt` is set when the agent named its DPoP key at enrolment; then only that key may prove.
    `public_jwks` are keys that may sign a `private_key_jwt` assertion: the certificate's and the DPoP key's.
    `version` grows with every change of the row.
    """

    name: str
    spiffe_id: str
    status: AgentStatus
    groups: frozenset[str]
    attributes: Mapping[str, Any]
    cert_sha256: str
    not_after: float
    previous_cert_sha256: str | None = None
    previous_until: float = 0.0
    dpop_jkt: str | None = None
    public_jwks: tuple[Mapping[str, str], ...] = ()
    api_keys: bool = False
    version: int = 0
    status_reason: str | None = None
    created_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Admin:
    """A named admin token. `token_hash` is HMAC-SHA256 (hex) of the token under the appliance's key `admin-tokens`.

    `created_by` is the admin who made it; None: the appliance itself.
    """

    name: str
    role: AdminRole
    token_hash: str
    expires_at: float | None = None
    revoked: bool = False
    created_at: float = 0.0
    created_by: str | None = None


ProviderKind = Literal["openai", "anthropic", "gemini", "azure", "bedrock", "vertex", "ollama"]
"""The API that a provider speaks, and the form of its key."""


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """An upstream LLM provider. `api_key` is in the clear here, in memory only; the table holds it sealed."""

    name: str
    kind: ProviderKind
    base_url: str
    api_key: str | None = None
    models: tuple[str, ...] = ("*",)
    aliases: Mapping[str, str] = field(default_factory=dict)
    allow_addresses: tuple[str, ...] = ()
    weight: int = 1
    timeouts: Mapping[str, float] = field(default_factory=dict)
    api_key_file: str | None = None
    """The file that `api_key` was read from, if it is not kept in the table."""

    is_sealed_off: bool = False
    """There is a key in the table, and it does not open: whoever writes this row back would lose it."""


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """A named Cedar source. `observe` policies are evaluated and noted, and decide nothing.

    Of a damaged row, `cedar` is no text or `mode` another word: that is kept, to be seen and repaired."""

    name: str
    cedar: str
    enabled: bool = True
    mode: Literal["enforce", "observe"] = "enforce"

    @property
    def is_damaged(self) -> bool:
        """True if the row in the database cannot be read."""
        cedar: object = self.cedar
        return not isinstance(cedar, str) or self.mode not in ("enforce", "observe")


CredentialKind = Literal["bearer", "header", "query", "basic", "oauth", "sigv4", "certificate"]
"""The kind of authentication that a connection's upstream requires."""


@dataclass(frozen=True, slots=True)
class ConnectionCredential:
    """The credential that the appliance adds to each request to a connection. No agent sees it.

    `secret` is in the clear here, in memory only; None if it cannot be read: then nothing is sent. `secret_file` is
    where it was read from, when it is not kept in the table. `options` by kind: of header `header` and `prefix`, of
    query `parameter`, of basic `username`, of oauth `token_url`, `client_id`, `scope`, `audience` and `client_auth`
    (basic or body), of sigv4 `access_key_id`, `region` and `service`.
    """

    kind: CredentialKind
    secret: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict)
    secret_file: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The most that one request and one reply may have, in bytes, and the requests of one agent in a minute; 0:
    any number of them."""

    request_bytes: int = 256 * 1024 * 1024
    response_bytes: int = 1024 * 1024 * 1024
    requests_per_minute: int = 0


@dataclass(frozen=True, slots=True)
class ConnectionRow:
    """An upstream that agents reach through the appliance without holding its key.

    `methods` in upper case, empty: all. `paths` are globs on the path behind the base URL, which begins with `/`.
    `redirects`: whether redirects within the upstream's own origin are followed; `redirect_hosts` are others to which
    they may lead, without the credential. `keep_headers` are reply headers that are let through although they are
    taken out by default (`set-cookie`, `www-authenticate`). `request_headers`, in lower case, are headers of requests
    that go up beside those of `mastio.request_headers.DEFAULT`. `ca` is PEM, whom to trust instead of the system's
    authorities; `pin` the SHA-256 (hex) of the one certificate that is accepted.
    """

    name: str
    base_url: str
    credential: ConnectionCredential | None = None
    methods: tuple[str, ...] = ()
    paths: tuple[str, ...] = ("*",)
    allow_addresses: tuple[str, ...] = ()
    redirects: bool = False
    redirect_hosts: tuple[str, ...] = ()
    inspect_request: bool = False
    inspect_response: bool = False
    limits: ConnectionLimits = ConnectionLimits()
    timeouts: Mapping[str, float] = field(default_factory=dict)
    keep_headers: tuple[str, ...] = ()
    request_headers: tuple[str, ...] = ()
    ca: str | None = None
    pin: str | None = None


Period = Literal["minute", "hour", "day", "week", "month", "total"]
Unit = Literal["usd", "tokens", "requests"]


Direction = Literal["request", "response", "both"]
Treatment = Literal["redact", "block", "flag", "off"]
Strategy = Literal["tag", "mask", "truncate", "hash", "encrypt", "fpe", "surrogate"]


@dataclass(frozen=True, slots=True)
class TypeRule:
    """The treatment of values of a type. `strategy`: the form of their replacement where they are redacted."""

    action: Treatment
    strategy: Strategy = "tag"


@dataclass(frozen=True, slots=True)
class RedactionRow:
    """A redaction policy: the treatment of values found in messages and replies. Globs; an empty tuple matches
    everything.

    `types` by the name of the type, `*` for those not named. `restore`: the caller gets the original where the reply
    repeats what took its place. `always` are values that are found whatever they look like, `never` those that are not
    meant. An `observe` policy changes nothing: the entry says what it would have done. `is_damaged`: the row in the
    database cannot be read, and the rest of this value means nothing.
    """

    name: str
    types: Mapping[str, TypeRule]
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    direction: Direction = "both"
    restore: bool = True
    mode: Literal["enforce", "observe"] = "enforce"
    always: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    is_damaged: bool = False


DetectorAction = Literal["block", "flag", "off"]
DefinitionAction = Literal["observe", "block", "off"]


@dataclass(frozen=True, slots=True)
class ClassRule:
    """The treatment of a class of content. `threshold`: the score from which it is recorded. `block_threshold`: the
    score from which it is refused, if the action is `block`. None: the value of the settings.
    """

    action: DetectorAction
    threshold: int | None = None
    block_threshold: int | None = None


@dataclass(frozen=True, slots=True)
class AllowedTool:
    """A tool whose definition an admin has judged. `sha256` of the one definition that is meant; None: every one."""

    name: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class DetectorRow:
    """What detectors do for some agents, groups and models instead of what the settings say. Globs; an empty tuple
    matches everything. `classes` by name; `definitions`: what is done about definitions of tools; `tools` that are
    allowed whatever their definitions look like. `is_damaged` as in `RedactionRow`."""

    name: str
    classes: Mapping[str, ClassRule] = field(default_factory=dict)
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    definitions: DefinitionAction | None = None
    tools: tuple[AllowedTool, ...] = ()
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """A limit on what agents use in a period. `limit` in the unit: tokens, requests, or 10^-9 USD.

    `scope` says whose: of one agent, of all members of a group, of a model (a glob on `provider/model`, a model's own
    name, or an alias), named by `subject`; None: of everybody together. `series` names the count: it is another one
    whenever the budget begins to count something else. `is_damaged` as in `RedactionRow`.
    """

    name: str
    unit: Unit
    limit: int
    period: Period
    series: str
    scope: Literal["agent", "group", "model"] | None = None
    subject: str | None = None
    is_damaged: bool = False


EnrollmentStatus = Literal["pending", "issued", "rejected", "expired"]


@dataclass(frozen=True, slots=True)
class Enrollment:
    """A request for an identity and what became of it. Times are Unix seconds.

    `public_key` is the request's key (DER, SubjectPublicKeyInfo): it proves who may pick the decision up.
    `certificate` and `chain` are PEM, set once `issued`.
    """

    id: str
    name: str
    status: EnrollmentStatus
    public_key: bytes
    created_at: float
    expires_at: float
    dpop_jwk: Mapping[str, str] | None = None
    reason: str | None = None
    decided_at: float | None = None
    decided_by: str | None = None
    decision_reason: str | None = None
    certificate: str | None = None
    chain: str | None = None
    place: int = 0


@dataclass(frozen=True, slots=True)
class EnrollmentToken:
    """A one-time token for unattended enrolment of agents whose name fits `name` (exact, or with `*` and `?`).

    The token itself is shown once and kept as a keyed hash.
    """

    id: str
    name: str
    uses_left: int
    created_at: float
    created_by: str
    expires_at: float
    place: int = 0


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key of an agent, for tools that cannot sign. `key_hash` is HMAC-SHA256 (hex) under the key `api-keys`.

    `kinds`, `models` and `paths` are globs; an empty one bounds nothing. Times are Unix seconds, `None`: no end, never.
    """

    id: str
    agent: str
    name: str
    key_hash: str
    created_at: float
    created_by: str
    kinds: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    expires_at: float | None = None
    last_used_at: float | None = None
    revoked: bool = False
    place: int = 0


HoldStatus = Literal["pending", "approved", "rejected", "expired", "failed", "used"]


@dataclass(frozen=True, slots=True)
class Hold:
    """A request that waits for approval, and what became of it. Times are Unix seconds.

    `exchange` is the id of the exchange that asked. `parameters` is what whoever decides gets to see of the request.
    Of an admin, `method`, `path` and `body` are the request to the very byte, and approving carries it out. Of an
    agent, `agent` is set, `body` is empty, and `binding` is a keyed digest of everything that makes the request what it
    is: approving lets the agent make this very request once, and then it is `used`.
    """

    id: str
    exchange: str
    requested_by: str
    action: str
    method: str
    path: str
    body: bytes
    parameters: Mapping[str, Any]
    created_at: float
    expires_at: float
    status: HoldStatus = "pending"
    agent: str | None = None
    decided_at: float | None = None
    decided_by: str | None = None
    reason: str | None = None
    place: int = 0
    binding: str | None = None

    @property
    def usable_until(self) -> float:
        """The end of an approval, Unix seconds: it is valid for as long as a human had to decide."""
        return (self.decided_at or self.created_at) + (self.expires_at - self.created_at)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A 32-byte secret from which a signing key is derived. In force from `active_from`; verifies until `retire_at`.

    `secret` is in the clear here, in memory only; the table holds it sealed. Times are Unix seconds.
    """

    id: str
    purpose: str
    secret: bytes
    created_at: float
    active_from: float
    retire_at: float | None = None


Prepared = Literal["policies", "redaction"]
"""Sections whose rows may take long work before they are in force."""


class Directory(Protocol):
    """Hot copies of the control plane in this worker's memory: read on every exchange, never a database read.

    A change committed by any worker or replica is visible here within 1 s; one made by this worker, before its call
    returns. The mappings are replaced or updated in the event loop only; do not keep them across an `await`.
    """

    @property
    def agents(self) -> Mapping[str, Agent]:
        """By name; revoked and suspended ones too."""

    @property
    def admins(self) -> Mapping[str, Admin]:
        """By `token_hash`, of one-time codes without their end (`presented.find_name`)."""

    @property
    def providers(self) -> Mapping[str, ProviderRow]:
        """By name."""

    @property
    def connections(self) -> Mapping[str, ConnectionRow]:
        """By name."""

    @property
    def policies(self) -> Mapping[str, PolicyRow]:
        """By name."""

    @property
    def budgets(self) -> Mapping[str, BudgetRow]:
        """By name."""

    @property
    def redaction(self) -> Mapping[str, RedactionRow]:
        """By name."""

    @property
    def detectors(self) -> Mapping[str, DetectorRow]:
        """By name."""

    @property
    def api_keys(self) -> Mapping[str, ApiKey]:
        """By `key_hash`; without the revoked ones."""

    @property
    def signing_keys(self) -> tuple[SigningKey, ...]:
        """Those of every purpose, the oldest first; retired ones too, until they are forgotten."""

    @property
    def version(self) -> int:
        """Grows with every change of anything above."""

    async def refresh(self) -> None:
        """Return once everything committed before this call is visible here. Raises `Unavailable`."""

    def before(self, section: Prepared, prepare: Callable[[Mapping[str, Any]], Awaitable[None]]) -> None:
        """Await `prepare` with the rows of a section that are about to be here: for work that is too long for the event
        loop. It must not raise."""

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call `callback` in the event loop after each change has been applied."""
