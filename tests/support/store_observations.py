"""Observations of a store for tests: the number of rows of a table, and the code of a refusal."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, select

from mastio.exchange.errors import MastioError
from mastio.store.sql import tables
from support.stores import Opened


async def count(opened: Opened, table: str) -> int:
    def rows(connection: Connection) -> int:
        return len(connection.execute(select(tables.metadata.tables[table])).all())

    return await opened.database.read(rows)


async def code_of(call: object) -> str:
    with pytest.raises(MastioError) as caught:
        await call  # type: ignore[misc]
    return caught.value.code
