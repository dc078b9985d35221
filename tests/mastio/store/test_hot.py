"""The hot copy: follows other workers within a second, and goes on without the database."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, update

from mastio.exchange.errors import ConfigurationError, Unavailable
from mastio.store.hot import HotDirectory
from mastio.store.secrets.file_keys import FileKeys
from mastio.store.sql import tables
from mastio.store.sql.engine import Database
from mastio.store.sql.migrate import upgrade
from mastio_policy.collection import POLICIES, PolicyRow
from support.stores import NOW, Opened, enrol, open_store


async def seconds_until(condition: Callable[[], bool], limit: float = 3.0) -> float:
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < limit, "it did not come"
        await asyncio.sleep(0.01)
    return time.monotonic() - started


async def test_another_workers_changes_are_seen_within_a_second(opened: Opened) -> None:
    async with open_store(opened.url, opened.data) as other:
        await enrol(other, "alice")
        assert await seconds_until(lambda: "alice" in opened.directory.agents) < 1
        await other.store.agents.revoke("alice", None, NOW)
        assert other.directory.agents["alice"].status == "revoked"
        assert await seconds_until(lambda: opened.directory.agents["alice"].status == "revoked") < 1
        await other.store.of(POLICIES).create(PolicyRow("p", "permit(principal, action, resource);"))
        assert await seconds_until(lambda: "p" in opened.directory.objects("policies")) < 1
        await other.store.of(POLICIES).delete("p")
        assert await seconds_until(lambda: "p" not in opened.directory.objects("policies")) < 1
        assert opened.directory.agents == other.directory.agents


async def test_change_is_told_after_it_was_applied_and_only_when_something_is_different(opened: Opened) -> None:
    told: list[tuple[int, list[str]]] = []
    opened.directory.on_change(lambda: told.append((opened.directory.version, sorted(opened.directory.agents))))
    await enrol(opened, "alice")
    assert [names for _, names in told] == [["alice"]]
    await opened.store.tokens.create("*", 1, NOW + 60, "op", NOW)
    await asyncio.sleep(0.6)
    assert len(told) == 1  # tokens are not kept hot
    await enrol(opened, "bob")
    versions = [version for version, _ in told]
    assert versions == sorted(set(versions)) and len(versions) == 2


async def test_a_broken_callback_does_not_stop_the_following(opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
    told: list[int] = []

    def callback() -> None:
        raise RuntimeError("a plugin's defect")

    async with open_store(opened.url, opened.data) as other:
        opened.directory.on_change(callback)
        opened.directory.on_change(lambda: told.append(len(opened.directory.agents)))
        await enrol(other, "alice")
        await seconds_until(lambda: "alice" in opened.directory.agents)
        await enrol(other, "bob")
        assert await seconds_until(lambda: "bob" in opened.directory.agents) < 1
    assert told == [1, 2]
    assert "a plugin's defect" in caplog.text


async def test_an_older_database_put_in_place_is_loaded_anew(opened: Opened) -> None:
    await enrol(opened, "alice")
    version = opened.directory.version

    def put_in_place(connection: Connection) -> None:
        connection.execute(update(tables.revision).values(value=0, agents=0))
        connection.execute(tables.certificates.delete())
        connection.execute(tables.agents.delete())

    await opened.database.write(put_in_place)
    await seconds_until(lambda: not opened.directory.agents)
    assert opened.directory.version > version


async def test_many_callers_share_few_looks(opened: Opened) -> None:
    looks = 0
    read = opened.database.read

    async def counted(work):  # type: ignore[no-untyped-def]
        nonlocal looks
        looks += 1
        return await read(work)

    opened.database.read = counted  # type: ignore[method-assign]
    await asyncio.gather(*(opened.directory.refresh() for _ in range(100)))
    assert looks <= 3


async def test_tables_of_another_version_stop_the_start(empty_url: str, tmp_path: Path) -> None:
    keys = FileKeys(tmp_path)
    keys.ensure()
    (tmp_path / "db").mkdir(exist_ok=True)
    database = Database(empty_url)
    directory = HotDirectory(database, keys)
    with pytest.raises(ConfigurationError, match="tables"):
        await directory.start()
    await asyncio.to_thread(upgrade, empty_url)
    await directory.start()
    assert directory.healthy
    await directory.close()
    await database.close()


async def test_the_last_copy_is_served_while_sqlite_is_away(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    FileKeys(tmp_path).ensure()
    url = f"sqlite+aiosqlite:///{tmp_path}/db/control.sqlite"
    await asyncio.to_thread(upgrade, url)
    async with open_store(url, tmp_path, patience=0.2) as opened:
        await enrol(opened, "alice")
        assert opened.directory.healthy
        locked = sqlite3.connect(tmp_path / "db" / "control.sqlite", isolation_level=None)
        locked.execute("BEGIN EXCLUSIVE")
        assert await seconds_until(lambda: not opened.directory.healthy) < 3
        assert opened.directory.agents["alice"].status == "active"
        with pytest.raises(Unavailable) as caught:
            await opened.store.agents.revoke("alice", None, NOW)
        assert caught.value.code == "store_unavailable" and caught.value.headers
        locked.execute("ROLLBACK")
        locked.close()
        assert await seconds_until(lambda: opened.directory.healthy) < 3
        await opened.store.agents.revoke("alice", None, NOW)
    assert caplog.text.count("served from memory") == 1  # said once, not four times a second


def server_processes(folder: Path) -> list[int]:
    """The server that the fixture started, and its children."""
    server = (folder / "data" / "postmaster.pid").read_text().split()[0]
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    return [int(process) for process in (server, *children)]


async def test_the_last_copy_is_served_while_postgresql_is_away(postgresql: str, tmp_path: Path) -> None:
    """The server is paused: what is in memory goes on, and readiness says that it is old."""
    FileKeys(tmp_path).ensure()
    url = postgresql.replace("DATABASE", "postgres")
    await asyncio.to_thread(upgrade, url)
    async with open_store(url, tmp_path, patience=0.5) as opened:
        await enrol(opened, "alice")
        processes = server_processes(Path(postgresql.partition("host=")[2]))
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            assert await seconds_until(lambda: not opened.directory.healthy, 5) < 5
            assert "alice" in opened.directory.agents
            with pytest.raises(Unavailable):
                await opened.store.agents.revoke("alice", None, NOW)
        finally:
            for process in reversed(processes):
                os.kill(process, signal.SIGCONT)
        assert await seconds_until(lambda: opened.directory.healthy, 10) < 10
        await opened.store.agents.revoke("alice", None, NOW)
        assert opened.directory.agents["alice"].status == "revoked"


async def test_a_revocation_does_not_wait_for_policies_that_are_prepared(opened: Opened) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def prepare(policies: object) -> None:
        begun.set()
        await may_end.wait()

    async with open_store(opened.url, opened.data) as other:
        await enrol(other, "alice")
        opened.directory.before("policies", prepare)
        await other.store.of(POLICIES).create(PolicyRow("slow", "permit(principal, action, resource);"))
        await asyncio.wait_for(begun.wait(), 3)
        version = opened.directory.version
        await other.store.agents.revoke("alice", None, NOW)
        assert await seconds_until(lambda: opened.directory.agents["alice"].status == "revoked") < 1
        assert "slow" not in opened.directory.objects("policies")
        may_end.set()
        assert await seconds_until(lambda: "slow" in opened.directory.objects("policies")) < 1
        assert opened.directory.version > version


async def test_policies_are_in_force_although_preparing_them_failed(opened: Opened) -> None:
    async def prepare(policies: object) -> None:
        raise RuntimeError("broken")

    opened.directory.before("policies", prepare)
    async with open_store(opened.url, opened.data) as other:
        await other.store.of(POLICIES).create(PolicyRow("p", "permit(principal, action, resource);"))
        assert await seconds_until(lambda: "p" in opened.directory.objects("policies")) < 1


async def test_a_revision_is_in_force_once_whoever_follows_it_knows(opened: Opened) -> None:
    """A request that comes in between must not take the copy for new while a plugin still has the old."""
    before, told = opened.directory.in_force, list[int]()
    opened.directory.on_change(lambda: told.append(opened.directory.in_force))
    await opened.store.of(POLICIES).create(PolicyRow("p", "permit(principal, action, resource);"))
    assert told and set(told) == {before} and opened.directory.in_force > before
