"""The load scenarios run, against a real appliance, for a few seconds each: k6 through TLS with real proofs.

Speed is not judged here; the scenarios' own thresholds are (no failed exchange). What judges speed is tested by itself,
with figures that are made up.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from world import open_appliance

STRESS = Path(__file__).parent.parent.parent / "scripts" / "stress"
RUN = STRESS / "run"
LAX = ("--max-added-mean", "1e9", "--max-added-p99", "1e9", "--max-added-after-first", "1e9")
PLACES = os.pathsep.join([os.environ.get("PATH", ""), str(Path.home() / "go" / "bin")])


def stress(scenario: str, tmp_path: Path, *more: str) -> dict[str, object]:
    if shutil.which("k6", path=PLACES) is None:
        pytest.skip("k6 is not installed")
    out = tmp_path / "result.json"
    command = [sys.executable, str(RUN), scenario, "--rounds", "1", "--duration", "3s", "--out", str(out), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    result: dict[str, object] = json.loads(out.read_text())
    return result


def load(name: str) -> ModuleType:
    """A module of the scripts, which are no package."""
    spec = importlib.util.spec_from_file_location(f"stress_{name}", STRESS / "lib" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


verdicts = load("verdicts")


def test_what_is_added_is_the_median_of_the_differences_within_each_round() -> None:
    reference = [{"mean_ms": 50, "p99_ms": 52}, {"mean_ms": 60, "p99_ms": 70}, {"mean_ms": 51, "p99_ms": 52}]
    ours = [{"mean_ms": 50.5, "p99_ms": 53}, {"mean_ms": 60.6, "p99_ms": 74}, {"mean_ms": 52, "p99_ms": 53.5}]
    found = verdicts.added(ours, reference)
    assert found == {"mean_ms": 0.6, "p99_ms": 1.5}
    assert verdicts.judge_added("added", found, 0.7, 2) == []
    assert verdicts.judge_added("added", found, 0.5, 1) == [
        "added: added mean 0.60 ms, wanted 0.5",
        "added: added p99 1.50 ms, wanted 1",
    ]
    assert verdicts.added([{"first_event_p50_ms": 3}], [{"first_event_p50_ms": 1}], "first_event_") == {"p50_ms": 2}


def test_a_round_without_an_answer_is_no_pass() -> None:
    found = verdicts.added([{"mean_ms": None, "p99_ms": None}], [{"mean_ms": 50, "p99_ms": 52}])
    assert found == {}
    assert len(verdicts.judge_added("added", found, 0.7, 2)) == 2
    assert len(verdicts.judge_added("added", found, 0.7, None)) == 1


def test_dialects_are_compared_round_by_round() -> None:
    rates = {"openai": [100.0, 200.0, 100.0], "anthropic": [95.0, 198.0, 99.0], "gemini": [50.0, 150.0, 94.0]}
    ratios = verdicts.rate_ratios(rates, "openai")
    assert ratios == {"anthropic": 0.99, "gemini": 0.75}
    assert verdicts.judge_ratios(ratios, "openai", 0.95) == ["gemini at 0.750 of the rate of openai, wanted 0.95"]
    assert verdicts.rate_ratios({"openai": [0.0], "gemini": [9.0]}, "openai") == {"gemini": 0.0}


@pytest.mark.parametrize(
    ("times", "wrong"),
    [
        ([0.051, 0.0515, 0.102, 0.151], ""),
        ([0.151, 0.152, 0.153], "the stub sends its 3 chunks in 1 goes: it does not stream"),
        ([0.051, 0.102], "in 2 goes"),
        ([], "in 0 goes"),
        ([0.001, 0.051, 0.101], "chunk 1 too early"),
        ([0.051, 0.102, 0.4], "chunk 3 after 0.400 s, 0.15 s are due"),
    ],
)
def test_a_stream_is_one_that_is_seen_to_come_piece_by_piece(times: list[float], wrong: str) -> None:
    found = "; ".join(verdicts.judge_arrivals("the stub", times, 3, 0.05))
    assert wrong in found and bool(wrong) == bool(found)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("soak", "--dialect", "all"), "one dialect at a time"),
        (("llm", "--dialect", "all", "--generator", "wrk"), "one dialect at a time"),
        (("llm", "--dialect", "all", "--model", "gpt-4o"), "One model has one dialect"),
        (("stream", "--generator", "wrk"), "not driven by wrk"),
        (("stream", "--stub-latency", "50"), "not a duration"),
        (("stream", "--identity", "nowhere"), "cannot be read"),
        (("stream", "--max-added-p99", "two"), "invalid float"),
    ],
)
def test_what_cannot_be_measured_is_said(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(RUN), *words], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


@pytest.mark.slow
def test_streams_and_what_is_added_in_every_dialect(tmp_path: Path) -> None:
    with open_appliance(stub=("--latency", "20ms", "--chunks", "4")) as (appliance, stub):
        assert stub is not None
        appliance.add_provider(stub, "claude", "anthropic")
        appliance.add_provider(stub, "google", "gemini")
        url = f"http://127.0.0.1:{stub.port}"
        where = ("--data", str(appliance.data), "--identity", str(appliance.enroll("load").folder), "--stub-url", url)
        more = (*where, "--vus", "4", "--dialect", "all", "--min-dialect-ratio", "0", *LAX)
        result = stress("stream", tmp_path, *more, "--stub-latency", "20ms", "--stub-chunks", "4")
        assert isinstance(result["watched"], dict) and len(result["watched"]) == 6
        assert isinstance(result["medians"], dict)
        for dialect in ("openai", "anthropic", "gemini"):
            assert rounds(result)[f"reference {dialect}"]["first_event_p50_ms"] < 40
            for part in ("to the first event", "to the end", "after the first"):
                assert "mean_ms" in result["medians"][f"added {dialect} {part}"]
        wrong = (*where, "--stub-latency", "20ms", "--stub-chunks", "5")
        command = [sys.executable, str(RUN), "stream", *wrong]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2 and "5 chunks in 4 goes" in done.stderr
        before = [entry for entry in appliance.entries() if entry["kind"] == "oauth.token"]
        result = stress("llm", tmp_path, *more, "--added", "--set", "BY=certificate")
        assert result["medians"]["added gemini"].keys() == {"mean_ms", "p50_ms", "p95_ms", "p99_ms"}
        assert [entry for entry in appliance.entries() if entry["kind"] == "oauth.token"] == before
        assert appliance.verify() == 0


@pytest.mark.slow
def test_health_and_chat_under_k6(tmp_path: Path) -> None:
    with open_appliance() as (appliance, stub):
        assert stub is not None
        identity = appliance.enroll("load")
        assert stress("health", tmp_path, "--data", str(appliance.data))
        assert stress("llm", tmp_path, "--data", str(appliance.data), "--identity", str(identity.folder), "--vus", "4")
        before = len(stub.arrivals())
        assert before > 50
        assert appliance.verify() == 0


def has_wrk() -> bool:
    return shutil.which("wrk") is not None


@pytest.mark.slow
def test_the_smallest_exchange_and_tokens(tmp_path: Path) -> None:
    """By k6, which signs for itself, and by wrk, for which everything is signed beforehand."""
    with open_appliance(stub=None) as (appliance, _):
        where = ("--data", str(appliance.data), "--identity", str(appliance.enroll("load").folder))
        for scenario, more in (("self", ()), ("token", ()), ("token", ("--set", "BY=certificate"))):
            assert stress(scenario, tmp_path, *where, "--vus", "4", *more)
        if has_wrk():
            for scenario in ("self", "token"):
                result = stress(
                    scenario, tmp_path, *where, "--generator", "wrk", "--connections", "8", "--min-rate", "1"
                )
                assert rounds(result)["appliance"]["statuses"].keys() == {"200"}
        minted = [
            entry for entry in appliance.entries() if entry["kind"] == "oauth.token" and entry["phase"] == "outcome"
        ]
        bound = {entry["outcome"]["cnf"] for entry in minted if "cnf" in entry["outcome"]}
        assert len(minted) > 100 and bound <= {"jkt", "x5t#S256"}
        assert appliance.verify() == 0


def rounds(result: dict[str, object]) -> dict[str, dict[str, Any]]:
    """The first round, by kind."""
    assert isinstance(result["rounds"], list)
    return {entry["kind"]: entry for entry in result["rounds"]}


@pytest.mark.slow
def test_the_cache_answers_the_share_that_is_repeated(tmp_path: Path) -> None:
    with open_appliance(stub=("--latency", "50ms")) as (appliance, stub):
        assert stub is not None
        url = f"http://127.0.0.1:{stub.port}"
        where = ("--data", str(appliance.data), "--identity", str(appliance.enroll("load").folder), "--stub-url", url)
        result = stress("cache", tmp_path, *where, "--vus", "4")
        figures = rounds(result)
        assert [figures[f"{share} % repeated"]["hit_rate"] for share in (0, 100)] == [0, 1]
        assert 0.79 <= figures["80 % repeated"]["hit_rate"] <= 0.81
        assert appliance.verify() == 0


@pytest.mark.slow
def test_keys_are_rotated_under_load(tmp_path: Path) -> None:
    """Twelve seconds over each protocol: no request fails."""
    with open_appliance() as (appliance, stub):
        assert stub is not None
        where = ("--data", str(appliance.data), "--identity", str(appliance.enroll("load").folder))
        result = stress("rotation", tmp_path, *where, "--duration", "12s", "--rate", "40", "--vus", "10")
        for protocol in ("HTTP/2", "HTTP/1.1"):
            figures = rounds(result)[protocol]
            assert figures["rotated"].keys() == {"token", "intermediate", "edge"}
            assert figures["requests_failed"] == 0 and figures["exchanges"] > 400
        with appliance.admin() as admin:
            states = [key["state"] for key in admin.get("/v1/admin/keys/token").json()["items"]]
        assert states == ["retiring", "retiring", "active"]
        assert appliance.verify() == 0
