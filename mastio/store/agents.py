"""Agents and their certificates: what becomes of an identity after it was enrolled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from mastio.exchange.errors import AuthenticationError, BadRequest
from mastio.exchange.records import Agent, AgentStatus
from mastio.pki.certificates import Revoked
from mastio.pki.public import IssuedLeaf
from mastio.store.rows import decode_agent, encode_agent
from mastio.store.sql.changes import Change, Page, read_page
from mastio.store.sql.damage import decode_one, read_rows
from mastio.store.sql.engine import Database
from mastio.store.sql.tables import agents, certificates

KEEP_SECONDS = 7 * 86_400.0
"""Seconds that the row of an expired certificate is kept."""


_OF_NAME = agents.c.name == bindparam("who")
_GET = select(agents).where(_OF_NAME)
_ADD = insert(agents)
_WRITE = update(agents).where(_OF_NAME)
_ADD_CERTIFICATE = insert(certificates)
_FORGET = delete(certificates).where(
    certificates.c.agent == bindparam("who"), certificates.c.not_after < bindparam("long_ago")
)


@dataclass(frozen=True, slots=True)
class AgentChanges:
    """The members of an agent that an operator may change. None leaves a member unchanged."""

    status: AgentStatus | None = None
    groups: frozenset[str] | None = None
    attributes: Mapping[str, Any] | None = None
    api_keys: bool | None = None
    reason: str | None = None


class AgentStore:
    """`store.agents`. Every method that changes raises `BadRequest` (not_found) for a name nobody has."""

    def __init__(self, database: Database, change: Change) -> None:
        self._database = database
        self._change = change

    async def list(self, limit: int, after: str = "", status: AgentStatus | None = None) -> Page[Agent]:
        """Agents in the order of their names, beginning behind `after`."""
        statement = select(agents).where(agents.c.name > after).order_by(agents.c.name)
        if status is not None:
            statement = statement.where(agents.c.status == status)
        return await read_page(self._database, statement, limit, decode_agent, agents.c.name)

    async def get(self, name: str) -> Agent:
        """Raises `BadRequest` (not_found)."""
        return await self._database.read(lambda connection: get_agent(connection, name))

    async def update(self, name: str, changes: AgentChanges, now: float) -> Agent:
        """Apply `changes`; a status is applied as `revoke` and `reactivate` do."""

        def work(connection: Connection, version: int) -> Agent:
            agent = get_agent(connection, name)
            changed = replace(
                agent,
                groups=agent.groups if changes.groups is None else changes.groups,
                attributes=agent.attributes if changes.attributes is None else changes.attributes,
                api_keys=agent.api_keys if changes.api_keys is None else changes.api_keys,
            )
            if changes.status is not None and changes.status != agent.status:
                changed = replace(changed, status=changes.status, status_reason=changes.reason)
                _follow_status(connection, version, changed, now)
            return write_agent(connection, version, changed)

        return await self._change(work, "agents")

    async def revoke(self, name: str, reason: str | None, now: float) -> Agent:
        """The agent may do nothing any more, and its certificates are on the revocation list. Repeatable."""
        return await self.update(name, AgentChanges(status="revoked", reason=reason), now)

    async def revoke_all(self, reason: str | None, now: float) -> int:
        """As `revoke`, of every agent that is not revoked yet, in one transaction. Returns their number."""
        living = agents.c.status != "revoked"

        def work(connection: Connection, version: int) -> int:
            theirs = certificates.c.agent.in_(select(agents.c.name).where(living))
            connection.execute(
                update(certificates)
                .where(theirs, certificates.c.revoked_at.is_(None), certificates.c.not_after > now)
                .values(revoked_at=now, version=version)
            )
            changes = {"status": "revoked", "status_reason": reason, "version": version}
            return connection.execute(update(agents).where(living).values(changes)).rowcount

        return await self._change(work, "agents")

    async def reactivate(self, name: str, reason: str | None, now: float) -> Agent:
        """Undo a suspension or a revocation: the pinned certificates leave the revocation list. Repeatable."""
        return await self.update(name, AgentChanges(status="active", reason=reason), now)

    async def renew(
        self,
        name: str,
        leaf: IssuedLeaf,
        public_jwks: tuple[Mapping[str, str], ...],
        shown: str | None,
        until: float,
    ) -> Agent:
        """Pin a new leaf. The old one goes on being accepted until `until` or its own end.

        `shown` is the thumbprint of the certificate that the caller used: when that is the one before the current
        one (a reply to an earlier renewal was lost), it is the one that stays good.
        """

        def work(connection: Connection, version: int) -> Agent:
            agent = get_agent(connection, name)
            if agent.status != "active":
                raise AuthenticationError(f"The agent is {agent.status}.", code="agent_inactive")
            previous, end = agent.cert_sha256, min(until, agent.not_after)
            if shown is not None and shown == agent.previous_cert_sha256:
                previous, end = shown, min(until, agent.previous_until)
            renewed = replace(
                agent,
                cert_sha256=leaf.thumbprint,
                not_after=leaf.not_after,
                previous_cert_sha256=previous,
                previous_until=end,
                public_jwks=public_jwks,
            )
            forget_expired(connection, name, leaf.issued_at)
            add_certificate(connection, version, leaf)
            return write_agent(connection, version, renewed)

        return await self._change(work, "agents")

    async def revoked(self, now: float) -> Sequence[Revoked]:
        """The revoked leaves that have not expired yet."""
        statement = select(certificates.c.serial, certificates.c.revoked_at, certificates.c.issuer).where(
            certificates.c.revoked_at.is_not(None), certificates.c.not_after > now
        )
        rows = await self._database.read(lambda connection: connection.execute(statement).all())
        return [Revoked(row.serial, row.revoked_at, row.issuer) for row in rows]

    async def last_not_after(self) -> float:
        """The latest expiry of all issued leaves, Unix seconds; 0 if there are none. Until then their issuer is
        needed."""
        statement = select(func.max(certificates.c.not_after))
        return await self._database.read(lambda connection: connection.execute(statement).scalar()) or 0.0


def _follow_status(connection: Connection, version: int, agent: Agent, now: float) -> None:
    """Put the agent's certificates on the revocation list, or take the pinned ones off it again."""
    mine = certificates.c.agent == agent.name
    if agent.status == "revoked":
        statement = (
            update(certificates)
            .where(mine, certificates.c.revoked_at.is_(None), certificates.c.not_after > now)
            .values(revoked_at=now, version=version)
        )
    else:
        pinned = [agent.cert_sha256, agent.previous_cert_sha256 or ""]
        statement = (
            update(certificates)
            .where(mine, certificates.c.revoked_at.is_not(None), certificates.c.sha256.in_(pinned))
            .values(revoked_at=None, version=version)
        )
    connection.execute(statement)


