"""What the parts of the repository share: a committed change that is visible here before it returns, and pages."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Column, Connection, Select

from mastio.store.damage import AnyRow, read_rows
from mastio.store.engine import Database, Work

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
    database: Database,
    statement: Select[Any],
    limit: int,
    decode: Callable[[Any], T],
    key: Column[Any] | None = None,
) -> Page[T]:
    """The first `limit` rows of `statement`. With `key`, a unique column, `decode` gets the damaged ones as well."""
    first = statement.limit(limit + 1)

    def read(connection: Connection) -> Sequence[AnyRow]:
        return connection.execute(first).all() if key is None else read_rows(connection, first, key)

    rows = await database.read(read)
    return Page([decode(row) for row in rows[:limit]], len(rows) > limit)
