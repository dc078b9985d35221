"""The log in PostgreSQL, through `asyncpg`: for more than one machine, and where a database is there anyway.

An append is one statement that compares the head with the one it was built for, swaps it, and stores the rows only
if that succeeded: one round trip, durable when answered (`synchronous_commit`). When another worker was faster, and
while that goes on, the head is locked first (`SELECT … FOR UPDATE`), at three more round trips.

Nothing hangs: locks, statements, connecting and an abandoned transaction each have a limit that adds up to less than
the sequencer's. A connection is dropped at the first error.

Dropping it does not stop the server from committing what it has received, so each worker holds an advisory lock named
after its owner string for as long as it is connected, and `open` waits for that lock, ending the old session if need
be: no late commit can follow. Session locks need a direct connection or a pooler in session mode.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

import asyncpg

from mastio.exchange.errors import ConfigurationError
from mastio_audit.log.chain import Head, Row
from mastio_audit.log.store import BUNDLE, FORMAT, Batch, Build, DamageError, Extent, Space, StoreError, join, split
from mastio_primitives.transparency.merkle import Node

CONNECT_TIMEOUT = 2.0  # seconds
COMMAND_TIMEOUT = 4.0
READ_TIMEOUT = 30.0
COUNT_TIMEOUT = 3600.0
_SESSION = {
    "application_name": "mastio-audit",
    "default_transaction_isolation": "read committed",
    "statement_timeout": "3900ms",
    "lock_timeout": "3000ms",
    "idle_in_transaction_session_timeout": "5000ms",
}
_FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
_DAMAGE = (asyncpg.DataCorruptedError, asyncpg.IndexCorruptedError)
_SQLALCHEMY_ONLY = ("prepared_statement_cache_size", "prepared_statement_name_func", "async_fallback")

_SCHEMA_LOCK = 0x6D617374_61756474
_SCHEMA = """
CREATE TABLE IF NOT EXISTS audit_entries (seq bigint PRIMARY KEY, entry bytea NOT NULL);
CREATE TABLE IF NOT EXISTS audit_open_intents (seq bigint PRIMARY KEY, id text NOT NULL, owner text NOT NULL);
CREATE TABLE IF NOT EXISTS audit_head (
    one integer PRIMARY KEY CHECK (one = 1), format integer NOT NULL, size bigint NOT NULL, last_hash bytea NOT NULL,
    frontier bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS audit_archived (idx bigint PRIMARY KEY, hashes bytea NOT NULL);
CREATE TABLE IF NOT EXISTS audit_nodes (
    level smallint NOT NULL, idx bigint NOT NULL, hash bytea NOT NULL, PRIMARY KEY (level, idx)
);
CREATE TABLE IF NOT EXISTS audit_room (
    one integer PRIMARY KEY CHECK (one = 1), size bigint NOT NULL, bytes bigint NOT NULL
);
"""
_FIRST_HEAD = """
INSERT INTO audit_head SELECT 1, $1, 0, decode(repeat('00', 32), 'hex'), ''::bytea
WHERE NOT EXISTS (SELECT FROM audit_head) AND NOT EXISTS (SELECT FROM audit_entries)
"""
_FIRST_ROOM = """
INSERT INTO audit_room SELECT 1, 0, 0 FROM audit_head WHERE size = 0 ON CONFLICT DO NOTHING
"""
_BESIDE = 64
"""Bytes of a row beside the entry: headers, its number, its place in the index. The statements say it too."""

_EXTENT = """
SELECT size, last_hash, frontier, format, (SELECT max(seq) FROM audit_entries), {}
FROM (SELECT 1) AS always LEFT JOIN audit_head ON true
"""
_ARCHIVED = "(SELECT max(idx) + 1 FROM audit_archived)"
_HAS_ARCHIVED = "SELECT to_regclass('audit_archived') IS NOT NULL"
_FORGET = """
WITH kept AS (
    INSERT INTO audit_archived
    SELECT * FROM unnest($1::bigint[], $2::bytea[])
    WHERE (SELECT min(seq) FROM audit_entries) = $3 AND NOT EXISTS (SELECT FROM audit_open_intents WHERE seq < $4)
    RETURNING 1
), gone AS (
    DELETE FROM audit_entries WHERE seq < $4 AND EXISTS (SELECT FROM kept) RETURNING length(entry) + 64 AS took
), given_back AS (
    UPDATE audit_room SET bytes = bytes - (SELECT sum(took) FROM gone)::bigint WHERE EXISTS (SELECT FROM gone)
)
SELECT count(*) FROM gone
"""
_COUNTED = "SELECT bytes FROM audit_room JOIN audit_head USING (size)"
_SPACE = f"""
SELECT coalesce(({_COUNTED}), pg_total_relation_size('audit_entries')) + pg_total_relation_size('audit_nodes')
    + pg_total_relation_size('audit_open_intents') + pg_total_relation_size('audit_archived')
"""
_SUM = "SELECT coalesce(sum(length(entry) + 64), 0)::bigint FROM audit_entries WHERE seq >= $1 AND seq < $2"
_SET_ROOM = """
INSERT INTO audit_room VALUES (1, $1, $2) ON CONFLICT (one) DO UPDATE SET size = excluded.size, bytes = excluded.bytes
"""
_READ = "SELECT seq, entry FROM audit_entries WHERE seq >= $1 ORDER BY seq LIMIT $2"
_FIND = """
SELECT seq, entry FROM audit_entries
WHERE seq >= $1 AND seq < $2
  AND (SELECT bool_and(position(part IN entry) > 0) FROM unnest($4::bytea[]) AS part) IS NOT FALSE
ORDER BY seq {} LIMIT $3
"""
_LEFTOVERS = "SELECT seq, entry FROM audit_open_intents JOIN audit_entries USING (seq) WHERE owner = $1 ORDER BY seq"
_NODES = "SELECT level, idx, hash FROM audit_nodes WHERE level = $1 AND idx >= $2 ORDER BY idx LIMIT $3"
_LOCK_HEAD = "SELECT size, last_hash, frontier FROM audit_head FOR UPDATE"
_WRITE = """
WITH moved AS (
    UPDATE audit_head SET size = $3, last_hash = $4, frontier = $11
    WHERE size = $1 AND last_hash = $2
      AND (SELECT count(*) FROM audit_open_intents WHERE seq = ANY($9::bigint[])) = cardinality($9::bigint[])
    RETURNING 1
), stored AS (
    INSERT INTO audit_entries
    SELECT * FROM unnest($5::bigint[], $10::bytea[]) WHERE EXISTS (SELECT FROM moved)
), grown AS (
    INSERT INTO audit_nodes
    SELECT * FROM unnest($12::smallint[], $13::bigint[], $14::bytea[]) WHERE EXISTS (SELECT FROM moved)
), opened AS (
    INSERT INTO audit_open_intents
    SELECT * FROM unnest($6::bigint[], $7::text[], $8::text[]) WHERE EXISTS (SELECT FROM moved)
), closed AS (
    DELETE FROM audit_open_intents WHERE seq = ANY($9::bigint[]) AND EXISTS (SELECT FROM moved)
), taken AS (
    UPDATE audit_room SET size = $3, bytes = bytes + $15 WHERE size = $1 AND EXISTS (SELECT FROM moved)
)
SELECT count(*) FROM moved
"""
_END_OTHER_SESSION = """
SELECT pg_terminate_backend(pid) FROM pg_locks
WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid() AND objsubid = 1
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (classid::bigint << 32 | objid::bigint) = $1
"""


def dsn(url: str) -> str:
    """The appliance's `database_url`, which is SQLAlchemy's, as asyncpg takes it."""
    address, _, query = url.partition("://")[2].partition("?")
    parameters = [(name, value) for name, value in parse_qsl(query) if name not in _SQLALCHEMY_ONLY]
    renamed = [("sslmode" if name == "ssl" else name, value) for name, value in parameters]
    return f"postgresql://{address}" + (f"?{urlencode(renamed)}" if renamed else "")


class PostgresReader:
    """Reads in read-only transactions. See `LogReader`."""

    def __init__(self, url: str) -> None:
        self._dsn = dsn(url)
        self._connection: Any = None
        self._has_archived = False

    async def open(self) -> None:
        await self._connect(READ_TIMEOUT, {"default_transaction_read_only": "on"})

    async def extent(self) -> Extent:
        query = _EXTENT.format(_ARCHIVED if await self._find_archived() else 0)
        [(size, last_hash, frontier, version, last, archived)] = await self._fetch(query)
        end = 0 if last is None else last + 1
        if size is None:
            return Extent(None, end, (archived or 0) * BUNDLE)
        if version != FORMAT:
            raise ConfigurationError(f"The audit log has format {version}; this version knows {FORMAT}.")
        return Extent(Head(size, last_hash, split(frontier)), end, (archived or 0) * BUNDLE)

    async def read(self, start: int, limit: int) -> Sequence[Row]:
        return [(seq, entry) for seq, entry in await self._fetch(_READ, start, limit)]

    async def find(self, within: range, limit: int, contained: Sequence[bytes], newest_first: bool) -> Sequence[Row]:
        query = _FIND.format("DESC" if newest_first else "ASC")
        rows = await self._fetch(query, within.start, within.stop, limit, list(contained))
        return [(seq, entry) for seq, entry in rows]

    async def nodes(self, level: int, start: int, limit: int) -> Sequence[Node]:
        return [Node(*row) for row in await self._fetch(_NODES, level, start, limit)]

    async def archived(self, index: int) -> bytes | None:
        if not await self._find_archived():
            return None
        rows = await self._fetch("SELECT hashes FROM audit_archived WHERE idx = $1", index)
        return rows[0][0] if rows else None

    async def _find_archived(self) -> bool:
        """True if there is a table of archived ranges: an older log has none until it is appended to."""
        if not self._has_archived:
            [(self._has_archived,)] = await self._fetch(_HAS_ARCHIVED)
        return self._has_archived

    async def space(self) -> Space:
        """The size of the stored entries: deleting makes a table no smaller, but its room is used again. Of a log that
        an earlier version has appended to, the whole table, until entries are archived from it."""
        [(used,)] = await self._fetch(_SPACE)
        return Space(used)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await connection.close(timeout=CONNECT_TIMEOUT)
        except _FAILURES:
            connection.terminate()

    async def _connect(self, command_timeout: float, session: dict[str, str]) -> None:
        await self.close()
        try:
            self._connection = await asyncpg.connect(
                self._dsn,
                timeout=CONNECT_TIMEOUT,
                command_timeout=command_timeout,
                max_cached_statement_lifetime=0,
                server_settings=session,
            )
        except (ValueError, OverflowError) as error:
            raise ConfigurationError(
                "The database URL of the audit log cannot be used.", "Write postgresql+asyncpg://user@host:port/name."
            ) from error
        except _FAILURES as error:
            raise _store_error(error) from error

    def _require(self) -> Any:
        if self._connection is None:
            raise StoreError("the log is not open")
        return self._connection

    async def _fetch(self, query: str, *parameters: object) -> Any:
        connection = self._require()
        try:
            return await connection.fetch(query, *parameters)
        except _FAILURES as error:
            raise _store_error(error) from error

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()


class PostgresStore(PostgresReader):
    """Appends as `owner`; creates the tables where the connection's role would find them. See `AuditStore`."""

    def __init__(self, url: str, owner: str) -> None:
        super().__init__(url)
        digest = hashlib.sha256(f"mastio-audit/{owner}".encode()).digest()
        self._lock = int.from_bytes(digest[:8], "big", signed=True)
        self._last: Head | None = None
        self._alone = False
        """True if no other worker appended between our last two appends, so `_last` is probably the head."""

    async def open(self) -> None:
        self._last, self._alone = None, False
        await self._connect(COMMAND_TIMEOUT, _SESSION)
        opened = False
        try:
            await self._refuse_unsafe()
            await self._fence()
            await self._create()
            opened = True
        except _FAILURES as error:
            raise _store_error(error) from error
        finally:
            if not opened:
                self._drop()

    async def append(self, build: Build) -> Head:
        connection = self._require()
        stored = False
        try:
            head = await self._swap(connection, build) or await self._append_locked(connection, build)
            stored = True
        except _FAILURES as error:
            raise _store_error(error) from error
        finally:
            if not stored:
                self._drop()
        return head

    async def leftovers(self, owner: str) -> Sequence[Row]:
        return [(seq, entry) for seq, entry in await self._fetch(_LEFTOVERS, owner)]

    async def owners(self) -> Sequence[str]:
        return [owner for (owner,) in await self._fetch("SELECT DISTINCT owner FROM audit_open_intents")]

    async def oldest_open(self) -> int | None:
        [(seq,)] = await self._fetch("SELECT min(seq) FROM audit_open_intents")
        return None if seq is None else int(seq)

    async def forget(self, index: int, hashes: Sequence[bytes], build: Build) -> Head:
        """Archive under the lock of the head, as an append does: no intent is opened or closed meanwhile."""
        connection, count = self._require(), len(hashes)
        numbers = list(range(index, index + count))
        self._alone = False
        try:
            counted = await self._count(connection)
            async with connection.transaction():
                head = await self._lock_head(connection)
                if counted is not None:
                    size, taken = counted
                    taken += await connection.fetchval(_SUM, size, head.size)
                    await connection.execute(_SET_ROOM, head.size, taken)
                gone = await connection.fetchval(
                    _FORGET, numbers, list(hashes), index * BUNDLE, numbers[-1] * BUNDLE + BUNDLE
                )
                if gone != count * BUNDLE:
                    raise StoreError("what is to be archived is not what the log begins with, or is not over")
                batch = await self._write(connection, head, build)
        except _FAILURES as error:
            self._drop()
            raise _store_error(error) from error
        return batch.head

    async def _count(self, connection: Any) -> tuple[int, int] | None:
        """A size of the log and the bytes that its entries take, counted while others append; None: the bytes are known
        already.

        It is stored in a transaction that moves the head: an append that waited for that starts again and sees it.
        """
        if await connection.fetchval(_COUNTED) is not None:
            return None
        async with connection.transaction():
            await connection.execute("SET LOCAL statement_timeout = 0")
            size = await connection.fetchval("SELECT size FROM audit_head")
            return size, await connection.fetchval(_SUM, 0, size, timeout=COUNT_TIMEOUT)

    async def cursors(self) -> dict[str, int]:
        """The next index of each sink (`mastio_audit.sinks.postgres`)."""
        [(exists,)] = await self._fetch("SELECT to_regclass('audit_cursors') IS NOT NULL")
        rows = await self._fetch("SELECT name, next FROM audit_cursors") if exists else []
        return {row[0]: row[1] for row in rows}

    async def _swap(self, connection: Any, build: Build) -> Head | None:
        """Append after the head that is expected. None: it is not the head any more, nothing was stored."""
        if self._last is None or not self._alone:
            return None
        batch = build(self._last)
        self._alone = await connection.fetchval(_WRITE, *_parameters(self._last, batch)) == 1
        if not self._alone:
            return None
        self._last = batch.head
        return batch.head

    async def _append_locked(self, connection: Any, build: Build) -> Head:
        await connection.execute("BEGIN")
        head = await self._lock_head(connection)
        batch = await self._write(connection, head, build)
        await connection.execute("COMMIT")
        self._last, self._alone = batch.head, head == self._last
        return batch.head

    async def _lock_head(self, connection: Any) -> Head:
        row = await connection.fetchrow(_LOCK_HEAD)
        if row is None:
            raise DamageError("the head of the audit log is gone")
        return Head(row["size"], row["last_hash"], split(row["frontier"]))

    async def _write(self, connection: Any, head: Head, build: Build) -> Batch:
        batch = build(head)
        if await connection.fetchval(_WRITE, *_parameters(head, batch)) != 1:
            raise StoreError("an intent was closed by somebody else")
        return batch

    async def _refuse_unsafe(self) -> None:
        """Refuse a server whose answer does not mean stable storage: `fsync = off`. Set `synchronous_commit` to a local
        flush at least."""
        connection = self._require()
        if await connection.fetchval("SELECT current_setting('fsync')") != "on":
            raise ConfigurationError(
                "The PostgreSQL server runs with fsync = off, so nothing it confirms is certain.",
                "Turn fsync on, or use another server.",
            )
        if await connection.fetchval("SELECT current_setting('synchronous_commit')") == "off":
            await connection.execute("SET synchronous_commit = on")

    async def _fence(self) -> None:
        """Become the only session of this owner. An earlier session that the server still holds open is ended."""
        connection = self._require()
        give_up = time.monotonic() + COMMAND_TIMEOUT
        while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", self._lock):
            if time.monotonic() > give_up:
                raise StoreError("another session appends as this worker")
            await connection.execute(_END_OTHER_SESSION, self._lock)
            await asyncio.sleep(0.05)

    async def _create(self) -> None:
        async with self._require().transaction():
            await self._require().execute("SELECT pg_advisory_xact_lock($1)", _SCHEMA_LOCK)
            await self._require().execute(_SCHEMA)
            await self._require().execute(_FIRST_HEAD, FORMAT)
            await self._require().execute(_FIRST_ROOM)


def _parameters(head: Head, batch: Batch) -> tuple[object, ...]:
    return (
        head.size,
        head.last_hash,
        batch.head.size,
        batch.head.last_hash,
        [seq for seq, _ in batch.rows],
        [intent.seq for intent in batch.opened],
        [intent.id for intent in batch.opened],
        [intent.owner for intent in batch.opened],
        list(batch.closed),
        [entry for _, entry in batch.rows],
        join(batch.head.frontier),
        [node.level for node in batch.nodes],
        [node.index for node in batch.nodes],
        [node.hash for node in batch.nodes],
        sum(len(entry) + _BESIDE for _, entry in batch.rows),
    )


def _store_error(error: BaseException) -> StoreError:
    if isinstance(error, _DAMAGE):
        return DamageError("the audit database is damaged")
    if isinstance(error, asyncpg.DiskFullError):
        return StoreError("the disk of the audit database is full")
    if isinstance(error, TimeoutError | asyncpg.QueryCanceledError):
        return StoreError("the audit database does not answer in time")
    if isinstance(error, asyncpg.LockNotAvailableError):
        return StoreError("another session holds a lock on the audit log")
    return StoreError(f"the audit database failed ({type(error).__name__})")
