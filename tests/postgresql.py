"""A PostgreSQL cluster of the tests' own, and databases in it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def run_cluster() -> Iterator[str]:
    """A cluster of its own, reachable by a unix socket; the URL lacks the database's name."""
    programs = find_postgresql()
    if programs is None:
        pytest.skip("PostgreSQL is not installed here (initdb not found), so what needs it is not tested")
    folder = Path(tempfile.mkdtemp(prefix="mastio-pg-"))
    by: list[str] = []
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        by = ["runuser", "-u", "postgres", "--"]
    control = [*by, str(programs / "pg_ctl"), "-D", str(folder / "data"), "-s", "-w"]
    try:
        initdb = [*by, str(programs / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", "postgres", "-N"]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder)
        options = f"-k {folder} -c listen_addresses='' -c max_connections=50"
        subprocess.run([*control, "-l", str(folder / "log"), "-o", options, "start"], check=True, cwd=folder)
        try:
            yield f"postgresql+asyncpg://postgres@/DATABASE?host={folder}"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=True, cwd=folder)
    finally:
        shutil.rmtree(folder)


def create_database(server: str) -> str:
    """The URL of a new, empty database of a running cluster."""
    name = f"test{next(NUMBERS)}"
    socket = server.partition("host=")[2]
    programs = find_postgresql()
    assert programs is not None
    subprocess.run([programs / "createdb", "-h", socket, "-U", "postgres", name], check=True)
    return server.replace("DATABASE", name)
