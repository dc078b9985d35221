"""Delivers the log to one sink: in order, at least once, as long as the process runs, without delaying an exchange.

The cursor moves when the sink has confirmed a batch, so a crash at any point repeats that batch and skips nothing.
After any failure the forwarder starts again after a pause that doubles up to half a minute: it opens its connections,
reads the cursor and continues. It reads the log through a connection of its own; an append never waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mastio.exchange.errors import ConfigurationError
from mastio_audit.log.chain import Row
from mastio_audit.log.store import LogReader, StoreError
from mastio_audit.sinks.cursor import Cursor
from mastio_audit.sinks.metrics import SinkMetrics
from mastio_audit.sinks.sink import Sink, SinkError

PAGE = 100
BATCH, BATCH_BYTES = 500, 1024 * 1024
"""A batch ends with the page that fills it: at most 500 entries and 8 MB."""

_FAILURES = (SinkError, StoreError, ConfigurationError)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: `look` between two looks at a log that had little new; `breath` between two batches of a catching up,
    which leaves the worker to its exchanges; `first` after a failure, doubling up to `most`."""

    look: float = 1.0
    breath: float = 0.02
    first: float = 0.5
    most: float = 30.0


class Forwarder:
    """Serves one sink. `now` is Unix time."""

    def __init__(
        self,
        name: str,
        sink: Sink,
        cursor: Cursor,
        reader: LogReader,
        figures: SinkMetrics,
        now: Callable[[], float],
        *,
        from_start: bool,
        pace: Pace = Pace(),
    ) -> None:
        self.name = name
        self._sink = sink
        self._cursor = cursor
        self._reader = reader
        self._figures = figures
        self._now = now
        self._from_start = from_start
        self._pace = pace
        self._said: str | None = None
        self._pause = self._pace.first
        self._most = BATCH
        """Entries in a batch: fewer after each failure, so that a slow receiver is not given too much for ever."""
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Find the sink's place in the log, and begin. Raises `StoreError` or `ConfigurationError`."""
        try:
            await self._reader.open()
            await self._cursor.open()
            await self._cursor.place(0 if self._from_start else (await self._reader.extent()).end)
        finally:
            await self._let_go()
        self._figures.begin(self.name)
        self._figures.arrived(self.name, self._now())
        self._begin()

    async def stop(self) -> None:
        """Stop forwarding. Undelivered entries are delivered after the next start."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))
        await self._let_go()

    # --- the task ----------------------------------------------------------------------------------------------------

    def _begin(self, pause: float = 0.0) -> None:
        self._task = asyncio.create_task(self._run(pause), name=f"audit-sink-{self.name}")
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Log an undeclared exception of the task, and treat it as a failure."""
        if not task.cancelled() and task.exception() is not None:
            _log.critical("the audit sink %s met a defect", self.name, exc_info=task.exception())
            self._figures.failed(self.name)
            if self._task is task:
                self._begin(self._pace.most)

    async def _run(self, pause: float) -> None:
        while True:
            await asyncio.sleep(pause)
            try:
                await self._serve()
            except _FAILURES as error:
                self._fail(error)
            finally:
                await self._let_go()
            pause, self._pause = self._pause, min(2 * self._pause, self._pace.most)

    async def _serve(self) -> None:
        """Deliver batch after batch, until something fails."""
        await self._reader.open()
        while not await self._cursor.open():
            await self._look()  # another appliance delivers; its lag is everybody's
            await asyncio.sleep(self._pace.look)
        while True:
            index, end = await self._look()
            if end < index:
                index = await self._go_back(index, end)
            rows, full = await self._gather(index)
            if rows:
                await self._notice_gap(index, rows)
                await self._sink.deliver(rows)
                await self._cursor.move(rows[-1][0] + 1)
                self._figures.delivered(self.name, len(rows))
                self._figures.arrived(self.name, self._now())
                self._succeed()
            await asyncio.sleep(self._pace.breath if full else self._pace.look)

    async def _look(self) -> tuple[int, int]:
        """The next index and the end of the log, measured on the way. Raises `StoreError`."""
        index = await self._cursor.read()
        if index is None:
            raise StoreError("its cursor is gone")
        end = (await self._reader.extent()).end
        self._figures.measured(self.name, max(end - index, 0))
        if end == index:
            self._figures.arrived(self.name, self._now())
        return index, end

    async def _gather(self, index: int) -> tuple[list[Row], bool]:
        """The next batch, and whether more may follow at once."""
        rows: list[Row] = []
        size = 0
        while len(rows) < self._most and size < BATCH_BYTES:
            limit = min(PAGE, self._most - len(rows))
            page = await self._reader.read(index, limit)
            rows += page
            size += sum(len(entry) for _, entry in page)
            if len(page) < limit:
                return rows, False
            index = page[-1][0] + 1
        return rows, True

    async def _go_back(self, index: int, end: int) -> int:
        """Move the cursor back to the end of a log that is shorter than the part delivered: it was restored from a
        backup, or cut. Entries from there on are new."""
        _log.critical("the audit log ends at %d, but the sink %s was given %d entries", end, self.name, index)
        self._figures.failed(self.name)
        await self._cursor.move(end)
        return end

    async def _notice_gap(self, index: int, rows: Sequence[Row]) -> None:
        """Report entries that are missing between the cursor and the rows. Archived ones are a warning and no
        damage."""
        if rows[-1][0] + 1 - index == len(rows):
            return
        begins = (await self._reader.extent()).start
        if index < begins:
            _log.warning("the audit sink %s gets no entries before %d: they are archived", self.name, begins)
            index = begins
        here = [seq for seq, _ in rows if seq >= index]
        if here and here[-1] + 1 - index != len(here):
            _log.critical("the audit log lacks entries after index %d; run `mastio audit verify`", index)
            self._figures.failed(self.name)

    # --- how it goes -------------------------------------------------------------------------------------------------

    def _fail(self, error: Exception) -> None:
        self._figures.failed(self.name)
        self._most = max(self._most // 4, 1)
        if self._said != str(error):
            self._said = str(error)
            _log.warning("the audit sink %s gets nothing: %s", self.name, error)

    def _succeed(self) -> None:
        self._pause = self._pace.first
        self._most = min(2 * self._most, BATCH)
        if self._said is not None:
            self._said = None
            _log.warning("the audit sink %s is served again", self.name)

    async def _let_go(self) -> None:
        await self._sink.close()
        await self._cursor.close()
        await self._reader.close()
