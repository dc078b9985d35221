"""Long work leaves the event loop its turn; short work takes no detour."""

from __future__ import annotations

import asyncio
import threading
from time import monotonic

import pytest

from mastio import aside
from mastio.errors import BadRequest


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
