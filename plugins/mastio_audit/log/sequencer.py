"""The one place where entries get their order: takes what is waiting, commits it as one batch, wakes everybody in it.

    record ─▶ waiting ─▶ batch ─▶ store.append ─▶ durable ─▶ every caller of the batch gets its index
                                       └ error ─▶ closed: everybody waiting is refused, and so is who comes later
                                                    └▶ reopen, verify, close what was cut, in service again

Nobody is answered early, and a batch takes whatever gathered while the one before was being committed, so the number
of commits does not grow with the number of callers.

The first error closes the log, because from then on it is not known what the database has. Entries of the failed batch
are never repeated: they may be there. Their exchanges were refused; what they left open is closed as `unknown` before
the log is in service again, together with an event that says so. All of this is one task, `_run`: serve, recover,
serve, …
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from mastio.exchange.errors import AuditError, ConfigurationError
from mastio.exchange.values import Entry
from mastio_audit.log import chain
from mastio_audit.log.chain import ChainError, Draft, Head, Row
from mastio_audit.log.store import AuditStore, Batch, LogReader, OpenIntent, StoreError
from mastio_audit.log.tiles import read_hash, rebuild_frontier

GATHER = 4
"""Turns of the event loop that a batch may wait for more to join."""

BATCH = 512
QUEUE = 8192
COMMIT_LIMIT = 4.5  # seconds
REOPEN_LIMIT = 5.0
RETRY_FIRST, RETRY_MOST = 0.1, 1.0  # seconds between attempts to reopen
PROBE_AFTER, PROBE_LIMIT = 1.0, 0.8  # seconds
TAIL = 1000  # entries verified whenever the log is opened

_STOPPING = "the appliance is stopping"
_log = logging.getLogger(__name__)
_FAILURES = (StoreError, ChainError, ConfigurationError, TimeoutError)


@dataclass(slots=True)
class _Intent:
    """An intent of a live exchange; `seq` is -1 until it is stamped."""

    seq: int = -1


@dataclass(slots=True)
class _Waiting:
    """A draft on its way. `intent` is the exchange's: the one this opens or closes; None for an event."""

    draft: Draft
    answer: asyncio.Future[int]
    intent: _Intent | None


