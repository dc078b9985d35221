"""Keeps one worker's leases: asks for more when exchanges wait, reports the use, and gives back idle amounts.

One task speaks with the database, in rounds: everything that is due goes into one transaction. An exchange comes here
only when its lease has not enough left; most exchanges never wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from time import monotonic
from typing import Protocol, TypeVar

from mastio.exchange.budgets import Grant, window_at
from mastio.exchange.errors import Unavailable
from mastio.plugin.services import Leases
from mastio_limits.budget import BudgetRow
from mastio_limits.ledger import Lease
from mastio_limits.refusal import Shortage, refuse_budget

T = TypeVar("T")

log = logging.getLogger("mastio.limits")

TICK = 0.25
"""Seconds between two reports at most, while there is something to report."""

SOON = 0.05
"""Seconds between two claims for an exchange that waits for amounts that other workers hold idle."""

PATIENCE = 1.0
"""Seconds that an exchange waits for amounts that other workers hold idle."""

FRESH = 0.3
"""Seconds after which every other worker has reported: an amount that is not idle then is in use."""

HEARTBEAT = 10.0
"""Seconds after which a lease with nothing to report is reported again, so that it is not taken for a dead worker's."""

SWEEP = 30.0
MAX_NEEDS = 1000


class ClaimObserver(Protocol):
    """An observer of claims' results, for `/metrics`."""

    def counted(self, budget: BudgetRow, spent: int) -> None: ...

    def refused(self, budget: BudgetRow) -> None: ...


class Waiting:
    """An exchange that waits for a part of a lease."""

    __slots__ = ("amount", "answer", "is_claimed", "since")

    def __init__(self, amount: int) -> None:
        self.amount = amount
        self.since = monotonic()
        self.is_claimed = False
        self.answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()


class HeldLease:
    """A lease with its budget and those who wait for it."""

    __slots__ = ("budget", "is_gone", "known", "lack", "lease", "pressed_until", "seen_at", "short_until", "waiting")

    def __init__(self, budget: BudgetRow, lease: Lease) -> None:
        self.budget = budget
        self.lease = lease
        self.waiting: list[Waiting] = []
        self.is_gone = False
        self.pressed_until = 0.0
        self.seen_at = 0.0
        self.known: Grant | None = None  # the last answer
        self.lack = 0  # until `short_until`, so much and more is not to be had
        self.short_until = 0.0

    def is_due(self, now: float, *, ticked: bool) -> bool:
        if self.is_gone or not ticked:
            return bool(self.waiting)
        silent = now - self.seen_at >= HEARTBEAT and not self.lease.is_done
        return bool(self.waiting) or self.lease.is_due or silent


