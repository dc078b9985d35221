"""Migrations: from nothing to the tables of this version, on every database, from any working directory."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, select, text

from mastio.exchange.errors import ConfigurationError
from mastio.store.sql import migrate, tables
from mastio.store.sql.engine import Database
from mastio.store.sql.migrate import is_current, upgrade


def test_from_nothing_to_current_and_again(empty_url: str) -> None:
    assert not is_current(empty_url)
    upgrade(empty_url)
    assert is_current(empty_url)
    upgrade(empty_url)
    assert is_current(empty_url)


def test_the_migrations_make_exactly_the_tables_that_the_code_uses(empty_url: str) -> None:
    upgrade(empty_url)

    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "target_metadata": tables.metadata}
        )
        return list(compare_metadata(context, tables.metadata))

    async def compare() -> list[object]:
        database = Database(empty_url)
        try:
            return await database.read(differences)
        finally:
            await database.close()

    assert asyncio.run(compare()) == []


def test_the_serving_process_expects_the_newest_migration() -> None:
    assert ScriptDirectory.from_config(migrate._config()).get_current_head() == tables.SCHEMA


def test_a_newer_database_is_one_sentence(empty_url: str) -> None:
    upgrade(empty_url)

    async def come_from_later() -> None:
        database = Database(empty_url)
        await database.write(
            lambda connection: connection.execute(text("UPDATE alembic_version SET version_num = 'z'"))
        )
        await database.close()

    asyncio.run(come_from_later())
    assert not is_current(empty_url)
    with pytest.raises(ConfigurationError, match="newer version"):
        upgrade(empty_url)


def test_several_at_once_do_it_once(empty_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(upgrade, [empty_url] * 4))
    assert is_current(empty_url)


def test_a_database_file_is_nobody_elses(tmp_path: Path) -> None:
    upgrade(f"sqlite+aiosqlite:///{tmp_path}/db/control.sqlite")
    assert stat.S_IMODE((tmp_path / "db").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "db" / "control.sqlite").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "url",
    ["", "nonsense", "mysql://x/y", "sqlite:///x", "sqlite+aiosqlite://", "postgresql+asyncpg://localhost", "://"],
)
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        upgrade(url)


def test_a_server_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not answer"):
        is_current(f"postgresql+asyncpg://x@/x?host={tmp_path}")


def test_a_server_that_refuses_us_is_one_sentence(postgresql: str) -> None:
    with pytest.raises(ConfigurationError, match="does not answer"):
        is_current(postgresql.replace("DATABASE", "there_is_none"))


def test_a_file_that_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"no database" * 1000)
    with pytest.raises(ConfigurationError):
        upgrade(f"sqlite+aiosqlite:///{tmp_path}/f")


def test_serving_does_not_import_alembic() -> None:
    code = "import sys, mastio.control, mastio.store.hot, mastio.store.control; sys.exit('alembic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd="/", env=dict(os.environ)).returncode == 0


async def test_sqlite_syncs_fully_and_keeps_a_rollback_journal(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path}/db/control.sqlite"
    await asyncio.to_thread(upgrade, url)
    database = Database(url)

    def pragmas(connection: Connection) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys")
        return [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]

    assert await database.read(pragmas) == await database.write(pragmas) == ["truncate", 2, 1]
    assert await database.read(lambda c: c.execute(select(tables.revision.c.value)).scalar_one()) == 0
    await database.close()
