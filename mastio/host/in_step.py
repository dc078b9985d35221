"""Keeps the hot copies of a host's processes in step: a change that was confirmed is in force at every worker.

A process that has put a revision in force, most often control, writes its number into the memory of the host. A process
that is behind looks at the database before it serves the next request, instead of a quarter of a second later.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from mastio.host.host_memory import REVISION, Busy, HostMemory

PATIENCE = 1.0
"""Seconds that a request waits for a look at the database. On a busy machine a look may take part of that."""

PAUSE = 3.0
"""Seconds from a failed try to the next one. The directory's own looks go on meanwhile."""


class Copy(Protocol):
    """A process's copy of the control plane's state (`mastio.store.hot`)."""

    @property
    def in_force(self) -> int:
        """The latest revision that is completely in the copy."""

    async def refresh(self) -> None:
        """Read what has changed from the database."""

    def when_in_force(self, callback: Callable[[], None]) -> None:
        """Call `callback` when another revision is in force."""


class InStep:
    """The revision that the host has reached, and the hot copy of one process."""

    def __init__(self, directory: Copy, host: HostMemory, clock: Callable[[], float] = monotonic) -> None:
        self._directory = directory
        self._host = host
        self._clock = clock
        self._again_at = 0.0
        directory.when_in_force(self._publish)
        self._publish()

    @property
    def is_behind(self) -> bool:
        """True if another process has put a later revision in force."""
        return self._host.words[REVISION] > self._directory.in_force

    async def catch_up(self) -> None:
        """Look at the database now. Return after `PATIENCE` at the latest; if the database does not answer, the last
        copy stays."""
        if self._clock() < self._again_at:
            return
        wanted = self._host.words[REVISION]
        look = asyncio.ensure_future(self._directory.refresh())
        await asyncio.wait({look}, timeout=PATIENCE)
        if not look.done() or look.exception() is not None:  # the directory's own looks say what is wrong
            look.cancel()
            self._again_at = self._clock() + PAUSE
        elif self._directory.in_force < wanted:
            self._take_back(wanted)

    def _take_back(self, revision: int) -> None:
        """Lower the published revision if the database does not have it, because an older database was put in place. A
        revision published since then stays."""
        with contextlib.suppress(Busy), self._host:
            if self._host.words[REVISION] == revision:
                self._host.words[REVISION] = self._directory.in_force

    def _publish(self) -> None:
        with contextlib.suppress(Busy), self._host:  # the others look by themselves, too
            words = self._host.words
            words[REVISION] = max(words[REVISION], self._directory.in_force)
