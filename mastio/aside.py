"""Runs long work in a thread beside the event loop, one piece of work at a time.

The work is a pure function of values. Python switches between the thread and the event loop every few milliseconds
(`sys.getswitchinterval`). A worker has one such thread: several threads would leave the loop less than half of the
time. Each call of C code in the work must return within a few milliseconds, because nothing interrupts it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

SHORT = 16 * 1024
"""Bytes of a text that counts as short, unless it has more than `FEW` values."""

FEW = 1000
"""Values, lines or pairs of a short text. This many take about ten milliseconds of Python."""


def is_short(raw: bytes) -> bool:
    """Whether the work on a text is short enough for the event loop. The count of values is an upper bound."""
    if len(raw) <= FEW:
        return True
    return len(raw) <= SHORT and sum(map(raw.count, (b",", b"[", b"{", b"\n", b"&"))) <= FEW


@cache
def _thread() -> ThreadPoolExecutor:
    """The thread, started at first use: a process that forks must not have threads."""
    return ThreadPoolExecutor(1, thread_name_prefix="aside")


async def run(is_brief: bool, work: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Returns the result of `work`, and raises its errors. Brief work runs at once, in the event loop. A cancelled
    caller stops waiting; work that has begun runs to its end."""
    if is_brief:
        return work(*args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_thread(), lambda: work(*args, **kwargs))
