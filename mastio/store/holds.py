"""What waits for somebody's approval, and what became of it."""

from __future__ import annotations

import secrets
from dataclasses import replace

from sqlalchemy import Connection, delete, func, insert, select, update

from mastio.approval import verify_approval, verify_pending
from mastio.errors import BadRequest, Denied
from mastio.store.admins import find_active_admin
from mastio.store.base import Hold, HoldStatus
from mastio.store.changes import Change, Page, read_page
from mastio.store.engine import Database
from mastio.store.rows import decode_hold, encode_hold
from mastio.store.tables import holds

KEEP_SECONDS = 30 * 86_400.0
"""How long a hold is kept after the time in which it could be decided. The log keeps what became of it."""

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
        now = hold.created_at
        mine = select(func.count()).where(
            _UNDECIDED, holds.c.requested_by == hold.requested_by, holds.c.expires_at > now
        )

        def work(connection: Connection, version: int) -> Hold:
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
        return await read_page(self._database, statement, limit, lambda row: decode_hold(row, now))

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


def _decide(
    connection: Connection, version: int, hold: Hold, status: HoldStatus, by: str, reason: str | None, now: float
) -> Hold:
    decided = replace(hold, status=status, decided_at=now, decided_by=by, reason=reason)
    connection.execute(update(holds).where(holds.c.id == hold.id).values(version=version, **encode_hold(decided)))
    return decided
