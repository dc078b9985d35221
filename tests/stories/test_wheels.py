"""The wheels are all that it takes: appliance and demo from an empty folder, and an agent without the server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.ports import take_port
from support.wheels import ROOT, Environment, build

MB = 1024 * 1024
TLS = ("cryptography", "cffi", "pycparser")
"""The TLS library, and what it brings."""


@dataclass(frozen=True, slots=True)
class Installed:
    """Both wheels in one environment, the client's alone in another, and an appliance with its demo from the first."""

    server: Environment
    client: Environment
    folder: Path
    """Where the commands are run. All that was in it is a decoy: a module that no process may import."""
    url: str
    said: str


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    base = tmp_path_factory.mktemp("wheels")
    wheels = build(base / "wheels", ROOT, ROOT / "client")
    server = Environment(base / "server", wheels)
    server.borrow_automata()
    client = Environment(base / "client", [one for one in wheels if one.name.startswith("mastio_client")])
    folder, port = base / "empty", take_port()
    folder.mkdir()
    for name in ("json.py", "httpx.py", "mastio_llm.py"):
        (folder / name).write_text("raise SystemExit('imported from the working directory')\n")
    try:
        up = server.run("mastio", "up", "--demo", "--port", str(port), cwd=folder)
        yield Installed(server, client, folder, f"https://localhost:{port}", up.stdout)
    finally:
        server.run("mastio", "down", cwd=folder)


def test_the_wheels_bring_up_the_appliance_and_the_demo(installed: Installed) -> None:
    where = installed.server.run("python", "-Pc", "import mastio; print(mastio.__file__)", cwd=installed.folder)
    assert Path(where.stdout.strip()).is_relative_to(installed.server.site)
    assert f"base URL        {installed.url}" in installed.said
    assert "reply   Hello from the stub provider" in installed.said
    assert "chain unbroken" in installed.said
    status = installed.server.run("mastio", "status", cwd=installed.folder)
    assert "health       ready" in status.stdout


def test_settings_are_applied_by_the_verb_that_up_names(installed: Installed) -> None:
    again = installed.server.run("mastio", "up", "--no-redact", cwd=installed.folder)
    assert "already running" in again.stdout and "mastio restart applies them" in again.stdout
    assert "deploy.sh" not in again.stdout
    applied = installed.server.run("mastio", "restart", cwd=installed.folder)
    assert "redaction.unspoken" in applied.stdout, applied.stdout


def test_the_client_alone_enrols_calls_verifies_and_renews(installed: Installed) -> None:
    folder, client = installed.folder, installed.client
    assert "No module named 'mastio'" in client.run("python", "-Pc", "import mastio", cwd=folder, status=1).stderr
    token = installed.server.run("mastio", "enrollments", "token", "--name", "alone", cwd=folder).stdout.strip()
    words = f"enroll --url {installed.url} --ca data/ca/ca.crt --name alone --token {token} --out alone"
    client.run("mastio-client", *words.split(), cwd=folder)
    called = client.run("mastio-client", "call", "--identity", "alone", "GET", "/v1/agents/self", cwd=folder)
    assert json.loads(called.stdout)["name"] == "alone" and called.stderr.startswith("200  receipt ")
    told = client.run("mastio-client", "chat", "--identity", "alone", "--model", "stub/demo", "Hello", cwd=folder)
    assert told.stdout.strip()
    index = called.stderr.split()[-1]
    receipt = client.run("mastio-client", "receipt", index, "--identity", "alone", cwd=folder)
    assert json.loads(receipt.stdout)["seq"] == int(index) and f"entry {index} is in the log of " in receipt.stderr
    renewed = client.run("mastio-client", "renew", "--identity", "alone", cwd=folder)
    assert renewed.stdout.startswith("alone renewed, valid until ")


def test_the_client_is_small(installed: Installed) -> None:
    size = installed.client.size(*TLS)
    assert {"httpx", "uvicorn"} <= installed.client.borrowed.keys() and "uvloop" not in installed.client.borrowed
    assert 4 * MB < size <= 15 * MB, f"{size / MB:.1f} MB"
