"""Tells the edge whether control is down: a file in `edge/`, at which it looks. Standard library only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mastio.host.host_memory import GONE_SECONDS

WITHIN = 3.0
"""Seconds in which control is replaced. Until then its callers wait for it."""


def find_file(data: Path) -> Path:
    """The file that is there while control is down."""
    return data / "edge" / "control-down"


class ControlDown:
    """The file `edge/control-down`: it is there while control is down for longer than its replacement takes. An edge in
    a container of its own sees this folder, too."""

    def __init__(self, data: Path, say: Callable[[str], None]) -> None:
        self._ready = data / "run" / "control.ready"
        self._file = find_file(data)
        self._say = say
        self._ready_at = 0.0
        self._is_down = False

    def begin(self, now: float, seconds: float) -> None:
        """Control is about to be started for the first time, which may take so many seconds."""
        self._ready_at = now + seconds - WITHIN
        self.remove()

    def look(self, now: float, *, is_running: bool, signed_at: float) -> None:
        """Call several times a second, with the monotonic time and that of control's last sign of life: a process that
        runs and stands still is down as well. Raises nothing but `OSError`."""
        if is_running and now - signed_at < GONE_SECONDS and self._ready.exists():
            self._ready_at = now
        is_down = now - self._ready_at > WITHIN
        if is_down == self._is_down:
            return
        if is_down:
            self._file.touch()
            self._say("control is down: administration and enrolment are refused until it is back")
        else:
            self.remove()
            self._say("control is back")
        self._is_down = is_down

    def remove(self) -> None:
        """Control is not down, or nobody is to be told any more."""
        self._file.unlink(missing_ok=True)
