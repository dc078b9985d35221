"""Every collection of the command line has list, show, add, set and remove; `set` keeps what is not named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mastio.cli.policy import policy
from mastio.exchange.errors import ConfigurationError
from mastio_detectors import commands as detectors
from mastio_limits import commands as budgets
from mastio_redaction import commands as redaction
from support.command_verbs import run as run_verb
from support.control_server import Served


def run(served: Served, verb: Any, *words: str) -> int:
    return run_verb(verb, *words, "--data", str(served.data))


def change(served: Served, capsys: pytest.CaptureFixture[str], verb: Any, *words: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(served, verb, *words, "--json") == 0, capsys.readouterr().err
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    return shown


def test_budgets(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    change(served, capsys, budgets, "add", "day", "--agent", "alice", "--tokens", "5", "--period", "day")
    changed = change(served, capsys, budgets, "set", "day", "--tokens", "9")
    assert (changed["agent"], changed["limit_tokens"], changed["period"]) == ("alice", 9, "day")
    assert change(served, capsys, budgets, "set", "day", "--usd", "2.5")["limit_usd"] == 2.5
    assert change(served, capsys, budgets, "set", "day", "--period", "week")["period"] == "week"
    assert run(served, budgets, "set", "none", "--tokens", "9") == 1
    assert run(served, budgets, "remove", "day") == 0


def test_redaction(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--agents", "a*", "--models", "m", "--type", "IBAN_CODE=redact:mask", "--never", "DE00", "--no-restore")
    made = change(served, capsys, redaction, "add", "r", *words)
    assert (made["match"]["direction"], made["restore"], made["mode"]) == ("both", False, "enforce")
    changed = change(served, capsys, redaction, "set", "r", "--agents", "b*", "--type", "EMAIL=block", "--observe")
    assert changed["match"] == {**made["match"], "agents": ["b*"]}
    assert changed["types"] == {**made["types"], "EMAIL": {"action": "block", "strategy": "tag"}}
    assert (changed["mode"], changed["restore"], changed["never"]) == ("observe", False, ["DE00"])
    again = change(served, capsys, redaction, "set", "r", "--no-observe", "--restore", "--direction", "request")
    assert (again["mode"], again["restore"], again["match"]["direction"]) == ("enforce", True, "request")
    assert change(served, capsys, redaction, "set", "r") == again
    with pytest.raises(ConfigurationError, match="no --type"):
        run(served, redaction, "add", "without")
    assert run(served, redaction, "remove", "r") == 0


def test_detectors(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    made = change(served, capsys, detectors, "add", "d", "--agents", "a*", "--class", "injection=block:60:90")
    changed = change(served, capsys, detectors, "set", "d", "--class", "secrets=flag", "--definitions", "block")
    assert changed["match"] == made["match"] and changed["definitions"] == "block"
    assert changed["classes"]["injection"] == made["classes"]["injection"]
    assert changed["classes"]["secrets"]["action"] == "flag"
    assert change(served, capsys, detectors, "set", "d", "--models", "m")["match"]["agents"] == ["a*"]
    assert run(served, detectors, "remove", "d") == 0


def test_policies(served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.cedar"
    file.write_text("permit(principal, action, resource);")
    made = change(served, capsys, policy, "add", "wide", str(file), "--mode", "observe", "--off")
    assert (made["mode"], made["enabled"]) == ("observe", False)
    assert run(served, policy, "add", "wide", str(file)) == 1, "an existing one is not written over"
    assert change(served, capsys, policy, "set", "wide", "--on")["mode"] == "observe"
    assert run(served, policy, "remove", "wide") == 0
