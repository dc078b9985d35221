"""Long work leaves the event loop its turn; short work takes no detour."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import threading
import weakref
from time import monotonic, thread_time
from typing import Any

import pytest

from mastio.exchange.errors import BadRequest, Unavailable
from mastio.host import aside


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


async def test_the_loop_interrupts_long_work_soon() -> None:
    await aside.run(False, threading.get_ident)
    assert sys.getswitchinterval() == pytest.approx(aside.SWITCH_SECONDS)


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


def as_caller(name: str, work: Any, *args: Any, kind: aside.Kind = "agent") -> asyncio.Task[Any]:
    """Long work of a caller, asked for in a context of its own as each exchange has one."""

    async def ask() -> Any:
        aside.serve(kind, name)
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


async def test_an_agent_named_like_an_admin_has_a_turn_of_its_own() -> None:
    gate = Gate()
    first = as_caller("root", gate.wait)
    await asyncio.sleep(0)
    agents = [as_caller("root", gate.note, "agent") for _ in range(20)]
    await asyncio.sleep(0)
    others = [as_caller("root", gate.note, kind, kind=kind) for kind in ("person", "network")]
    await asyncio.sleep(0)
    gate.opened.set()
    await asyncio.gather(first, *agents, *others)
    assert set(gate.order[:4]) >= {"person", "network"}, gate.order


def spin(gate: Gate, name: str, seconds: float) -> None:
    ends = thread_time() + seconds
    while thread_time() < ends:
        sum(range(100))
    gate.note(name)


async def in_pieces(gate: Gate, name: str, pieces: int, seconds: float) -> None:
    """Work of which each piece is asked for when the one before is done, as the looks through a long text are."""
    aside.serve("agent", name)
    for _ in range(pieces):
        await aside.run(False, spin, gate, name, seconds)


async def test_short_pieces_do_not_each_wait_for_a_long_one() -> None:
    """Equal parts of the time, not of the turns: one kind of work does not starve another kind."""
    gate = Gate()
    greedy = [as_caller("greedy", spin, gate, "greedy", 0.1) for _ in range(6)]
    await asyncio.sleep(0)
    await asyncio.create_task(in_pieces(gate, "alice", 10, 0.005))
    assert gate.order.count("greedy") <= 2, gate.order
    await asyncio.gather(*greedy)


async def test_who_had_nothing_to_do_saves_no_time_up() -> None:
    gate = Gate()
    await asyncio.create_task(in_pieces(gate, "bob", 10, 0.01))
    both = [asyncio.create_task(in_pieces(gate, name, 20, 0.002)) for name in ("alice", "bob")]
    await asyncio.gather(*both)
    firsts = gate.order[10:30]
    assert 5 <= firsts.count("bob") <= 15, gate.order


async def test_times_of_few_callers_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "MOST_REMEMBERED", 10)
    gate = Gate()
    turns = aside._turns_here()
    always = asyncio.create_task(in_pieces(gate, "alice", 60, 0.0001))
    for n in range(50):
        await as_caller(f"agent-{n}", gate.note, "x")
        assert len(turns._times) <= 15
    await always
    await asyncio.sleep(0.01)
    assert not turns._times, "when nobody waits, nothing is remembered"


class Body:
    """Something that can be referred to weakly."""


async def test_a_refusal_keeps_nothing_that_only_the_collector_frees() -> None:
    """Otherwise bodies of a megabyte pile up until the collector of garbage runs."""

    def refuse(body: bytes) -> None:
        raise BadRequest("No.")

    async def ask() -> weakref.ref[Body]:
        body = Body()
        with contextlib.suppress(BadRequest):
            await aside.run(False, refuse, body)
        return weakref.ref(body)

    gc.collect()
    gc.disable()
    try:
        kept = [await asyncio.create_task(ask()) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert [one() for one in kept[:2]] == [None, None]  # the thread may still hold the last one
    finally:
        gc.enable()
