"""Connections to the control-plane database, its transactions, and the one place where their errors become ours.

What a transaction does is a plain function of a SQLAlchemy `Connection`, the same for every database. On PostgreSQL
it runs over asyncpg in the event loop. On SQLite it runs in a thread, whole: one change of thread for a transaction
rather than several for each statement, which is what makes it five times cheaper here.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Protocol, TypeVar

from sqlalchemy import Connection, Update, text, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DataError, IntegrityError, ProgrammingError

from mastio.exchange.errors import ConfigurationError, Unavailable
from mastio.store.sql import tables

T = TypeVar("T")
Work = Callable[[Connection, int], T]
"""The work of a transaction, called with its new revision. Every row that it writes gets this as its `version`.

Refuses by raising a `MastioError`, which undoes all of it, the revision included. Must not touch the event loop.
"""

ANSWER_SECONDS = 5.0


def parse_url(url: str) -> URL:
    """Raises `ConfigurationError` unless it is a database that the control plane can use."""
    hint = "Use sqlite+aiosqlite:///FILE or postgresql+asyncpg://USER@HOST/NAME."
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigurationError("The database URL cannot be read.", hint) from error
    if parsed.drivername not in ("sqlite+aiosqlite", "postgresql+asyncpg") or not parsed.database:
        raise ConfigurationError("The database URL names no database that can be used.", hint)
    return parsed


class Driver(Protocol):
    """One kind of database. `silence` are the errors by which it does not answer."""

    silence: tuple[type[Exception], ...]

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction that only reads."""

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction of which all is durable when this returns, or nothing happened."""

    async def close(self) -> None:
        """Close every connection."""


class Database:
    """One worker's connections. Nothing is opened before the first use; `close` when the worker ends.

    `patience` is how many seconds a statement, a lock or a connection of the pool is waited for.
    """

    def __init__(self, url: str, patience: float = ANSWER_SECONDS) -> None:
        parsed = parse_url(url)
        # Only the driver that is used is imported: the other would cost each worker memory for nothing.
        module = importlib.import_module(f"mastio.store.sql.{parsed.get_backend_name()}")
        self._driver: Driver = module.Driver(parsed, patience)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Returns the result of `work`, in one read-only transaction. Raises `Unavailable` (store_unavailable)."""
        return await self._answered(self._driver.read(work))

    async def write(self, work: Callable[[Connection], T]) -> T:
        """One transaction beside the revision: for changing the tables themselves. Raises `Unavailable`."""
        return await self._answered(self._driver.write(work))

    async def change(self, work: Work[T], *sections: str) -> T:
        """Run `work` in one transaction that makes the next revision, and say in it which hot `sections` changed.

        A section is a column of `tables.revision` or the name of a collection.
        All of it happens or nothing, also when the caller is cancelled: then it still runs to its end.
        Raises `Unavailable`, after which it is not known whether it happened.
        """
        own = tuple(name for name in sections if name in tables.revision.c)
        statement = _next_revision(own)
        collections = [name for name in sections if name not in own]

        def with_revision(connection: Connection) -> T:
            version = connection.execute(statement).scalar_one()
            for name in collections:
                connection.execute(_SECTION, {"name": name, "value": version})
            return work(connection, version)

        return await asyncio.shield(asyncio.ensure_future(self.write(with_revision)))

    async def close(self) -> None:
        """Close every connection."""
        await self._driver.close()

    async def _answered(self, answer: Awaitable[T]) -> T:
        """Turns the ways in which a database does not answer into `Unavailable`. Defects of ours pass through."""
        try:
            return await answer
        except (IntegrityError, ProgrammingError, DataError):
            raise
        except self._driver.silence as error:
            raise Unavailable("The control-plane database does not answer.", code="store_unavailable") from error


_SECTION = text(
    "INSERT INTO sections (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


@lru_cache(maxsize=16)
def _next_revision(sections: tuple[str, ...]) -> Update:
    following = tables.revision.c.value + 1
    values = {"value": following, **dict.fromkeys(sections, following)}
    return update(tables.revision).values(values).returning(tables.revision.c.value)
