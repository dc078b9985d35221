"""`mastio serve` ends with status 2 and one sentence when the appliance cannot be started."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from mastio import cli
from mastio.process import supervisor
from mastio.process.supervisor import StartError


def test_a_second_appliance_on_one_data_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run").mkdir()
    with (tmp_path / "run" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert cli.main(["serve", "--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("mastio: Another appliance runs on this data folder. Stop it with ")


def test_what_was_explained_already_is_not_explained_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that prepares the data folder names every problem itself."""

    def refuse(self: supervisor.Supervisor, seconds: float) -> None:
        raise StartError("")

    monkeypatch.setattr(supervisor.Supervisor, "_prepare", refuse)
    assert cli.main(["serve", "--data", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""
