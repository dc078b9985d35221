"""The load scenarios run, against a real appliance, for a few seconds each: k6 through TLS with real proofs.

Speed is not judged here; the scenarios' own thresholds are (no failed exchange).
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

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
