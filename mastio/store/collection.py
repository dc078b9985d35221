"""Named objects that an admin describes: created, read, replaced, changed, removed: providers, policies, budgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy import Connection, Table, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from mastio.errors import BadRequest
from mastio.store.changes import Change, Page, read_page
from mastio.store.damage import decode_one, read_rows
from mastio.store.engine import Database

MOST_ROWS = 2000
"""Objects of one collection. Every worker has all of them in memory, and reads all of them again after each change."""


class Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


class Collection(Generic[N]):
    """`store.providers`, `store.policies`, `store.budgets`. `noun` is what one of them is called in messages, `most`
    how many there may be."""

    def __init__(
        self,
        database: Database,
        change: Change,
        table: Table,
        noun: str,
        encode: Callable[[N], dict[str, Any]],
        decode: Callable[[Any], N],
        most: int | None = None,
    ) -> None:
        self._most = most
        self._database = database
        self._change = change
        self._table = table
        self._noun = noun
        self._encode = encode
        self._decode = decode

    async def list(self, limit: int, after: str = "") -> Page[N]:
        """In the order of their names, beginning behind `after`."""
        column = self._table.c.name
        statement = select(self._table).where(column > after).order_by(column)
        return await read_page(self._database, statement, limit, self._decode, column)

    async def get(self, name: str) -> N:
        """Raises `BadRequest` (not_found)."""
        return await self._database.read(lambda connection: self._get(connection, name))

    async def create(self, item: N) -> N:
        """Raises `BadRequest` (conflict) when the name is taken, and when there are as many as there may be."""

        def work(connection: Connection, version: int) -> N:
            most = MOST_ROWS if self._most is None else self._most
            if connection.execute(select(func.count()).select_from(self._table)).scalar_one() >= most:
                message = f"There may be {most} of them, and there are. Remove one, or make one of several."
                raise BadRequest(message, code="conflict")
            try:
                connection.execute(insert(self._table).values(version=version, **self._encode(item)))
            except IntegrityError as error:
                raise BadRequest(f"A {self._noun} of this name exists.", code="conflict") from error
            return item

        return await self._change(work, self._table.name)

    async def replace(self, item: N) -> N:
        """Raises `BadRequest` (not_found)."""
        return await self.change(item.name, lambda _: item)

    async def change(self, name: str, edit: Callable[[N], N]) -> N:
        """Write what `edit` makes of the present one; nobody changes it in between. Raises `BadRequest` (not_found)."""

        def work(connection: Connection, version: int) -> N:
            item = edit(self._get(connection, name))
            statement = update(self._table).where(self._table.c.name == name)
            connection.execute(statement.values(version=version, **self._encode(item)))
            return item

        return await self._change(work, self._table.name)

    async def delete(self, name: str) -> None:
        """Raises `BadRequest` (not_found)."""

        def work(connection: Connection, version: int) -> None:
            del version
            if connection.execute(delete(self._table).where(self._table.c.name == name)).rowcount == 0:
                raise BadRequest(f"There is no {self._noun} of this name.", code="not_found")

        await self._change(work, self._table.name)

    def _get(self, connection: Connection, name: str) -> N:
        column = self._table.c.name
        rows = read_rows(connection, select(self._table).where(column == name), column)
        if not rows:
            raise BadRequest(f"There is no {self._noun} of this name.", code="not_found")
        return decode_one(rows[0], self._decode)