class Sequencer:
    """Orders and stores the entries of one worker. All methods belong to one event loop.

    `owner` names the worker in the store. `now` is Unix time. `announce` makes the event entry of a kind: the worker
    started, the log is in service again. `history` is asked whenever the log was opened, before anything is appended;
    it raises `ChainError` for a log that is not what was told to others. `shorten` makes a long entry short.

    An exchange is live from the acceptance of its intent until its outcome is handed over; whoever recorded an intent
    records its outcome, whatever happens in between.
    """

    def __init__(
        self,
        store: AuditStore,
        owner: str,
        now: Callable[[], float],
        announce: Callable[[str], Entry],
        *,
        history: Callable[[LogReader], Awaitable[None]] | None = None,
        shorten: Callable[[Entry], Entry] | None = None,
        batch: int = BATCH,
        queue: int = QUEUE,
        commit_limit: float = COMMIT_LIMIT,
    ) -> None:
        self._store = store
        self._owner = owner
        self._now = now
        self._announce = announce
        self._history = history
        self._shorten = shorten
        self._batch = batch
        self._queue = queue
        self._commit_limit = commit_limit
        self._waiting: deque[_Waiting] = deque()
        self._committing: list[_Waiting] = []
        self._live: dict[str, _Intent] = {}
        self._known = Head()
        self._closed: str | None = "it is not open yet"
        self._stopping = False
        self._wake = asyncio.Event()
        self._probe: asyncio.Future[None] | None = None
        self._answered = 0.0
        self._task: asyncio.Task[None] | None = None

    @property
    def closed(self) -> str | None:
        """Why the log takes no entries at present, in one phrase; None: it does."""
        return self._closed

    async def ready(self) -> str | None:
        """`closed`, after asking the store itself when it has not answered for a second. Takes less than a second."""
        loop = asyncio.get_running_loop()
        if self._closed is None and loop.time() - self._answered > PROBE_AFTER:
            self._probe = self._probe or loop.create_future()
            self._wake.set()
            _, late = await asyncio.wait((self._probe,), timeout=PROBE_LIMIT)
            return "it does not answer" if late else self._closed
        return self._closed

    async def open(self, cut: Callable[[str], bool]) -> None:
        """Open the store, verify its end, close the open intents of every owner that `cut` names, and say so.

        Raises `StoreError`, `ChainError` (the log is not what was written) or `ConfigurationError`; then nothing runs.
        """
        await self._store.open()
        await self._verify_tail()
        owners = [owner for owner in await self._store.owners() if cut(owner)]
        rows = [row for owner in owners for row in await self._store.leftovers(owner)]
        await self._close_cut(rows, self._announce("appliance.start"))
        self._closed = None
        self._start()

    async def close(self) -> None:
        """Take no more entries, commit those that wait, close the store."""
        serving, self._stopping = self._closed is None, True
        self._closed = self._closed or _STOPPING
        if self._task is not None:
            if serving:
                self._wake.set()
            else:
                self._task.cancel()
            await asyncio.wait((self._task,))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._commit_limit):
                await self._store.close()

    async def record(self, entry: Entry) -> int:
        """The index of the entry, as soon as it is on stable storage. A caller that is cancelled only stops waiting.

        Raises `AuditError` when it is not known to be durable, and `ChainError` for what cannot be an entry.
        Outcomes are taken even when the queue is full: there are never more of them than live exchanges.
        """
        draft = chain.draft(entry, self._shorten)
        if self._closed is not None:
            self._forget(draft)
            raise _unavailable()
        if len(self._waiting) >= self._queue and draft.phase != "outcome":
            raise AuditError("Too many exchanges wait to be recorded.", code="overloaded")
        intent = self._admit(draft)
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(draft, answer, intent))
        self._wake.set()
        return await answer

    def _admit(self, draft: Draft) -> _Intent | None:
        """Keep every intent paired with one outcome. Raises `AuditError` for an outcome whose intent was refused."""
        if draft.phase == "event":
            return None
        if draft.phase == "outcome":
            closing = self._live.pop(draft.id, None)
            if closing is None:
                raise AuditError("The exchange has no intent on record, so its outcome has no place.")
            return closing
        if draft.id in self._live:
            raise ChainError("the exchange has an intent already")
        opening = self._live[draft.id] = _Intent()
        return opening

    def _forget(self, draft: Draft) -> None:
        """A refused outcome ends its exchange all the same: the recovery closes it as unknown."""
        if draft.phase == "outcome":
            self._live.pop(draft.id, None)

    # --- the task ------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            while not self._stopping:
                if self._closed is None:
                    self._closed = await self._serve()
                    self._refuse_waiting()
                else:
                    await self._recover()
        finally:
            self._closed = self._closed or "it met a defect"
            self._refuse_waiting()

    def _start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="audit-sequencer")
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """An undeclared exception closes the log like any failure: reopen, verify, continue."""
        if not task.cancelled() and task.exception() is not None:
            _log.critical("the audit log met a defect", exc_info=task.exception())
            if not self._stopping:
                self._start()

    async def _serve(self) -> str:
        """Commit batch after batch. Returns why it ended: a failure, or the appliance stops and nothing waits."""
        while True:
            if not self._waiting and self._probe is None:
                if self._stopping:
                    return _STOPPING
                self._wake.clear()
                await self._wake.wait()
                continue
            await self._gather()
            try:
                async with asyncio.timeout(self._commit_limit):
                    await (self._commit() if self._waiting else self._store.extent())
            except _FAILURES as error:
                _log.error("the audit log is closed: %s", _phrase(error), exc_info=error)
                return _phrase(error)
            self._answered = asyncio.get_running_loop().time()
            self._end_probe()

    async def _gather(self) -> None:
        """Let those who are about to record join the batch: wait as long as each turn of the event loop brings more.
        One sync then serves them all; a lone writer waits for one turn."""
        for _ in range(GATHER):
            before = len(self._waiting)
            await asyncio.sleep(0)
            if len(self._waiting) == before or before >= self._batch:
                return

    async def _commit(self) -> None:
        size = min(self._batch, len(self._waiting))
        batch = self._committing = [self._waiting.popleft() for _ in range(size)]
        self._known = await self._store.append(functools.partial(self._build, batch))
        self._committing = []
        for index, waiting in enumerate(batch, self._known.size - size):
            if not waiting.answer.done():
                waiting.answer.set_result(index)

    def _build(self, batch: list[_Waiting], head: Head) -> Batch:
        """Stamp the batch after `head`. Raises `ChainError` when `head` is not after all that was confirmed."""
        if head.size < self._known.size or (head.size == self._known.size and head != self._known):
            raise ChainError("the log does not hold what was confirmed")
        made = chain.append(head, [waiting.draft for waiting in batch], self._now())
        opened: dict[int, OpenIntent] = {}
        closed: list[int] = []
        for (seq, _), waiting in zip(made.rows, batch, strict=True):
            intent = waiting.intent
            if intent is None:
                continue
            if waiting.draft.phase == "intent":
                intent.seq = seq
                opened[seq] = OpenIntent(seq, waiting.draft.id, self._owner)
            elif opened.pop(intent.seq, None) is None:
                closed.append(intent.seq)
        return Batch(made.rows, made.head, made.nodes, list(opened.values()), closed)

    def _refuse_waiting(self) -> None:
        """Refuse everybody whose entry is not known to be durable; an intent among them makes no exchange live."""
        self._end_probe()
        refused = [*self._committing, *self._waiting]
        self._committing = []
        self._waiting.clear()
        for waiting in refused:
            if waiting.draft.phase == "intent":
                self._live.pop(waiting.draft.id, None)
            if not waiting.answer.done():
                waiting.answer.set_exception(_unavailable())

    def _end_probe(self) -> None:
        probe, self._probe = self._probe, None
        if probe is not None:
            probe.set_result(None)

    # --- after a failure -----------------------------------------------------------------------------------------

    async def _recover(self) -> None:
        """Try to reopen until it works or the appliance stops."""
        delay = RETRY_FIRST
        while not self._stopping:
            await asyncio.sleep(delay)
            delay = min(2 * delay, RETRY_MOST)
            try:
                async with asyncio.timeout(REOPEN_LIMIT):
                    await self._reopen()
            except _FAILURES as error:
                if self._closed != _phrase(error):
                    self._closed = _phrase(error)
                    _log.error("the audit log stays closed: %s", self._closed)
            else:
                _log.warning("the audit log is in service again")
                return

    async def _reopen(self) -> None:
        """Verify what is there, close what was cut, and be in service: the end of this is without a pause.

        While this runs nothing is accepted, but exchanges that were live before may end and become cut, so the rest
        is looked at again after each commit.
        """
        await self._store.close()
        await self._store.open()
        await self._verify_tail()
        rows = dict(await self._store.leftovers(self._owner))
        self._live = {exchange: intent for exchange, intent in self._live.items() if intent.seq in rows}
        event: Entry | None = self._announce("audit.resumed")
        while True:
            live = {intent.seq for intent in self._live.values()}
            cut = [(seq, rows.pop(seq)) for seq in sorted(rows.keys() - live)]
            if not cut and event is None:
                break
            await self._close_cut(cut, event)
            event = None
        self._closed = None

    async def _verify_tail(self) -> None:
        """Recompute the last entries, and whether the log still holds the last one that was confirmed here."""
        extent = await self._store.extent()
        head, known = extent.head, self._known
        if head is None:
            raise ChainError("the head of the log is gone", extent.end)
        if extent.end != head.size:
            raise ChainError("the head and the entries end at different places", min(extent.end, head.size))
        start, rows = await self._read_tail(head, extent.start)
        chain.verify_tail(start, rows, head)
        if head.frontier != await rebuild_frontier(self._store, head.size):
            raise ChainError("the frontier in the head is not that of the tree up to it", max(head.size - 1, 0))
        if known.size:
            confirmed = await read_hash(self._store, known.size - 1)
            if confirmed != known.last_hash:
                raise ChainError("it is not there as it was confirmed", known.size - 1)
        if self._history is not None:
            await self._history(self._store)

    async def _read_tail(self, head: Head, begins: int) -> tuple[int, Sequence[Row]]:
        """The last entries and where they begin, `begins` at the earliest. Some may be archived meanwhile."""
        while True:
            start = max(head.size - TAIL, begins)
            rows = await self._store.read(start, head.size - start)
            begins = (await self._store.extent()).start
            if begins <= start:
                return start, rows

    async def _close_cut(self, intents: Iterable[Row], event: Entry | None) -> None:
        """Store an outcome `unknown` for each of the intents, and the event."""
        closed = {seq: chain.unknown_outcome(entry) for seq, entry in intents}
        drafts = [*closed.values(), *([] if event is None else [chain.draft(event)])]

        def build(head: Head) -> Batch:
            made = chain.append(head, drafts, self._now())
            return Batch(made.rows, made.head, made.nodes, closed=list(closed))

        self._known = await self._store.append(build)


def _phrase(error: Exception) -> str:
    """Why, for operators and `/readyz`."""
    if isinstance(error, StoreError | ChainError | ConfigurationError):
        return str(error)
    return "a commit took too long"


def _unavailable() -> AuditError:
    return AuditError("The exchange cannot be recorded at present, so it is not carried out.")
