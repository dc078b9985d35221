"""Measures for how much processor time single callbacks hold the event loop. Other threads do not count."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from time import thread_time
from typing import Any

MOST_HOLD = 0.05
"""Seconds: what no request may exceed, whatever its bytes."""


class Holds:
    """`worst` in seconds."""

    def __init__(self) -> None:
        self.worst = 0.0


@contextmanager
def watch_holds() -> Iterator[Holds]:
    """Watches every callback of the event loops of this process."""
    holds, run = Holds(), asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> Any:
        began = thread_time()
        try:
            return run(handle)
        finally:
            holds.worst = max(holds.worst, thread_time() - began)

    gc.disable()  # a collection takes as long as everything in the test process is large
    asyncio.Handle._run = timed  # type: ignore[method-assign]
    try:
        yield holds
    finally:
        asyncio.Handle._run = run  # type: ignore[method-assign]
        gc.enable()


async def worst_hold(work: Callable[[], Awaitable[Any]], times: int = 2) -> float:
    """The better of several runs: the machine disturbs, and never helps."""
    best = float("inf")
    for _ in range(times):
        with watch_holds() as holds:
            await asyncio.create_task(_awaited(work))
        best = min(best, holds.worst)
    return best


async def _awaited(work: Callable[[], Awaitable[Any]]) -> None:
    await work()
