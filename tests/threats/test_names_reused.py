"""A name that is given to another agent brings nothing along of who had it before."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mastio_client import Identity
from mastio_client.enroll import EnrollmentRequest, enroll
from support.appliance import NGINX, Appliance, open_appliance, wait_until

READ = 'permit(principal, action in [Action::"audit.entries", Action::"audit.proof"], resource);'
SAY = {"model": "stub/demo", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture(scope="module")
def appliance() -> Iterator[Appliance]:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance() as (opened, _):
        with opened.admin() as admin:
            assert admin.post("/v1/admin/policies", json={"name": "read", "cedar": READ}).status_code == 201
        yield opened


def enroll_again(appliance: Appliance, name: str, folder: Path) -> Identity:
    """As another machine does that gets the name of a revoked agent: an operator approves."""
    ca = (appliance.data / "ca" / "ca.crt").read_bytes()
    thread = threading.Thread(
        target=enroll, args=(EnrollmentRequest(appliance.base_url, ca, name), folder, lambda text: None)
    )
    thread.start()
    with appliance.admin() as admin:

        def pending() -> list[dict[str, Any]]:
            items = admin.get("/v1/admin/enrollments?status=pending").json()["items"]
            return [item for item in items if item["name"] == name]

        wait_until(lambda: bool(pending()), 10, "the request is there")
        assert admin.post(f"/v1/admin/enrollments/{pending()[0]['id']}/approve", json={}).status_code == 200
    thread.join(30)
    return Identity.load(folder)


def read_entries(appliance: Appliance, identity: Identity) -> list[dict[str, Any]]:
    with appliance.by_certificate(identity) as client:
        found, path = [], "/v1/audit/entries?from=0&limit=1000"
        while path:
            reply = client.get(path)
            assert reply.status_code == 200, reply.text
            found += [json.loads(line) for line in reply.content.splitlines()]
            path = reply.links.get("next", {}).get("url", "")
        return found


def test_a_name_brings_neither_entries_nor_spending_along(appliance: Appliance, tmp_path: Path) -> None:
    first = appliance.enroll("twice")
    with appliance.admin() as admin:
        budget = {"name": "twice", "agent": "twice", "limit_requests": 2, "period": "total"}
        assert admin.post("/v1/admin/budgets", json=budget).status_code == 201
        with appliance.by_certificate(first) as client:
            assert [client.post("/v1/chat/completions", json=SAY).status_code for _ in range(3)] == [200, 200, 429]
        own = read_entries(appliance, first)
        index = next(entry["seq"] for entry in own if entry["kind"] == "llm.chat")
        with appliance.by_certificate(first) as client:
            assert client.get(f"/v1/audit/proof/{index}").status_code == 200
        assert admin.post("/v1/admin/agents/twice/revoke", json={}).status_code == 200
    second = enroll_again(appliance, "twice", tmp_path / "second")
    theirs = {entry["seq"] for entry in own}
    seen = read_entries(appliance, second)
    assert not theirs & {entry["seq"] for entry in seen}
    with appliance.by_certificate(second) as client:
        assert client.get(f"/v1/audit/proof/{index}").status_code == 404
        statuses = [client.post("/v1/chat/completions", json=SAY).status_code for _ in range(3)]
        assert statuses == [200, 200, 429], "the limit holds, and counts anew"
    mine = [entry for entry in read_entries(appliance, second) if entry["kind"] == "llm.chat"]
    assert mine and not theirs & {entry["seq"] for entry in mine}
