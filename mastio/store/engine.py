"""Connections to the control-plane database, its transactions, and the one place where their errors become ours.

What a transaction does is a plain function of a SQLAlchemy `Connection`, the same for every database. On PostgreSQL
it runs over asyncpg in the event loop. On SQLite it runs in a thread, whole: one change of thread for a transaction
rather than several for each statement, which is what makes it five times cheaper here.

SQLite keeps a rollback journal and syncs fully: the SQLite that Python brings along may have the WAL-reset race
between connections (fixed in 3.51.3). The journal is truncated rather than unlinked, because only then is the end of
a transaction itself synced. One thread writes, so writers are in line before they would sleep in SQLite's busy
handler; those who wait while a transaction is synced share the next one, each in a savepoint of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Engine, Update, create_engine, event, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import create_async_engine

from mastio.errors import ConfigurationError, MastioError, Unavailable
from mastio.store import tables

T = TypeVar("T")
Work = Callable[[Connection, int], T]
"""What a transaction does, with the revision it makes. Every row it writes gets that as its `version`.

Refuses by raising a `MastioError`, which undoes all of it, the revision included. Must not touch the event loop.
"""

ANSWER_SECONDS = 5.0
MAX_TOGETHER = 64
"""How many waiting writers share one transaction of SQLite at most."""


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
        self._driver: Driver = (
            SQLite(parsed, patience) if parsed.get_backend_name() == "sqlite" else PostgreSQL(parsed, patience)
        )

    async def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` finds, in one transaction that only reads. Raises `Unavailable` (store_unavailable)."""
        return await self._answered(self._driver.read(work))

    async def write(self, work: Callable[[Connection], T]) -> T:
        """One transaction beside the revision: for changing the tables themselves. Raises `Unavailable`."""
        return await self._answered(self._driver.write(work))

    async def change(self, work: Work[T], *sections: str) -> T:
        """Run `work` in one transaction that makes the next revision, and say in it which hot `sections` changed.

        All of it happens or nothing, also when the caller is cancelled: then it still runs to its end.
        Raises `Unavailable`, after which it is not known whether it happened.
        """
        statement = _next_revision(sections)

        def with_revision(connection: Connection) -> T:
            version = connection.execute(statement).scalar_one()
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


@lru_cache(maxsize=16)
def _next_revision(sections: tuple[str, ...]) -> Update:
    following = tables.revision.c.value + 1
    values = {"value": following, **dict.fromkeys(sections, following)}
    return update(tables.revision).values(values).returning(tables.revision.c.value)


class PostgreSQL:
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


class SQLite:
    """A thread that reads and a thread that writes, each with one connection."""

    silence: tuple[type[Exception], ...] = (DBAPIError, PoolTimeout, OSError)

    def __init__(self, url: URL, patience: float) -> None:
        self._reader = open_sqlite(url, "BEGIN", patience)
        self._writer = open_sqlite(url, "BEGIN IMMEDIATE", patience)
        self._reading = ThreadPoolExecutor(1, "store-read")
        self._writing = ThreadPoolExecutor(1, "store-write")
        self._waiting: list[tuple[Callable[[Connection], Any], asyncio.Future[Any]]] = []
        self._draining: asyncio.Task[None] | None = None

    async def read(self, work: Callable[[Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._reading, _transact, self._reader, work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, future))
        if self._draining is None:
            self._draining = asyncio.create_task(self._drain())
        return await future

    async def close(self) -> None:
        if self._draining is not None:
            await self._draining
        for executor, engine in ((self._reading, self._reader), (self._writing, self._writer)):
            await asyncio.get_running_loop().run_in_executor(executor, engine.dispose)
            executor.shutdown()

    async def _drain(self) -> None:
        """Until nobody waits: run what waits in one transaction, and tell each how it went."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            together, self._waiting = self._waiting[:MAX_TOGETHER], self._waiting[MAX_TOGETHER:]
            works = [work for work, _ in together]
            done = loop.run_in_executor(self._writing, _transact_together, self._writer, works)
            await asyncio.wait({done})
            error = done.exception()
            for number, (_, future) in enumerate(together):
                outcome = error or done.result()[number]
                if future.done():  # whoever waited was cancelled
                    continue
                if isinstance(outcome, Exception):
                    future.set_exception(outcome)
                elif isinstance(outcome, Done):
                    future.set_result(outcome.value)
        self._draining = None


class Done:
    """What a work returned, apart from what it raised."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _transact(engine: Engine, work: Callable[[Connection], T]) -> T:
    with engine.begin() as connection:
        return work(connection)


def _transact_together(engine: Engine, works: list[Callable[[Connection], Any]]) -> list[Done | Exception]:
    """One transaction for all. A work that refuses is undone alone; an error of the database undoes all."""
    if len(works) == 1:
        return [Done(_transact(engine, works[0]))]
    outcomes: list[Done | Exception] = []
    with engine.begin() as connection:
        for work in works:
            try:
                with connection.begin_nested():
                    outcomes.append(Done(work(connection)))
            except MastioError as refusal:
                outcomes.append(refusal)
    return outcomes


def open_sqlite(url: URL, begin: str, patience: float) -> Engine:
    """An engine whose transactions start with `begin`: SQLite's own, not the driver's late and implicit one."""
    engine = create_engine(
        url.set(drivername="sqlite"),
        pool_size=1,
        max_overflow=0,
        pool_timeout=patience,
        connect_args={"timeout": patience, "isolation_level": None},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        for pragma in ("journal_mode=TRUNCATE", "synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine
