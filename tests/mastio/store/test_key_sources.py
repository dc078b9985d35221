"""The key that seals secrets, from a file elsewhere and from a command: what is a key, what is none, what is said."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mastio.exchange.errors import ConfigurationError
from mastio.process import prepare
from mastio.settings import Secrets, read_settings
from mastio.store.control import ControlStore
from mastio.store.hot import HotDirectory
from mastio.store.secrets.file_keys import PURPOSES, FileKeys
from mastio.store.secrets.key_sources import open_keys, read_key_file, run_key_command
from mastio.store.secrets.sealed import Sealer
from mastio.store.sql.engine import Database
from mastio_egress.collection import CONNECTIONS
from mastio_egress.connections.connection import ConnectionCredential, ConnectionRow
from support.collections import COLLECTIONS

KEY = "0123456789abcdef" * 4
CANARY = "canary-of-the-command"


def script(folder: Path, text: str) -> str:
    file = folder / "give-key"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o700)
    return str(file)


@pytest.mark.parametrize("printed", [KEY, KEY.upper(), f"{KEY}\n", f"  {KEY}\r\n"])
def test_a_command_prints_the_key(tmp_path: Path, printed: str) -> None:
    (tmp_path / "out").write_bytes(printed.encode())
    assert run_key_command(["/bin/cat", str(tmp_path / "out")]) == bytes.fromhex(KEY)
    assert read_key_file(tmp_path / "out") == bytes.fromhex(KEY)


@pytest.mark.parametrize("wrong", ["", KEY[:-1], f"{KEY}0", f"{KEY}\n{KEY}", KEY.replace("0", "g"), "\x00" * 64])
def test_what_is_no_key_is_refused_and_not_shown(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "out").write_bytes(wrong.encode() + CANARY.encode())
    for ask in (lambda: run_key_command(["/bin/cat", str(tmp_path / "out")]), lambda: read_key_file(tmp_path / "out")):
        with pytest.raises(ConfigurationError, match="64 hex digits") as caught:
            ask()
        assert CANARY not in f"{caught.value.message} {caught.value.hint} {caught.value.__cause__!r}"


def test_no_shell_looks_at_the_arguments(tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    command = [script(tmp_path, f'printf %s "$2" > {shown}; printf %s "$1"'), KEY, "; touch $HOME `id` *"]
    assert run_key_command(command) == bytes.fromhex(KEY)
    assert shown.read_text() == "; touch $HOME `id` *"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"echo {KEY}; exit 3", "ended with status 3"),
        (f"echo {CANARY} >&2; exit 1", "ended with status 1"),
        ("kill -9 $$", "ended with status -9"),
        ("yes", "64 hex digits"),
    ],
)
def test_a_command_that_fails(tmp_path: Path, text: str, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        run_key_command([script(tmp_path, text)])
    assert CANARY not in f"{caught.value.message} {caught.value.hint} {capfd.readouterr()}"


@pytest.mark.parametrize("text", ["sleep 60", f"echo {KEY}; sleep 60", f"sleep 60 & echo {KEY}; exec >&-; sleep 60"])
def test_a_command_that_does_not_end_is_ended_with_what_it_started(tmp_path: Path, text: str) -> None:
    command = script(tmp_path, f"echo $$ > {tmp_path}/pid\n{text}")
    began = time.monotonic()
    with pytest.raises(ConfigurationError, match=r"did not end within 0\.5 seconds"):
        run_key_command([command], 0.5)
    assert time.monotonic() - began < 5
    group = int((tmp_path / "pid").read_text())
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    pytest.fail("something of the command still runs")


@pytest.mark.parametrize("missing", ["/nowhere/at-all", "/etc/passwd", "/"])
def test_what_cannot_be_run_or_read_is_one_sentence(missing: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be run"):
        run_key_command([missing])
    with pytest.raises(ConfigurationError):
        read_key_file(Path(missing))


def test_it_is_asked_for_once_and_only_when_it_is_needed(tmp_path: Path) -> None:
    counted = tmp_path / "count"
    keys = open_keys(tmp_path, Secrets(key_command=(script(tmp_path, f"echo x >> {counted}; echo {KEY}"),)))
    keys.ensure()
    assert keys.key("edge") and not counted.exists()
    assert keys.key("store-secrets") == keys.key("store-secrets") == bytes.fromhex(KEY)
    assert counted.read_text() == "x\n"
    made = {file.name for file in (tmp_path / "secrets").iterdir()}
    assert made == {f"{purpose}.key" for purpose in PURPOSES} - {"store-secrets.key"}


@pytest.mark.parametrize(
    "table",
    ['key_command = "/bin/cat"', 'key_command = ["cat"]', 'key_file = "relative"', "key = 1",
     'key_file = "/a"\nkey_command = ["/b"]', "key_command = [1]"],
)  # fmt: skip
def test_settings_that_are_refused(tmp_path: Path, table: str) -> None:
    (tmp_path / "mastio.toml").write_text(f"[secrets]\n{table}\n")
    _, problems = read_settings(tmp_path / "mastio.toml", {})
    assert problems and all(problem.startswith("secrets") for problem in problems)


async def test_what_is_sealed_with_it_opens_with_it_alone(url: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY)
    elsewhere = open_keys(tmp_path, Secrets(key_file=str(tmp_path / "key")))

    async def secret(keys: FileKeys) -> str | None:
        database = Database(url)
        directory = HotDirectory(database, keys, collections=COLLECTIONS)
        await directory.start()
        try:
            credential = directory.objects("connections")["a"].credential
            return credential.secret if credential else None
        finally:
            await directory.close()
            await database.close()

    database = Database(url)
    store = ControlStore(database, elsewhere, refresh=lambda: asyncio.sleep(0), collections=COLLECTIONS)
    await store.of(CONNECTIONS).create(
        ConnectionRow("a", "https://api.example", ConnectionCredential("bearer", "a-secret-of-a"))
    )
    await database.close()
    assert await secret(elsewhere) == "a-secret-of-a"
    assert await secret(FileKeys(tmp_path)) is None  # the one that the fixture made in the data folder


def run(*arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *arguments, "--data", str(data)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_an_appliance_starts_with_a_command_and_not_with_another_key(tmp_path: Path) -> None:
    """The whole preparation, as the supervisor runs it, in a process of its own."""
    data = tmp_path / "data"
    data.mkdir()
    text = '[edge]\nnginx = "1.26"\n[secrets]\nkey_command = ["{}", "{}"]\n'
    (tmp_path / "key").write_text(KEY)
    (data / "mastio.toml").write_text(text.format("/bin/cat", tmp_path / "key"))
    assert run("mastio", "check", data=data).returncode == 0
    assert run("mastio.process.prepare", data=data).returncode == 0
    assert not (data / "secrets" / "store-secrets.key").exists()
    files = [file for file in data.rglob("*") if file.is_file()]
    assert files and not [file for file in files if KEY.encode() in file.read_bytes()]

    (tmp_path / "key").write_text(f"{CANARY}\n")
    for verb in (("mastio", "check"), ("mastio.process.prepare",)):
        done = run(*verb, data=data)
        assert done.returncode == 2 and "did not print 64 hex digits" in done.stderr
        assert CANARY not in done.stdout + done.stderr and "Traceback" not in done.stderr
    (tmp_path / "key").write_text("f" * 64)
    done = run("mastio.process.prepare", data=data)
    assert (done.returncode, done.stdout) == (2, "") and "does not open with this key" in done.stderr
    (tmp_path / "key").write_text(KEY)
    assert run("mastio.process.prepare", data=data).returncode == 0


def test_check_says_what_is_wrong_with_the_key(tmp_path: Path) -> None:
    (tmp_path / "mastio.toml").write_text('[secrets]\nkey_file = "/nowhere/key"\n')
    done = run("mastio", "check", "--json", data=tmp_path)
    assert done.returncode == 2
    assert [problem for problem in json.loads(done.stdout)["problems"] if problem.startswith("secrets: The key file")]


def test_the_key_that_was_made_here_may_move_out(tmp_path: Path) -> None:
    FileKeys(tmp_path).ensure()
    sealed = Sealer(FileKeys(tmp_path)).seal("sk-1", "providers/a")
    moved = tmp_path / "elsewhere"
    (tmp_path / "secrets" / "store-secrets.key").rename(moved)
    assert Sealer(open_keys(tmp_path, Secrets(key_file=str(moved)))).unseal(sealed, "providers/a") == "sk-1"


def test_prepare_makes_the_folders_for_secret_files() -> None:
    assert {"secrets/providers", "secrets/connections"} <= set(prepare.FOLDERS)
