"""The shared parts of the repositories: commits that are visible here before they return, and pages."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Column, Connection, Select

from mastio.store.sql.damage import decode_good, read_rows
from mastio.store.sql.engine import Database, Work

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a list; `more` when others follow."""

    items: builtins.list[T]
    more: bool


class Change:
    """Runs a transaction; when it changed a hot section, waits until this worker's copy shows it.

    Raises `Unavailable` when either cannot be done: whoever revokes must not be told that it is done while this
    worker still believes the old.
    """

    def __init__(self, database: Database, refresh: Callable[[], Awaitable[None]]) -> None:
        self._database = database
        self._refresh = refresh

    async def __call__(self, work: Work[T], *sections: str) -> T:
        result = await self._database.change(work, *sections)
        if sections:
            await self._refresh()
        return result


async def read_page(
    database: Database, statement: Select[Any], limit: int, decode: Callable[[Any], T], key: Column[Any]
) -> Page[T]:
    """The first `limit` rows of `statement`, without those that `decode` cannot read. `key` is a unique column."""

    def read(connection: Connection) -> list[T]:
        good: list[T] = []
        seen = 0
        while len(good) <= limit:
            rows = read_rows(connection, statement.limit(limit + 1).offset(seen), key)
            good += decode_good(rows, decode, key.table.name)[0]
            seen += len(rows)
            if len(rows) <= limit:
                break
        return good

    items = await database.read(read)
    return Page(items[:limit], len(items) > limit)
