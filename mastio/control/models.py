"""The bodies of the control plane. Unknown members are refused; types are not converted; secrets only go in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from mastio.exchange.records import AdminRole, HoldStatus
from mastio.pki.csr import MAX_BYTES
from mastio.plugin.fields import (
    AgentName,
    Answer,
    Body,
    Digest,
    Group,
    KindGlob,
    Label,
    Line,
    ModelName,
    Name,
    NameGlob,
    PathGlob,
    Time,
)

DAY = 86_400
MAX_LIFE = 3650 * DAY


def _attributes(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes if Cedar can hold them all with their meaning. Raises `ValueError` otherwise."""
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


Attributes = Annotated[dict[str, Any], Field(max_length=100), AfterValidator(_attributes)]


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
    kinds: Annotated[list[KindGlob], Field(max_length=100)] = Field(default_factory=list)
    models: Annotated[list[ModelName], Field(max_length=100)] = Field(default_factory=list)
    paths: Annotated[list[PathGlob], Field(max_length=100)] = Field(default_factory=list)


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


class PendingChange(Answer):
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
