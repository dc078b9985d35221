"""The contract of `mastio_audit.log.store`, and what each of the two stores adds to it."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from mastio.exchange.errors import ConfigurationError
from mastio_audit.log import chain, sqlite
from mastio_audit.log.chain import Head
from mastio_audit.log.postgres import PostgresStore, dsn
from mastio_audit.log.sqlite import INLINE_PATIENCE, OLDEST_SQLITE, SqliteReader, SqliteStore
from mastio_audit.log.store import AuditStore, Batch, Build, DamageError, Extent, LogReader, StoreError
from mastio_audit.verification.store import verify_log

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Cluster, Place

MakeBatch = Callable[..., Build]
WRITER = Path(__file__).parents[2] / "support" / "audit" / "log_writer.py"


async def verified(reader: LogReader) -> int:
    """The size of a log that verifies."""
    report = await verify_log(reader, lambda done, size: None)
    assert report.problem is None, report
    return report.size


class TestContract:
    async def test_a_new_log_is_empty(self, place: Place) -> None:
        store = place.store()
        await store.open()
        assert await store.extent() == Extent(Head(), 0)
        assert await store.read(0, 10) == []
        assert await store.owners() == []
        await store.close()

    async def test_batches_are_read_back_in_order_byte_for_byte(self, place: Place, batch: MakeBatch) -> None:
        store = place.store()
        await store.open()
        heads = [await store.append(batch(("event", "a"), ("event", "b"))) for _ in range(6)]
        assert [head.size for head in heads] == [2, 4, 6, 8, 10, 12]
        assert await store.extent() == Extent(heads[-1], 12)
        rows = await store.read(0, 100)
        verified = chain.verify(rows, heads[-1])
        assert (verified.head.last_hash, verified.tree.frontier) == (heads[-1].last_hash, heads[-1].frontier)
        assert await store.read(3, 2) == rows[3:5]
        await store.close()

    async def test_what_was_appended_is_there_after_reopening(self, place: Place, batch: MakeBatch) -> None:
        first = place.store()
        await first.open()
        await first.append(batch(("intent", "a"), ("event", "b")))
        head = await first.append(batch(("event", "c")))
        await first.close()
        await first.open()
        assert await first.extent() == Extent(head, 3)
        await first.close()
        second = place.store()
        await second.open()
        assert (await second.append(batch(("outcome", "a"), closed=(0,)))).size == 4
        await second.close()
        assert await verified(place.reader()) == 4

    async def test_open_intents_are_kept_for_their_owner(self, place: Place, batch: MakeBatch) -> None:
        store = place.store()
        await store.open()
        await store.append(batch(("intent", "a"), ("event", "e"), ("intent", "b"), ("intent", "c"), ("outcome", "c")))
        await store.append(batch(("intent", "d"), owner="node/1"))
        assert sorted(await store.owners()) == ["node/0", "node/1"]
        rows = await store.read(0, 10)
        assert await store.leftovers("node/0") == [rows[0], rows[2]]
        assert await store.leftovers("node/1") == [rows[5]]
        assert await store.leftovers("node/2") == []
        await store.append(batch(("outcome", "d"), ("outcome", "a"), closed=(5, 0)))
        assert await store.leftovers("node/0") == [rows[2]]
        assert await store.owners() == ["node/0"]
        await store.close()

    @pytest.mark.parametrize("before", [1, 5])
    async def test_closing_what_is_not_open_stores_nothing(self, place: Place, batch: MakeBatch, before: int) -> None:
        store = place.store()
        await store.open()
        for number in range(before):
            head = await store.append(batch(("intent", f"{number}")))
        with pytest.raises(StoreError):
            await store.append(batch(("outcome", "0"), ("outcome", "x"), closed=(0, 77)))
        await store.close()
        await store.open()
        assert await store.extent() == Extent(head, before)
        assert len(await store.leftovers("node/0")) == before
        await store.close()

    @pytest.mark.parametrize("before", [0, 5])
    async def test_a_build_that_fails_stores_nothing(self, place: Place, batch: MakeBatch, before: int) -> None:
        def broken(head: Head) -> Batch:
            raise chain.ChainError("no")

        store, other = place.store(), place.store("node/1", inline=False)
        await store.open()
        for _ in range(before):
            await store.append(batch(("event", "a")))
        with pytest.raises(chain.ChainError):
            await store.append(broken)
        await other.open()
        assert (await other.append(batch(("event", "b")))).size == before + 1
        await other.close()
        await store.close()

    async def test_appenders_in_one_process_take_turns(self, place: Place, batch: MakeBatch) -> None:
        stores = [place.store(f"node/{slot}", inline=False) for slot in range(3)]
        for store in stores:
            await store.open()

        async def several(store: AuditStore, name: str) -> None:
            for _ in range(30):
                await store.append(batch(("event", name), ("event", name)))

        await asyncio.gather(*(several(store, f"{n}") for n, store in enumerate(stores)))
        for store in stores:
            await store.close()
        assert await verified(place.reader()) == 180

    async def test_appenders_in_several_processes_make_one_chain(self, place: Place) -> None:
        commands = [[sys.executable, str(WRITER), place.address, f"node/{slot}", "4", "25"] for slot in range(4)]
        processes = [
            await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for command in commands
        ]
        printed = [await process.communicate() for process in processes]
        assert [process.returncode for process in processes] == [0] * 4, printed
        indices = [int(line.split()[0]) for out, _ in printed for line in out.decode().splitlines()]
        assert len(set(indices)) == len(indices) == 4 * 4 * 25 * 2
        assert await verified(place.reader()) == len(indices) + 4

    async def test_a_closed_store_refuses_and_closes_again(self, place: Place, batch: MakeBatch) -> None:
        store = place.store()
        await store.close()
        for call in (store.append(batch(("event", "a"))), store.extent(), store.read(0, 1), store.leftovers("node/0")):
            with pytest.raises(StoreError, match="not open"):
                await call
        await store.close()

    async def test_a_head_that_is_gone_stops_appending(self, place: Place, batch: MakeBatch) -> None:
        store = place.store()
        await store.open()
        await store.append(batch(("event", "a")))
        await asyncio.to_thread(place.tamper, "DELETE FROM head")
        assert await store.extent() == Extent(None, 1)
        with pytest.raises(DamageError):
            await store.append(batch(("event", "b")))
        await store.close()
        await store.open()
        assert await store.extent() == Extent(None, 1)
        await store.close()

    async def test_tables_of_another_version_are_refused(self, place: Place) -> None:
        store = place.store()
        await store.open()
        await asyncio.to_thread(place.tamper, "UPDATE head SET format = 3")
        with pytest.raises(ConfigurationError, match="format 3"):
            await store.extent()
        await store.close()

    async def test_a_reader_changes_nothing(self, place: Place, batch: MakeBatch) -> None:
        reader = place.reader()
        with pytest.raises(StoreError):
            await reader.open()
            await reader.extent()
        await reader.close()
        assert list(place.data.iterdir()) == []
        store = place.store()
        await store.open()
        head = await store.append(batch(("event", "a")))
        await reader.open()
        assert await reader.extent() == Extent(head, 1)
        head = await store.append(batch(("event", "b")))
        assert await reader.extent() == Extent(head, 2)
        await reader.close()
        await store.close()


class TestSqlite:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "db" / "audit.sqlite"

    def test_the_library_is_new_enough(self) -> None:
        assert tuple(map(int, apsw.sqlite_lib_version().split("."))) >= OLDEST_SQLITE

    def test_an_older_library_is_refused(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It can lose a commit: nothing is written with it, and the message names what to install."""
        monkeypatch.setattr(sqlite, "OLDEST_SQLITE", (99, 1, 0))
        store = SqliteStore(path, inline=True)
        with pytest.raises(ConfigurationError, match="can lose commits") as caught:
            asyncio.run(store.open())
        assert "99.1.0 or newer" in caught.value.hint and path.stat().st_size == 0
        with pytest.raises(StoreError, match="not open"):
            asyncio.run(store.extent())

    async def test_only_the_owner_may_read_the_files(self, path: Path, batch: MakeBatch) -> None:
        store = SqliteStore(path, inline=True)
        await store.open()
        await store.append(batch(("event", "a")))
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        assert modes == dict.fromkeys(("audit.sqlite", "audit.sqlite-wal", "audit.sqlite-shm"), 0o600)
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        await store.close()

    async def test_opening_empties_the_wal_into_the_file(self, path: Path, tmp_path: Path, batch: MakeBatch) -> None:
        store = SqliteStore(path, inline=True)
        await store.open()
        await store.append(batch(("event", "a")))
        crashed = tmp_path / "crashed"
        shutil.copytree(path.parent, crashed)
        assert (crashed / "audit.sqlite-wal").stat().st_size > 0
        again = SqliteStore(crashed / "audit.sqlite", inline=True)
        await again.open()
        assert (crashed / "audit.sqlite-wal").stat().st_size == 0
        assert (await again.extent()).end == 1
        await again.close()
        await store.close()

    async def test_commits_run_in_the_event_loop_only_for_one_worker(self, path: Path, batch: MakeBatch) -> None:
        threads: set[int] = set()

        def build(head: Head) -> Batch:
            threads.add(threading.get_ident())
            return batch(("event", "a"))(head)

        store = SqliteStore(path, inline=False)
        await store.open()
        assert not store.inline
        await store.append(build)
        assert threading.get_ident() not in threads
        await store.close()

    async def test_a_slow_commit_leaves_the_event_loop_for_good(self, path: Path, batch: MakeBatch) -> None:
        def slow(head: Head) -> Batch:
            time.sleep(0.06)
            return batch(("event", "a"))(head)

        store = SqliteStore(path, inline=True)
        await store.open()
        store.inline = True
        await store.append(slow)
        assert not store.inline
        await store.close()
        await store.open()
        assert not store.inline
        await store.close()

    async def test_a_foreign_lock_is_waited_for_outside_the_event_loop(self, path: Path, batch: MakeBatch) -> None:
        store = SqliteStore(path, inline=True)
        await store.open()
        store.inline = True
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(store.append(batch(("event", "a"))))
        started = time.perf_counter()
        await asyncio.sleep(0.01)
        assert time.perf_counter() - started < INLINE_PATIENCE + 0.1
        await asyncio.sleep(0.3)
        other.execute("COMMIT")
        assert (await waiting).size == 1
        assert store.inline, "the disk is as fast as before"
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="lock"):
            await store.append(batch(("event", "b")))
        other.close()
        await store.close()

    def test_a_file_that_was_replaced_by_a_folder(self, path: Path) -> None:
        path.mkdir(parents=True)
        with pytest.raises(StoreError, match="failed"):
            asyncio.run(SqliteStore(path, inline=True).open())
        with pytest.raises(StoreError, match="no audit log"):
            asyncio.run(SqliteReader(path).open())

    async def test_tables_that_are_gone_are_an_error_and_not_an_empty_log(self, path: Path, batch: MakeBatch) -> None:
        store = SqliteStore(path, inline=True)
        await store.open()
        await store.append(batch(("event", "a")))
        with contextlib.closing(apsw.Connection(str(path))) as other:
            other.execute("DROP TABLE head")
        with pytest.raises(StoreError, match=r"SQLITE_ERROR|SQLError"):
            await store.extent()
        with pytest.raises(StoreError, match=r"SQLITE_ERROR|SQLError"):
            await store.append(batch(("event", "b")))
        with pytest.raises(StoreError, match="not open"):
            await store.append(batch(("event", "b")))
        await store.close()

    async def test_a_disk_that_cannot_be_asked(self, path: Path, tmp_path: Path) -> None:
        store = SqliteStore(path, inline=True)
        await store.open()
        path.parent.rename(tmp_path / "elsewhere")
        with pytest.raises(StoreError, match="cannot be asked"):
            await store.space()
        await store.close()

    async def test_a_lock_while_it_is_opened_is_waited_for(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        store = SqliteStore(path, inline=True)
        await store.open()
        await store.close()
        monkeypatch.setattr(sqlite, "PATIENCE", 0.1)
        with contextlib.closing(apsw.Connection(str(path))) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="another process holds a lock"):
                await store.open()
            other.execute("COMMIT")
        await store.open()
        await store.close()

    def test_a_file_that_is_no_database_is_damage(self, path: Path) -> None:
        path.parent.mkdir()
        path.write_bytes(b"not a database at all, but long enough to have a header " * 100)
        for opened in (SqliteStore(path, inline=True), SqliteReader(path)):
            with pytest.raises(DamageError):
                asyncio.run(opened.open())


