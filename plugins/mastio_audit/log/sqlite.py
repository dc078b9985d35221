"""The log in one SQLite file, through `apsw`, whose bundled SQLite is new enough to be trusted with it.

WAL with `synchronous=FULL`: each commit syncs the log file of SQLite before it returns. SQLite before 3.51.3 can lose
a commit when one connection restarts the WAL while another writes; such a version is refused.

Where the commit runs: in the event loop where no other worker has short calls, and syncing is fast, which is measured
when the file is opened; else, and for good after one slow commit, in one thread. A thread costs about 50 µs a batch; a
slow sync in the event loop would stop everything else in the worker.

After a failed sync the kernel forgets which pages it could not write, and SQLite acknowledges later commits that rest
on them. So the sequencer closes the store on the first error, and `open` moves everything from the WAL to the database
file, syncs that, and starts an empty WAL, before the sequencer verifies what is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import apsw

from mastio.exchange.errors import ConfigurationError
from mastio_audit.log.chain import Head, Row
from mastio_audit.log.store import BUNDLE, FORMAT, Build, DamageError, Extent, Space, StoreError, join, split
from mastio_primitives.transparency.merkle import Node

OLDEST_SQLITE = (3, 51, 3)
FAST_SYNC = 0.0005  # seconds, median
SLOW_COMMIT = 0.05  # seconds
INLINE_PATIENCE = 0.02  # seconds to wait for another's lock in the event loop
PATIENCE = 3.0  # the same in the thread
_PROBES = 9
_FULL = "the disk of the audit database is full"
_IMMUTABLE = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI

_SCHEMA = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS entries (seq INTEGER PRIMARY KEY, entry BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS open_intents (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, owner TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS nodes (
    level INTEGER NOT NULL, idx INTEGER NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (level, idx)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS archived (idx INTEGER PRIMARY KEY, hashes BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS head (
    one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, size INTEGER NOT NULL, last_hash BLOB NOT NULL,
    frontier BLOB NOT NULL
);
INSERT INTO head SELECT 1, ?, 0, zeroblob(32), zeroblob(0)
    WHERE NOT EXISTS (SELECT 1 FROM head) AND NOT EXISTS (SELECT 1 FROM entries);
COMMIT;
"""
_FIND = "SELECT seq, entry FROM entries WHERE seq >= ? AND seq < ?{} ORDER BY seq {} LIMIT ?"
_PAGES = "SELECT page_count, freelist_count, page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
_EXTENT = """
SELECT size, last_hash, frontier, format, (SELECT max(seq) FROM entries), {}
FROM (SELECT 1) LEFT JOIN head
"""
_ARCHIVED = "(SELECT max(idx) + 1 FROM archived)"
_HAS_ARCHIVED = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'archived'"

_log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")


class _Busy(StoreError):
    """Another connection holds the write lock. Nothing was begun."""


