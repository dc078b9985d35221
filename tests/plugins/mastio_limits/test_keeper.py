"""Who waits, for how long, and what becomes of leases: with a count that several workers share."""

from __future__ import annotations

import asyncio
import time

import pytest

from mastio.exchange.errors import Denied, Unavailable
from mastio_limits.budget import BudgetRow
from support.shared_limits import NOON, Count, Seen, budget, open_worker

DAY = 86_400


async def until(condition: object, seconds: float = 2.0) -> float:
    """Seconds until it was true."""
    started = time.monotonic()
    while not condition():  # type: ignore[operator]
        assert time.monotonic() - started < seconds
        await asyncio.sleep(0.01)
    return time.monotonic() - started


async def test_most_exchanges_ask_nobody() -> None:
    count = Count({"s": 100_000})
    async with open_worker(count) as worker:
        for _ in range(200):
            lease = await worker.keeper.reserve(budget(limit=100_000), 100)
            assert lease is not None
            lease.settle(100, 5)
        assert count.claims <= 2
        assert await until(lambda: count.total() == 1000) < 0.6
        assert 0 < count.held() <= 100_000 // 32
        assert await until(lambda: count.held() == 0) < 1.2
        seen = count.claims
        await asyncio.sleep(0.6)
        assert count.claims == seen, "an idle budget is not spoken of"


async def test_many_at_once_share_a_round() -> None:
    count = Count(slow=0.02)
    async with open_worker(count) as worker:
        asking = [asyncio.create_task(worker.keeper.reserve(budget(), 1)) for _ in range(1500)]
        done = await asyncio.gather(*asking, return_exceptions=True)
        refused = [error for error in done if isinstance(error, Denied)]
        assert len(refused) == 500
        assert count.claims <= 4 and count.held() == 1000
        for lease in done:
            if not isinstance(lease, BaseException):
                lease.settle(1, 1)
        await until(lambda: count.total() == 1000 and count.held() == 0)


