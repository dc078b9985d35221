"""What may be used once, on every database, whatever the wall clocks do."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import func, select

from mastio.store.once import LONGEST, SPARE, Once
from mastio.store.sql.tables import used
from support.stores import NOW, Opened

HOUR = 3600.0


class Clocks:
    """The clocks of one machine."""

    def __init__(self) -> None:
        self.wall, self.steady = NOW, 500.0

    def wait(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


class Worker:
    def __init__(self, opened: Opened, clocks: Clocks, *, ahead: float = 0.0) -> None:
        self._clocks, self._ahead = clocks, ahead
        self._once = Once(opened.database, lambda: clocks.steady)

    async def use(self, name: str, expires_at: float | None = None) -> bool:
        now = self._clocks.wall + self._ahead
        return await self._once.use(name, now + 60 if expires_at is None else expires_at, now)


@pytest.mark.parametrize(
    "name", ["plain", "a\0b", "\u2028 \U0001f511 é", "x" * 10_000], ids=["plain", "nul", "odd", "long"]
)
async def test_a_name_is_used_once_whatever_it_is(opened: Opened, name: str) -> None:
    workers = [Once(opened.database) for _ in range(4)]
    answers = await asyncio.gather(*(worker.use(name, NOW + 300, NOW) for worker in workers))
    assert sorted(answers) == [False, False, False, True]
    assert await workers[0].use(name + "!", NOW + 300, NOW)


async def count(opened: Opened) -> int:
    return int(
        await opened.database.read(lambda connection: connection.execute(select(func.count(used.c.id))).scalar_one())
    )


async def test_what_expired_is_forgotten_only_when_no_clock_is_so_far_behind(opened: Opened) -> None:
    clocks = Clocks()
    behind, ahead = Worker(opened, clocks), Worker(opened, clocks, ahead=SPARE - 70)
    end = NOW + LONGEST
    assert await behind.use("assertion", end)
    clocks.wait(LONGEST - 1)
    assert await ahead.use("another")
    clocks.wait(1)
    assert await ahead.use("a third"), "a replica that is ahead sweeps"
    assert not await behind.use("assertion", end)
    for _ in range(3):
        clocks.wait(LONGEST)
        assert await behind.use(f"later {clocks.wall}")
    assert await count(opened) <= 2
    assert await behind.use("assertion")


@pytest.mark.parametrize("away", [0.0, 1.0, LONGEST / 2])
async def test_a_clock_that_is_ahead_for_a_while_frees_nothing(opened: Opened, away: float) -> None:
    clocks = Clocks()
    worker = Worker(opened, clocks)
    clocks.wait(LONGEST - 2)
    end = clocks.wall + 300
    assert await worker.use("assertion", end)
    clocks.wall += HOUR
    clocks.wait(2 + away)
    assert await worker.use("a sweep is due")
    assert await worker.use("and another one")
    clocks.wall -= HOUR
    assert clocks.wall < end or away > 290
    assert not await worker.use("assertion", end)


async def test_a_worker_that_starts_while_the_clock_is_ahead_frees_nothing(opened: Opened) -> None:
    clocks = Clocks()
    assert await Worker(opened, clocks).use("assertion", NOW + 300)
    clocks.wall += HOUR
    worker = Worker(opened, clocks)
    clocks.wait(290)
    assert await worker.use("another")
    clocks.wall -= HOUR
    assert not await worker.use("assertion", NOW + 300)


@pytest.mark.parametrize("step", [HOUR, -HOUR, 1e9, -1e9])
async def test_after_a_step_nothing_is_kept_for_ever(opened: Opened, step: float) -> None:
    clocks = Clocks()
    worker = Worker(opened, clocks)
    clocks.wall += step
    assert await worker.use("of another time", clocks.wall + 300)
    clocks.wait(30)
    clocks.wall -= step
    for n in range(5):
        assert await worker.use(f"now {n}")
        clocks.wait(LONGEST)
    assert await worker.use("of another time"), "its mark is gone"


async def test_what_lives_too_long_is_a_mistake(opened: Opened) -> None:
    with pytest.raises(ValueError, match="600"):
        await Once(opened.database).use("x", NOW + LONGEST + 1, NOW)