class TestPostgres:
    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            ("postgresql+asyncpg://u:p%40@h:5433/db", "postgresql://u:p%40@h:5433/db"),
            ("postgresql+asyncpg:///db?host=/run/pg", "postgresql:///db?host=%2Frun%2Fpg"),
            ("postgresql+asyncpg://h/db?ssl=require", "postgresql://h/db?sslmode=require"),
            ("postgresql+asyncpg://h/db?prepared_statement_cache_size=0", "postgresql://h/db"),
            ("postgresql://h/db", "postgresql://h/db"),
        ],
    )
    def test_the_appliances_url_is_understood(self, url: str, expected: str) -> None:
        assert dsn(url) == expected

    async def test_a_bad_url_is_a_matter_of_configuration(self) -> None:
        with pytest.raises(ConfigurationError) as caught:
            await PostgresStore("postgresql+asyncpg://u:secret@h:port/db", "node/0").open()
        assert "secret" not in caught.value.message + caught.value.hint

    async def test_a_server_that_does_not_answer_is_no_hang(self) -> None:
        with pytest.raises(StoreError):
            await PostgresStore("postgresql+asyncpg://u@127.0.0.1:1/db", "node/0").open()

    def test_a_server_without_fsync_is_refused(self, make_cluster: Callable[[], Cluster]) -> None:
        cluster = make_cluster()
        cluster.start(fsync="off")
        with pytest.raises(ConfigurationError, match="fsync"):
            asyncio.run(PostgresStore(cluster.url("postgres"), "node/0").open())
        cluster.stop()

    def test_every_append_is_synced_whatever_the_database_says(
        self, make_cluster: Callable[[], Cluster], batch: MakeBatch
    ) -> None:
        async def append(url: str, times: int) -> None:
            store = PostgresStore(url, "node/0")
            await store.open()
            for _ in range(times):
                await store.append(batch(("event", "a")))
            await store.close()

        cluster = make_cluster()
        cluster.start(synchronous_commit="off", wal_writer_delay="10s")
        url = cluster.url("postgres")
        asyncio.run(append(url, 1))
        before = self.syncs(cluster)
        asyncio.run(append(url, 40))
        assert self.syncs(cluster) - before >= 40
        cluster.stop()

    @staticmethod
    def syncs(cluster: Cluster) -> int:
        psql = [str(cluster.binaries / "psql"), "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "mastio", "-d"]
        query = ["postgres", "-Atc", "SELECT wal_sync FROM pg_stat_wal"]
        return int(subprocess.run([*psql, *query], check=True, capture_output=True).stdout)

    async def test_one_owner_has_one_session(self, cluster: Cluster, batch: MakeBatch) -> None:
        url = await asyncio.to_thread(cluster.create)
        first, second, other = (PostgresStore(url, owner) for owner in ("node/0", "node/0", "node/1"))
        await first.open()
        await other.open()
        await first.append(batch(("event", "a")))
        await second.open()
        with pytest.raises(StoreError):
            await first.append(batch(("event", "b")))
        assert (await second.append(batch(("event", "c")))).size == 2
        assert (await other.append(batch(("event", "d")))).size == 3
        for store in (first, second, other):
            await store.close()

    async def test_an_append_never_waits_long_for_a_lock(self, cluster: Cluster, batch: MakeBatch) -> None:
        url = await asyncio.to_thread(cluster.create)
        store, holder = PostgresStore(url, "node/0"), PostgresStore(url, "node/1")
        for opened in (store, holder):
            await opened.open()
        connection = holder._connection
        await connection.execute("BEGIN; SELECT * FROM audit_head FOR UPDATE")
        started = time.perf_counter()
        with pytest.raises(StoreError, match="lock"):
            await store.append(batch(("event", "a")))
        assert time.perf_counter() - started < 4
        await connection.execute("ROLLBACK")
        await store.open()
        assert (await store.append(batch(("event", "a")))).size == 1
        for opened in (store, holder):
            await opened.close()
