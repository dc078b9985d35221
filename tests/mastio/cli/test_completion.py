"""Completion knows every verb and option that the parsers have, and shells understand its scripts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mastio import __version__, cli
from mastio.cli.completion import FILES, SHELLS, Command, collect, write_bash

INSTALLED = [shell for shell in SHELLS if shutil.which(shell)]
BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_mastio
printf '%s\\n' "${COMPREPLY[@]}"
"""
ASKED = {
    "a verb": (["mastio", "prov"], ["providers"]),
    "all of a verb's own": (["mastio", "providers", ""], [
        "list", "show", "add", "set", "test", "remove", "-h", "--help",
    ]),
    "an option": (["mastio", "providers", "test", "--u"], ["--url"]),
    "its values": (["mastio", "audit", "list", "--decision", ""], ["allow", "deny", "hold"]),
    "a value that begins": (["mastio", "audit", "list", "--decision", "d"], ["deny"]),
    "a value that nobody knows": (["mastio", "usage", "--by", ""], [""]),
    "after a profile": (["mastio", "--profile", "prod", "agents", "lis"], ["list"]),
    "a verb that begins like another": (["mastio", "connections", "li"], ["list"]),
    "another name of a verb": (["mastio", "connections", "creat"], ["create"]),
    "a choice": (["mastio", "completion", "f"], ["fish"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def commands() -> dict[str, Command]:
    return collect()


@pytest.fixture(scope="module")
def script(commands: dict[str, Command], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("completion") / "bash"
    file.write_text(write_bash(commands))
    return file


def test_every_verb_is_there(commands: dict[str, Command]) -> None:
    assert commands[""].verbs.keys() == cli.VERBS.keys()
    assert cli.VERBS.keys() <= commands.keys()
    assert commands["policy replay"].options and commands["audit list"].values["--decision"] == (
        "allow",
        "deny",
        "hold",
    )
    assert commands["providers add"].values["--api-key-from"] == (FILES,)
    assert "--json" not in commands["providers add"].values, "it takes no value"


@pytest.mark.parametrize("name", ASKED)
def test_bash_completes(script: Path, name: str) -> None:
    words, expected = ASKED[name]
    done = subprocess.run(["bash", "-c", BASH, "-", script, *words], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == expected and done.stderr == ""


def test_bash_completes_files(script: Path, tmp_path: Path) -> None:
    (tmp_path / "a key").touch()
    words = ["mastio", "providers", "add", "--api-key-from", f"{tmp_path}/a"]
    done = subprocess.run(["bash", "-c", BASH, "-", script, *words], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == [f"{tmp_path}/a key"]


@pytest.mark.parametrize("shell", INSTALLED)
def test_a_shell_reads_its_script(commands: dict[str, Command], tmp_path: Path, shell: str) -> None:
    file = tmp_path / shell
    file.write_text(SHELLS[shell](commands))
    done = subprocess.run([shell, "-n", file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_shell_obeys_no_help_text() -> None:
    odd = {"": Command({"it's": "don't $(date) `x` \\"}, {"--odd": "100%% 'sure'"}, {"--odd": ("$(a)",)})}
    for write in SHELLS.values():
        text = write(odd)
        assert text.count("'") % 2 == 0 and "don't" not in text


def test_the_command_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"mastio {__version__}\n")
    assert cli.main(["completion", "fish"]) == 0
    assert capsys.readouterr().out.startswith("# fish completion")
