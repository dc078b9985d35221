"""The actions that wait for approval, and the decisions on them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from mastio.exchange.errors import BadRequest, Denied
from mastio.exchange.records import Hold, HoldStatus
from mastio.identity.approval import verify_approval, verify_pending
from mastio.store.admins import find_active_admin
from mastio.store.rows import decode_hold, encode_hold
from mastio.store.sql.changes import Change, Page, read_page
from mastio.store.sql.engine import Database
from mastio.store.sql.tables import holds

KEEP_SECONDS = 30 * 86_400.0
"""Seconds that a hold is kept after the time in which it could be decided. The log keeps the decision."""

CONTENT = "content"
"""The parameter in which who decides is shown what an agent sends, where that is turned on."""

MAX_PENDING = 100
"""Undecided holds of one requester."""

_UNDECIDED = holds.c.status == "pending"


def new_hold_id() -> str:
    return f"hold_{secrets.token_urlsafe(12)}"


class HoldStore:
    """`store.holds`. A hold is decided once: of several decisions at the same time one is written."""

    def __init__(self, database: Database, change: Change) -> None:
        self._database = database
        self._change = change

    async def create(self, hold: Hold) -> Hold:
        """Raises `Denied` (rate_limited) when too many of the same requester are undecided."""
        return await self._change(lambda connection, version: self._add(connection, version, hold))

    @staticmethod
    def _add(connection: Connection, version: int, hold: Hold) -> Hold:
        now = hold.created_at
        whose = holds.c.agent.is_(None) if hold.agent is None else holds.c.agent == hold.agent
        mine = select(func.count()).where(
            _UNDECIDED, whose, holds.c.requested_by == hold.requested_by, holds.c.expires_at > now
        )
        connection.execute(delete(holds).where(holds.c.expires_at < now - KEEP_SECONDS))
        if connection.execute(mine).scalar_one() >= MAX_PENDING:
            raise Denied(
                "Too many of your requests wait for approval.",
                code="rate_limited",
                headers=(("Retry-After", "60"),),
            )
        made = replace(hold, place=version)
        connection.execute(insert(holds).values(version=version, **encode_hold(made)))
        return made

    async def ask(self, hold: Hold) -> Hold:
        """The hold that stands for this agent's very request, or, where there is none, this one. Raises as `create`.

        Pending, approved, or rejected as long as it could have been decided. One that nobody decided or used in time is
        given back as `expired` once; who asks after that asks anew.
        """
        now = hold.created_at
        known = select(holds).where(
            holds.c.binding == hold.binding, holds.c.status.in_(("pending", "approved", "rejected"))
        )

        def find(connection: Connection) -> Hold | None:
            for row in connection.execute(known.order_by(holds.c.place.desc())):
                found = decode_hold(row, now)
                if found.status == "approved" and now >= found.usable_until:
                    return replace(found, status="expired")
                if found.status != "rejected" or now < found.expires_at:
                    return found
            return None

        def work(connection: Connection, version: int) -> Hold:
            found = find(connection)
            if found is None:
                return self._add(connection, version, hold)
            return _end(connection, version, found, "expired") if found.status == "expired" else found

        found = await self._database.read(find)
        return found if found is not None and found.status != "expired" else await self._change(work)

    async def use(self, identifier: str, now: float) -> Hold | None:
        """Take what was approved, which only one can, once. None: it is not there to be taken any more."""

        def work(connection: Connection, version: int) -> Hold | None:
            found = _get(connection, identifier, now)
            if found.status != "approved" or now >= found.usable_until:
                return None
            return _end(connection, version, found, "used")

        return await self._change(work)

    async def list(self, limit: int, after: int, now: float, status: HoldStatus | None = None) -> Page[Hold]:
        """The oldest first, beginning behind the `place` given by `after`."""
        statement = select(holds).where(holds.c.place > after).order_by(holds.c.place)
        if status == "pending":
            statement = statement.where(_UNDECIDED, holds.c.expires_at > now)
        elif status == "expired":
            statement = statement.where(_UNDECIDED, holds.c.expires_at <= now)
        elif status is not None:
            statement = statement.where(holds.c.status == status)
        return await read_page(self._database, statement, limit, lambda row: decode_hold(row, now), holds.c.id)

    async def get(self, identifier: str, now: float) -> Hold:
        """Raises `BadRequest` (not_found)."""
        return await self._database.read(lambda connection: _get(connection, identifier, now))

    async def approve(self, identifier: str, by: str, reason: str | None, now: float) -> Hold:
        """Decided: whoever gets this back carries it out, and nobody else ever will. Raises as `verify_approval` does.

        After a crash in between it is `approved` and was not, or not wholly, carried out: the log says so.
        """

        def work(connection: Connection, version: int) -> Hold:
            hold = _get(connection, identifier, now)
            approver = find_active_admin(connection, by, now)
            requester = find_active_admin(connection, hold.requested_by, now)
            verify_approval(hold, by, approver, requester)
            return _decide(connection, version, hold, "approved", by, reason, now)

        return await self._change(work)

    async def reject(self, identifier: str, by: str, reason: str | None, now: float) -> Hold:
        """Any admin may, the requester too. Raises `BadRequest`: not_found, conflict when it is not pending."""

        def work(connection: Connection, version: int) -> Hold:
            hold = _get(connection, identifier, now)
            verify_pending(hold)
            return _decide(connection, version, hold, "rejected", by, reason, now)

        return await self._change(work)

    async def fail(self, identifier: str) -> None:
        """It was approved, and could not be carried out."""

        def work(connection: Connection, version: int) -> None:
            approved = update(holds).where(holds.c.id == identifier, holds.c.status == "approved")
            connection.execute(approved.values(status="failed", version=version))

        await self._change(work)


def _get(connection: Connection, identifier: str, now: float) -> Hold:
    row = connection.execute(select(holds).where(holds.c.id == identifier)).one_or_none()
    if row is None:
        raise BadRequest("There is no hold with this id.", code="not_found")
    return decode_hold(row, now)


def _end(connection: Connection, version: int, hold: Hold, status: HoldStatus) -> Hold:
    """Nothing can come of it any more, so nothing of its content is kept."""
    ended = replace(hold, status=status, parameters=_without_content(hold.parameters))
    connection.execute(update(holds).where(holds.c.id == hold.id).values(version=version, **encode_hold(ended)))
    return ended


def _without_content(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name != CONTENT}


def _decide(
    connection: Connection, version: int, hold: Hold, status: HoldStatus, by: str, reason: str | None, now: float
) -> Hold:
    kept = hold.parameters if hold.agent is None else _without_content(hold.parameters)
    decided = replace(hold, status=status, decided_at=now, decided_by=by, reason=reason, parameters=kept)
    connection.execute(update(holds).where(holds.c.id == hold.id).values(version=version, **encode_hold(decided)))
    return decided
