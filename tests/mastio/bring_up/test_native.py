"""What `up` prints for a newcomer: lines that work as they stand, with the command as this machine finds it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mastio.bring_up.native import _find_command, print_welcome

KNOWN = {
    "base_url": "https://localhost:9443",
    "ca_file": "/d/ca.crt",
    "ca_sha256": "ab" * 32,
    "admin_token_file": "/d/t",
}


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The command of this installation; nothing else is on the PATH."""
    command = tmp_path / "checkout" / ".venv" / "bin" / "mastio"
    command.parent.mkdir(parents=True)
    command.touch(mode=0o755)
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(sys, "executable", str(command.with_name("python")))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return command


def test_a_command_on_the_path_is_called_by_its_name(own: Path, tmp_path: Path) -> None:
    assert _find_command() == str(own)
    (tmp_path / "bin" / "mastio").symlink_to(own)
    assert _find_command() == "mastio"


def test_a_command_of_another_installation_is_not_taken_for_ours(own: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "mastio").touch(mode=0o755)
    assert _find_command() == str(own)


def test_the_lines_to_copy(capsys: pytest.CaptureFixture[str]) -> None:
    print_welcome(Path("/d"), KNOWN, "mastio", Path("agent"), already=False)
    named = capsys.readouterr().out
    assert "  mastio chat --identity agent" in named and "$M" not in named and "M=" not in named
    print_welcome(Path("/d"), KNOWN, "/x/.venv/bin/mastio", Path("agent"), already=True)
    spelled = capsys.readouterr().out
    assert '\n  M="/x/.venv/bin/mastio"\n  $M providers add' in spelled and "T=$($M enrollments" in spelled
    assert "already running" in spelled
