"""The load scenarios run, against a real appliance, for a few seconds each: k6 through TLS with real proofs.

Speed is not judged here; the scenarios' own thresholds are (no failed exchange).
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from world import open_appliance

RUN = Path(__file__).parent.parent.parent / "scripts" / "stress" / "run"
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
