"""The bodies of the control plane. Unknown members are refused; types are not converted; secrets only go in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Generic, Literal, Self, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from mastio.cedar.source import MAX_CHARACTERS, verify_cedar
from mastio.matching import MOST_STARS
from mastio.pki.certificates import NAME_RULE, is_agent_name
from mastio.pki.csr import MAX_BYTES
from mastio.store.base import AdminRole, HoldStatus, Period, ProviderKind, Unit
from mastio.target import TargetError, parse_base_url, parse_networks

T = TypeVar("T")

DAY = 86_400
KINDS = get_args(ProviderKind)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)", re.ASCII)
MAX_LIFE = 3650 * DAY
NANO = 10**9
MAX_LIMIT = 10**15
_DECIMAL = re.compile(r"\d{1,16}(\.\d{1,9})?", re.ASCII)


def encode_time(seconds: float) -> datetime:
    """RFC 3339 in UTC, whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC)


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("it must be one line without control characters")
    return text


def _base_url(url: str) -> str:
    try:
        parse_base_url(url)
    except TargetError as error:
        raise ValueError(str(error)) from error
    return url


def _networks(texts: list[str]) -> list[str]:
    try:
        parse_networks(texts)
    except TargetError as error:
        raise ValueError(str(error)) from error
    return texts


def _kind(kind: object) -> object:
    if kind not in KINDS:
        raise ValueError(f"the kind must be one of {', '.join(KINDS)}")
    return kind


def _parse_time(value: Any) -> datetime:
    """RFC 3339, and nothing else that Python would take for a time."""
    try:
        if isinstance(value, str) and _TIME.fullmatch(value):
            return datetime.fromisoformat(value)
    except ValueError:
        pass  # its own words would repeat what was sent
    raise ValueError("it must be a time as RFC 3339 writes it, with its offset from UTC")


def _nano_usd(value: Any) -> int:
    """USD as a number or a decimal string to 10^-9 USD, exactly. A number is taken as it would be written shortest."""
    text = value if isinstance(value, str) else repr(value)
    try:
        amount = Decimal(text) if isinstance(value, float) or _DECIMAL.fullmatch(text) else Decimal("NaN")
    except InvalidOperation:
        amount = Decimal("NaN")
    nano = amount * NANO
    if isinstance(value, float) and len(amount.as_tuple().digits) > 15:
        raise ValueError("it has more digits than a JSON number surely keeps; write it as a string")
    if not nano.is_finite() or nano != nano.to_integral_value() or not 0 <= nano <= MAX_LIMIT * 100:
        raise ValueError("it must be an amount in USD from 0 to 100000000 with nine decimals at most")
    return int(nano)


def _agent_name(name: str) -> str:
    if not is_agent_name(name):
        raise ValueError(f"it must be {NAME_RULE}")
    return name


def verify_glob(glob: str) -> str:
    if glob.count("*") > MOST_STARS:
        raise ValueError(f"it has more than {MOST_STARS} stars")
    return glob


def _cedar(source: str) -> str:
    verify_cedar(source)
    return source


def _attributes(attributes: dict[str, Any]) -> dict[str, Any]:
    """What Cedar can hold as an entity's attributes, and nothing that would mean something else to it."""
    if any(name == "name" or name.startswith("__") for name in attributes):
        raise ValueError("the attribute name and names that begin with two underscores are reserved")
    _verify_attribute(attributes, depth=0)
    return attributes


