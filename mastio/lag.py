"""How late a worker's event loop is: what a request that holds it costs everybody else. For `/metrics`.

A timer is due every `TICK` seconds; its delay is what any other task would have waited too. The worst of the last
minute is told once a second, so that a look every minute misses none that the timer has met. What holds the loop for
less than a tick may fall between two of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic

TICK = 0.05
MINUTE = 60


class LoopLag:
    """`tell` is given the worst delay, in seconds, of the last minute."""

    def __init__(self, tell: Callable[[float], None]) -> None:
        self._tell = tell
        self._worst: deque[tuple[int, float]] = deque(maxlen=MINUTE + 1)
        """Of each second: the second, and its worst delay."""

    def note(self, at: float, delay: float) -> None:
        """A tick, at this monotonic time, came `delay` seconds late."""
        second = int(at)
        if self._worst and self._worst[-1][0] == second:
            self._worst[-1] = (second, max(self._worst[-1][1], delay))
            return
        if self._worst:
            self._tell(max(worst for then, worst in self._worst if then >= second - MINUTE))
        self._worst.append((second, delay))

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            due = monotonic() + TICK
            await asyncio.sleep(TICK)
            now = monotonic()
            self.note(now, max(now - due, 0.0))
