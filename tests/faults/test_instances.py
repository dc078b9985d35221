"""Two appliances on one data folder: the second refuses. Stop and start keep everything."""

import subprocess
import sys

from support.appliance import Appliance, open_appliance

BODY = {"model": "stub/gpt-4o", "messages": [{"role": "user", "content": "hello"}]}


def test_a_second_instance_on_one_folder_refuses(appliance: Appliance) -> None:
    command = [sys.executable, "-m", "mastio", "serve", "--data", str(appliance.data)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2
    assert "Another appliance runs on this data folder" in done.stderr
    assert appliance.is_ready()


def test_stop_and_start_keep_agents_and_log() -> None:
    with open_appliance() as (appliance, _):
        identity = appliance.enroll("keeper")
        with appliance.agent(identity) as client:
            assert client.post("/v1/chat/completions", json=BODY).status_code == 200
        before = appliance.entries()
        appliance.stop()
        appliance.start()
        with appliance.agent(identity) as client:
            assert client.post("/v1/chat/completions", json=BODY).status_code == 200
        after = appliance.entries()
        assert after[: len(before)] == before
        assert appliance.verify() == 0


def test_a_proof_from_before_a_restart_is_refused_by_its_nonce() -> None:
    with open_appliance(stub=None) as (appliance, _):
        identity = appliance.enroll("keeper")
        with appliance.agent(identity) as client:
            sent = client.get("/v1/agents/self").request
            assert client.get("/v1/agents/self").status_code == 200
            appliance.stop()
            appliance.start()
            with appliance.client() as stranger:
                again = stranger.get("/v1/agents/self", headers={k: sent.headers[k] for k in ("authorization", "dpop")})
        assert again.status_code == 401
        assert again.json()["code"] in ("use_dpop_nonce", "invalid_dpop_proof")
        assert "dpop-nonce" in again.headers