async def test_a_spent_budget_refuses_at_once_and_asks_seldom() -> None:
    count = Count(spent={("s", int(NOON) // DAY * DAY): 999})
    async with open_worker(count) as worker:
        started = time.monotonic()
        for _ in range(100):
            with pytest.raises(Denied) as refusal:
                await worker.keeper.reserve(budget(), 2)
        assert time.monotonic() - started < 0.5 and count.claims <= 3
        assert refusal.value.code == "budget_exceeded" and "has 1 of 1000 tokens left" in refusal.value.message
        lease = await worker.keeper.reserve(budget(), 1)  # so much there is
        assert lease is not None
        lease.settle(1, 0)


async def test_what_no_budget_could_ever_hold_is_refused_without_asking() -> None:
    """Otherwise one caller could keep all others from holding what they need next."""
    count = Count()
    async with open_worker(count) as worker:
        for _ in range(50):
            with pytest.raises(Denied):
                await worker.keeper.reserve(budget(), 1001)
            await asyncio.sleep(0.006)
        assert count.claims == 1


async def test_who_goes_in_the_moment_of_being_given_leaves_nothing_set_aside() -> None:
    count = Count()
    async with open_worker(count) as worker:
        asking = [asyncio.create_task(worker.keeper.reserve(budget(), 100)) for _ in range(3)]

        class Canceller(Seen):
            def counted(self, budget: BudgetRow, spent: int) -> None:
                for task in asking:  # runs before they learn what they were given
                    asyncio.get_running_loop().call_soon(task.cancel)

        worker.keeper._watch = Canceller()
        await asyncio.wait(asking)
        assert all(task.cancelled() for task in asking)
        await until(lambda: count.held() == 0)
        assert count.total() == 0


async def test_nobody_waits_for_a_worker_that_has_ended() -> None:
    count = Count()
    async with open_worker(count, "a") as first:
        held = await first.keeper.reserve(budget(), 900)
        assert held is not None
        async with open_worker(count, "b") as second:
            asking = asyncio.create_task(second.keeper.reserve(budget(), 200))
            await asyncio.sleep(0.05)
            assert not asking.done()
        done, _ = await asyncio.wait([asking], timeout=1)
        assert done and isinstance(asking.exception(), Unavailable)
        held.settle(900, 900)
    assert count.held() == 0 and count.total() == 900


@pytest.mark.parametrize("how", ["the period ends", "the budget goes"])
async def test_nobody_is_forgotten_who_waits_while_the_lease_is_given_up(how: str) -> None:
    """What a lease holds nothing of is given up at once, but not who waits for it."""
    count = Count()
    async with open_worker(count, "a") as first, open_worker(count, "b") as second:
        held = await first.keeper.reserve(budget(), 900)
        assert held is not None
        asking = asyncio.create_task(second.keeper.reserve(budget(), 200))
        await asyncio.sleep(0.05)
        assert not asking.done()
        if how == "the period ends":
            second.clock.time += DAY
            today = await second.keeper.reserve(budget(), 200)
            assert today is not None
            today.settle(200, 0)
        else:
            second.keeper.reload({})
        done, _ = await asyncio.wait([asking], timeout=3)
        assert done and isinstance(asking.exception(), Denied)
        held.settle(900, 0)


async def test_what_another_holds_idle_is_waited_for() -> None:
    count = Count()
    async with open_worker(count, "a") as first, open_worker(count, "b") as second:
        for _ in range(20):
            lease = await first.keeper.reserve(budget(), 20)
            assert lease is not None
            lease.settle(20, 20)
        await until(lambda: count.total() == 400)
        assert count.held() > 0, "the first keeps a spare"
        lease = await second.keeper.reserve(budget(), 600)
        assert lease is not None and count.held() == 600
        lease.settle(600, 600)
    assert count.total() == 1000


async def test_what_others_use_is_not_waited_for_long() -> None:
    count = Count()
    async with open_worker(count, "a") as first, open_worker(count, "b") as second:
        held = await first.keeper.reserve(budget(), 900)
        assert held is not None
        started = time.monotonic()
        with pytest.raises(Denied) as refusal:
            await second.keeper.reserve(budget(), 200)
        assert time.monotonic() - started < 0.9
        assert dict(refusal.value.headers)["Retry-After"] == "1", "it passes when the other is over"
        held.settle(900, 10)
        await asyncio.sleep(0.7)
        passed = await second.keeper.reserve(budget(), 200)
        assert passed is not None
        passed.settle(200, 0)


async def test_more_than_was_foreseen_is_counted_and_stops_everybody() -> None:
    count = Count()
    async with open_worker(count, "a") as first, open_worker(count, "b") as second:
        lease = await first.keeper.reserve(budget(), 10)
        other = await second.keeper.reserve(budget(), 10)
        assert lease is not None and other is not None
        lease.settle(10, 5000)
        other.settle(10, 10)
        await asyncio.sleep(0.6)
        for worker in (first, second):
            with pytest.raises(Denied):
                await worker.keeper.reserve(budget(), 1)
        await until(lambda: count.total() == 5010 and count.held() == 0)


async def test_no_answer_is_a_refusal_and_service_comes_back_by_itself() -> None:
    count = Count(down=True)
    async with open_worker(count) as worker:
        with pytest.raises(Unavailable) as refusal:
            await worker.keeper.reserve(budget(), 10)
        assert refusal.value.code == "store_unavailable" and worker.seen.refusals == 0
        count.down = False
        lease = await worker.keeper.reserve(budget(), 10)
        assert lease is not None
        count.down = True
        lease.settle(10, 7)
        await asyncio.sleep(1.1)
        with pytest.raises(Unavailable):
            await worker.keeper.reserve(budget(), 10)  # what it had spare, it does not count on any more
        count.down = False
        await until(lambda: count.total() == 7 and count.held() == 0)


async def test_an_answer_that_is_lost_counts_nothing_twice() -> None:
    count = Count()
    async with open_worker(count) as worker:
        lease = await worker.keeper.reserve(budget(), 10)
        assert lease is not None
        lease.settle(10, 7)
        count.lost = True
        await until(lambda: count.total() == 7)
        await asyncio.sleep(0.3)
        count.lost = False
        await until(lambda: count.held() == 0)
        assert count.total() == 7


async def test_a_budget_that_is_gone_limits_nothing() -> None:
    count = Count({})
    async with open_worker(count) as worker:
        assert await worker.keeper.reserve(budget(), 10**6) is None
        count.limits["s"] = 5
        with pytest.raises(Denied):
            await worker.keeper.reserve(budget(), 10)
        worker.keeper.reload({})


async def test_a_changed_limit_is_in_force_at_once() -> None:
    count = Count()
    async with open_worker(count) as worker:
        with pytest.raises(Denied):
            await worker.keeper.reserve(budget(), 1001)
        count.limits["s"] = 2000
        worker.keeper.reload({"b": budget(limit=2000)})
        lease = await worker.keeper.reserve(budget(limit=2000), 1001)
        assert lease is not None
        lease.settle(1001, 1001)
        count.limits["s"] = 1002
        worker.keeper.reload({"b": budget(limit=1002)})
        await until(lambda: count.total() == 1001)
        with pytest.raises(Denied):
            await worker.keeper.reserve(budget(limit=1002), 2)
        assert await worker.keeper.reserve(budget(limit=1002), 1) is not None


async def test_an_exchange_counts_in_the_window_in_which_it_began() -> None:
    count = Count()
    today = int(NOON) // DAY * DAY
    async with open_worker(count) as worker:
        before = await worker.keeper.reserve(budget(), 900)
        assert before is not None
        worker.clock.time = today + DAY
        after = await worker.keeper.reserve(budget(), 800)
        assert after is not None and after is not before
        before.settle(900, 850)
        after.settle(800, 1)
        await until(lambda: count.spent == {("s", today): 850, ("s", today + DAY): 1} and count.held() == 0)


async def test_who_is_cancelled_while_waiting_leaves_nothing_set_aside() -> None:
    count = Count(slow=0.05)
    async with open_worker(count) as worker:
        asking = [asyncio.create_task(worker.keeper.reserve(budget(), 10)) for _ in range(20)]
        await asyncio.sleep(0.02)
        for task in asking[::2]:
            task.cancel()
        done = await asyncio.gather(*asking, return_exceptions=True)
        assert [isinstance(one, asyncio.CancelledError) for one in done] == [True, False] * 10
        for lease in done[1::2]:
            assert not isinstance(lease, BaseException) and lease is not None
            lease.settle(10, 0)
        await until(lambda: count.held() == 0, 3)
        assert count.total() == 0


async def test_who_is_cancelled_in_the_moment_of_being_given_gives_it_back() -> None:
    count = Count()
    async with open_worker(count) as worker:
        asking = asyncio.create_task(worker.keeper.reserve(budget(), 10))
        for _ in range(100):
            if any(held for _, held, _, _ in count.leases.values()):
                break
            await asyncio.sleep(0)
        assert count.held() > 0
        for _ in range(6):  # in whichever of the next steps of the loop it is told
            asking.cancel()
            await asyncio.sleep(0)
        assert asking.cancelled() or await asking is not None
        await until(lambda: count.held() == 0 or not asking.cancelled(), 3)


async def test_the_end_reports_and_gives_back() -> None:
    count = Count({"s": 1_000_000})
    async with open_worker(count) as worker:
        for _ in range(3):
            lease = await worker.keeper.reserve(budget(limit=1_000_000), 100)
            assert lease is not None
            lease.settle(100, 30)
    assert (count.total(), count.held()) == (90, 0)


@pytest.mark.parametrize("workers", [1, 4])
async def test_a_race_for_the_last(workers: int) -> None:
    """Exactly as many as there is room for, also when several workers hold parts of it."""
    count = Count({"s": 50})
    opened = [open_worker(count, f"w{number}") for number in range(workers)]
    running = [await one.__aenter__() for one in opened]
    rows = budget(limit=50, unit="requests")

    async def call(number: int) -> int:
        try:
            lease = await running[number % workers].keeper.reserve(rows, 1)
        except Denied:
            return 0
        assert lease is not None
        await asyncio.sleep(0.001)
        lease.settle(1, 1)
        return 1

    passed = sum(await asyncio.gather(*map(call, range(400))))
    for one in opened:
        await one.__aexit__(None, None, None)
    assert passed == count.total() == 50 and count.held() == 0
