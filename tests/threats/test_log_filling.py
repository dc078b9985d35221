"""Callers who try to fill the log: refused strangers, long fields, agents when room is low."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from mastio_client import Identity
from support.appliance import NGINX, Appliance, wait_until

BURST = 20
ATTEMPTS = 300
CALL = {"model": "none/gpt-4o", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture(scope="module")
def appliance() -> Iterator[Appliance]:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with tempfile.TemporaryDirectory(prefix="mastio-") as folder, ExitStack() as stack:
        opened = Appliance(Path(folder) / "d")
        opened.environment = {"MASTIO_SERVER__REFUSAL_BURST": str(BURST), "MASTIO_SERVER__REFUSALS_PER_SECOND": "1"}
        stack.callback(opened.stop)
        opened.start()
        yield opened


@pytest.fixture(scope="module")
def agent(appliance: Appliance) -> Identity:
    return appliance.enroll("honest")


@pytest.mark.parametrize("path", ["/v1/agents/self", "/v1/audit/entries"])
def test_refused_strangers_are_counted(appliance: Appliance, agent: Identity, path: str) -> None:
    appliance.mark()
    with appliance.client() as stranger:
        for _ in range(ATTEMPTS):
            assert stranger.get(path).status_code == 401
    wait_until(lambda: counted(appliance) + alone(appliance) >= ATTEMPTS, 5, "all of them are told")
    assert counted(appliance) + alone(appliance) == ATTEMPTS
    assert len(appliance.entries()) < BURST + 30
    with appliance.by_certificate(agent) as client:
        assert client.get("/v1/agents/self").status_code == 200


def counted(appliance: Appliance) -> int:
    return sum(entry["request"]["refused"] for entry in appliance.entries() if entry["kind"] == "refusals")


def alone(appliance: Appliance) -> int:
    return sum((entry["outcome"] or {}).get("code") == "missing_credential" for entry in appliance.entries())


def test_refused_enrolments_do_not_fill_the_log_either(appliance: Appliance, agent: Identity) -> None:
    appliance.mark()
    wrong = {"csr": "no request", "name": "x"}
    with appliance.client() as stranger:
        statuses = [stranger.post("/v1/enrollments", json=wrong).status_code for _ in range(ATTEMPTS)]
    assert set(statuses) <= {422, 429} and statuses[-1] == 429
    assert len(appliance.entries()) < 2 * BURST + 30
    with appliance.by_certificate(agent) as client:
        assert client.get("/v1/agents/self").status_code == 200
    wait_until(lambda: can_enrol(appliance), 10, "an enrolment from that address goes on")


def can_enrol(appliance: Appliance) -> bool:
    token = appliance.enrollment_token("late")
    with appliance.client() as client:
        reply = client.post("/v1/enrollments", json={"csr": "no request", "name": "late", "token": token})
        return reply.status_code == 422


def test_a_long_path_leaves_a_short_entry(appliance: Appliance, agent: Identity) -> None:
    appliance.mark()
    with appliance.by_certificate(agent) as client:
        reply = client.get("/v1/egress/none/" + "x" * 7000)
    assert reply.status_code in (403, 404)
    (entry,) = appliance.entries_of(reply.headers["x-request-id"])
    assert len(str(entry)) < 2500, entry
    assert "7016 characters, digest " in entry["request"]["path"]


def test_agents_are_refused_before_the_room_for_admins_is_used_up(tmp_path: Path) -> None:
    """With a limit that the log has reached already."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    opened = Appliance(tmp_path / "d")
    try:
        opened.start()
        identity = opened.enroll("honest")
        opened.stop()
        opened.environment = {"MASTIO_AUDIT__MOST_MEGABYTES": "1", "MASTIO_AUDIT__RESERVE_MEGABYTES": "1"}
        opened._launch()
        wait_until(lambda: "kept for administration" in ready(opened), 60, "it says that room is low")
        with opened.by_certificate(identity) as client:
            refused = client.post("/v1/chat/completions", json=CALL)
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "audit_unavailable")
            assert "retry-after" in refused.headers
        with opened.admin() as admin:
            assert admin.post("/v1/admin/agents/honest/revoke").status_code == 200
            assert "mastio_audit_free_bytes" in admin.get("/metrics").text
        assert "operate/log-size.md" in opened.log(), "the alarm names the page"
    finally:
        opened.stop()


def ready(appliance: Appliance) -> str:
    try:
        with appliance.client() as stranger:
            return stranger.get("/readyz").text
    except (OSError, httpx.HTTPError):
        return ""
