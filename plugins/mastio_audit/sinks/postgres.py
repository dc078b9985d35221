"""The cursor of a log that appliances share, in its database: only the session that holds the sink's lock delivers.

The lock is the database session's, so it goes when the session goes: with its process, or, when a whole machine or its
network is gone, as soon as the server's probes of the connection stay unanswered. The cursor is moved by that session
alone, so whoever lost the lock cannot move it.
"""

from __future__ import annotations

import hashlib
from typing import Any

import asyncpg

from mastio.exchange.errors import ConfigurationError
from mastio_audit.log.postgres import dsn
from mastio_audit.log.store import StoreError

CONNECT_TIMEOUT = 2.0  # seconds
COMMAND_TIMEOUT = 4.0
_SESSION = {
    "application_name": "mastio-audit-sink",
    "statement_timeout": "3900ms",
    "lock_timeout": "3000ms",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "3",
    "tcp_keepalives_count": "3",
}
_SCHEMA_LOCK = 0x6D617374_73696E6B
_FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)


class TableCursor:
    """A row of `audit_cursors`. See `Cursor`."""

    tables: tuple[str, ...] = (
        "CREATE TABLE IF NOT EXISTS audit_cursors (name text PRIMARY KEY, next bigint NOT NULL)",
    )
    """The statements that create the tables."""

    def __init__(self, url: str, name: str) -> None:
        self._dsn = dsn(url)
        self._name = name
        digest = hashlib.sha256(f"mastio-audit-sink/{name}".encode()).digest()
        self._lock = int.from_bytes(digest[:8], "big", signed=True)
        self._connection: Any = None

    async def open(self) -> bool:
        if self._connection is None:
            await self._connect()
        return bool(await self._ask("SELECT pg_try_advisory_lock($1)", self._lock))

    async def read(self) -> int | None:
        index: int | None = await self._ask("SELECT next FROM audit_cursors WHERE name = $1", self._name)
        return index

    async def place(self, index: int) -> None:
        await self._ask("INSERT INTO audit_cursors VALUES ($1, $2) ON CONFLICT DO NOTHING", self._name, index)

    async def move(self, index: int) -> None:
        await self._ask("UPDATE audit_cursors SET next = $2 WHERE name = $1", self._name, index)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await connection.close(timeout=CONNECT_TIMEOUT)
        except _FAILURES:
            connection.terminate()

    async def _connect(self) -> None:
        try:
            self._connection = await asyncpg.connect(
                self._dsn, timeout=CONNECT_TIMEOUT, command_timeout=COMMAND_TIMEOUT, server_settings=_SESSION
            )
            async with self._connection.transaction():
                await self._connection.execute("SELECT pg_advisory_xact_lock($1)", _SCHEMA_LOCK)
                for table in self.tables:
                    await self._connection.execute(table)
                if await self._connection.fetchval("SELECT current_setting('synchronous_commit')") == "off":
                    await self._connection.execute("SET synchronous_commit = on")
        except (ValueError, OverflowError) as error:
            raise ConfigurationError("The database URL of the audit log cannot be used.") from error
        except _FAILURES as error:
            raise self._failed(error) from error

    async def _ask(self, query: str, *parameters: object) -> Any:
        if self._connection is None:
            raise StoreError("its cursor is not open")
        try:
            return await self._connection.fetchval(query, *parameters)
        except _FAILURES as error:
            raise self._failed(error) from error

    def _failed(self, error: BaseException) -> StoreError:
        """Without its session the lock is lost, so nothing more is done with this connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()
        return StoreError(f"the database of the audit log failed ({type(error).__name__})")
