"""Places where a log can be: a SQLite file, and a database on a real PostgreSQL server of this test run."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from mastio.exchange.values import Entry, Phase
from mastio_audit.log import chain
from mastio_audit.log.chain import Head
from mastio_audit.log.postgres import PostgresReader, PostgresStore, dsn
from mastio_audit.log.sqlite import SqliteReader, SqliteStore
from mastio_audit.log.store import AuditStore, Batch, Build, LogReader, OpenIntent
from support.ports import take_port

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))


@dataclass
class Cluster:
    """A PostgreSQL server in a temporary folder, reached over loopback TCP."""

    folder: Path
    binaries: Path
    port: int
    options: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def start(self, **options: str) -> None:
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": str(self.folder), **options}
        command = [str(self.binaries / "postgres"), "-D", str(self.folder / "data"), "-p", str(self.port)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **as_server_user())
        asyncio.run(self._until_ready())

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: orderly. SIGQUIT: at once, as in a crash."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(30)
            self.process = None

    def pause(self) -> None:
        for pid in self._pids():
            os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        for pid in reversed(self._pids()):
            os.kill(pid, signal.SIGCONT)

    def url(self, database: str) -> str:
        return f"postgresql+asyncpg://mastio@127.0.0.1:{self.port}/{database}"

    def create(self) -> str:
        """The URL of a new, empty database."""
        name = f"log{time.monotonic_ns()}"
        asyncio.run(execute(self.url("postgres"), f"CREATE DATABASE {name}"))
        return self.url(name)

    def _pids(self) -> list[int]:
        assert self.process is not None
        pid = self.process.pid
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]

    async def _until_ready(self) -> None:
        for _ in range(300):
            try:
                connection = await asyncpg.connect(dsn(self.url("postgres")), timeout=2)
            except (OSError, asyncpg.PostgresError):
                await asyncio.sleep(0.1)
            else:
                await connection.close()
                return
        raise AssertionError((self.folder / "log").read_text())


def as_server_user() -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    return {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}


@pytest.fixture(scope="session")
def make_cluster() -> Iterator[Callable[[], Cluster]]:
    """Makes servers, which are stopped at the end of the run."""
    if not BINARIES:
        pytest.skip("no PostgreSQL server binaries below /usr/lib/postgresql")
    clusters: list[Cluster] = []

    def make() -> Cluster:
        folder = Path(tempfile.mkdtemp(prefix="mastio-pg-"))
        if os.getuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        initdb = [str(BINARIES[-1] / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", "mastio", "-N"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd=folder, **as_server_user())
        cluster = Cluster(folder, BINARIES[-1], take_port())
        clusters.append(cluster)
        return cluster

    yield make
    for cluster in clusters:
        cluster.stop(signal.SIGQUIT)
        shutil.rmtree(cluster.folder)


@pytest.fixture(scope="session")
def cluster(make_cluster: Callable[[], Cluster]) -> Cluster:
    """The server that tests share; none of them may stop it."""
    made = make_cluster()
    made.start()
    return made


async def execute(url: str, statement: str, *parameters: object) -> list[Any]:
    connection = await asyncpg.connect(dsn(url), timeout=5)
    try:
        rows: list[Any] = await connection.fetch(statement, *parameters)
        return rows
    finally:
        await connection.close()


@dataclass
class Place:
    """Where one log is. `address` is what the writer process in `support/audit/log_writer.py` takes."""

    kind: str
    data: Path
    url: str

    @property
    def address(self) -> str:
        return str(self.data) if self.kind == "sqlite" else self.url

    @property
    def arguments(self) -> list[str]:
        """For `mastio audit verify`."""
        return ["--data", str(self.data)] if self.kind == "sqlite" else ["--database", self.url]

    def store(self, owner: str = "node/0", *, inline: bool = True) -> AuditStore:
        if self.kind == "sqlite":
            return SqliteStore(self.data / "db" / "audit.sqlite", inline=inline)
        return PostgresStore(self.url, owner)

    def reader(self) -> LogReader:
        return SqliteReader(self.data / "db" / "audit.sqlite") if self.kind == "sqlite" else PostgresReader(self.url)

    def tamper(self, statement: str, *parameters: int | str | bytes | None) -> list[Any]:
        """Run SQL on the tables as somebody with the database's password could; `$1` and the short table names."""
        if self.kind == "sqlite":
            with contextlib.closing(apsw.Connection(str(self.data / "db" / "audit.sqlite"))) as connection:
                return connection.execute(statement.replace("$", "?"), parameters).fetchall()
        for table in ("entries", "head", "nodes", "open_intents"):
            statement = statement.replace(f" {table}", f" audit_{table}")
        return asyncio.run(execute(self.url, statement, *parameters))

    def entry(self, seq: int) -> bytes:
        [(entry,)] = self.tamper("SELECT entry FROM entries WHERE seq = $1", seq)
        return bytes(entry)

    def put(self, seq: int, entry: bytes) -> None:
        self.tamper("UPDATE entries SET entry = $1 WHERE seq = $2", entry, seq)


@pytest.fixture
def sqlite_place(tmp_path: Path) -> Place:
    return Place("sqlite", tmp_path, "sqlite+aiosqlite:///unused")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path, sqlite_place: Place) -> Place:
    """An empty log, once for each kind of store."""
    if request.param == "sqlite":
        return sqlite_place
    found: Place = request.getfixturevalue("postgresql_place")
    return found


@pytest.fixture
def postgresql_place(cluster: Cluster, tmp_path: Path) -> Place:
    return Place("postgresql", tmp_path, cluster.create())


@pytest.fixture
def entry() -> Callable[..., Entry]:
    """Makes an entry of a phase for an exchange."""

    def make(phase: Phase, exchange: str = "x-1", **members: Any) -> Entry:
        return Entry(id=exchange, phase=phase, kind="llm.chat", target='Model::"stub/m"', agent="demo", **members)

    return make


@pytest.fixture
def batch() -> Callable[..., Build]:
    """Makes the `build` of a store's `append` from `(phase, id)` pairs; `closed` names intents of earlier batches."""

    def make(*drafts: tuple[Phase, str], closed: tuple[int, ...] = (), owner: str = "node/0") -> Build:
        def build(head: Head) -> Batch:
            entries = [chain.draft(Entry(id=name, phase=phase, kind="test")) for phase, name in drafts]
            made = chain.append(head, entries, 1_700_000_000.25)
            opened = [
                OpenIntent(seq, name, owner)
                for (seq, _), (phase, name) in zip(made.rows, drafts, strict=True)
                if phase == "intent" and ("outcome", name) not in drafts
            ]
            return Batch(made.rows, made.head, made.nodes, opened, closed)

        return build

    return make
