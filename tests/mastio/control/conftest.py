"""A control plane for each test, on a database of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.control_plane import World, open_world
from support.databases import create_migrated_file


@pytest.fixture
def url(tmp_path: Path) -> str:
    return create_migrated_file(tmp_path)


@pytest.fixture
async def world(tmp_path: Path, url: str) -> AsyncIterator[World]:
    async with open_world(tmp_path, url) as opened:
        yield opened
