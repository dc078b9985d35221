"""Measures how late a worker's event loop runs its tasks, for `/metrics`.

A timer is due every `TICK` seconds. Its delay is the delay of every other task at that moment. The worst delay of the
last minute is reported once a second. A hold of the loop that is shorter than a tick may be missed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic

TICK = 0.05
MINUTE = 60


class LoopLag:
    """Calls `tell` with the worst delay of the last minute, in seconds."""

    def __init__(self, tell: Callable[[float], None]) -> None:
        self._tell = tell
        self._worst: deque[tuple[int, float]] = deque(maxlen=MINUTE + 1)
        """One pair for each second: the second (monotonic) and its worst delay."""

    def note(self, at: float, delay: float) -> None:
        """Note that the tick at the monotonic time `at` was `delay` seconds late."""
        second = int(at)
        if self._worst and self._worst[-1][0] == second:
            self._worst[-1] = (second, max(self._worst[-1][1], delay))
            return
        if self._worst:
            self._tell(max(worst for then, worst in self._worst if then >= second - MINUTE))
        self._worst.append((second, delay))

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            due = monotonic() + TICK
            await asyncio.sleep(TICK)
            now = monotonic()
            self.note(now, max(now - due, 0.0))
