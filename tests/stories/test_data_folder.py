"""The data folder: what strangers on the machine may read, and how large its log files become."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from mastio.bring_up.up_settings import UpOptions, write_settings
from support.appliance import NGINX, Appliance, wait_until

OPEN_TO_ALL = 0o007


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """An appliance whose folder an earlier version left open to everybody. Its log files hold a megabyte."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    appliance = Appliance(tmp_path_factory.mktemp("old") / "data")
    appliance.environment = {"MASTIO_SERVER__LOG_MEGABYTES": "1", "MASTIO_SERVER__LOG_FILES": "2"}
    (appliance.data / "logs").mkdir(mode=0o755)
    (appliance.data / "mastio.toml").chmod(0o644)
    appliance.start()
    yield appliance
    appliance.stop()


def test_nobody_else_reads_the_settings_the_logs_and_the_keys(old: Appliance) -> None:
    for name in ("mastio.toml", "logs", "db", "ca", "edge", "secrets"):
        mode = (old.data / name).stat().st_mode
        assert mode & OPEN_TO_ALL == 0, f"{name} has mode {mode:o}"
    assert (old.data / "mastio.toml").stat().st_mode & 0o600 == 0o600


def test_new_settings_are_the_operators_alone(tmp_path: Path) -> None:
    before = os.umask(0o000)
    try:
        assert write_settings(tmp_path / "data" / "mastio.toml", UpOptions(9443, None, None, None))
    finally:
        os.umask(before)
    assert (tmp_path / "data" / "mastio.toml").stat().st_mode & 0o777 == 0o600


def size_of(file: Path) -> int:
    """In bytes; -1 where there is none: it may be renamed at any moment."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return -1


def test_log_files_are_rotated_while_the_appliance_runs(old: Appliance) -> None:
    """SIGHUP makes the supervisor look at once."""
    access, error = old.data / "logs" / "edge-access.log", old.data / "logs" / "edge-error.log"
    for round_ in range(3):
        for file in (access, error):
            with file.open("a") as stream:
                stream.write(f"{round_}" * 1_000_001 + "\n")
        os.kill(old.pid("supervisor"), signal.SIGHUP)
        wait_until(lambda: 0 <= size_of(access) < 1_000_000, 5, "nginx writes into a new file")
        wait_until(lambda: size_of(error) < 1_000_000, 5, "into both")
    assert sorted(file.name for file in (old.data / "logs").glob("edge-access*")) == [
        "edge-access.log", "edge-access.log.1", "edge-access.log.2",
    ]  # fmt: skip
    with old.client() as client:
        assert client.get("/health").status_code == 200
    wait_until(lambda: b'"path":"/health"' in access.read_bytes(), 5, "the request is in the new file")
