"""The shared parts of the enrolment routes: a leaf for a one-time token, a new leaf for an agent."""

from __future__ import annotations

from collections.abc import Mapping

from mastio.control.context import Context
from mastio.exchange.errors import BadRequest
from mastio.exchange.records import Agent, Enrollment
from mastio.exchange.values import Principal
from mastio.pki.certificates import PublicKey
from mastio.pki.csr import assertion_keys, encode_public_key
from mastio.pki.public import IssuedLeaf
from mastio.store.enrollments import new_enrollment_id
from mastio_primitives.jwk import JoseError


def make_enrollment(
    context: Context,
    key: PublicKey,
    name: str,
    dpop_jwk: Mapping[str, str] | None = None,
    reason: str | None = None,
) -> Enrollment:
    """An undecided request with the key of a CSR. Raises `BadRequest` (invalid_body) for a wrong `dpop_jwk`."""
    now = context.now()
    try:
        keys = assertion_keys(key, dpop_jwk)
    except JoseError as error:
        raise BadRequest(f"dpop_jwk: {error}", code="invalid_body") from error
    return Enrollment(
        id=new_enrollment_id(),
        name=name,
        status="pending",
        public_key=encode_public_key(key),
        created_at=now,
        expires_at=now + context.pending_seconds,
        dpop_jwk=keys.public_jwks[-1] if keys.dpop_jkt is not None else None,
        reason=reason,
    )


async def issue_with_token(context: Context, enrollment: Enrollment, token: str) -> Enrollment:
    """The request, issued. Raises as `EnrollmentStore.issue_with_token` does."""
    store = context.store
    return await store.enrollments.issue_with_token(enrollment, store.tokens.hash(token), context.issue)


async def get_agent(context: Context, name: str) -> Agent:
    """From memory; the database only when the copy does not have it."""
    return context.directory.agents.get(name) or await context.store.agents.get(name)


async def renew(context: Context, caller: Principal, key: PublicKey) -> tuple[Agent, IssuedLeaf]:
    """A new leaf for the caller, with this key. The one before stays good for the grace period at most."""
    now = context.now()
    agent = await get_agent(context, caller.name)
    keys = assertion_keys(key, _dpop_jwk(agent))
    leaf = context.authority.issue_leaf(key, agent.name, now, context.leaf_seconds)
    shown = caller.credential.get("x5t#S256")
    until = now + context.grace_seconds
    return await context.store.agents.renew(agent.name, leaf, keys.public_jwks, shown, until), leaf


def _dpop_jwk(agent: Agent) -> dict[str, str] | None:
    """The DPoP key that the agent named at enrolment: always the last of its keys."""
    return dict(agent.public_jwks[-1]) if agent.dpop_jkt is not None else None
