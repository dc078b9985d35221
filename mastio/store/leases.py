"""The counts of budgets, exact on any number of workers and replicas: `services.Leases`, and reading for admins.

A row of `budget_windows` is one budget in one of its periods: what was spent, and the sum of what its leases hold.
Every transaction here takes that row first, so whoever changes a window is alone with it, and
`mastio.exchange.budgets.decide` keeps `spent + leased` within the limit. What crashes leave behind:

| crash | left behind | so |
|---|---|---|
| a worker, holding a lease | the lease: partly used, nobody knows how far | all it held counts as spent |
| a worker, before it reported a use | the same: what it used was held | nothing is spent twice or unseen |
| in a commit, whose end nobody saw | the claim happened or not | a claim says how things are, so it can be repeated |

A worker that comes back in its slot ends the leases of the one before; those of a worker that never comes back are
ended by any other after `GONE_SECONDS` of silence. A worker that was only held up that long finds its lease gone, and
what it then still sets aside counts a second time: too much, never too little.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, Row, bindparam, delete, func, insert, or_, select, text, tuple_, update

from mastio.exchange.budgets import BudgetWindow, Claim, Grant, Usage, decide
from mastio.exchange.errors import Unavailable
from mastio.plugin.services import Worker
from mastio.store.sql.engine import Database
from mastio.store.sql.tables import budget_leases as leases
from mastio.store.sql.tables import budget_windows as windows
from mastio.store.sql.tables import objects

GONE_SECONDS = 60.0
"""A lease that nobody has spoken of for so long is a dead worker's."""

KEEP_SECONDS = 3600.0
"""Seconds that a finished window is kept: longer than any exchange that began in it."""

ASKED_SECONDS = 1.0
"""Seconds for which other workers hold no more than they need, after a worker got less than it needs."""

MOST = 2**62
"""No count grows beyond what the column holds, whatever a provider says that it used."""

_BUDGET = select(objects.c.document).where(objects.c.collection == "budgets", objects.c.key == bindparam("series"))
_MAKE = text(
    "INSERT INTO budget_windows (series, start, ends, spent, leased, asked_at)"
    " VALUES (:series, :start, :ends, 0, 0, 0) ON CONFLICT DO NOTHING"
)
_THIS = (windows.c.series == bindparam("this"), windows.c.start == bindparam("since"))
_TAKE = select(windows).where(*_THIS).with_for_update()
_WRITE = (
    update(windows)
    .where(*_THIS)
    .values({name: bindparam(f"new_{name}") for name in ("spent", "leased", "asked_at", "asked_by")})
)
_LEASE = select(leases).where(leases.c.id == bindparam("lease"))
_RENEW = (
    update(leases)
    .where(leases.c.id == bindparam("lease"))
    .values({name: bindparam(f"new_{name}") for name in ("held", "idle", "used", "seen_at")})
)
_IDLE = select(func.coalesce(func.sum(leases.c.idle), 0)).where(
    leases.c.series == bindparam("this"), leases.c.start == bindparam("since"), leases.c.id != bindparam("lease")
)


