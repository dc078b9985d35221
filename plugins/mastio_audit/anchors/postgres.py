"""The memory of an anchor of a log that appliances share, in its database; the lock is that of a sink's cursor."""

from __future__ import annotations

import asyncio
from typing import Any

from mastio_audit.sinks.postgres import TableCursor

_REMEMBER = """
    INSERT INTO audit_cursors VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET next = excluded.next
"""
_PUBLISH = """
    INSERT INTO audit_notes VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET note = excluded.note
"""


class TableMemory(TableCursor):
    """Rows of `audit_cursors` and `audit_notes`. See `Memory`."""

    tables = (
        *TableCursor.tables,
        "CREATE TABLE IF NOT EXISTS audit_notes (name text PRIMARY KEY, note bytea NOT NULL)",
    )

    def __init__(self, url: str, anchor: str) -> None:
        super().__init__(url, f"anchor/{anchor}")  # no sink has a slash in its name
        self._anchor = f"anchor/{anchor}"
        self._turn = asyncio.Lock()

    async def recall(self, key: str) -> int | None:
        found: int | None = await self._ask("SELECT next FROM audit_cursors WHERE name = $1", f"{self._anchor}/{key}")
        return found

    async def remember(self, key: str, number: int) -> None:
        await self._ask(_REMEMBER, f"{self._anchor}/{key}", number)

    async def publish(self, note: bytes) -> None:
        await self._ask(_PUBLISH, self._anchor, note)

    async def published(self) -> bytes | None:
        found: bytes | None = await self._ask("SELECT note FROM audit_notes WHERE name = $1", self._anchor)
        return found

    async def _ask(self, query: str, *parameters: object) -> Any:
        """A session answers one question at a time."""
        async with self._turn:
            return await super()._ask(query, *parameters)
