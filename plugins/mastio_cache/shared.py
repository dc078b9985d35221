"""The second level: a table in PostgreSQL that all workers and replicas look into, sealed row by row.

It only ever helps. What cannot be had in time is not there; what cannot be written soon is not written; after a failure
the database is left alone for a while. The table is unlogged: a cache need not outlive a crash of the server, and costs
it no log. Imported only where it is used: the driver would cost a worker on SQLite memory for nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode

import asyncpg
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mastio_cache.cache_entry import (
    CacheEntry,
    KeptError,
    decode,
    encode,
)

log = logging.getLogger("mastio.cache")

FIND_WITHIN = 0.25
"""Seconds. A provider takes longer than that, so waiting for a slow database can cost more than it saves."""
WRITE_WITHIN = 5.0
REST = 5.0
"""Seconds that a database which failed is left alone."""
SWEEP_EVERY = 30.0
QUEUE_BYTES = 16 * 1024 * 1024
"""Answers that wait to be written; beyond that they are left out."""
NONCE = 12

_FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
_SQLALCHEMY_ONLY = ("prepared_statement_cache_size", "prepared_statement_name_func", "async_fallback")
_SESSION = {
    "application_name": "mastio-cache",
    "statement_timeout": "4900ms",
    "lock_timeout": "2000ms",
    "idle_in_transaction_session_timeout": "5000ms",
}
_LOCK = 0x6D617374_63616368
_SCHEMA = """
CREATE UNLOGGED TABLE IF NOT EXISTS cache_answers (
    key bytea PRIMARY KEY, sealed bytea NOT NULL, kept_at double precision NOT NULL,
    expires_at double precision NOT NULL
);
CREATE INDEX IF NOT EXISTS ix_cache_answers_expires_at ON cache_answers (expires_at);
"""
_FIND = "SELECT sealed FROM cache_answers WHERE key = $1 AND expires_at > $2"
_PUT = """
INSERT INTO cache_answers VALUES ($1, $2, $3, $4)
ON CONFLICT (key) DO UPDATE SET sealed = EXCLUDED.sealed, kept_at = EXCLUDED.kept_at, expires_at = EXCLUDED.expires_at
WHERE EXCLUDED.kept_at >= cache_answers.kept_at
"""
_EXPIRE = "DELETE FROM cache_answers WHERE expires_at <= $1"
_SHRINK = """
DELETE FROM cache_answers WHERE key IN (
    SELECT key FROM (
        SELECT key, sum(octet_length(sealed) + 128) OVER (ORDER BY kept_at DESC, key) AS up_to FROM cache_answers
    ) AS counted WHERE up_to > $1
)
"""


def dsn(url: str) -> str:
    """The appliance's `database_url`, which is SQLAlchemy's, as asyncpg takes it."""
    address, _, query = url.partition("://")[2].partition("?")
    parameters = [(name, value) for name, value in parse_qsl(query) if name not in _SQLALCHEMY_ONLY]
    renamed = [("sslmode" if name == "ssl" else name, value) for name, value in parameters]
    return f"postgresql://{address}" + (f"?{urlencode(renamed)}" if renamed else "")


def _cipher(secret: bytes, key: bytes) -> AESGCM:
    """A key of its own for each row: no nonce can come twice under one, however many answers there are."""
    return AESGCM(hmac.digest(secret, key, hashlib.sha256))


def seal(secret: bytes, key: bytes, kept: CacheEntry) -> bytes:
    """A random 96-bit nonce and the ciphertext, which does not open in another row."""
    nonce = secrets.token_bytes(NONCE)
    return nonce + _cipher(secret, key).encrypt(nonce, encode(kept), key)


def unseal(secret: bytes, key: bytes, sealed: bytes) -> CacheEntry:
    """Raises `KeptError`."""
    try:
        return decode(_cipher(secret, key).decrypt(sealed[:NONCE], sealed[NONCE:], key))
    except (InvalidTag, ValueError) as error:
        raise KeptError("does not open") from error


class Table:
    """Implements `answering.SecondLevel`."""

    def __init__(self, pool: Any, secret: bytes, now: Callable[[], float], *, ttl: float, max_bytes: int) -> None:
        self._pool = pool
        self._secret = secret
        self._now = now
        self._ttl = ttl
        self._max_bytes = max_bytes
        self._queue: asyncio.Queue[tuple[bytes, CacheEntry]] = asyncio.Queue()
        self._queued = 0
        self._looking: set[asyncio.Future[CacheEntry | None]] = set()
        self._rests_until = 0.0

    async def find(self, key: bytes) -> CacheEntry | None:
        if time.monotonic() < self._rests_until:
            return None
        # A task of its own, because giving a connection back to the pool waits for a server that hangs.
        looking = asyncio.ensure_future(self._look(key))
        self._looking.add(looking)
        looking.add_done_callback(self._looking.discard)
        done, _ = await asyncio.wait((looking,), timeout=FIND_WITHIN)
        if not done:
            looking.cancel()
            self._rest(TimeoutError())
            return None
        return looking.result()

    async def _look(self, key: bytes) -> CacheEntry | None:
        try:
            sealed = await self._pool.fetchval(_FIND, key, self._now())
            return None if sealed is None else unseal(self._secret, key, sealed)
        except _FAILURES as error:
            self._rest(error)
        except KeptError as error:
            log.warning("a kept answer is no answer of ours: %s", error)
        return None

    def put(self, key: bytes, kept: CacheEntry) -> None:
        if self._queued + kept.size <= QUEUE_BYTES:
            self._queued += kept.size
            self._queue.put_nowait((key, kept))

    async def write(self) -> None:
        """Write what was put, one after the other, until cancelled."""
        while True:
            key, kept = await self._queue.get()
            self._queued -= kept.size
            if time.monotonic() < self._rests_until:
                continue
            row = (key, seal(self._secret, key, kept), kept.at, kept.at + self._ttl)
            try:
                async with asyncio.timeout(WRITE_WITHIN):
                    await self._pool.execute(_PUT, *row)
            except _FAILURES as error:
                self._rest(error)

    async def sweep(self) -> None:
        """Remove what has expired, and the oldest while there is too much, until cancelled."""
        while True:
            try:
                await self.remove_surplus()
            except _FAILURES as error:
                self._rest(error)
            await asyncio.sleep(SWEEP_EVERY)

    async def remove_surplus(self) -> None:
        async with asyncio.timeout(WRITE_WITHIN):
            await self._pool.execute(_EXPIRE, self._now())
            await self._pool.execute(_SHRINK, self._max_bytes)

    async def create(self) -> None:
        """The table, unless it is there."""
        async with asyncio.timeout(WRITE_WITHIN), self._pool.acquire() as connection, connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            await connection.execute(_SCHEMA)

    def _rest(self, error: BaseException) -> None:
        if time.monotonic() >= self._rests_until:
            log.warning("the shared cache is left alone for %d s: %s", REST, type(error).__name__)
        self._rests_until = time.monotonic() + REST


@asynccontextmanager
async def open_table(
    url: str, secret: bytes, now: Callable[[], float], *, ttl: float, max_bytes: int, sweeps: bool
) -> AsyncIterator[Table]:
    """Two connections, opened when they are used. A database that does not answer now may answer later."""
    pool = asyncpg.create_pool(
        dsn(url), min_size=0, max_size=2, timeout=2.0, command_timeout=WRITE_WITHIN, server_settings=_SESSION
    )
    await pool
    table = Table(pool, secret, now, ttl=ttl, max_bytes=max_bytes)
    try:
        await table.create()
    except _FAILURES as error:
        log.warning("the shared cache has no table: %s", type(error).__name__)
    tasks = [asyncio.create_task(table.write(), name="cache-writer")]
    if sweeps:
        tasks.append(asyncio.create_task(table.sweep(), name="cache-sweeper"))
    try:
        yield table
    finally:
        for task in tasks:
            task.cancel()
        pool.terminate()  # first, so that nobody waits for a server that hangs
        await asyncio.wait(tasks, timeout=WRITE_WITHIN)