class LeaseStore:
    """Implements `services.Leases` for one worker."""

    def __init__(self, database: Database, worker: Worker) -> None:
        self._database = database
        self._owner = f"{worker.node}/{worker.slot}"
        self._incarnation = worker.incarnation

    async def claim(self, claims: Sequence[Claim], now: float) -> list[Grant | None]:
        """All in one transaction, durable when this returns; None: the budget does not count this any more.

        Raises `Unavailable`: it is not known whether it happened, and the next claim of the lease sets it right.
        """
        in_order = sorted(range(len(claims)), key=lambda number: _place(claims[number]))

        def work(connection: Connection) -> list[Grant | None]:
            grants: list[Grant | None] = [None] * len(claims)
            for number in in_order:  # everybody takes windows in the same order, so nobody waits in a circle
                grants[number] = self._claim(connection, claims[number], now)
            return grants

        return await self._database.write(work)

    async def take_over(self, now: float) -> None:
        """Ends the leases of who had this worker's slot before it. Raises `Unavailable`."""
        dead = (leases.c.owner == self._owner) & (leases.c.incarnation != self._incarnation)
        await self._database.write(lambda connection: _end(connection, dead))

    async def sweep(self, now: float) -> None:
        """Ends the leases of workers that are gone, and removes what is over and counts nothing any more.

        Raises `Unavailable`.
        """
        known = select(objects.c.key).where(objects.c.collection == "budgets")
        over = or_(windows.c.ends < int(now - KEEP_SECONDS), windows.c.series.not_in(known))
        kept = select(windows.c.series, windows.c.start)

        def work(connection: Connection) -> None:
            _end(connection, leases.c.seen_at < now - GONE_SECONDS)
            connection.execute(delete(windows).where(over))
            connection.execute(delete(leases).where(tuple_(leases.c.series, leases.c.start).not_in(kept)))

        await self._database.write(work)

    async def usage(self, places: Iterable[tuple[str, BudgetWindow]]) -> dict[str, Usage]:
        """By series. Raises `Unavailable`."""
        return await read_usage(self._database, places)

    def _claim(self, connection: Connection, claim: Claim, now: float) -> Grant | None:
        budget = connection.execute(_BUDGET, {"series": claim.series}).scalar_one_or_none()
        if budget is None:
            return None
        limit = _read_limit(budget)
        window = _take(connection, claim.series, claim.window)
        lease = connection.execute(_LEASE, {"lease": claim.lease}).one_or_none()
        # A lease that is not there (any more) has nothing to report: what it held was counted when it was ended.
        before, reported = (0, claim.used) if lease is None else (lease.held, lease.used)
        spent = min(window.spent + max(0, claim.used - reported), MOST)
        elsewhere = window.leased - before
        pressed = window.asked_by not in (None, self._owner) and now - window.asked_at < ASKED_SECONDS
        held, met = decide(limit, spent, elsewhere, claim, pressed)
        here = {"this": claim.series, "since": claim.window.start, "lease": claim.lease}
        idle = int(connection.execute(_IDLE, here).scalar_one()) if met < sum(claim.needs) else 0
        asks = idle > 0  # of nobody else could anything be had
        connection.execute(
            _WRITE,
            {
                "this": claim.series,
                "since": claim.window.start,
                "new_spent": spent,
                "new_leased": elsewhere + held,
                "new_asked_at": now if asks else window.asked_at,
                "new_asked_by": self._owner if asks else window.asked_by,
            },
        )
        self._keep(connection, claim, lease, held, held - claim.reserved - met, now)
        return Grant(held, limit, spent, elsewhere, idle, pressed or asks or spent + elsewhere + held > limit)

    def _keep(
        self, connection: Connection, claim: Claim, lease: Row[Any] | None, held: int, idle: int, now: float
    ) -> None:
        values = {"held": held, "idle": idle, "used": claim.used, "seen_at": now}
        if lease is not None:
            connection.execute(_RENEW, {"lease": claim.lease, **{f"new_{name}": it for name, it in values.items()}})
            return
        place = {"id": claim.lease, "series": claim.series, "start": claim.window.start}
        owner = {"owner": self._owner, "incarnation": self._incarnation}
        connection.execute(insert(leases), {**place, **owner, **values})


class UsageStore:
    """`store.usage`: what was spent, for admins."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, places: Iterable[tuple[str, BudgetWindow]]) -> dict[str, Usage]:
        """By series; where nothing was spent yet, there is none."""
        return await read_usage(self._database, places)


async def read_usage(database: Database, places: Iterable[tuple[str, BudgetWindow]]) -> dict[str, Usage]:
    wanted = {(series, window.start) for series, window in places}
    if not wanted:
        return {}
    statement = select(windows).where(windows.c.series.in_({series for series, _ in wanted}))
    rows = await database.read(lambda connection: connection.execute(statement).all())
    return {row.series: Usage(row.spent, row.leased) for row in rows if (row.series, row.start) in wanted}


def _read_limit(budget: str) -> int:
    """Raises `Unavailable` for a damaged one."""
    try:
        limit = orjson.loads(budget)["limit"]
    except (ValueError, LookupError, TypeError):
        limit = None
    if not isinstance(limit, int) or limit < 0:
        raise Unavailable("A budget in the database is damaged, so the request was refused.")
    return limit


def _place(claim: Claim) -> tuple[str, int]:
    return claim.series, claim.window.start


def _take(connection: Connection, series: str, window: BudgetWindow) -> Row[Any]:
    """The row of a window, for nobody else until the end of the transaction. Made where there was none."""
    place = {"this": series, "since": window.start}
    row = connection.execute(_TAKE, place).one_or_none()
    if row is None:
        connection.execute(_MAKE, {"series": series, "start": window.start, "ends": window.end})
        row = connection.execute(_TAKE, place).one()
    return row


def _end(connection: Connection, which: Any) -> None:
    """These leases are over, and all that they hold counts as spent."""
    found = connection.execute(select(leases.c.series, leases.c.start).where(which).distinct()).all()
    for series, start in sorted((row.series, row.start) for row in found):
        place = {"this": series, "since": start}
        window = connection.execute(_TAKE, place).one_or_none()
        here = (leases.c.series == series) & (leases.c.start == start) & which
        held = sum(row.held for row in connection.execute(delete(leases).where(here).returning(leases.c.held)).all())
        if window is None:
            continue
        after = {"new_spent": min(window.spent + held, MOST), "new_leased": window.leased - held}
        asked = {"new_asked_at": window.asked_at, "new_asked_by": window.asked_by}
        connection.execute(_WRITE, {**place, **after, **asked})