class SqliteReader:
    """Reads the file without writing to it. See `LogReader`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: apsw.Connection | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="audit-sqlite")
        self._deadline = 0.0
        self._has_archived = False

    async def open(self) -> None:
        await self._run(self._open)

    async def extent(self) -> Extent:
        return await self._run(self._extent)

    async def read(self, start: int, limit: int) -> Sequence[Row]:
        query = "SELECT seq, entry FROM entries WHERE seq >= ? ORDER BY seq LIMIT ?"
        return await self._run(self._rows, query, start, limit)

    async def find(self, within: range, limit: int, contained: Sequence[bytes], newest_first: bool) -> Sequence[Row]:
        conditions = " AND instr(entry, ?) > 0" * len(contained)
        query = _FIND.format(conditions, "DESC" if newest_first else "ASC")
        return await self._run(self._rows, query, within.start, within.stop, *contained, limit)

    async def nodes(self, level: int, start: int, limit: int) -> Sequence[Node]:
        query = "SELECT level, idx, hash FROM nodes WHERE level = ? AND idx >= ? ORDER BY idx LIMIT ?"
        return [Node(*row) for row in await self._run(self._rows, query, level, start, limit)]

    async def archived(self, index: int) -> bytes | None:
        return await self._run(self._archived, index)

    async def space(self) -> Space:
        return await self._run(self._space)

    async def close(self) -> None:
        await self._run(self._close)

    async def _run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """In the store's own thread, one after the other. An abandoned call is finished before the next begins."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: function(*args, **kwargs))

    def _open(self) -> None:
        if not self._path.is_file():
            raise StoreError("there is no audit log")
        try:
            self._connect(os.fspath(self._path), apsw.SQLITE_OPEN_READONLY)
            self._rows("SELECT 1 FROM head")
        except StoreError:
            if not _is_unwritable(self._path):
                raise
            self._connect(f"{self._path.absolute().as_uri()}?immutable=1", _IMMUTABLE)

    def _connect(self, name: str, flags: int) -> apsw.Connection:
        if tuple(map(int, apsw.sqlite_lib_version().split("."))) < OLDEST_SQLITE:
            oldest = ".".join(map(str, OLDEST_SQLITE))
            raise ConfigurationError(
                f"SQLite {apsw.sqlite_lib_version()} can lose commits in WAL mode.",
                f"Install an apsw that bundles SQLite {oldest} or newer.",
            )
        self._close()
        try:
            self._connection = apsw.Connection(name, flags=flags)
        except apsw.Error as error:
            raise _store_error(error) from error
        self._connection.set_busy_handler(self._wait)
        return self._connection

    def _wait(self, _count: int) -> bool:
        """SQLite's busy handler: short sleeps, because the lock is held for about a millisecond at a time."""
        time.sleep(0.0005)
        return time.monotonic() < self._deadline

    def _require(self, patience: float = PATIENCE) -> apsw.Connection:
        if self._connection is None:
            raise StoreError("the log is not open")
        self._deadline = time.monotonic() + patience
        return self._connection

    def _rows(self, query: str, *parameters: int | str | bytes) -> list[Any]:
        connection = self._require()
        try:
            return connection.execute(query, parameters).fetchall()
        except apsw.Error as error:
            raise _store_error(error) from error

    def _extent(self) -> Extent:
        connection = self._require()
        try:
            rows: list[Any] = connection.execute(_EXTENT.format(_ARCHIVED if self._find_archived() else 0)).fetchall()
        except apsw.Error as error:
            raise _store_error(error) from error
        size, last_hash, frontier, version, last, archived = rows[0]
        end = 0 if last is None else last + 1
        head = _head(size, last_hash, frontier)
        if head is not None and version != FORMAT:
            raise ConfigurationError(f"The audit log has format {version}; this version knows {FORMAT}.")
        return Extent(head, end, (archived or 0) * BUNDLE)

    def _find_archived(self) -> bool:
        """True if there is a table of archived ranges: an older file has none until it is appended to."""
        self._has_archived = self._has_archived or bool(self._rows(_HAS_ARCHIVED))
        return self._has_archived

    def _archived(self, index: int) -> bytes | None:
        rows = self._rows("SELECT hashes FROM archived WHERE idx = ?", index) if self._find_archived() else []
        return rows[0][0] if rows else None

    def _space(self) -> Space:
        """Pages that nothing uses any more count as free: the file does not shrink, they are written again."""
        [(pages, spare, size)] = self._rows(_PAGES)
        try:
            disk = os.statvfs(self._path.parent)
        except OSError as error:
            raise StoreError(f"the disk of the audit database cannot be asked ({error.strerror})") from error
        spare *= size
        return Space(pages * size - spare, disk.f_bavail * disk.f_frsize + spare, disk.f_blocks * disk.f_frsize)

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close(force=True)


class SqliteStore(SqliteReader):
    """Appends to the file; creates it, readable by its owner only. See `AuditStore`.

    `inline`: others hardly ever append, so that commits may run in the event loop.
    """

    def __init__(self, path: Path, *, inline: bool) -> None:
        super().__init__(path)
        self._inline_allowed = inline
        self.inline = False
        """True while commits run in the event loop."""

    async def append(self, build: Build) -> Head:
        if not self.inline:
            return await self._run(self._append, build, PATIENCE)
        started = time.perf_counter()
        try:
            head = self._append(build, INLINE_PATIENCE)
        except _Busy:  # the worker for long bodies or `mastio audit archive`, for a moment
            return await self._run(self._append, build, PATIENCE)
        if time.perf_counter() - started > SLOW_COMMIT:
            _log.info("an audit commit was slow; commits run in a thread from now on")
            self.inline = self._inline_allowed = False
        return head

    async def leftovers(self, owner: str) -> Sequence[Row]:
        query = "SELECT seq, entry FROM open_intents JOIN entries USING (seq) WHERE owner = ? ORDER BY seq"
        return await self._run(self._rows, query, owner)

    async def owners(self) -> Sequence[str]:
        return [owner for (owner,) in await self._run(self._rows, "SELECT DISTINCT owner FROM open_intents")]

    async def oldest_open(self) -> int | None:
        [(seq,)] = await self._run(self._rows, "SELECT min(seq) FROM open_intents")
        return None if seq is None else int(seq)

    async def forget(self, index: int, hashes: Sequence[bytes], build: Build) -> Head:
        return await self._run(self._forget, index, hashes, build)

    def _forget(self, index: int, hashes: Sequence[bytes], build: Build) -> Head:
        connection = self._require()
        try:
            with connection:
                _forget(connection, index, hashes)
                head = _write(connection, build)
        except apsw.Error as error:
            raise _store_error(error) from error
        return head

    def _append(self, build: Build, patience: float) -> Head:
        connection = self._require(patience)
        try:
            connection.execute("BEGIN IMMEDIATE")
        except apsw.BusyError as error:
            raise _Busy("another process holds the write lock") from error
        except apsw.Error as error:
            raise _store_error(error) from error
        committed = False
        try:
            head = _write(connection, build)
            connection.execute("COMMIT")
            committed = True
        except apsw.Error as error:
            raise _store_error(error) from error
        finally:
            if not committed:
                self._close()
        return head

    def _open(self) -> None:
        try:
            _create_private(self._path)
            connection = self._connect(os.fspath(self._path), apsw.SQLITE_OPEN_READWRITE)
            self._prepare(connection)
            if self._inline_allowed:
                self.inline = _measure_sync(self._path.parent) < FAST_SYNC
        except apsw.Error as error:
            raise _store_error(error) from error
        except OSError as error:
            full = error.errno == errno.ENOSPC
            raise StoreError(_FULL if full else f"the audit database cannot be opened ({error.strerror})") from error

    def _prepare(self, connection: apsw.Connection) -> None:
        """Durable mode, tables, and everything out of the WAL: see the module's last paragraph."""
        self._patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchall())
        connection.execute("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON")
        self._patiently(lambda: connection.execute(_SCHEMA, (FORMAT,)).fetchall())
        self._patiently(lambda: connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE))

    def _patiently(self, step: Callable[[], object]) -> None:
        """Repeat while busy: for these steps SQLite does not always ask the busy handler."""
        give_up = time.monotonic() + PATIENCE
        while True:
            self._require(give_up - time.monotonic())
            try:
                step()
                return
            except apsw.BusyError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.005)


