"""Measures the CPU cost of work, to compare the cost of a long input with the cost of a short one."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import thread_time
from typing import Any

LINEAR = 25
"""Highest cost of a ten times longer input. A hundred would be quadratic; caches make ten a little more."""


def cost(work: Callable[[], Any]) -> float:
    """CPU seconds of this thread, the better of two runs. The garbage collector is off: its share depends on everything
    that the test process has in memory."""
    best = float("inf")
    for _ in range(2):
        gc.disable()
        try:
            started = thread_time()
            work()
            best = min(best, thread_time() - started)
        finally:
            gc.enable()
    return best


def verify_linear(little: Callable[[], Any], much: Callable[[], Any]) -> None:
    """`much` is `little` with ten times the input. Raises `AssertionError` when its cost grows faster than linearly."""
    small, large = cost(little), cost(much)
    assert large < LINEAR * max(small, 0.0005), f"{small * 1e3:.1f} ms became {large * 1e3:.1f} ms"
