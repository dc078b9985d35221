"""The load scenarios run, against a real appliance, for a few seconds each: k6 through TLS with real proofs.

Speed is not judged here; the scenarios' own thresholds are (no failed exchange). What judges speed is tested by itself,
with figures that are made up.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.appliance import open_appliance
from support.postgresql import create_database
from support.tier import IS_LONG

STRESS = Path(__file__).parent.parent.parent / "scripts" / "stress"
RUN = STRESS / "run"
LAX = ("--max-added-mean", "1e9", "--max-added-p99", "1e9", "--max-added-after-first", "1e9")
PLACES = os.pathsep.join([os.environ.get("PATH", ""), str(Path.home() / "go" / "bin")])


def stress(scenario: str, tmp_path: Path, *more: str, within: float = 120) -> dict[str, object]:
    if shutil.which("k6", path=PLACES) is None:
        pytest.skip("k6 is not installed")
    out = tmp_path / "result.json"
    command = [sys.executable, str(RUN), scenario, "--rounds", "1", "--duration", "3s", "--out", str(out), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=within)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    result: dict[str, object] = json.loads(out.read_text())
    return result


def load(name: str) -> ModuleType:
    """A module of the scripts, which are no package: they find it beside themselves."""
    sys.path.insert(0, str(STRESS))
    try:
        return importlib.import_module(f"lib.{name}")
    finally:
        sys.path.remove(str(STRESS))


verdicts, streams = load("verdicts"), load("streams")


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


CHAT_END = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
CHAT = (
    b'data: {"choices":[{"delta":{"content":""}}]}\n\n'
    b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
    b'data: {"choices":[{"delta":{"content":"b"}}]}\n\n'
)
CLAUDE = (
    b'event: ping\ndata: {"type":"ping"}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"b"}}\n\n'
)
CLAUDE_END = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
GEMINI = b'data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}\r\n\r\n'
GEMINI_END = b'data: {"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}\r\n\r\n'


@pytest.mark.parametrize(
    ("dialect", "pieces", "end"),
    [("openai", CHAT, CHAT_END), ("anthropic", CLAUDE, CLAUDE_END), ("gemini", GEMINI, GEMINI_END)],
)
def test_a_stream_that_is_cut_short_is_not_whole(dialect: str, pieces: bytes, end: bytes) -> None:
    whole = pieces + end
    assert streams.is_whole(whole, dialect, 2)
    assert not streams.is_whole(whole, dialect, 3)
    assert not any(streams.is_whole(whole[:size], dialect, 2) for size in range(len(whole)))
    assert not streams.is_whole(whole + b'event: error\ndata: {"error":{}}\n\n', dialect, 2)


def test_streams_are_open_at_once_only_where_they_overlap() -> None:
    assert streams.most_at_once([]) == 0
    spans = [streams.Span(0, 10), streams.Span(1, 3), streams.Span(3, 5), streams.Span(4, 6)]
    assert streams.most_at_once(spans) == 3


MB = 1_000_000


def test_open_streams_are_judged_by_their_ends_their_number_and_memory() -> None:
    good = {"worker-0": verdicts.Residence(100 * MB, 200 * MB, 110 * MB)}
    assert verdicts.judge_open_streams(1000, 1000, {"whole": 1000}, good, 250 * MB) == []
    bad = {"worker-0": verdicts.Residence(100 * MB, 251 * MB, 111 * MB)}
    assert verdicts.judge_open_streams(1000, 990, {"whole": 998, "503": 2}, bad, 250 * MB) == [
        "2 streams ended otherwise: 503",
        "at most 990 of 1000 streams were open at the same moment",
        "worker-0: 251 MB with the streams open, wanted 250",
        "worker-0: memory is 11% above what it was before; limit 10%",
    ]
    assert verdicts.judge_open_streams(1, 1, {"whole": 1}, {"worker-0": bad["worker-0"]}, 260 * MB, back=False) == []
    assert verdicts.judge_descriptors({"worker-0": 60, "worker-1": 60}, {"worker-0": 61, "worker-1": 30}) == [
        "worker-0: 61 descriptors open, 60 before"
    ]
    assert verdicts.judge_open_streams(1, 1, {"whole": 1}, {}, 250 * MB) == ["no worker's memory is known"]


def race(**changes: object) -> Any:
    good = {"limit": 100, "spent": 98, "reserved": 0, "free_after": 0.3, "logged": 98, "arrived": 49}
    ends = {"answered": 45, "refused": 20, "cut": 6}
    no = {"arrived_unlogged": 0, "arrived_uncounted": 0, "arrived_twice": 0}
    return verdicts.Race(**{**good, **no, "ends": ends, **changes})


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, ""),
        ({"spent": 101, "logged": 101}, "overspent by 1 of 100"),
        ({"logged": 104}, "overspent by 4 of 100; the budget says 98, the audit log 104"),
        ({"logged": 97}, "the budget says 98, the audit log 97"),
        ({"free_after": None, "reserved": 5}, "5 still reserved 2 s after the last call"),
        ({"arrived_unlogged": 1}, "1 calls reached the provider and are not in the audit log"),
        ({"arrived_uncounted": 2}, "2 calls reached the provider and count as nothing"),
        ({"arrived_twice": 1}, "1 calls reached the provider more than once"),
        ({"ends": {"answered": 1, "refused": 1, "cut": 1, "500": 3}}, "3 calls ended otherwise: 500"),
        ({"ends": {"answered": 1, "refused": 1}}, "nothing was cut: no race"),
    ],
)
def test_a_race_is_judged_by_three_counts(changes: dict[str, object], wrong: str) -> None:
    assert "; ".join(verdicts.judge_race(race(**changes))) == wrong


def test_what_an_exchange_counts_for_a_budget() -> None:
    usage = {"input_tokens": 50, "output_tokens": 10, "cost_nano_usd": 7000, "estimated": 1}
    assert [verdicts.amount(usage, unit) for unit in ("tokens", "usd", "requests")] == [60, 7000, 1]
    assert [verdicts.amount(None, unit) for unit in ("tokens", "usd", "requests")] == [0, 0, 1]


@pytest.mark.parametrize(
    ("script", "words", "said"),
    [
        ("open-streams", ("--streams", "0"), "at least one stream"),
        ("open-streams", ("--chunks", "1"), "two chunks"),
        ("open-streams", ("--latency", "2"), "--latency"),
        ("open-streams", ("--by", "name"), "invalid choice"),
        ("open-streams", ("--baseline", "first-round", "--rounds", "1"), "at least two rounds"),
        ("beside-streams", ("--calls", "10"), "a hundred calls"),
        ("budget-race", ("--requests", "0"), "at least one request"),
        ("budget-race", ("--unit", "euros"), "invalid choice"),
    ],
)
def test_what_a_script_of_its_own_does_not_take_is_said(script: str, words: tuple[str, ...], said: str) -> None:
    command = [sys.executable, str(STRESS / f"{script}.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def by_itself(script: str, tmp_path: Path, *words: str) -> dict[str, Any]:
    out = tmp_path / "result.json"
    command = [sys.executable, str(STRESS / f"{script}.py"), *words, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    result: dict[str, Any] = json.loads(out.read_text())
    return result


@pytest.mark.parametrize("by", ["certificate", "proof"])
def test_streams_are_open_at_once(by: str, tmp_path: Path) -> None:
    few = ("--streams", "40", "--latency", "500ms", "--chunks", "4", "--rounds", "1", "--settle", "1s")
    [found] = by_itself("open-streams", tmp_path, *few, "--by", by)["rounds"]
    assert (found["at_once"], found["ends"]) == (40, {"whole": 40})
    assert found["memory_bytes"]["worker-0"]["before"] > 50 * MB


@pytest.mark.alone
def test_calls_beside_slow_streams(tmp_path: Path) -> None:
    few = ("--streams", "20", "--calls", "100", "--chunks", "15", "--rounds", "1", "--max-ratio", "50")
    [found] = by_itself("beside-streams", tmp_path, *few)["rounds"]
    assert found["open_meanwhile"] == 20 and found["alone"]["p50_ms"] > 0


@pytest.mark.alone
def test_calls_to_a_connection(tmp_path: Path) -> None:
    with open_appliance(stub=("--latency", "0")) as (appliance, stub):
        assert stub is not None
        where = ("--data", str(appliance.data), "--identity", str(appliance.enroll("load").folder))
        result = stress("egress", tmp_path, *where, "--stub-url", f"http://127.0.0.1:{stub.port}", "--vus", "4", *LAX)
        assert rounds(result)["appliance"]["exchanges"] > 10 < rounds(result)["reference"]["exchanges"]


@pytest.mark.parametrize(("database", "unit"), [("sqlite", "tokens"), ("postgresql", "usd"), ("sqlite", "requests")])
def test_a_small_race_for_a_budget(database: str, unit: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    url = create_database(request.getfixturevalue("postgresql")) if database == "postgresql" else ""
    words = ("--requests", "600", "--at-once", "150", "--workers", "2", "--unit", unit, "--database", url)
    race = by_itself("budget-race", tmp_path, *words)["race"]
    assert len(race["asked"]) == 6 and race["arrived"] > 100


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


@pytest.mark.alone
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


@pytest.mark.alone
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


@pytest.mark.alone
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


@pytest.mark.alone
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


@pytest.mark.alone
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


SOAK_SECONDS = 3600


@pytest.mark.alone
@pytest.mark.timeout(SOAK_SECONDS + 600)
@pytest.mark.skipif(not IS_LONG, reason="an hour of soak is part of `scripts/test long`")
def test_an_hour_of_steady_work_leaves_the_memory_as_it_was(tmp_path: Path) -> None:
    with open_appliance(stub=("--latency", "20ms", "--chunks", "3")) as (appliance, stub):
        assert stub is not None
        where = ("--data", str(appliance.data), "--identity", str(appliance.enroll("load").folder))
        more = (*where, "--stub-url", f"http://127.0.0.1:{stub.port}", "--duration", f"{SOAK_SECONDS}s")
        result = stress("soak", tmp_path, *more, within=SOAK_SECONDS + 300)
        assert result["memory"], "the processes were watched"
