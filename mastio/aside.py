"""Work that takes longer than others should wait, done beside the event loop: one piece of it at a time.

The work is a pure function of values. It runs in the worker's one thread for such work, so Python gives the event loop
its turn every few milliseconds (`sys.getswitchinterval`). One thread only: several would leave the loop less than half
of the time. What the function calls in C must return within a few milliseconds, since nothing interrupts that.
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
"""Bytes of text that are worked on at once, wherever there are not many values in them."""

FEW = 1000
"""Values, lines or pairs that are worked on at once: about ten milliseconds of Python."""


def is_short(raw: bytes) -> bool:
    """Whether what a text takes is nothing to wait for. Counts nothing exactly."""
    if len(raw) <= FEW:
        return True
    return len(raw) <= SHORT and sum(map(raw.count, (b",", b"[", b"{", b"\n", b"&"))) <= FEW


@cache
def _thread() -> ThreadPoolExecutor:
    """Made where it is first wanted: a process that forks must have none."""
    return ThreadPoolExecutor(1, thread_name_prefix="aside")


async def run(is_brief: bool, work: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """What `work` gives, done here where it is brief. Whoever is cancelled does not wait for it; work that has begun
    goes on to its end."""
    if is_brief:
        return work(*args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_thread(), lambda: work(*args, **kwargs))
