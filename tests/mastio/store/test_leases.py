"""The counts of budgets on SQLite and PostgreSQL: never over the limit, whatever workers do and whenever they die."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from itertools import count

import pytest
from sqlalchemy import select

from mastio.exchange.budgets import BudgetWindow, Claim, Grant, Usage
from mastio.plugin.services import Worker
from mastio.store.leases import GONE_SECONDS, LeaseStore
from mastio.store.sql import tables
from mastio_limits.budget import BudgetRow
from mastio_limits.collection import BUDGETS
from mastio_limits.ledger import Lease
from support.stores import NOW, Opened

TOTAL = BudgetWindow(0, None)
DAY = BudgetWindow(0, 86_400)
IDS = count()


async def budget(opened: Opened, limit: int, name: str = "b") -> str:
    """Its series."""
    await opened.store.of(BUDGETS).create(BudgetRow(name, "tokens", limit, "total", f"series-{name}"))
    return f"series-{name}"


def worker(opened: Opened, slot: int = 0) -> LeaseStore:
    return LeaseStore(opened.database, Worker("node", slot, f"incarnation-{next(IDS)}"))


async def one(store: LeaseStore, claim: Claim, now: float = NOW) -> Grant | None:
    return (await store.claim([claim], now))[0]


async def spent(opened: Opened, series: str, window: BudgetWindow = TOTAL) -> Usage:
    return (await opened.store.usage.read([(series, window)])).get(series, Usage())


async def test_the_life_of_a_lease(opened: Opened) -> None:
    series, store = await budget(opened, 100), worker(opened)
    granted = await one(store, Claim("l", series, TOTAL, needs=(30,)))
    assert granted == Grant(held=30, limit=100, spent=0)
    assert await spent(opened, series) == Usage(0, 30)
    assert await one(store, Claim("l", series, TOTAL, used=12, reserved=10, keep=10)) == Grant(10, 100, 12)
    assert await one(store, Claim("l", series, TOTAL, used=12, reserved=10, keep=10)) == Grant(10, 100, 12)  # again
    assert await one(store, Claim("l", series, TOTAL, used=15)) == Grant(0, 100, 15)
    assert await spent(opened, series) == Usage(15, 0)


async def test_who_needs_more_than_there_is_learns_what_others_hold_idle(opened: Opened) -> None:
    series, first, second = await budget(opened, 100), worker(opened), worker(opened, 1)
    await one(first, Claim("1", series, TOTAL, reserved=50, keep=90))
    refused = await one(second, Claim("2", series, TOTAL, needs=(20,)))
    assert refused == Grant(held=0, limit=100, spent=0, elsewhere=90, idle=40, pressed=True)
    pressed = await one(first, Claim("1", series, TOTAL, reserved=50, keep=50, spare=40))
    assert pressed == Grant(50, 100, 0, pressed=True)
    assert await one(second, Claim("2", series, TOTAL, needs=(20,))) == Grant(20, 100, 0, elsewhere=50)


async def test_more_than_was_set_aside_is_counted_below_zero_and_nothing_more_passes(opened: Opened) -> None:
    series, store = await budget(opened, 100), worker(opened)
    await one(store, Claim("l", series, TOTAL, needs=(10,)))
    assert await one(store, Claim("l", series, TOTAL, used=500, needs=(1,))) == Grant(
        0, 100, 500, pressed=True
    )  # overdrawn
    assert await spent(opened, series) == Usage(500, 0)
    assert await one(store, Claim("l", series, TOTAL, used=10**30 % 2**60)) is not None
    for number in range(9):
        await one(store, Claim(f"m{number}", series, TOTAL))
        await one(store, Claim(f"m{number}", series, TOTAL, used=2**60))
    assert (await spent(opened, series)).spent == 2**62


async def test_a_budget_that_is_gone_counts_nothing(opened: Opened) -> None:
    series, store = await budget(opened, 100), worker(opened)
    await one(store, Claim("l", series, TOTAL, needs=(10,)))
    await opened.store.of(BUDGETS).delete("b")
    assert await one(store, Claim("l", series, TOTAL, used=10, needs=(10,))) is None
    await store.sweep(NOW)
    assert await rows(opened) == (0, 0)


async def rows(opened: Opened) -> tuple[int, int]:
    def look(connection: object) -> tuple[int, int]:
        found = [connection.execute(select(table)).all() for table in (tables.budget_windows, tables.budget_leases)]  # type: ignore[attr-defined]
        return len(found[0]), len(found[1])

    return await opened.database.read(look)


async def test_what_the_dead_held_counts_as_spent(opened: Opened) -> None:
    series, dead, other = await budget(opened, 100), worker(opened), worker(opened, 1)
    await one(dead, Claim("d", series, TOTAL, needs=(30,)))
    await one(dead, Claim("d", series, TOTAL, used=5, reserved=20, keep=20))
    await one(other, Claim("o", series, TOTAL, needs=(10,)))
    await worker(opened).take_over(NOW)
    assert await spent(opened, series) == Usage(25, 10)
    await other.take_over(NOW)
    assert await spent(opened, series) == Usage(25, 10)


async def test_who_is_silent_is_dead_and_may_come_back(opened: Opened) -> None:
    series, silent, other = await budget(opened, 100), worker(opened), worker(opened, 1)
    await one(silent, Claim("s", series, TOTAL, needs=(30,)))
    later = NOW + GONE_SECONDS + 1
    await one(other, Claim("o", series, TOTAL, needs=(10,)), later)
    await other.sweep(later)
    assert await spent(opened, series) == Usage(30, 10)
    back = await one(silent, Claim("s", series, TOTAL, used=7, reserved=20, keep=20), later)
    assert back == Grant(20, 100, 30, elsewhere=10)  # what was used is in the 30; what it still holds counts again


async def test_windows_are_apart_and_removed_when_they_are_long_over(opened: Opened) -> None:
    series, store = await budget(opened, 100), worker(opened)
    today, tomorrow = DAY, BudgetWindow(86_400, 172_800)
    assert (await one(store, Claim("1", series, today, needs=(100,)), 0)) == Grant(100, 100, 0)
    assert (await one(store, Claim("2", series, tomorrow, needs=(100,)), 0)) == Grant(100, 100, 0)
    await one(store, Claim("1", series, today, used=100), 86_401.0)
    await store.sweep(86_402.0)
    assert await spent(opened, series, today) == Usage(100, 0)
    await store.sweep(86_400.0 + 3_700)
    assert await spent(opened, series, today) == Usage(0, 0)
    assert await rows(opened) == (1, 0)  # tomorrow's lease was silent for more than a minute
    assert await spent(opened, series, tomorrow) == Usage(100, 0)


async def test_many_at_once_never_get_more_than_there_is(opened: Opened) -> None:
    series = await budget(opened, 1000)
    other = await budget(opened, 10**6, "other")
    stores = [worker(opened, slot) for slot in range(8)]

    async def ask(number: int) -> int:
        claims = [
            Claim(f"l{number}", series, TOTAL, needs=(7,)), Claim(f"o{number}", other, TOTAL, needs=(7,)),
        ]  # fmt: skip
        grants = await stores[number % 8].claim(claims if number % 2 else claims[::-1], NOW)
        return sum(grant.held for grant in grants if grant is not None and grant.limit == 1000)

    got = await asyncio.gather(*map(ask, range(200)))
    assert sum(got) == 994 and await spent(opened, series) == Usage(0, 994)
    assert await spent(opened, other) == Usage(0, 1400)


# --- random orders of events against what really happened -------------------------------------------------------------


@dataclass
class Life:
    """One worker: its store, its lease, and the exchanges that it has under way."""

    store: LeaseStore
    lease: Lease
    under_way: list[int] = field(default_factory=list)


class Trial:
    """Workers on one budget; `used` is what exchanges really used, seen by nobody but the test."""

    def __init__(self, opened: Opened, series: str, limit: int, chance: random.Random) -> None:
        self.opened, self.series, self.limit, self.chance = opened, series, limit, chance
        self.used = 0
        self.lives = [self.born(slot) for slot in range(3)]

    def born(self, slot: int) -> Life:
        return Life(worker(self.opened, slot), Lease(f"lease-{next(IDS)}", self.series, TOTAL))

    def verify(self) -> None:
        open_ = sum(sum(life.under_way) for life in self.lives)
        assert self.used + open_ <= self.limit

    def begin(self, life: Life) -> None:
        amount = self.chance.randrange(1, 40)
        if life.lease.reserve(amount):
            life.under_way.append(amount)

    def end(self, life: Life) -> None:
        if life.under_way:
            amount = life.under_way.pop(self.chance.randrange(len(life.under_way)))
            used = self.chance.choice((0, amount, self.chance.randrange(amount + 1)))
            self.used += used
            life.lease.settle(amount, used)

    async def round(self, life: Life) -> None:
        """A claim; things go on while it is under way, and it or its answer may be lost."""
        needs = tuple(self.chance.randrange(1, 40) for _ in range(self.chance.randrange(3)))
        claim = life.lease.draft(self.limit, needs, pressed=self.chance.random() < 0.3)
        fate = self.chance.random()
        grant = await one(life.store, claim) if fate > 0.1 else None
        for _ in range(self.chance.randrange(4)):
            self.chance.choice((self.begin, self.end))(life)
            self.verify()
        if grant is not None and fate > 0.2:
            life.lease.apply(grant)

    async def die(self, slot: int) -> None:
        """Exchanges under way are cut: what they used by then is used, though nobody will report it."""
        for amount in self.lives[slot].under_way:
            self.used += self.chance.randrange(amount + 1)
        self.lives[slot] = self.born(slot)
        await self.lives[slot].store.take_over(NOW)

    async def finish(self) -> Usage:
        for life in self.lives:
            while life.under_way:
                self.end(life)
            self.verify()
            await one(life.store, life.lease.draft(self.limit, pressed=True))
        return await spent(self.opened, self.series)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("deaths", [False, True])
async def test_no_order_of_events_overspends(opened: Opened, seed: int, deaths: bool) -> None:
    limit, chance = 400, random.Random(seed * 2 + deaths)
    trial = Trial(opened, await budget(opened, limit), limit, chance)
    passed = 0
    for _ in range(120):
        life = chance.choice(trial.lives)
        fate = chance.random()
        if fate < 0.35:
            before = len(life.under_way)
            trial.begin(life)
            passed += len(life.under_way) - before
        elif fate < 0.6:
            trial.end(life)
        elif fate < 0.97 or not deaths:
            await trial.round(life)
            life.lease.tick()
        else:
            await trial.die(trial.lives.index(life))
        trial.verify()
        seen = await spent(opened, trial.series)
        assert seen.spent + seen.leased <= limit
    usage = await trial.finish()
    assert usage.leased == 0 and trial.used <= usage.spent <= limit and passed
    if not deaths:
        assert usage.spent == trial.used
