"""Killed processes, full disks, stopped and paused servers: nothing confirmed is lost, service resumes by itself."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mastio.exchange.errors import AuditError
from mastio.exchange.values import Entry
from mastio_audit.log import chain
from mastio_audit.log.postgres import PostgresReader, PostgresStore
from mastio_audit.log.sequencer import Sequencer
from mastio_audit.log.sqlite import SqliteReader, SqliteStore
from mastio_audit.log.store import AuditStore, LogReader
from mastio_audit.verification.store import verify_log

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Cluster, Place

WRITER = Path(__file__).parents[2] / "support" / "audit" / "log_writer.py"
RESUMES = 10  # seconds after the end of a fault
REFUSES = 5  # seconds


@asynccontextmanager
async def opened(store: AuditStore, owner: str = "node/0") -> AsyncIterator[Sequencer]:
    sequencer = Sequencer(store, owner, time.time, lambda kind: Entry(id="process", phase="event", kind=kind))
    await sequencer.open(lambda name: name == owner)
    try:
        yield sequencer
    finally:
        await sequencer.close()


async def record(sequencer: Sequencer, exchange: str) -> int:
    """A whole exchange; the index of its outcome."""
    await sequencer.record(Entry(id=exchange, phase="intent", kind="test", request={"text": "x" * 500}))
    return await sequencer.record(Entry(id=exchange, phase="outcome", kind="test", outcome={"status": "ok"}))


async def refusal(sequencer: Sequencer) -> float:
    """Seconds until an exchange was refused."""
    started = time.perf_counter()
    with pytest.raises(AuditError):
        for number in range(100_000):
            await record(sequencer, f"refused-{number}-{started}")
    return time.perf_counter() - started


async def resumption(sequencer: Sequencer) -> float:
    """Seconds until an exchange was recorded again."""
    started = time.perf_counter()
    while True:
        try:
            await record(sequencer, f"resumed-{time.perf_counter()}")
        except AuditError:
            await asyncio.sleep(0.02)
        else:
            return time.perf_counter() - started


async def verified(reader: LogReader, confirmed: dict[int, str]) -> int:
    """The log verifies and holds every confirmed index with its exchange; the number of open intents."""
    report = await verify_log(reader, lambda done, size: None)
    assert report.problem is None
    await reader.open()
    for index, exchange in confirmed.items():
        [(_, entry)] = await reader.read(index, 1)
        assert chain.parse(entry)["id"] == exchange
    await reader.close()
    return report.open_intents


class TestKilledProcess:
    def test_everything_confirmed_is_there_after_sigkill(self, place: Place) -> None:
        chance = random.Random(11)
        confirmed: dict[int, str] = {}
        for round_number in range(10):
            writers = 1 if round_number % 2 else 16
            lines = self.write_until_killed(place, str(writers), chance.uniform(0.01, 0.2))
            fresh = {int(index): exchange for index, _, exchange in map(str.split, lines)}
            assert fresh and not fresh.keys() & confirmed.keys()
            confirmed |= fresh

        async def restart() -> int:
            async with opened(place.store("alone/0"), "alone/0"):
                pass
            return await verified(place.reader(), confirmed)

        assert asyncio.run(restart()) == 0

    @staticmethod
    def write_until_killed(place: Place, writers: str, seconds: float) -> list[str]:
        """The whole lines that the process printed until it was killed."""
        words = [sys.executable, str(WRITER), place.address, "alone/0", writers]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
            lines = [first, *process.stdout.read().splitlines(keepends=True)]
        return [line for line in lines if line.endswith("\n")]


class TestSync:
    """The system calls of a writer process, counted and made to fail by strace."""

    def run(self, tmp_path: Path, *options: str, exchanges: int) -> tuple[list[str], list[str]]:
        """Lines that the writer printed, and its system calls."""
        if shutil.which("strace") is None:
            pytest.skip("strace is not installed")
        traced = ["strace", "-f", "-o", str(tmp_path / "trace"), "-e", "trace=fdatasync,fsync,write", *options]
        words = [sys.executable, str(WRITER), str(tmp_path), "alone/0", "1", str(exchanges)]
        ran = subprocess.run([*traced, *words], capture_output=True, text=True, check=False)
        if "ptrace" in ran.stderr.lower():
            pytest.skip(f"strace is not permitted: {ran.stderr.strip()}")
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.splitlines(), (tmp_path / "trace").read_text().splitlines()

    def test_each_sequential_record_is_synced_before_its_answer(self, tmp_path: Path) -> None:
        lines, calls = self.run(tmp_path, exchanges=20)
        answers = [number for number, call in enumerate(calls) if "write(1," in call]
        assert len(answers) == len(lines) == 40
        for before, answer in itertools.pairwise(answers):
            assert any("sync(" in call for call in calls[before:answer])

    @pytest.mark.parametrize("when", ["30", "30..32", "31+40"])
    def test_a_sync_that_fails_refuses_and_resumes(self, tmp_path: Path, when: str) -> None:
        inject = ["-e", f"inject=fdatasync:error=EIO:when={when}"]
        lines, calls = self.run(tmp_path, *inject, exchanges=120)
        assert any("EIO" in call for call in calls)
        fields = [line.split() for line in lines]
        refused = [float(moment) for word, moment, _ in fields if word == "refused"]
        confirmed = {int(word): exchange for word, _, exchange in fields if word != "refused"}
        assert refused and len(confirmed) >= 240
        assert max(refused) - min(refused) < RESUMES
        reader = SqliteReader(tmp_path / "db" / "audit.sqlite")
        assert asyncio.run(verified(reader, confirmed)) == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"mounting is not permitted: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


class TestDisk:
    async def test_a_full_disk_refuses_and_a_freed_one_resumes(self, small_disk: Path) -> None:
        path = small_disk / "db" / "audit.sqlite"
        ballast = small_disk / "ballast"
        async with opened(SqliteStore(path, inline=True)) as sequencer:
            confirmed = {await record(sequencer, "first"): "first"}
            for _ in range(20):
                await asyncio.to_thread(fill_up, ballast)
                assert await refusal(sequencer) < REFUSES
                await asyncio.sleep(0.3)
            assert sequencer.closed is not None
            ballast.unlink()
            assert await resumption(sequencer) < RESUMES
            confirmed[await record(sequencer, "last")] = "last"
        assert await verified(SqliteReader(path), confirmed) == 0

    async def test_a_copy_on_a_read_only_disk_is_verified(self, small_disk: Path) -> None:
        path = small_disk / "db" / "audit.sqlite"
        async with opened(SqliteStore(path, inline=True)) as sequencer:
            confirmed = {await record(sequencer, "first"): "first"}
        remount = ["mount", "-o", "remount,ro", str(small_disk)]
        await asyncio.to_thread(subprocess.run, remount, check=True)
        assert await verified(SqliteReader(path), confirmed) == 0


def fill_up(path: Path) -> None:
    with path.open("ab", buffering=0) as file:
        for size in (65_536, 4_096, 256, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue


class TestServer:
    @pytest.fixture
    def own_cluster(self, make_cluster: Callable[[], Cluster]) -> Iterator[Cluster]:
        cluster = make_cluster()
        cluster.start()
        yield cluster
        cluster.stop(signal.SIGQUIT)

    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT, signal.SIGKILL], ids=lambda how: how.name)
    async def test_a_stopped_server_refuses_and_a_started_one_resumes(
        self, own_cluster: Cluster, how: signal.Signals
    ) -> None:
        url = own_cluster.url("postgres")
        async with opened(PostgresStore(url, "node/0")) as sequencer:
            confirmed = {await record(sequencer, f"x{n}"): f"x{n}" for n in range(5)}
            await sequencer.record(Entry(id="live", phase="intent", kind="test"))
            writing = [asyncio.create_task(refusal(sequencer)) for _ in range(8)]
            await asyncio.sleep(0.2)
            await asyncio.to_thread(own_cluster.stop, how)
            assert max(await asyncio.gather(*writing)) < REFUSES + 0.2
            assert await refusal(sequencer) < 0.1
            await asyncio.to_thread(own_cluster.start)
            assert await resumption(sequencer) < RESUMES
            index = await sequencer.record(Entry(id="live", phase="outcome", kind="test"))
            confirmed[index] = "live"
            assert await verified(PostgresReader(url), confirmed) == 0

    async def test_a_paused_server_refuses_and_a_resumed_one_resumes(self, own_cluster: Cluster) -> None:
        url = own_cluster.url("postgres")
        async with opened(PostgresStore(url, "node/0")) as sequencer:
            confirmed = {await record(sequencer, f"x{n}"): f"x{n}" for n in range(5)}
            writing = [asyncio.create_task(refusal(sequencer)) for _ in range(8)]
            await asyncio.sleep(0.2)
            own_cluster.pause()
            paused = time.perf_counter()
            await asyncio.gather(*writing)
            assert time.perf_counter() - paused < REFUSES
            assert await refusal(sequencer) < 0.1
            await asyncio.sleep(3)
            assert sequencer.closed == "the audit database does not answer in time"
            own_cluster.resume()
            assert await resumption(sequencer) < RESUMES
            assert await verified(PostgresReader(url), confirmed) == 0

    async def test_killed_sessions_heal(self, own_cluster: Cluster) -> None:
        url = own_cluster.url("postgres")
        async with opened(PostgresStore(url, "node/0")) as sequencer, opened_reader(url) as reader:
            confirmed = {}
            for number in range(8):
                confirmed[await record(sequencer, f"x{number}")] = f"x{number}"
                for backend in backends(own_cluster):
                    os.kill(backend, signal.SIGTERM)
                assert await refusal(sequencer) < REFUSES
                assert await resumption(sequencer) < RESUMES
            await reader.close()
            assert await verified(PostgresReader(url), confirmed) == 0


@asynccontextmanager
async def opened_reader(url: str) -> AsyncIterator[LogReader]:
    reader = PostgresReader(url)
    await reader.open()
    yield reader
    await reader.close()


def backends(cluster: Cluster) -> list[int]:
    """The server's processes that serve the audit log's sessions."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    assert cluster.process is not None
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    return [int(pid) for pid, parent, args in rows if int(parent) == cluster.process.pid and "mastio postgres" in args]