class LeaseManager:
    """The leases of one worker. `wall` is Unix time in seconds."""

    def __init__(self, leases: Leases, prefix: str, wall: Callable[[], float], watch: ClaimObserver) -> None:
        self._leases = leases
        self._prefix = prefix
        self._wall = wall
        self._watch = watch
        self._current: dict[str, HeldLease] = {}
        self._past: list[HeldLease] = []
        self._numbers = count()
        self._hurry = asyncio.Event()
        self._failing = False
        self._is_idle = True

    # --- for exchanges -----------------------------------------------------------------------------------------------

    async def reserve(self, budget: BudgetRow, amount: int) -> Lease | None:
        """The lease in which `amount` is set aside; settle it there. None: the budget is not there any more.

        Raises `Denied` (429) where there is not so much left, `Unavailable` when that cannot be known.
        """
        kept = self._keep(budget)
        if kept.lease.reserve(amount):
            return kept.lease
        never = kept.known is not None and amount > budget.limit
        if never or (amount >= kept.lack and monotonic() < kept.short_until):
            raise self._refuse(kept, amount)
        waiting = Waiting(amount)
        kept.waiting.append(waiting)
        self._hurry.set()
        try:
            answer = await waiting.answer
        except asyncio.CancelledError:
            self._forget(kept, waiting)
            raise
        if answer:
            return kept.lease
        if kept.is_gone:
            return None
        raise self._refuse(kept, amount)

    def refused(self, budget: BudgetRow) -> None:
        """Count a refusal of `reserve` that the exchange was told. An exchange may ask again, for less, and then was
        not refused."""
        self._watch.refused(budget)

    def reload(self, budgets: Mapping[str, BudgetRow]) -> None:
        """Apply changed budgets: leases that were taken under another limit are claimed again."""
        self._is_idle = not budgets
        by_series = {budget.series: budget for budget in budgets.values()}
        for series, kept in list(self._current.items()):
            budget = by_series.get(series)
            if budget is None:
                self._retire(series)
            elif budget != kept.budget:
                kept.budget, kept.known, kept.short_until = budget, None, 0.0
                kept.pressed_until = monotonic() + 2 * TICK
                self._hurry.set()

    def _keep(self, budget: BudgetRow) -> HeldLease:
        """The lease of the present window."""
        kept, now = self._current.get(budget.series), self._wall()
        if kept is not None and kept.lease.covers(now) and not kept.is_gone:
            return kept
        if kept is not None:
            self._retire(budget.series)
        lease = Lease(f"{self._prefix}-{next(self._numbers)}", budget.series, window_at(budget.period, now))
        kept = self._current[budget.series] = HeldLease(budget, lease)
        return kept

    def _retire(self, series: str) -> None:
        """Begin no more exchanges under this lease. It is settled, reported and given back."""
        kept = self._current.pop(series)
        kept.pressed_until = float("inf")
        self._past.append(kept)

    def _forget(self, kept: HeldLease, waiting: Waiting) -> None:
        """Remove a cancelled exchange. If it was granted its amount at the same moment, settle the amount as unused."""
        if waiting in kept.waiting:
            kept.waiting.remove(waiting)
        elif not waiting.answer.cancelled() and waiting.answer.exception() is None and waiting.answer.result():
            kept.lease.settle(waiting.amount, 0)

    def _refuse(self, kept: HeldLease, amount: int) -> Exception:
        known, lease = kept.known or Grant(0, kept.budget.limit, 0), kept.lease
        spent = known.spent + lease.used - lease.reported
        shortage = Shortage(amount, known.limit, spent, known.elsewhere + lease.reserved)
        return refuse_budget(kept.budget, lease.window, shortage, self._wall())

    # --- the rounds --------------------------------------------------------------------------------------------------

    async def run(self, ending: asyncio.Event) -> None:
        """Run until `ending` is set. Then give back everything that is not in use, once."""
        ticked = swept = monotonic()
        while not ending.is_set():
            await self._pause(ending)
            now = monotonic()
            is_time = now - ticked >= 0.9 * TICK  # timers fire a little early
            if is_time:
                ticked = now
                for kept in self._current.values():
                    kept.lease.tick()
            await self._round(now, ticked=is_time)
            if now - swept >= SWEEP and not self._is_idle:
                swept = now
                await self._try(self._leases.sweep(self._wall()))
        for series in list(self._current):
            self._retire(series)
        await self._round(monotonic(), ticked=True)
        self._fail(self._all())

    async def _pause(self, ending: asyncio.Event) -> None:
        """Wait until an exchange needs a round at once, or the next report is due."""
        waits = any(kept.waiting for kept in self._all())
        try:
            await asyncio.wait_for(self._hurry.wait(), SOON if waits else TICK)
        except TimeoutError:
            return
        finally:
            self._hurry.clear()

    def _all(self) -> list[HeldLease]:
        return [*self._current.values(), *self._past]

    async def _round(self, now: float, *, ticked: bool) -> None:
        """Claim in one transaction for all waiting exchanges; if `ticked`, also for all leases with something to
        report."""
        self._past = [kept for kept in self._past if kept.waiting or not (kept.is_gone or kept.lease.is_done)]
        due = [kept for kept in self._all() if kept.is_due(now, ticked=ticked)]
        if not due:
            return
        claims = []
        for kept in due:
            asking = kept.waiting[:MAX_NEEDS]
            for waiting in asking:
                waiting.is_claimed = True
            needs = tuple(waiting.amount for waiting in asking)
            claims.append(kept.lease.draft(kept.budget.limit, needs, pressed=now < kept.pressed_until))
        grants = await self._try(self._leases.claim(claims, self._wall()))
        if grants is None:
            self._fail(due)
            return
        for kept, grant in zip(due, grants, strict=True):
            self._take(kept, grant, monotonic())

    def _take(self, kept: HeldLease, grant: Grant | None, now: float) -> None:
        """Apply the grant, and answer the waiting exchanges in their order. None: the budget is gone."""
        if grant is None:
            kept.is_gone = True
            self._answer(kept, kept.waiting, False)
            return
        kept.lease.apply(grant)
        kept.seen_at, kept.known = now, grant
        if grant.pressed:
            kept.pressed_until = max(kept.pressed_until, now + PATIENCE)
        self._watch.counted(kept.budget, grant.spent)
        granted = []
        for waiting in kept.waiting:
            if not waiting.answer.done() and kept.lease.reserve(waiting.amount):
                granted.append(waiting)
        self._answer(kept, granted, True)
        reserved = kept.lease.reserved
        hopeless = [one for one in kept.waiting if one.is_claimed and _is_hopeless(one, grant, reserved, now)]
        if not hopeless:
            return
        kept.lack, kept.short_until = min(waiting.amount for waiting in hopeless), now + TICK
        self._answer(kept, [waiting for waiting in kept.waiting if waiting.amount >= kept.lack], False)

    def _answer(self, kept: HeldLease, answered: list[Waiting], answer: bool) -> None:
        gone = set(answered)
        kept.waiting = [waiting for waiting in kept.waiting if waiting not in gone]
        for waiting in answered:
            if not waiting.answer.done():  # else its exchange was cancelled, and is about to say so
                waiting.answer.set_result(answer)

    def _fail(self, due: list[HeldLease]) -> None:
        for kept in due:
            waiting, kept.waiting = kept.waiting, []
            for one in waiting:
                if not one.answer.done():
                    said = "What the budgets have left cannot be looked up."
                    one.answer.set_exception(Unavailable(said, code="store_unavailable"))

    async def _try(self, speaking: Awaitable[T]) -> T | None:
        """The result of a database call; None if it fails or does not answer: the caller tries again."""
        task = asyncio.ensure_future(speaking)
        await asyncio.wait({task})
        error = task.exception()
        if error is not None and not self._failing:
            log.error("budgets cannot be claimed, so what needs one is refused until they can", exc_info=error)
        elif error is None and self._failing:
            log.info("budgets can be claimed again")
        self._failing = error is not None
        return None if error is not None else task.result()


def _is_hopeless(waiting: Waiting, grant: Grant, reserved: int, now: float) -> bool:
    """True if nobody can give back what it waits for: others hold nothing, or too little of it idle, or keep silent."""
    waited = now - waiting.since
    left = grant.limit - grant.spent - grant.elsewhere - reserved
    return grant.elsewhere == 0 or waited >= PATIENCE or (left + grant.idle < waiting.amount and waited >= FRESH)
