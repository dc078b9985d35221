"""Signs of life of this host's processes, in the memory that they share.

Each process writes the time into a word of its own, several times a second, from its event loop. Control also writes
its problems into a file in `run/`, so that a worker can report them in its answer to `/readyz`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from time import monotonic

from mastio.host.host_memory import GONE_SECONDS, LIVENESS, HostMemory
from mastio.host.metrics import MeasuredGauge
from mastio.settings import CONTROL_SLOT

EVERY = 0.25
"""Seconds between two signs of life."""

PROBLEMS_EVERY = 0.5
"""Seconds between two checks of control's own problems."""


def process_name(slot: int) -> str:
    """`control`, or `worker-N`: the name of a process in `run/`, in logs and in figures."""
    return "control" if slot == CONTROL_SLOT else f"worker-{slot}"


class Liveness:
    """The signs of life of this host's processes. `slots` are those of the workers."""

    def __init__(self, host: HostMemory, slots: Iterable[int], clock: Callable[[], float] = monotonic) -> None:
        self._words = host.words
        self._slots = (CONTROL_SLOT, *slots)
        self._clock = clock

    def sign(self, slot: int) -> None:
        """Give a sign of life for the process of this slot."""
        self._words[LIVENESS + slot] = int(self._clock() * 1000)

    def is_alive(self, slot: int) -> bool:
        """True if the process of this slot has given a sign of life in the last `GONE_SECONDS`."""
        at = self._words[LIVENESS + slot] / 1000
        return at > 0 and self._clock() - at < GONE_SECONDS

    async def run(self, slot: int) -> None:
        """Give signs of life until cancelled."""
        while True:
            self.sign(slot)
            await asyncio.sleep(EVERY)

    def measure(self) -> Iterable[MeasuredGauge]:
        """The gauge for `/metrics`."""
        yield MeasuredGauge(
            "mastio_process_up",
            "1 while a process of the appliance gives signs of life.",
            ("process",),
            tuple(((process_name(slot),), float(self.is_alive(slot))) for slot in self._slots),
        )


class ControlState:
    """The state of control in a file: control writes its problems, the workers read them."""

    def __init__(self, data: Path, liveness: Liveness) -> None:
        self._file = data / "run" / "control-problems"
        self._liveness = liveness

    async def ready(self) -> str | None:
        """The problem of control for `/readyz` of a worker; None if there is none."""
        if not self._liveness.is_alive(CONTROL_SLOT):
            return "control: it does not run"
        try:
            problems = self._file.read_text("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return "control: what it says of itself cannot be read"
        return f"control: {problems}"

    async def publish(self, find_problems: Callable[[], Awaitable[list[str]]]) -> None:
        """Write the problems of control until cancelled. Without a problem there is no file."""
        written: list[str] | None = None
        while True:
            problems = await find_problems()
            if problems != written:
                with contextlib.suppress(OSError):
                    self._write(problems)
                    written = problems
            await asyncio.sleep(PROBLEMS_EVERY)

    def _write(self, problems: list[str]) -> None:
        if not problems:
            self._file.unlink(missing_ok=True)
            return
        draft = self._file.with_name(f"{self._file.name}.new")
        draft.write_text("; ".join(problems), "utf-8")
        draft.replace(self._file)
