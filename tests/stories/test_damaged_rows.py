"""A damaged row of redaction, detectors or budgets: the last good ones stay, it is said, and a revocation holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from support.appliance import NGINX, Appliance, open_appliance, wait_until

IBAN = "DE89 3704 0044 0532 0130 00"
ROWS: dict[str, dict[str, Any]] = {
    "redaction": {"name": "guard", "types": {"IBAN_CODE": {"action": "block"}}},
    "detectors": {"name": "guard", "classes": {"injection": {"action": "block"}}},
    "budgets": {"name": "guard", "limit_requests": 1000, "period": "day"},
}
MORE: dict[str, dict[str, Any]] = {
    "redaction": {"name": "more", "types": {"IBAN_CODE": {"action": "off"}}},
    "detectors": {"name": "more", "classes": {"injection": {"action": "off"}}},
    "budgets": {"name": "more", "limit_requests": 0, "period": "day"},
}
DAMAGE = {
    "redaction": "substr(document, 1, 30)",
    "detectors": "substr(document, 1, 30)",
    "budgets": "json_set(document, '$.period', 'fortnight')",
}
"""What the document of the object `guard` becomes, as SQL."""


@pytest.fixture(scope="module")
def appliance() -> Iterator[Appliance]:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance(workers=1) as (opened, _):
        yield opened


def damage(appliance: Appliance, section: str) -> None:
    database = sqlite3.connect(appliance.data / "db" / "control.sqlite", timeout=30)
    with database:
        where = "WHERE name = 'guard' AND collection = ?"
        database.execute(f"UPDATE objects SET document = {DAMAGE[section]} {where}", (section,))
    database.close()


@pytest.mark.parametrize("section", ROWS)
def test_the_last_good_rows_stay_in_force_and_it_is_said(appliance: Appliance, section: str) -> None:
    identity, mallory = appliance.enroll(f"alice-{section}"), appliance.enroll(f"mallory-{section}")
    collection = f"/v1/admin/{section}"
    with appliance.admin() as admin, appliance.client() as stranger, appliance.by_certificate(identity) as agent:

        def chat(text: str = "hello") -> int:
            body = {"model": "stub/demo", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}
            return agent.post("/v1/chat/completions", json=body).status_code

        assert admin.post(collection, json=ROWS[section]).status_code == 201
        assert chat() == 200
        damage(appliance, section)
        answer = admin.post(collection, json=MORE[section])
        assert (answer.status_code, answer.json()["code"]) == (409, "not_in_force"), answer.text
        assert "guard is not valid" in answer.json()["detail"]
        assert "guard" in [item["name"] for item in admin.get(collection).json()["items"]], "it can be found"
        patched = admin.patch(f"{collection}/guard", json={})
        assert (patched.status_code, patched.json()["code"]) == (409, "conflict"), patched.text
        wait_until(lambda: stranger.get("/readyz").status_code == 503, 3.0, "it is not ready")
        assert "guard is not valid" in stranger.get("/readyz").json()["detail"]
        assert chat() == 200, "the last good ones are in force"
        if section == "redaction":
            assert chat(f"my IBAN is {IBAN}") == 422
        assert admin.post(f"/v1/admin/agents/mallory-{section}/revoke").status_code == 200
        with appliance.by_certificate(mallory) as revoked:
            assert revoked.get("/v1/agents/self").status_code == 401
        assert admin.put(f"{collection}/guard", json=ROWS[section]).status_code == 200, "repaired"
        wait_until(appliance.is_ready, 3.0, "it is ready again")
        if section == "budgets":
            assert chat() == 429, "what was written meanwhile is in force"
        assert admin.delete(f"{collection}/more").status_code == 204
        assert admin.delete(f"{collection}/guard").status_code == 204
        appliance.settle()
        assert chat() == 200


def test_without_a_good_set_since_the_start_nothing_passes(appliance: Appliance) -> None:
    identity = appliance.enroll("early")
    body = {"model": "stub/demo", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}
    with appliance.admin() as admin:
        for section, row in ROWS.items():
            assert admin.post(f"/v1/admin/{section}", json=row).status_code == 201
    for section in DAMAGE:
        damage(appliance, section)
    appliance.stop()
    appliance.start_refused("The redaction policy guard is not valid")
    with appliance.admin() as admin, appliance.by_certificate(identity) as agent:
        wait_until(lambda: admin.get("/v1/admin/redaction").status_code == 200, 10.0, "it serves its admins")
        for section in ROWS:
            assert agent.post("/v1/chat/completions", json=body).status_code == 503, section
            admin.delete(f"/v1/admin/{section}/guard")
        wait_until(appliance.is_ready, 3.0, "it is ready again")
        assert agent.post("/v1/chat/completions", json=body).status_code == 200
