"""The scenario `under-attack.py` runs, and its judge says what it should of figures that are made up."""

from __future__ import annotations

import copy
import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

STRESS = Path(__file__).parent.parent.parent / "scripts" / "stress"

GOOD: dict[str, Any] = {
    "attack": "lines",
    "alone": {"p50_ms": 5.0, "p99_ms": 10.0, "max_ms": 12.0, "answers": {"200": 9}, "readyz": {"200": 2}},
    "attacked": {"p50_ms": 7.0, "p99_ms": 29.0, "max_ms": 40.0, "answers": {"200": 9}, "readyz": {"200": 2}},
    "revocation": {"status": 200, "answered_ms": 30.0, "in_force_ms": 60.0},
    "stall_ms": 20.0, "stall_is_of_before": False, "memory_growth": 1_000_000,
    "cores_used": {"app": 0.5, "attackers": 0.2}, "attackers": {"lines": {"answers": {"413": 5}}},
}  # fmt: skip


@pytest.fixture(scope="module")
def bystander() -> ModuleType:
    sys.path.insert(0, str(STRESS))
    try:
        return importlib.import_module("lib.bystander")
    finally:
        sys.path.remove(str(STRESS))


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("attacked", "p99_ms"), 31.0, "p99 31.0 ms is 3.1 times the 10.0 ms alone"),
        (("attacked", "answers"), {"200": 8, "503": 1}, "calls were answered {'503': 1} (attacked)"),
        (("alone", "readyz"), {"503": 1}, "/readyz was answered {'503': 1} (alone)"),
        (("revocation", "in_force_ms"), 1001.0, "in force after 1001.0 ms"),
        (("revocation", "in_force_ms"), None, "in force after None ms"),
        (("revocation", "status"), 503, "the revocation was answered 503"),
    ],
)
def test_what_is_beyond_the_pass_line_is_named(
    bystander: ModuleType, place: tuple[str, str], value: Any, said: str
) -> None:
    assert bystander.judge([GOOD], 3.0)[1:] == ([], [])
    bad = copy.deepcopy(GOOD)
    bad[place[0]][place[1]] = value
    _, failures, warnings = bystander.judge([bad], 3.0)
    assert len(failures) == 1 and said in failures[0] and not warnings


def test_stalls_and_memory_are_warned_of(bystander: ModuleType) -> None:
    bad = {**GOOD, "stall_ms": 51.0, "memory_growth": 70_000_000}
    rows, failures, warnings = bystander.judge([bad], 3.0)
    assert not failures and len(warnings) == 2 and rows[0]["stall_ms"] == 51.0
    rows, _, warnings = bystander.judge([{**GOOD, "stall_ms": 51.0, "stall_is_of_before": True}], 3.0)
    assert not warnings and rows[0]["stall_ms"] is None, "the gauge is that of a minute, which began before the attack"


@pytest.mark.parametrize(
    ("attack", "words", "answers", "most_open"),
    [("slow-streams", (), set(), 100), ("lines", ("--proof",), {"413"}, 4)],
    ids=["certificates", "proofs"],
)
def test_it_runs(tmp_path: Path, attack: str, words: tuple[str, ...], answers: set[str], most_open: int) -> None:
    out = tmp_path / "out.json"
    words = (*words, "--only", attack, "--seconds", "2", "--rate", "10", "--max-ratio", "1e9", "--out", str(out))
    command = [sys.executable, str(STRESS / "under-attack.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    result = json.loads(out.read_text()) if out.exists() else {}
    assert done.returncode == 0, f"{result.get('failures')}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    (one,) = result["rounds"]
    told = one["attackers"][attack]
    assert answers <= set(told["answers"]) <= {"200", "413", "429"}, told
    assert told["most_open"] >= most_open
    assert one["attacked"]["calls"] == 20
