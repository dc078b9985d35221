"""The worst delay of the event loop in the last minute."""

from __future__ import annotations

import asyncio
from time import monotonic

from mastio.host.lag import MINUTE, TICK, LoopLag
from mastio.host.metrics import Telemetry


def test_the_worst_of_the_last_minute_is_told_once_a_second() -> None:
    told: list[float] = []
    lag = LoopLag(told.append)
    lag.note(0.0, 0.001)
    lag.note(0.5, 0.2)
    assert told == []
    lag.note(1.0, 0.003)
    assert told == [0.2]
    for second in range(2, MINUTE + 2):
        lag.note(float(second), 0.004)
    assert told[-2:] == [0.2, 0.004]


async def test_a_loop_that_is_held_is_late() -> None:
    told: list[float] = []
    running = asyncio.create_task(LoopLag(told.append).run())
    await asyncio.sleep(0)  # it waits for its first tick now
    ends = monotonic() + 2 * TICK + 1
    while monotonic() < ends:
        pass
    for _ in range(400):
        if told and max(told) >= 1:
            break
        await asyncio.sleep(TICK)
    running.cancel()
    assert max(told) >= 1


def test_the_figure_names_the_worker() -> None:
    telemetry = Telemetry()
    telemetry.lag("3", 0.25)
    assert b'mastio_event_loop_lag_seconds{worker="3"} 0.25\n' in telemetry.render()
