"""Brings the newest checkpoint to one place every so often, for as long as the worker runs, and in nobody's way.

A place that fails is tried again after a pause that doubles up to five minutes. What is handed over is always the
newest checkpoint: it stands for all before it, so nothing has to be made up for. The log is read through a connection
of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from mastio.exchange.errors import ConfigurationError
from mastio_audit.anchors.metrics import AnchorMetrics
from mastio_audit.anchors.target import AnchorError, AnchorTarget
from mastio_audit.log.chain import ChainError
from mastio_audit.log.store import LogReader, StoreError

_FAILURES = (AnchorError, StoreError, ChainError, ConfigurationError)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: `first` after a failure, doubling up to `most`."""

    first: float = 1.0
    most: float = 300.0


class Publisher:
    """Serves one place. `every` in seconds, `now` is Unix time."""

    def __init__(
        self,
        name: str,
        place: AnchorTarget,
        reader: LogReader,
        figures: AnchorMetrics,
        now: Callable[[], float],
        every: float,
        pace: Pace = Pace(),
    ) -> None:
        self.name = name
        self._place = place
        self._reader = reader
        self._figures = figures
        self._now = now
        self._every = every
        self._pace = pace
        self._said: str | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._figures.begin(self.name, self._every, self._now())
        self._begin()

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))
        await self._place.close()
        await self._reader.close()

    def _begin(self, pause: float = 0.0) -> None:
        self._task = asyncio.create_task(self._run(pause), name=f"audit-anchor-{self.name}")
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Log an undeclared exception of the task, and treat it as a failure."""
        if not task.cancelled() and task.exception() is not None:
            _log.critical("the audit anchor %s met a defect", self.name, exc_info=task.exception())
            self._figures.failed(self.name)
            if self._task is task:
                self._begin(self._pace.most)

    async def _run(self, pause: float) -> None:
        following = self._pace.first
        while True:
            await asyncio.sleep(pause)
            try:
                await self._turn()
            except _FAILURES as error:
                self._fail(error)
                await self._place.close()
                pause, following = following, min(2 * following, self._pace.most)
            else:
                pause, following = self._every, self._pace.first
            finally:
                await self._reader.close()

    async def _turn(self) -> None:
        """Hand over the newest checkpoint, unless the place has it or another process hands over."""
        if not await self._place.lead():
            self._figures.kept(self.name, await self._place.size(), self._now())
            return
        await self._reader.open()
        head = (await self._reader.extent()).head
        if head is None or head.size == 0:
            return
        if await self._place.size() != head.size:
            await self._place.keep(head)
        self._figures.kept(self.name, head.size, self._now())
        self._succeed()

    def _fail(self, error: Exception) -> None:
        self._figures.failed(self.name)
        if self._said != str(error):
            self._said = str(error)
            _log.warning("the audit anchor %s takes no checkpoint: %s", self.name, error)

    def _succeed(self) -> None:
        if self._said is not None:
            self._said = None
            _log.warning("the audit anchor %s takes checkpoints again", self.name)