def _verify_attribute(value: Any, depth: int) -> None:
    if depth > 8:
        raise ValueError("attributes are nested deeper than 8 levels")
    if isinstance(value, dict):
        if any(not name.isprintable() or name.startswith("__") for name in value):
            raise ValueError("attributes have a name that is reserved or not printable")
        for item in value.values():
            _verify_attribute(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _verify_attribute(item, depth + 1)
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueError("an attribute is a number beyond 64 bits")
    elif not isinstance(value, str):
        raise ValueError("attributes are strings, whole numbers, booleans, lists and objects")


AgentName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9._-]{1,64}$"), AfterValidator(_agent_name)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
NameGlob = Annotated[str, StringConstraints(pattern=r"^[a-z0-9._*?-]{1,64}$"), AfterValidator(verify_glob)]
Group = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
Line = Annotated[str, StringConstraints(max_length=500), AfterValidator(_one_line)]
ModelName = Annotated[
    str, StringConstraints(min_length=1, max_length=200), AfterValidator(_one_line), AfterValidator(verify_glob)
]
Secret = Annotated[str, StringConstraints(pattern=r"^[\x20-\x7e\t\r\n]{1,8192}$")]
BaseUrl = Annotated[str, StringConstraints(min_length=1, max_length=2000), AfterValidator(_base_url)]
Networks = Annotated[list[str], Field(max_length=100), AfterValidator(_networks)]
Kind = Annotated[ProviderKind, BeforeValidator(_kind)]
Cedar = Annotated[str, StringConstraints(min_length=1, max_length=MAX_CHARACTERS), AfterValidator(_cedar)]
Attributes = Annotated[dict[str, Any], Field(max_length=100), AfterValidator(_attributes)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(_one_line)]
KindGlob = Annotated[str, StringConstraints(pattern=r"^[a-z0-9._*?!\[\]-]{1,64}$"), AfterValidator(verify_glob)]
PathGlob = Annotated[str, StringConstraints(pattern=r"^[/*?\[][\x21-\x7e]{0,499}$"), AfterValidator(verify_glob)]
Time = Annotated[datetime, BeforeValidator(_parse_time)]
Seconds = Annotated[float, Field(gt=0, le=3600)]
Mode = Literal["enforce", "observe"]
NanoUsd = Annotated[int, BeforeValidator(_nano_usd, json_schema_input_type=float | str)]
Limit = Annotated[int, Field(ge=0, le=MAX_LIMIT)]


class Body(BaseModel):
    """The base class of request bodies."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Answer(BaseModel):
    """The base class of response bodies."""

    model_config = ConfigDict(frozen=True)


class Page(Answer, Generic[T]):
    """One page of a list; `next_cursor` asks for the next, null: there is none."""

    items: list[T]
    next_cursor: str | None


# --- enrolment ----------------------------------------------------------------------------------------------------


class EnrollmentRequest(Body):
    csr: Annotated[str, StringConstraints(min_length=1, max_length=MAX_BYTES)]
    name: AgentName
    dpop_jwk: dict[str, Any] | None = None
    reason: Line | None = None
    token: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None


class CsrBody(Body):
    csr: Annotated[str, StringConstraints(min_length=1, max_length=MAX_BYTES)]


class Pending(Answer):
    id: str
    status: Literal["pending"] = "pending"
    poll_interval: int
    expires_at: datetime


class Issued(Answer):
    id: str
    status: Literal["issued"] = "issued"
    name: str
    spiffe_id: str
    certificate: str
    chain: str


class Ended(Answer):
    id: str
    status: Literal["rejected", "expired"]
    reason: str | None = None


class Renewed(Answer):
    name: str
    spiffe_id: str
    certificate: str
    chain: str
    not_after: datetime
    previous_until: datetime


# --- administration -----------------------------------------------------------------------------------------------


class Reason(Body):
    reason: Line | None = None


class EnrollmentAnswer(Answer):
    """`key_sha256` is the SHA-256 of the request's public key (DER), hex: to compare with what the agent shows."""

    id: str
    name: str
    status: str
    reason: str | None
    key_sha256: str
    dpop_jwk: Mapping[str, str] | None
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    decision_reason: str | None


class TokenBody(Body):
    name: NameGlob
    ttl_seconds: Annotated[int, Field(ge=1, le=30 * DAY)] = 3600
    uses: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class TokenAnswer(Answer):
    id: str
    name: str
    uses_left: int
    created_at: datetime
    created_by: str
    expires_at: datetime


class NewTokenAnswer(TokenAnswer):
    token: str


class Ending(Body):
    """`ttl_seconds` or `expires_at`; without either, or null, there is no end."""

    ttl_seconds: Annotated[int, Field(ge=1, le=MAX_LIFE)] | None = None
    expires_at: Time | None = None

    @model_validator(mode="after")
    def one_end(self) -> Self:
        if self.ttl_seconds is not None and self.expires_at is not None:
            raise ValueError("give ttl_seconds or expires_at, not both")
        return self


