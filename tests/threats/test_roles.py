"""Every route for people, in every role: the cases come from the route table, so that no route can be forgotten.

After each refusal comes its twin, the same request by a token whose role covers the route.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mastio.exchange.values import Role, Route
from mastio.identity.principal import ROLES
from mastio.process.plan import read_plan
from support.appliance import NGINX, Appliance, Stub, open_appliance, wait_until
from support.threats.judge import Answer, Judge, refusal

PEOPLE: tuple[Role, ...] = ("admin", "operator", "auditor")
PLAN, _ = read_plan(Path("/nowhere"))
ROUTES = [(route, method) for route in PLAN.routes for method in route.methods if route.requires & set(PEOPLE)]
CASES = [(route, method, role) for route, method in ROUTES for role in PEOPLE]
BEYOND = refusal(403, "role_required")


def name_of(case: Any) -> str:
    return case.path if isinstance(case, Route) else str(case)


@pytest.fixture(scope="module")
def two() -> Iterator[tuple[Appliance, Stub]]:
    """An appliance of its own, with two workers: some of these requests would end every agent."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance(workers=2) as (appliance, stub):
        assert stub is not None
        yield appliance, stub


def add(appliance: Appliance, name: str, role: Role, **more: Any) -> str:
    with appliance.admin() as admin:
        made = admin.post("/v1/admin/admins", json={"name": name, "role": role, **more})
        assert made.status_code == 201, made.text
        token: str = made.json()["token"]
    # the edge sends each token to a worker of its own choice, which may hear of it a moment later
    wait_until(lambda: ask(appliance, token, "GET", "/metrics").status != 401, 5, "the token is known")
    return token


@pytest.fixture(scope="module")
def tokens(two: tuple[Appliance, Stub]) -> dict[Role, str]:
    return {role: add(two[0], f"the-{role}", role) for role in PEOPLE}


def ask(appliance: Appliance, token: str, method: str, path: str) -> Answer:
    """A request for nobody in particular, with a body that says nothing."""
    sent: dict[str, Any] = {"json": {}} if method in ("POST", "PUT", "PATCH") else {}
    with appliance.client(headers={"Authorization": f"Bearer {token}"}) as client:
        return Answer.of(client.request(method, re.sub(r"\{[a-z_]+(\.\.\.)?\}", "0", path), **sent))


def test_there_are_routes_of_every_role() -> None:
    assert {role for route, _ in ROUTES for role in route.requires} >= {"admin", "operator"}
    assert len(CASES) > 100


@pytest.mark.parametrize(("route", "method", "role"), CASES, ids=name_of)
def test_a_role_reaches_its_routes_and_no_others(
    two: tuple[Appliance, Stub], tokens: dict[Role, str], request: pytest.FixtureRequest,
    route: Route, method: str, role: Role,
) -> None:  # fmt: skip
    judge = Judge(*two, request.node.name)
    answer = ask(two[0], tokens[role], method, route.path)
    if route.requires & ROLES[role]:
        assert answer.status not in (401, 403, 500), answer.body
        return
    path = re.sub(r"\{[a-z_]+(\.\.\.)?\}", "0", route.path)
    judge.refused(answer, BEYOND, path)
    twin = ask(two[0], tokens["admin"], method, route.path)
    assert twin.status not in (401, 403, 500), twin.body
    judge.harmless()


SPELLINGS = ["Bearer", "bearer", "BEARER", "bEARER", "beArer", "bearEr", "beaReR", "BeArEr", "BEARer", "beaRER"]
"""Schemes that mean the same; the edge sends each to a worker of its own choice."""


def ask_all(appliance: Appliance, token: str) -> set[int]:
    statuses = set()
    for scheme in SPELLINGS:
        with appliance.client(headers={"Authorization": f"{scheme} {token}"}) as client:
            statuses.add(client.get("/metrics").status_code)
    return statuses


@pytest.mark.parametrize("how", ["removed", "rotated", "demoted", "expired"])
def test_the_end_of_a_token_is_seen_by_every_worker_within_a_second(
    two: tuple[Appliance, Stub], request: pytest.FixtureRequest, how: str
) -> None:
    appliance, judge = two[0], Judge(*two, request.node.name)
    token = add(appliance, f"ended-{how}", "operator")
    path = f"/v1/admin/admins/ended-{how}"
    wait_until(lambda: ask_all(appliance, token) == {200}, 5, "every worker knows the token")
    with appliance.admin() as admin:
        match how:
            case "removed":
                assert admin.delete(path).status_code == 204
            case "rotated":
                assert admin.post(f"{path}/rotate").status_code == 200
            case "demoted":
                assert admin.patch(path, json={"role": "auditor"}).status_code == 200
            case "expired":
                assert admin.patch(path, json={"ttl_seconds": 1}).status_code == 200
    time.sleep(2.0 if how == "expired" else 0.9)
    status = 403 if how == "demoted" else 401
    assert ask_all(appliance, token) == {status}
    judge.mark()
    code = "role_required" if how == "demoted" else "invalid_admin_token"
    judge.refused(ask(appliance, token, "GET", "/metrics"), refusal(status, code), "/metrics")
    judge.mark()
    with appliance.admin() as admin:
        judge.served(Answer.of(admin.get("/metrics")), upstream=False)


@pytest.mark.parametrize("body", [None, {"role": "operator"}, {"ttl_seconds": 1}], ids=["remove", "demote", "end"])
def test_the_last_admin_stays(appliance: Appliance, judge: Judge, body: dict[str, Any] | None) -> None:
    """The session's appliance has one admin."""
    path = "/v1/admin/admins/first"
    with appliance.admin() as admin:
        answer = Answer.of(admin.delete(path) if body is None else admin.patch(path, json=body))
        judge.refused(answer, refusal(409, "last_admin", "control"), path)
        judge.mark()
        judge.served(Answer.of(admin.patch(path, json={"role": "admin"})), upstream=False)
