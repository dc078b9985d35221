"""One asks, the others wait: nobody waits for somebody who is gone, and nothing is left behind."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress

from mastio_cache.cache_entry import CacheEntry
from mastio_cache.single_flight import Flights, Turn

KEY = b"k"
KEPT = CacheEntry((), (b"answer",), False, None, 0.0)


async def begin(flights: Flights, count: int) -> tuple[Turn, list[asyncio.Task[CacheEntry | Turn]]]:
    turn = await flights.join(KEY, 5)
    assert isinstance(turn, Turn)
    waiting = [asyncio.create_task(flights.join(KEY, 5)) for _ in range(count)]
    await asyncio.sleep(0)
    return turn, waiting


async def test_all_get_what_the_first_got() -> None:
    flights = Flights()
    turn, waiting = await begin(flights, 50)
    turn.land(KEPT)
    assert await asyncio.gather(*waiting) == [KEPT] * 50
    assert len(flights) == 0


async def test_when_the_first_fails_the_next_one_asks_and_the_others_wait_for_that_one() -> None:
    flights = Flights()
    turn, waiting = await begin(flights, 3)
    turn.give_up()
    second = await waiting[0]
    assert isinstance(second, Turn) and not waiting[1].done()
    second.land(KEPT)
    assert await asyncio.gather(*waiting[1:]) == [KEPT, KEPT]
    assert len(flights) == 0


async def test_each_may_fail_in_turn() -> None:
    flights = Flights()
    turn, waiting = await begin(flights, 5)
    for task in waiting:
        turn.give_up()
        given = await task
        assert isinstance(given, Turn)
        turn = given
    turn.give_up()
    assert len(flights) == 0


async def test_where_nothing_can_be_shared_all_go_at_once() -> None:
    flights = Flights()
    turn, waiting = await begin(flights, 5)
    turn.release()
    for given in await asyncio.gather(*waiting):
        assert isinstance(given, Turn)
        given.land(KEPT)  # alone: of no effect for anybody
    assert len(flights) == 0


async def test_a_turn_ends_once() -> None:
    flights = Flights()
    first, waiting = await begin(flights, 1)
    first.give_up()
    await waiting[0]
    first.land(KEPT)
    first.release()
    first.give_up()
    assert len(flights) == 1, "the second one's turn is not ended by the first"


async def test_who_has_waited_long_enough_asks_alone() -> None:
    flights = Flights()
    turn = await flights.join(KEY, 5)
    alone = await flights.join(KEY, 0.01)
    assert isinstance(turn, Turn) and isinstance(alone, Turn)
    alone.land(KEPT)
    assert len(flights) == 1
    turn.give_up()
    assert len(flights) == 0


async def test_one_who_is_cancelled_while_waiting_is_passed_over() -> None:
    flights = Flights()
    turn, waiting = await begin(flights, 3)
    waiting[0].cancel()
    await asyncio.sleep(0)
    turn.give_up()
    assert isinstance(await waiting[1], Turn)
    assert waiting[0].cancelled() and not waiting[2].done()
    waiting[2].cancel()


async def test_a_turn_given_to_one_who_is_cancelled_in_that_moment_goes_to_the_next() -> None:
    flights = Flights()
    turn, waiting = await begin(flights, 2)
    turn.give_up()
    waiting[0].cancel()  # before it could take it
    given = await asyncio.wait_for(waiting[1], 1)
    assert isinstance(given, Turn) and waiting[0].cancelled()
    given.give_up()
    assert len(flights) == 0


async def test_the_last_one_who_is_cancelled_with_the_turn_leaves_nothing() -> None:
    flights = Flights()
    turn, waiting = await begin(flights, 1)
    turn.give_up()
    waiting[0].cancel()
    with suppress(asyncio.CancelledError):
        await waiting[0]
    assert len(flights) == 0


async def test_whatever_happens_everybody_ends_and_nothing_is_left() -> None:
    """A thousand callers of a few keys: asking fails, lands, is released; callers hang up at any moment, or wait too
    long. Each one that is not cancelled ends, and of one key there is never more than one turn at a time."""
    flights, chance = Flights(), random.Random(3)
    asking: dict[bytes, int] = {}
    most = 0

    async def call(key: bytes) -> None:
        nonlocal most
        found = await flights.join(key, chance.choice((0.002, 5)))
        if isinstance(found, CacheEntry):
            return
        holds = found._flights is not None
        asking[key] = asking.get(key, 0) + holds
        most = max(most, asking[key])
        end: Callable[[], None] = chance.choice((found.give_up, found.give_up, found.release, lambda: found.land(KEPT)))
        try:
            await asyncio.sleep(chance.random() * 0.004)
        finally:
            asking[key] -= holds
            end()

    tasks = [asyncio.create_task(call(b"%d" % chance.randrange(5))) for _ in range(1000)]
    for _ in range(300):
        chance.choice(tasks).cancel()
        if chance.random() < 0.3:
            await asyncio.sleep(0.001)
    ended, pending = await asyncio.wait(tasks, timeout=20)
    assert not pending and most == 1
    assert all(task.cancelled() or task.exception() is None for task in ended)
    assert len(flights) == 0
