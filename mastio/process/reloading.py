"""Reloads the edge without cutting a connection that is in use. Standard library only, for the supervisor.

When nginx reloads, its old workers cut the connections that are idle at that moment: a request that is just on its way
there is lost. HTTP/2 has GOAWAY for that. Over HTTP/1.1 the edge says `Connection: close` with every answer for some
seconds before (RFC 9112 §9.6), as long as the file `run/edge-closing` is there: so whoever is busy has moved to a new
connection, and in the end to a new worker. Only a connection that nobody used in these seconds is still cut.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

ASK_SECONDS = 2.0
"""Seconds before the reload during which clients are asked to close their connections."""

TELL_SECONDS = 0.5
"""Between the moment that new workers run and that the old ones have surely been told: nginx waits 0.1 s."""

RELOADED_WITHIN = 10.0
"""After that nginx has refused what it was to load, and goes on as before."""


class EdgeReload:
    """`begin` one; `step` is called several times a second and does what is due. Times are monotonic seconds."""

    def __init__(self, closing: Path) -> None:
        self._closing = closing
        self._reload_at: float | None = None
        self._end_at: float | None = None
        self._workers: frozenset[str] = frozenset()
        self.was_refused = False
        """True if nginx refused the configuration of the last reload."""
        closing.unlink(missing_ok=True)

    @property
    def is_busy(self) -> bool:
        """True while a reload is in progress."""
        return self._reload_at is not None or self._end_at is not None

    def begin(self, now: float) -> None:
        """Reload in a while. One that is not sent yet will load this change too; to begin it again could go on for
        ever, as changes come."""
        self._closing.touch()
        self._end_at = None
        if self._reload_at is None:
            self._reload_at = now + ASK_SECONDS

    def step(self, now: float, edge: subprocess.Popen[bytes]) -> None:
        if self._reload_at is not None and now >= self._reload_at:
            self._workers = _children(edge.pid)
            edge.send_signal(signal.SIGHUP)
            self._reload_at, self._end_at = None, now + RELOADED_WITHIN
            return
        if self._end_at is None:
            return
        if self._workers and _children(edge.pid) - self._workers:
            self._workers, self._end_at = frozenset(), now + TELL_SECONDS
        if now >= self._end_at:
            self._end_at, self.was_refused = None, bool(self._workers)
            self._closing.unlink(missing_ok=True)


def _children(pid: int) -> frozenset[str]:
    try:
        return frozenset(Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split())
    except OSError:
        return frozenset()