class ApiKeyBody(Ending):
    """Globs: of action kinds, of models (`provider/model`, a model's name, an alias), of paths. None: no bound."""

    name: Label = "default"
    kinds: Annotated[list[KindGlob], Field(max_length=100)] = []
    models: Annotated[list[ModelName], Field(max_length=100)] = []
    paths: Annotated[list[PathGlob], Field(max_length=100)] = []


class ApiKeyAnswer(Answer):
    """Without the key itself. `last_used_at` is when it was last presented, known within half a minute."""

    id: str
    agent: str
    name: str
    kinds: list[str]
    models: list[str]
    paths: list[str]
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None


class NewApiKeyAnswer(ApiKeyAnswer):
    key: str


class AgentPatch(Body):
    """Members that are left out stay as they are."""

    status: Literal["active", "suspended", "revoked"] | None = None
    groups: Annotated[list[Group], Field(max_length=64)] | None = None
    attributes: Attributes | None = None
    api_keys: bool | Literal["on", "off"] | None = None
    reason: Line | None = None


class AgentAnswer(Answer):
    name: str
    spiffe_id: str
    status: str
    status_reason: str | None
    groups: list[str]
    attributes: Mapping[str, Any]
    cert_sha256: str
    not_after: datetime
    previous_cert_sha256: str | None
    previous_until: datetime | None
    dpop_jkt: str | None
    api_keys: bool
    created_at: datetime


KeyName = Literal["token", "audit", "intermediate", "root", "edge"]


class KeyBody(Body):
    """The key to rotate to its next generation. `immediately`: without overlap."""

    name: KeyName
    immediately: bool = False
    reason: Line | None = None


class KeyAnswer(Answer):
    """One generation: signs from `active_from`, is trusted until `retire_at`; its certificate ends `not_after`."""

    name: str
    id: str
    state: Literal["next", "active", "retiring", "retired"]
    algorithm: str
    created_at: datetime
    active_from: datetime
    retire_at: datetime | None
    not_after: datetime | None


class Timeouts(Body):
    """Seconds. `first`: until the reply begins; `read`: between two pieces of it."""

    connect: Seconds | None = None
    first: Seconds | None = None
    read: Seconds | None = None
    total: Seconds | None = None


SecretFile = Annotated[str, StringConstraints(min_length=1, max_length=1000), AfterValidator(_one_line)]
Models = Annotated[list[ModelName], Field(min_length=1, max_length=200)]
Aliases = Annotated[dict[ModelName, ModelName], Field(max_length=200)]
Weight = Annotated[int, Field(ge=0, le=1000)]


class SecretBody(Body):
    """Secrets are write-only: in the body, or in a file that the operator laid down."""

    api_key: Secret | None = None
    api_key_file: SecretFile | None = None

    @model_validator(mode="after")
    def one_secret(self) -> Self:
        if self.api_key is not None and self.api_key_file is not None:
            raise ValueError("give api_key or api_key_file, not both")
        return self


class ProviderPut(SecretBody):
    name: Name | None = None
    kind: Kind
    base_url: BaseUrl
    models: Models = ["*"]
    aliases: Aliases = {}
    allow_addresses: Networks = []
    weight: Weight = 1
    timeouts: Timeouts = Timeouts()


class ProviderBody(ProviderPut):
    name: Name


class ProviderPatch(SecretBody):
    """Members that are left out, or null, stay as they are; a secret that is null is removed."""

    kind: Kind | None = None
    base_url: BaseUrl | None = None
    models: Models | None = None
    aliases: Aliases | None = None
    allow_addresses: Networks | None = None
    weight: Weight | None = None
    timeouts: Timeouts | None = None


class ProviderAnswer(Answer):
    """Without the secret; `api_key_set` says whether there is one."""

    name: str
    kind: str
    base_url: str
    models: list[str]
    aliases: Mapping[str, str]
    allow_addresses: list[str]
    weight: int
    timeouts: Mapping[str, float]
    api_key_set: bool


class PolicyPut(Body):
    name: Name | None = None
    cedar: Cedar
    enabled: bool = True
    mode: Mode = "enforce"


class PolicyBody(PolicyPut):
    name: Name


class PolicyPatch(Body):
    """Members that are left out, or null, stay as they are."""

    cedar: Cedar | None = None
    enabled: bool | None = None
    mode: Mode | None = None


class PolicyAnswer(Answer):
    """A damaged row has an unknown `mode`: it is shown, so that it can be found and repaired."""

    name: str
    cedar: str
    enabled: bool
    mode: Mode | str


