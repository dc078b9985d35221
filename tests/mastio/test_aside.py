"""Long work leaves the event loop its turn; short work takes no detour."""

from __future__ import annotations

import asyncio
import threading
from time import monotonic
from typing import Any

import pytest

from mastio import aside
from mastio.errors import BadRequest, Unavailable


def wait_for_the_loop(told: threading.Event) -> bool:
    """Busy until somebody else says so: nobody could, if this held the loop."""
    ends = monotonic() + 30
    while not told.is_set() and monotonic() < ends:
        sum(range(1000))
    return told.is_set()


async def test_the_loop_goes_on_while_long_work_is_done() -> None:
    told = threading.Event()
    asyncio.get_running_loop().call_later(0.01, told.set)
    assert await aside.run(False, wait_for_the_loop, told)


async def test_short_work_is_done_at_once() -> None:
    assert await aside.run(True, threading.get_ident) == threading.get_ident()
    assert await aside.run(False, threading.get_ident) != threading.get_ident()


async def test_one_piece_of_long_work_at_a_time() -> None:
    threads = {await found for found in [aside.run(False, threading.get_ident) for _ in range(5)]}
    assert len(threads) == 1


@pytest.mark.parametrize("is_brief", [True, False])
async def test_what_it_raises_is_raised(is_brief: bool) -> None:
    def refuse() -> None:
        raise BadRequest("No.")

    with pytest.raises(BadRequest):
        await aside.run(is_brief, refuse)


@pytest.mark.parametrize(
    ("raw", "is_short"),
    [
        (b"", True),
        (b"x" * aside.SHORT, True),
        (b"x" * (aside.SHORT + 1), False),
        (b"{}" * aside.FEW, True),
        (b"{}," * aside.FEW, False),
        (b"a&" * (aside.FEW + 1), False),
        (b"\n" * (aside.FEW + 1), False),
    ],
)
def test_what_is_short(raw: bytes, is_short: bool) -> None:
    assert aside.is_short(raw) == is_short


def as_caller(name: str, work: Any, *args: Any) -> asyncio.Task[Any]:
    """Long work of a caller, asked for in a context of its own as each exchange has one."""

    async def ask() -> Any:
        aside.serve(name)
        return await aside.run(False, work, *args)

    return asyncio.create_task(ask())


class Gate:
    """Work that ends when it is told to, and keeps the order in which work was done."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.order: list[str] = []

    def wait(self) -> None:
        assert self.opened.wait(30)

    def note(self, name: str) -> None:
        self.order.append(name)


async def test_callers_take_turns() -> None:
    gate = Gate()
    first = as_caller("greedy", gate.wait)
    await asyncio.sleep(0)
    greedy = [as_caller("greedy", gate.note, "greedy") for _ in range(20)]
    await asyncio.sleep(0)
    others = [as_caller(name, gate.note, name) for name in ("alice", "bob")]
    await asyncio.sleep(0)
    gate.opened.set()
    await asyncio.gather(first, *greedy, *others)
    assert set(gate.order[:4]) >= {"alice", "bob"}, gate.order
    assert gate.order.count("greedy") == 20


async def test_so_much_work_of_one_caller_waits_and_no_more() -> None:
    gate = Gate()
    tasks = [as_caller("greedy", gate.wait)]
    await asyncio.sleep(0)
    tasks += [as_caller("greedy", gate.note, "greedy") for _ in range(aside.MOST_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await as_caller("greedy", gate.note, "too much")
    other = as_caller("alice", gate.note, "alice")
    await asyncio.sleep(0)
    gate.opened.set()
    await asyncio.gather(*tasks, other)
    assert "too much" not in gate.order and "alice" in gate.order


async def test_work_that_nobody_waits_for_is_not_begun() -> None:
    gate = Gate()
    first = as_caller("alice", gate.wait)
    await asyncio.sleep(0)
    gone = as_caller("alice", gate.note, "gone")
    kept = as_caller("alice", gate.note, "kept")
    await asyncio.sleep(0)
    gone.cancel()
    gate.opened.set()
    await asyncio.gather(first, kept)
    assert gate.order == ["kept"]


async def test_a_cancelled_caller_does_not_stop_the_turns() -> None:
    gate = Gate()
    first = as_caller("alice", gate.wait)
    await asyncio.sleep(0.01)
    first.cancel()
    kept = as_caller("bob", gate.note, "kept")
    await asyncio.sleep(0)
    gate.opened.set()
    await asyncio.wait_for(kept, 30)