def _write(connection: apsw.Connection, build: Build) -> Head:
    """The body of the transaction."""
    rows: list[Any] = connection.execute("SELECT size, last_hash, frontier FROM head").fetchall()
    head = _head(*rows[0]) if rows else None
    if head is None:
        raise DamageError("the head of the audit log is gone")
    batch = build(head)
    connection.executemany("INSERT INTO entries VALUES (?, ?)", batch.rows)
    if batch.nodes:
        nodes = [(node.level, node.index, node.hash) for node in batch.nodes]
        connection.executemany("INSERT INTO nodes VALUES (?, ?, ?)", nodes)
    if batch.opened:
        opened = [(intent.seq, intent.id, intent.owner) for intent in batch.opened]
        connection.executemany("INSERT INTO open_intents VALUES (?, ?, ?)", opened)
    if batch.closed:
        before = connection.total_changes()
        connection.executemany("DELETE FROM open_intents WHERE seq = ?", [(seq,) for seq in batch.closed])
        if connection.total_changes() - before != len(batch.closed):
            raise StoreError("an intent was closed by somebody else")
    new = batch.head
    connection.execute("UPDATE head SET size = ?, last_hash = ?, frontier = ?",
                       (new.size, new.last_hash, join(new.frontier)))  # fmt: skip
    return new


def _forget(connection: apsw.Connection, index: int, hashes: Sequence[bytes]) -> None:
    """The body of the transaction: its first statement takes the write lock."""
    connection.executemany("INSERT INTO archived VALUES (?, ?)", list(enumerate(hashes, index)))
    end = (index + len(hashes)) * BUNDLE
    [(first,)] = connection.execute("SELECT min(seq) FROM entries").fetchall()
    [(is_open,)] = connection.execute("SELECT EXISTS (SELECT 1 FROM open_intents WHERE seq < ?)", (end,)).fetchall()
    if first != index * BUNDLE or is_open:
        raise StoreError("what is to be archived is not what the log begins with, or is not over")
    before = connection.total_changes()
    connection.execute("DELETE FROM entries WHERE seq < ?", (end,))
    if connection.total_changes() - before != len(hashes) * BUNDLE:
        raise StoreError("entries are missing among those that are to be archived")


def _head(size: object, last_hash: object, frontier: object) -> Head | None:
    """The head as a value, or None when the row is not there or holds something else."""
    if isinstance(size, int) and isinstance(last_hash, bytes) and isinstance(frontier, bytes):
        return Head(size, last_hash, split(frontier))
    return None


def _is_unwritable(path: Path) -> bool:
    """A copy on a medium that nothing can write to: SQLite cannot make its shared memory there, and needs none."""
    return not path.with_name(f"{path.name}-wal").exists() and not os.access(path.parent, os.W_OK)


def _create_private(path: Path) -> None:
    """Make sure that the file is there, on stable storage, and its owner's alone (SQLite gives its others the same).

    A file that is there is not opened: closing it would drop the locks that this process holds on it (POSIX).
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    path.chmod(0o600)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _measure_sync(folder: Path) -> float:
    """Median seconds to append a page to a file and have it on stable storage."""
    times = []
    with tempfile.TemporaryFile(dir=folder, buffering=0) as probe:
        for _ in range(_PROBES):
            started = time.perf_counter()
            probe.write(bytes(4096))
            os.fdatasync(probe.fileno())
            times.append(time.perf_counter() - started)
    return statistics.median(times)


def _store_error(error: apsw.Error) -> StoreError:
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return DamageError("the audit database is damaged")
    if isinstance(error, apsw.FullError):
        return StoreError(_FULL)
    if isinstance(error, apsw.BusyError):
        return StoreError("another process holds a lock on the audit database")
    return StoreError(f"the audit database failed ({_name(error)})")


def _name(error: apsw.Error) -> str:
    """SQLite's own name of what went wrong, e.g. SQLITE_IOERR_FSYNC."""
    code = apsw.mapping_extended_result_codes.get(getattr(error, "extendedresult", 0))
    return code if isinstance(code, str) else type(error).__name__
