"""The objects that the routers of the control plane use: made once by `build`, passed to each router's factory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from mastio.control.admin.reachable import Examine
from mastio.exchange.errors import BadRequest
from mastio.exchange.records import Directory, Enrollment
from mastio.exchange.values import Principal
from mastio.pki.authority import Authority
from mastio.pki.certificates import PublicKey, spiffe_id
from mastio.pki.csr import RequestError, load_public_key, parse_csr
from mastio.pki.public import IssuedLeaf
from mastio.plugin.hooks import InForce, Verify
from mastio.store.control import ControlStore

CLAIM = "claim_sha256"
"""In the state of a request that another admin approved, and in the hold: which one-time code a new token is claimed
with."""


class Verifiers:
    """The checks of plugins on an object, before and after it is stored. They are opened after the control plane is
    built."""

    def __init__(self) -> None:
        self._by_collection: dict[str, list[Verify]] = {}
        self._in_force: dict[str, list[InForce]] = {}

    def add(self, verify: Mapping[str, Verify], in_force: Mapping[str, InForce]) -> None:
        for collection, one in verify.items():
            self._by_collection.setdefault(collection, []).append(one)
        for collection, ask in in_force.items():
            self._in_force.setdefault(collection, []).append(ask)

    def verify(self, collection: str, item: Any) -> None:
        """Raises `BadRequest` (invalid_body) for what a plugin cannot use."""
        for verify in self._by_collection.get(collection, ()):
            verify(item)

    def verify_in_force(self, collection: str) -> None:
        """Call after a change. Raises `BadRequest` (not_in_force) where a plugin does not use what is stored now."""
        for ask in self._in_force.get(collection, ()):
            if (problem := ask()) is not None:
                message = (
                    f"The change is stored, but it is not in force, and what was in force before still is. {problem}"
                )
                raise BadRequest(message, code="not_in_force")


@dataclass(frozen=True, slots=True)
class Context:
    """Seconds are durations: of a leaf, of the edge's certificate, of an undecided request, of an old leaf
    after a renewal, of a one-time code for a new admin. `server_names` are those that the edge's certificate is for.
    `examine` looks at upstreams when they are described (None: nobody does)."""

    store: ControlStore
    directory: Directory
    authority: Authority
    public_url: str
    trust_domain: str
    leaf_seconds: float
    server_names: tuple[str, ...]
    server_seconds: float
    pending_seconds: float
    grace_seconds: float
    max_pending: int
    now: Callable[[], float]
    verifiers: Verifiers
    claim_seconds: float
    examine: Examine | None = None

    def spiffe_id(self, name: str) -> str:
        return spiffe_id(self.trust_domain, name)

    def parse_csr(self, pem: str, name: str) -> PublicKey:
        """The key of the agent's request. Raises `BadRequest` (invalid_csr)."""
        try:
            return parse_csr(pem, self.spiffe_id(name))
        except RequestError as error:
            raise BadRequest(str(error), code="invalid_csr") from error

    def issue(self, enrollment: Enrollment) -> IssuedLeaf:
        """The leaf for a request that was decided."""
        key = load_public_key(enrollment.public_key)
        return self.authority.issue_leaf(key, enrollment.name, self.now(), self.leaf_seconds)


async def read_principal(request: Request) -> Principal:
    """The caller, as authenticated by the entry point. Nothing is served without it: a `KeyError` is a defect."""
    principal = request.scope["state"]["principal"]
    if not isinstance(principal, Principal):
        raise TypeError("the front door must hand over a Principal")
    return principal


Caller = Annotated[Principal, Depends(read_principal)]


async def read_claim(request: Request) -> str | None:
    """The one-time code that a new token is claimed with: SHA-256, hex. None: no code."""
    claim = request.scope["state"].get(CLAIM)
    return None if claim is None else str(claim)


Claim = Annotated[str | None, Depends(read_claim)]
