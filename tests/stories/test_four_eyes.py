"""Two admins on the command line: one asks, the other looks and approves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.appliance import NGINX, Appliance, open_appliance, wait_until


class Person:
    def __init__(self, appliance: Appliance, token_file: Path) -> None:
        ca = appliance.data / "ca" / "ca.crt"
        self._who = ["--url", appliance.base_url, "--ca", str(ca), "--token-file", str(token_file)]

    def mastio(self, *words: str, status: int = 0, local: bool = False) -> str:
        command = [sys.executable, "-m", "mastio", *words, *([] if local else self._who)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == status, (words, done.stdout, done.stderr)
        return done.stdout if status == 0 else done.stderr


def test_two_people(tmp_path: Path) -> None:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance(stub=None, more="[admin]\nfour_eyes = true\n") as (appliance, _):
        agent = appliance.enroll("worker-one")
        file = tmp_path / "berta.token"
        first, berta = Person(appliance, appliance.data / "secrets" / "admin-token"), Person(appliance, file)
        assert "berta" in first.mastio("admins", "add", "berta", "--role", "admin", "--token-to", str(file))
        said = first.mastio("admins", "add", "carla", "--role", "admin")
        assert said.startswith("waits for another admin: mastio holds approve hold_")
        identifier = said.split()[7]
        (waiting,) = json.loads(first.mastio("keys", "rotate", "token", "--json"))
        assert waiting["status"] == "pending"
        assert first.mastio("keys", "rotate").count("waits for another admin") == 3
        held = first.mastio("agents", "revoke", "--all", "--reason", "drill")
        assert held.startswith("waits for another admin")
        listed = berta.mastio("holds", "list", "--status", "pending")
        assert "POST /v1/admin/agents/*/revoke" in listed and "POST /v1/admin/admins" in listed
        assert "carla" in berta.mastio("holds", "show", identifier)
        assert "Let another admin approve it" in first.mastio("holds", "approve", identifier, status=1)
        code = tmp_path / "carla.code"
        code.write_text(said.split()[-1])
        assert "mastio_admin_" not in berta.mastio("holds", "approve", identifier, "--reason", "she starts today")
        carla = Person(appliance, code)
        carla.mastio("admins", "claim", "carla", "--token-to", str(tmp_path / "carla.token"))
        carla.mastio("admins", "list", status=1)
        assert "berta" in Person(appliance, tmp_path / "carla.token").mastio("admins", "list")
        made = first.mastio("admins", "new-token", "--token-to", str(tmp_path / "dora.token"), local=True).strip()
        asked = first.mastio("admins", "add", "dora", "--role", "admin", "--token-sha256", made)
        berta.mastio("holds", "approve", asked.split()[7])
        assert "dora" in Person(appliance, tmp_path / "dora.token").mastio("admins", "list")
        assert "approved, not pending" in berta.mastio("holds", "approve", identifier, status=1)
        with appliance.by_certificate(agent) as caller:
            assert caller.get("/v1/agents/self").status_code == 200
            berta.mastio("holds", "approve", held.split()[7])
            wait_until(lambda: caller.get("/v1/agents/self").status_code == 401, 1.0, "the agent is refused")
        left = json.loads(berta.mastio("holds", "list", "--status", "pending", "--json"))
        assert [hold["parameters"]["body"]["name"] for hold in left] == ["token", "token", "intermediate", "edge"]
        assert "rejected" in first.mastio("holds", "reject", left[0]["id"], "--reason", "no need")
        assert "active" in berta.mastio("holds", "approve", left[3]["id"])
        assert "carla" in first.mastio("admins", "list")
        assert first.mastio("admins", "remove", "carla").startswith("waits for another admin")
