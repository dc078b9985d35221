"""A PostgreSQL cluster of the tests' own, and databases in it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

NUMBERS = count(1)


def find_postgresql() -> Path | None:
    """The folder of PostgreSQL's programs: Debian keeps them out of PATH."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return installed[-1].parent if installed else None


class Server:
    """A cluster of its own, reachable by a unix socket. `url` lacks the database's name."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.url = f"postgresql+asyncpg://postgres@/DATABASE?host={folder}"
        self._folder = folder
        self._programs = programs
        by: list[str] = []
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
            by = ["runuser", "-u", "postgres", "--"]
        self._control = [*by, str(programs / "pg_ctl"), "-D", str(folder / "data"), "-s", "-w"]
        initdb = [*by, str(programs / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", "postgres", "-N"]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder)

    def start(self) -> None:
        options = f"-k {self._folder} -c listen_addresses='' -c max_connections=100"
        log = str(self._folder / "log")
        subprocess.run([*self._control, "-l", log, "-o", options, "start"], check=True, cwd=self._folder)

    def stop(self) -> None:
        """At once, as in a crash."""
        subprocess.run([*self._control, "-m", "immediate", "stop"], check=True, cwd=self._folder)

    def pause(self) -> None:
        """Every process of it stands still."""
        self._paused = self._processes()
        for process in self._paused:
            os.kill(process, signal.SIGSTOP)

    def resume(self) -> None:
        for process in reversed(self._paused):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)

    def _processes(self) -> list[int]:
        first = int((self._folder / "data" / "postmaster.pid").read_text().split()[0])
        return [first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]


@contextmanager
def run_server() -> Iterator[Server]:
    """A running cluster, or a skip where there is no PostgreSQL."""
    programs = find_postgresql()
    if programs is None:
        pytest.skip("PostgreSQL is not installed here (initdb not found), so what needs it is not tested")
    folder = Path(tempfile.mkdtemp(prefix="mastio-pg-"))
    try:
        server = Server(folder, programs)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


@contextmanager
def run_cluster() -> Iterator[str]:
    """The URL of a running cluster."""
    with run_server() as server:
        yield server.url


def create_database(server: str, template: str = "template1") -> str:
    """The URL of a new database of a running cluster: empty, or a copy of the database `template`."""
    name = f"test{next(NUMBERS)}"
    socket = server.partition("host=")[2]
    programs = find_postgresql()
    assert programs is not None
    subprocess.run([programs / "createdb", "-h", socket, "-U", "postgres", "-T", template, name], check=True)
    return server.replace("DATABASE", name)
