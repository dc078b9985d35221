"""What the operator sees and does: probes, metrics, the surface, and a certificate renewed while requests run."""

import os
import signal
import ssl
import threading

import httpx
import pytest

from mastio_client import Identity
from support.appliance import Appliance, open_appliance, wait_until


@pytest.mark.smoke
def test_probes_are_open_and_metrics_are_not(appliance: Appliance, agent: Identity) -> None:
    with appliance.client() as stranger, appliance.admin() as admin, appliance.by_certificate(agent) as caller:
        assert stranger.get("/health").json()["status"] == "ok"
        assert stranger.get("/livez").status_code == 200
        assert stranger.get("/readyz").json()["status"] == "ready"
        assert stranger.get("/metrics").status_code == 401
        assert caller.get("/metrics").status_code == 403
        text = admin.get("/metrics").text
    assert 'mastio_exchanges_total{code="missing_credential",kind="operate.metrics",status="401"}' in text
    assert "mastio_exchange_seconds_bucket" in text


def test_the_surface_is_described_whole(appliance: Appliance) -> None:
    with appliance.admin() as admin:
        document = admin.get("/openapi.json").json()
        page = admin.get("/docs").text
    described = {(path, method) for path, rows in document["paths"].items() for method in rows}
    assert ("/v1/chat/completions", "post") in described
    assert ("/v1/admin/agents/{id}/revoke", "post") in described
    assert "/v1/chat/completions" in page and "<script" not in page


def test_revocation_takes_effect_within_a_second(appliance: Appliance) -> None:
    identity = appliance.enroll("to-be-revoked")
    with appliance.agent(identity) as caller, appliance.admin() as admin, appliance.client() as stranger:
        assert caller.get("/v1/agents/self").status_code == 200
        assert admin.post("/v1/admin/agents/to-be-revoked/revoke", json={}).status_code == 200
        sent = caller.build_request("GET", "/v1/agents/self")
        wait_until(lambda: caller.send(sent).status_code == 401, 1.0, "the agent is refused")
        assert "BEGIN X509 CRL" in stranger.get("/pki/crl.pem").text


def serial(appliance: Appliance) -> str:
    pem = ssl.get_server_certificate(("127.0.0.1", appliance.port))
    return str(hash(pem))


def test_the_edge_certificate_is_renewed_without_a_dropped_request() -> None:
    """A certificate of 18 seconds is due after twelve; SIGHUP makes the supervisor look at once."""
    with open_appliance(stub=None, more="[pki]\nserver_days = 0.0002083\n") as (appliance, _):
        before = serial(appliance)
        stop, statuses = threading.Event(), []

        def call() -> None:
            with appliance.client() as client:
                while not stop.is_set():
                    try:
                        statuses.append(client.get("/readyz").status_code)
                    except httpx.TransportError as error:
                        statuses.append(str(error))

        caller = threading.Thread(target=call, daemon=True)
        caller.start()

        def renewed() -> bool:
            os.kill(appliance.pid("supervisor"), signal.SIGHUP)
            return serial(appliance) != before

        try:
            wait_until(renewed, 30, "the edge shows a new certificate")
        finally:
            stop.set()
            caller.join(10)
        assert len(statuses) > 50
        assert set(statuses) == {200}, set(statuses)


def test_a_killed_fork_server_is_replaced_with_its_workers() -> None:
    """Its workers finish and end with it; the supervisor starts all of them again."""
    with open_appliance(stub=None) as (appliance, _):
        first, worker = appliance.pid("fork-server"), appliance.pid("worker-0")
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: appliance.pid("worker-0") != worker, 15, "there is another worker")
        assert appliance.pid("fork-server") != first
        appliance.wait_ready()
        with appliance.by_certificate(appliance.enroll("later")) as caller:
            assert caller.get("/v1/agents/self").status_code == 200
        assert appliance.verify() == 0
