"""What stories read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import asyncpg
import pytest

from mastio_audit.log.postgres import dsn
from support.appliance import Appliance


@pytest.fixture
def read_log() -> Callable[[Appliance, str], list[dict[str, Any]]]:
    """The audit log of an appliance on the database at a URL; empty: its own."""

    def read(appliance: Appliance, url: str) -> list[dict[str, Any]]:
        return asyncio.run(_read(url)) if url else appliance.entries()

    return read


async def _read(url: str) -> list[dict[str, Any]]:
    connection = await asyncpg.connect(dsn(url))
    try:
        return [json.loads(row["entry"]) for row in await connection.fetch("SELECT entry FROM audit_entries")]
    finally:
        await connection.close()
