"""The control-plane database on PostgreSQL, over asyncpg in the event loop.

Imported only where it is used, by `mastio.store.sql.engine`: the driver and its dialect would cost a worker on SQLite
memory for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import create_async_engine

T = TypeVar("T")


class Driver:
    """Statements and locks have an end, so that a hung server is noticed."""

    def __init__(self, url: URL, patience: float) -> None:
        limit = str(int(patience * 1000))
        settings = {
            "application_name": "mastio",
            "statement_timeout": limit,
            "lock_timeout": limit,
            "idle_in_transaction_session_timeout": limit,
        }
        self._engine = create_async_engine(
            url,
            pool_size=4,
            max_overflow=0,
            pool_timeout=patience,
            pool_pre_ping=True,
            connect_args={"timeout": patience, "command_timeout": patience, "server_settings": settings},
        )
        driver: Any = self._engine.sync_engine.dialect.loaded_dbapi
        # what asyncpg raises while connecting, which SQLAlchemy does not wrap
        unwrapped = (driver.asyncpg.PostgresError, driver.asyncpg.InterfaceError)
        self.silence: tuple[type[Exception], ...] = (DBAPIError, PoolTimeout, OSError, *unwrapped)

    async def read(self, work: Callable[[Connection], T]) -> T:
        async with self._engine.begin() as connection:
            return await connection.run_sync(work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        return await self.read(work)

    async def close(self) -> None:
        await self._engine.dispose()
