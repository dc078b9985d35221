"""An operator moves old entries into an archive while the appliance runs; everybody goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mastio_client import Identity
from support.appliance import Appliance, open_appliance, wait_until

ENTRIES = 600


@pytest.fixture(scope="module")
def appliance() -> Iterator[Appliance]:
    with open_appliance(stub=None) as (opened, _):
        yield opened


@pytest.fixture(scope="module")
def agent(appliance: Appliance) -> Identity:
    return appliance.enroll("honest")


def audit(appliance: Appliance, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mastio", "audit", *words, "--data", str(appliance.data)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_old_entries_move_and_the_log_stays_one(appliance: Appliance, agent: Identity, tmp_path: Path) -> None:
    with appliance.by_certificate(agent) as client:
        while appliance.next_index() < ENTRIES:
            assert client.get("/v1/agents/self").status_code == 200
        receipt = int(client.get("/v1/agents/self").headers["mastio-receipt"])
        wait_until(lambda: signed_size(appliance) > receipt, 5, "a checkpoint covers them")
        before = (appliance.data / "log" / "checkpoint").read_text()
        archive = tmp_path / "archive"
        done = audit(appliance, "archive", "--before", "2100-01-01", "--to", str(archive), "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["end"] == 512
        assert client.get("/v1/agents/self").status_code == 200, "the appliance goes on"
        assert audit(appliance, "verify").returncode == 0
        own = client.get("/v1/audit/entries?limit=1000")
        assert own.status_code == 200 and json.loads(own.text.split("\n")[0])["seq"] >= 512
        assert client.get(f"/v1/audit/proof/{receipt}").status_code == 200
        gone = client.get("/v1/audit/proof/300")
        assert (gone.status_code, gone.json()["code"]) == (410, "archived")

    with appliance.admin() as auditor:
        refused = auditor.get("/v1/audit/entries?from=0")
        assert (refused.status_code, refused.json()["code"]) == (410, "archived")
        assert refused.links["next"]["url"].startswith("/v1/audit/entries?from=512")
        assert auditor.get("/v1/audit/log/tile/entries/000").status_code == 410
        assert auditor.get("/v1/audit/log/tile/0/000").status_code == 200
        assert auditor.get("/v1/audit/proof/300").status_code == 200
        exported = tmp_path / "export.ndjson"
        exported.write_bytes(auditor.get("/v1/audit/export").content)
    old = tmp_path / "old"
    old.write_text(before)
    words = ["verify", "--export", str(exported), "--archive", str(archive), "--checkpoint", str(old)]
    command = [sys.executable, "-m", "mastio", "audit", *words]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0

    appliance.stop()
    appliance.start()
    with appliance.by_certificate(agent) as client:
        assert client.get("/v1/agents/self").status_code == 200
    assert audit(appliance, "verify").returncode == 0

    bundle = archive / "tile" / "entries" / "000"
    bundle.write_bytes(bundle.read_bytes().replace(b'"agent.self"', b'"agent.serf"', 1))
    found = audit(appliance, "verify", "--json")
    assert found.returncode == 3 and json.loads(found.stdout)["first_bad"] < 256


def signed_size(appliance: Appliance) -> int:
    return int((appliance.data / "log" / "checkpoint").read_text().split("\n")[1])
