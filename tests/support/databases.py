"""Databases that already have the tables of this version: copies of one that was migrated once in this process."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from mastio.store.sql.migrate import upgrade
from support.postgresql import create_database


@functools.cache
def _migrated_file() -> bytes:
    with tempfile.TemporaryDirectory(prefix="mastio-") as folder:
        upgrade(f"sqlite+aiosqlite:///{folder}/control.sqlite")
        return (Path(folder) / "control.sqlite").read_bytes()


@functools.cache
def _migrated_database(server: str) -> str:
    """The name of the database in the cluster at `server` that others are copied from."""
    url = create_database(server)
    upgrade(url)
    return url.partition("?")[0].rpartition("/")[2]


def create_migrated_file(folder: Path) -> str:
    """The URL of a new SQLite database `db/control.sqlite` in `folder`."""
    file = folder / "db" / "control.sqlite"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch(0o600)
    file.write_bytes(_migrated_file())
    return f"sqlite+aiosqlite:///{file}"


def create_migrated_database(server: str) -> str:
    """The URL of a new database in the cluster at `server`."""
    return create_database(server, _migrated_database(server))
