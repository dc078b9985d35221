"""The control-plane database on SQLite: transactions whole, in threads.

SQLite keeps a rollback journal and syncs fully: the SQLite that Python brings along may have the WAL-reset race
between connections (fixed in 3.51.3). The journal is truncated rather than unlinked, because only then is the end of
a transaction itself synced. One thread writes, so writers are in line before they would sleep in SQLite's busy
handler; those who wait while a transaction is synced share the next one, each in a savepoint of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from mastio.exchange.errors import MastioError

T = TypeVar("T")

MAX_TOGETHER = 64
"""The largest number of waiting writers that share one transaction."""


class Driver:
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
    """The result of a work that did not raise."""

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
        connection.text_factory = bytes.decode  # damaged text is a `ValueError`, and no error of the database
        cursor = connection.cursor()
        for pragma in ("journal_mode=TRUNCATE", "synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine
