"""What the parts of the repository share: a committed change that is visible here before it returns, and pages."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Row, Select

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


async def read_page(database: Database, statement: Select[Any], limit: int, decode: Callable[[Row[Any]], T]) -> Page[T]:
    """The first `limit` rows of `statement`."""
    rows = await database.read(lambda connection: connection.execute(statement.limit(limit + 1)).all())
    return Page([decode(row) for row in rows[:limit]], len(rows) > limit)
