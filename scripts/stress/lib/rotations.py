"""Rotates the appliance's keys while a load runs, as an operator does: by `mastio keys rotate`."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

TIMES = {"token": 1 / 6, "intermediate": 5 / 12, "edge": 2 / 3}
"""When each key is rotated, as a share of the run: in 60 s, at 10, 25 and 40 s."""

COMMAND_SECONDS = 30.0


class Rotations:
    """A thread of its own during a `with` block. `done` says which key was rotated when, in seconds from the start."""

    def __init__(self, data: Path, seconds: float) -> None:
        self._data = data
        self._seconds = seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.done: dict[str, float] = {}
        self.failures: list[str] = []

    def __enter__(self) -> Rotations:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        missing = TIMES.keys() - self.done.keys()
        if missing and not self.failures:
            self.failures.append(f"the load ended before these keys were rotated: {', '.join(sorted(missing))}")

    def _run(self) -> None:
        started = time.monotonic()
        for name, share in TIMES.items():
            if self._ended.wait(max(0.0, started + share * self._seconds - time.monotonic())):
                return
            self._rotate(name)
            self.done[name] = round(time.monotonic() - started, 2)

    def _rotate(self, name: str) -> None:
        command = [sys.executable, "-m", "mastio", "keys", "rotate", name, "--data", str(self._data)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            self.failures.append(f"mastio keys rotate {name} took more than {COMMAND_SECONDS:.0f} s")
            return
        if done.returncode != 0:
            self.failures.append(f"mastio keys rotate {name} ended with {done.returncode}: {done.stderr.strip()[:300]}")
