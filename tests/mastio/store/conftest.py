"""A migrated database of each kind, and what a worker opens on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mastio.store.secrets.file_keys import FileKeys
from support.databases import create_migrated_database, create_migrated_file
from support.postgresql import create_database
from support.stores import Opened, open_store


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database with nothing in it."""
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path}/db/control.sqlite"
    return create_database(request.getfixturevalue("postgresql"))


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a migrated database; the keys are in the same test's folder."""
    FileKeys(tmp_path).ensure()
    if request.param == "sqlite":
        return create_migrated_file(tmp_path)
    return create_migrated_database(request.getfixturevalue("postgresql"))


@pytest.fixture
async def opened(url: str, tmp_path: Path) -> AsyncIterator[Opened]:
    async with open_store(url, tmp_path) as one:
        yield one
