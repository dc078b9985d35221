"""The bound on identities of one address: what is beyond waits, loses nothing, takes nothing from others."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from time import monotonic
from typing import Any

import httpx
import pytest

from mastio_client import Identity
from mastio_client.enroll import EnrollmentRequest, Refused, enroll
from mastio_client.proofs import make_csr, make_key
from support.appliance import NGINX, Appliance, open_appliance

AT_ONCE = 10
WAIT = 7
"""Seconds until one more may come: nginx counts in thousandths, so that it is a little more than six."""


@pytest.fixture(scope="module")
def appliance() -> Iterator[Appliance]:
    """With a low bound; other appliances of tests have a high one."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance(stub=None, edge="enrollments_per_minute = 10", many_enrollments=False) as (running, _):
        yield running


def ask(client: httpx.Client, name: str, token: str) -> httpx.Response:
    body = {"csr": make_csr(make_key(), name), "name": name, "token": token}
    return client.post("/v1/enrollments", json=body)


def refused(reply: httpx.Response) -> dict[str, Any]:
    assert (reply.status_code, reply.headers["content-type"]) == (429, "application/problem+json"), reply.text
    assert reply.headers["retry-after"] == str(WAIT) and reply.headers["cache-control"] == "no-store"
    document: dict[str, Any] = reply.json()
    return document


def test_a_fleet_behind_one_address(appliance: Appliance) -> None:
    token = appliance.enrollment_token(uses=50)
    with appliance.client() as client, appliance.admin() as admin:
        began, served = monotonic(), 0
        while (reply := ask(client, f"fleet-{served}", token)).status_code == 201 and served < 50:
            served += 1
        assert AT_ONCE <= served <= AT_ONCE + (monotonic() - began) / (WAIT - 1), "one more every six seconds"
        problem = refused(reply)
        assert (problem["code"], problem["status"]) == ("rate_limited", 429)
        est = {"Authorization": "Basic " + base64.b64encode(f":{token}".encode()).decode()}
        refused(client.post("/.well-known/est/simpleenroll", content=b"x", headers=est))
        refused(client.post("/v1/enrollments?x", content=b"x"))
        assert client.get("/health").status_code == 200, "only enrolments wait"
        proof = {"X-Enrollment-Proof": "A" * 86}
        assert client.get("/v1/enrollments/enr_x", headers=proof).status_code == 404, "a decision can be picked up"
        assert "retry-after" not in admin.get("/v1/admin/agents").headers
        (shown,) = admin.get("/v1/admin/enrollment-tokens").json()["items"]
        assert shown["uses_left"] == 50 - served, "what was refused has not spent the token"

        ca, said = (appliance.data / "ca" / "ca.crt").read_bytes(), list[str]()
        folder = appliance.data / "agents" / "fleet-more"
        with pytest.raises(Refused, match="Too many requests from this address"):
            enroll(EnrollmentRequest(appliance.base_url, ca, "fleet-more", token, seconds=1), folder, said.append)
        assert said == [] and not folder.exists()
        enroll(EnrollmentRequest(appliance.base_url, ca, "fleet-more", token, seconds=60), folder, said.append)
        assert said and said[0].endswith(f"Trying again in {WAIT} s.")
    with appliance.by_certificate(Identity.load(folder)) as agent:
        assert agent.get("/v1/models").status_code == 200
