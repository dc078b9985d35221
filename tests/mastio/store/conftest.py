"""A migrated database of each kind, and what a worker opens on it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from store_world import Opened, open_store

from mastio.store.keys import FileKeys
from mastio.store.migrate import upgrade
from postgresql import create_database


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database with nothing in it."""
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path}/db/control.sqlite"
    return create_database(request.getfixturevalue("postgresql"))


@pytest.fixture
def url(empty_url: str, tmp_path: Path) -> str:
    """The URL of a migrated database; the keys are in the same test's folder."""
    upgrade(empty_url)
    FileKeys(tmp_path).ensure()
    return empty_url


@pytest.fixture
async def opened(url: str, tmp_path: Path) -> AsyncIterator[Opened]:
    async with open_store(url, tmp_path) as one:
        yield one
