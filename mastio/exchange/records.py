"""The rows of the control plane as values, and the Protocols of the stores, each with the consistency it needs.

Plugins may import this module, and nothing else of `mastio.store`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
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

    def objects(self, collection: str) -> Mapping[str, Any]:
        """The objects of a collection by name (`Collection.find_rows` has their type); none where no active plugin has
        declared it."""

    def find_removed(self, target_type: str, target: str) -> str | None:
        """The noun of the collection whose objects are targets of this type, where it has none of this name. None: the
        target is there, or is no object of a collection."""

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

    def before(self, collection: str, prepare: Callable[[Mapping[str, Any]], Awaitable[None]]) -> None:
        """Await `prepare` with the objects of a collection that are about to be here: for work that is too long for the
        event loop. It must not raise."""

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call `callback` in the event loop after each change has been applied."""