def get_agent(connection: Connection, name: str) -> Agent:
    """Raises `BadRequest`: not_found; conflict for a damaged row."""
    rows = read_rows(connection, _GET, agents.c.name, {"who": name})
    if not rows:
        raise BadRequest("There is no agent of this name.", code="not_found")
    return decode_one(rows[0], decode_agent)


def add_agent(connection: Connection, version: int, agent: Agent) -> Agent:
    connection.execute(_ADD, {"version": version, **encode_agent(agent)})
    return replace(agent, version=version)


def write_agent(connection: Connection, version: int, agent: Agent) -> Agent:
    """Write every column of an existing agent."""
    connection.execute(_WRITE, {"who": agent.name, "version": version, **encode_agent(agent)})
    return replace(agent, version=version)


def add_certificate(connection: Connection, version: int, leaf: IssuedLeaf) -> None:
    connection.execute(
        _ADD_CERTIFICATE,
        {
            "serial": leaf.serial,
            "agent": leaf.name,
            "sha256": leaf.thumbprint,
            "issued_at": leaf.issued_at,
            "not_after": leaf.not_after,
            "issuer": leaf.issuer,
            "version": version,
        },
    )


def forget_expired(connection: Connection, name: str, now: float) -> None:
    """Drop the rows of this agent's certificates that expired long ago, so that renewals do not add up."""
    connection.execute(_FORGET, {"who": name, "long_ago": now - KEEP_SECONDS})
