"""Bring the database up to the tables of this version. Works from the installed package, without any file around it.

Only `mastio migrate` imports this, which the supervisor runs as a child process: alembic would cost a serving process
memory for nothing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, text
from sqlalchemy.engine import URL

from mastio.exchange.errors import ConfigurationError, Unavailable
from mastio.store.sql.engine import ANSWER_SECONDS, Database, parse_url

T = TypeVar("T")

PATIENCE = 600.0
"""Seconds that one step of a migration may take, or another replica's migration may be waited for."""

_LOCK = 0x6D617374696F
"""PostgreSQL advisory lock: of several replicas that migrate at once, one does it and the others find it done."""


def is_current(url: str) -> bool:
    """True if the database has exactly the tables of this version.

    Raises `ConfigurationError` when there is no such database, or it does not answer.
    """
    parsed = parse_url(url)
    if _is_file(parsed) and not Path(parsed.database or "").is_file():
        return False
    return _run(url, _find_revision, write=False) == ScriptDirectory.from_config(_config()).get_current_head()


def upgrade(url: str) -> None:
    """Create or upgrade the tables, all or nothing. Raises `ConfigurationError`."""
    parsed = parse_url(url)
    if _is_file(parsed):
        _make_file(Path(parsed.database or ""))
    _run(url, _upgrade, write=True)


def _is_file(url: URL) -> bool:
    return url.get_backend_name() == "sqlite" and url.database != ":memory:"


def _make_file(path: Path) -> None:
    """The database file, for nobody else to read."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise ConfigurationError("The database file cannot be written.", f"Make {path} writable.") from error


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config


def _run(url: str, work: Callable[[Connection], T], *, write: bool) -> T:
    try:
        return asyncio.run(_connect(url, work, write=write))
    except Unavailable as error:
        raise ConfigurationError(
            "The database does not answer.", "Check the URL, that the server runs, and that it lets us in."
        ) from error


async def _connect(url: str, work: Callable[[Connection], T], *, write: bool) -> T:
    database = Database(url, patience=PATIENCE if write else ANSWER_SECONDS)
    try:
        return await (database.write(work) if write else database.read(work))
    finally:
        await database.close()


def _find_revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _upgrade(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    config = _config()
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:  # alembic knows no migration to the tables that are there
        raise ConfigurationError(
            "The database has the tables of another, newer version.",
            "Use that version, or restore the backup from before the upgrade.",
        ) from error
