"""A control plane for each test, on a database of its own."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from control_world import World, open_world

from mastio.store.migrate import upgrade


@pytest.fixture
def url(tmp_path: Path) -> str:
    made = f"sqlite+aiosqlite:///{tmp_path}/db/control.sqlite"
    upgrade(made)
    return made


@pytest.fixture
async def world(tmp_path: Path, url: str) -> AsyncIterator[World]:
    async with open_world(tmp_path, url) as opened:
        yield opened