class BudgetMembers(Body):
    """Whose (one at most; none: everybody's together), and how much of what."""

    agent: AgentName | None = None
    group: Group | None = None
    model: ModelName | None = None
    limit_usd: NanoUsd | None = None
    limit_tokens: Limit | None = None
    limit_requests: Limit | None = None

    @model_validator(mode="after")
    def not_two(self) -> Self:
        if len([1 for it in (self.agent, self.group, self.model) if it is not None]) > 1:
            raise ValueError("give one of agent, group and model, or none of them")
        if len([1 for it in (self.limit_usd, self.limit_tokens, self.limit_requests) if it is not None]) > 1:
            raise ValueError("give one of limit_usd, limit_tokens and limit_requests")
        return self

    def given_limit(self) -> tuple[Unit, int] | None:
        if self.limit_usd is not None:
            return "usd", self.limit_usd
        if self.limit_tokens is not None:
            return "tokens", self.limit_tokens
        return None if self.limit_requests is None else ("requests", self.limit_requests)

    def given_scope(self) -> tuple[Literal["agent", "group", "model"], str] | None:
        if self.agent is not None:
            return "agent", self.agent
        if self.group is not None:
            return "group", self.group
        return None if self.model is None else ("model", self.model)


class BudgetPut(BudgetMembers):
    name: Name | None = None
    period: Period

    @model_validator(mode="after")
    def with_limit(self) -> Self:
        if self.given_limit() is None:
            raise ValueError("give one of limit_usd, limit_tokens and limit_requests")
        return self


class BudgetBody(BudgetPut):
    name: Name


class BudgetPatch(BudgetMembers):
    """Members that are left out, or null, stay as they are; a limit or a subject takes the place of the present one."""

    period: Period | None = None


class BudgetAnswer(Answer):
    """`spent`, `reserved` (set aside by exchanges under way) and `left` are of the present period, in the limit's unit.

    `left` is negative where more was used than could be foreseen. `renews_at` is null where the period has no end.
    """

    name: str
    agent: str | None
    group: str | None
    model: str | None
    limit_usd: float | None
    limit_tokens: int | None
    limit_requests: int | None
    period: Period
    spent: int | float
    reserved: int | float
    left: int | float
    renews_at: datetime | None


class OwnToken(Body):
    """`token_sha256`: SHA-256 (hex) of a token that its holder made and shows nobody. Left out: the appliance makes
    one."""

    token_sha256: Digest | None = None


class AdminBody(Ending):
    """`token_sha256` as in `OwnToken`."""

    name: Name
    role: AdminRole
    token_sha256: Digest | None = None


class AdminPatch(Ending):
    """Members that are left out stay as they are; an `expires_at` that is null removes the end."""

    role: AdminRole | None = None


class AdminAnswer(Answer):
    """Without the token. `created_by` is null for the first admin, which the appliance made itself."""

    name: str
    role: AdminRole
    created_at: datetime
    created_by: str | None
    expires_at: datetime | None


class UnclaimedAdminAnswer(AdminAnswer):
    """There is no token yet: who has the one-time code makes it, until `claim_expires_at`."""

    claimed: Literal[False] = False
    claim_expires_at: datetime


class NewAdminAnswer(AdminAnswer):
    token: str


class Held(Answer):
    """The change was found good and waits for another admin, who calls `approve`. `claim` is shown this once: the code
    with which a new token is claimed after that."""

    id: str
    status: Literal["pending"] = "pending"
    action: str
    expires_at: datetime
    approve: str
    claim: str | None = None


class HoldAnswer(Answer):
    """`parameters` is what will be done. Of an admin: `method`, `path` and `body` of the request. Of an agent:
    `target`, sizes, names, a digest, and the policy that asks; `content` only where the settings say so."""

    id: str
    exchange: str
    agent: str | None
    requested_by: str
    action: str
    parameters: Mapping[str, Any]
    status: HoldStatus
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    reason: str | None


class Result(Answer):
    """The answer to the approved request; `body` is null if it has none."""

    status: int
    body: Any


class Approved(Answer):
    id: str
    status: Literal["approved"] = "approved"
    result: Result | None


class RevokedAnswer(Answer):
    """The number of revoked agents."""

    revoked: int
