"""Four eyes, through the real edge and two workers: no admin alone changes what needs two, in whatever way it is tried.

After each refusal comes its twin: the same decision by who may take it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mastio.exchange.values import Role
from support.appliance import NGINX, Appliance, Stub, open_appliance, wait_until
from support.threats.judge import SELF, Answer, Judge, refusal

POLICIES, ADMINS, HOLDS, AGENTS = "/v1/admin/policies", "/v1/admin/admins", "/v1/admin/holds", "/v1/admin/agents"
POLICY = {"cedar": 'forbid (principal == Agent::"nobody", action, resource);'}
CLOSED = refusal(409, "conflict", "control")
OWN = refusal(403, "second_admin_required", "control")
ROLE = refusal(403, "role_required")
INSIDE = refusal(403, "role_required", "control")
CODE = refusal(403, "denied")


class People:
    """Admins `anna` and `berta`, an operator `otto`, and what they do."""

    def __init__(self, appliance: Appliance) -> None:
        self.appliance = appliance
        self.first = (appliance.data / "secrets" / "admin-token").read_text().strip()
        self.tokens = {"first": self.first}
        self.add("anna", "admin")  # needs nobody: there was one admin
        self.add("berta", "admin")
        self.add("otto", "operator")
        self._number = 0

    def add(self, name: str, role: Role) -> None:
        answer = self.ask("first", "POST", ADMINS, {"name": name, "role": role})
        if answer.status == 202:
            code = answer.document["claim"]
            answer = self.approve(answer.document["id"], "anna")
            assert answer.status == 200 and "token" not in answer.document["result"]["body"], answer.body
            self.tokens[name] = self.claim(name, code)
        else:
            self.tokens[name] = answer.document["token"]
        wait_until(lambda: self.ask(name, "GET", "/metrics").status == 200, 5, "the token is known")

    def claim(self, name: str, code: str) -> str:
        """A token that only its holder has seen."""
        token = "mastio_admin_" + secrets.token_urlsafe(32)
        self.tokens[code] = code
        wait_until(lambda: self.exchange(name, code, token).status != 401, 5, "the code is known")
        return token

    def exchange(self, name: str, code: str, token: str) -> Answer:
        body = {"token_sha256": hashlib.sha256(token.encode()).hexdigest()}
        return self.ask(code, "POST", f"{ADMINS}/{name}/rotate", body)

    def ask(self, who: str, method: str, path: str, body: Any = None) -> Answer:
        """On a connection of its own."""
        sent = {} if body is None else {"json": body}
        with self.appliance.client(headers={"Authorization": f"Bearer {self.tokens[who]}"}) as client:
            return Answer.of(client.request(method, path, **sent))

    def hold(self, who: str = "anna", method: str = "POST", path: str = POLICIES, body: Any = None) -> str:
        """The id of a change that waits."""
        if path == POLICIES:
            self._number += 1
            body = {**POLICY, "name": f"p{self._number}"}
        answer = self.ask(who, method, path, body)
        assert answer.status == 202, answer.body
        identifier: str = answer.document["id"]
        return identifier

    def decide(self, identifier: str, verb: str, who: str) -> Answer:
        return self.ask(who, "POST", f"{HOLDS}/{identifier}/{verb}", {})

    def approve(self, identifier: str, who: str = "berta") -> Answer:
        return self.decide(identifier, "approve", who)

    def status(self, identifier: str) -> str:
        return str(self.ask("first", "GET", f"{HOLDS}/{identifier}").document["status"])


@pytest.fixture(scope="module")
def two() -> Iterator[tuple[Appliance, Stub]]:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance(workers=2, more="[admin]\nfour_eyes = true\nfour_eyes_seconds = 600\n") as (appliance, stub):
        assert stub is not None
        yield appliance, stub


@pytest.fixture(scope="module")
def people(two: tuple[Appliance, Stub]) -> People:
    return People(two[0])


@pytest.fixture
def strict(two: tuple[Appliance, Stub], request: pytest.FixtureRequest) -> Judge:
    return Judge(*two, request.node.name)


WHO: dict[str, tuple[str, Any]] = {
    "requester": ("anna", OWN),
    "operator": ("otto", ROLE),
}


@pytest.mark.parametrize("name", WHO)
def test_who_may_not_approve(people: People, strict: Judge, name: str) -> None:
    who, expected = WHO[name]
    identifier = people.hold()
    path = f"{HOLDS}/{identifier}/approve"
    strict.mark()
    strict.refused(people.approve(identifier, who), expected, path)
    assert people.status(identifier) == "pending"
    strict.mark()
    strict.served(people.approve(identifier), upstream=False)


def test_a_stranger_approves_nothing(people: People, strict: Judge) -> None:
    identifier = people.hold()
    path = f"{HOLDS}/{identifier}/approve"
    strict.mark()
    with people.appliance.client() as client:
        strict.refused(Answer.of(client.post(path, json={})), refusal(401, "missing_credential"), path)
    strict.mark()
    strict.served(people.approve(identifier), upstream=False)


ENDS: dict[str, tuple[str, str]] = {
    "approved": ("approve", "berta"),
    "rejected": ("reject", "berta"),
    "withdrawn": ("reject", "anna"),
}


@pytest.mark.parametrize("verb", ["approve", "reject"])
@pytest.mark.parametrize("end", ENDS)
def test_what_is_decided_is_decided(people: People, strict: Judge, end: str, verb: str) -> None:
    identifier = people.hold()
    assert people.decide(identifier, *ENDS[end]).status == 200
    path = f"{HOLDS}/{identifier}/{verb}"
    strict.mark()
    strict.refused(people.decide(identifier, verb, "first"), CLOSED, path)
    again = people.hold()
    strict.mark()
    strict.served(people.decide(again, verb, "first"), upstream=False)


@pytest.mark.parametrize(
    "identifier", ["hold_unknown", "*", "%27%20OR%201=1", "x" * 500], ids=["no", "*", "sql", "long"]
)
def test_a_hold_that_is_not_there(people: People, strict: Judge, identifier: str) -> None:
    path = f"{HOLDS}/{identifier}/approve"
    strict.refused(people.ask("berta", "POST", path, {}), refusal(404, "not_found", "control"), path)
    good = people.hold()
    strict.mark()
    strict.served(people.approve(good), upstream=False)


MARKS = [{"hold": "hold_x"}, {"approved_by": "berta"}, {"state": {"hold": "hold_x"}}, {"requested_by": "berta"}]


@pytest.mark.parametrize("more", MARKS, ids=lambda more: next(iter(more)))
def test_a_request_cannot_say_that_it_was_approved(people: People, strict: Judge, more: dict[str, Any]) -> None:
    """In the body it is an unknown member; in headers and query it means nothing."""
    body = {**POLICY, "name": "said-so", **more}
    strict.refused(people.ask("anna", "POST", POLICIES, body), refusal(422, "invalid_body", "control"), POLICIES)
    name, value = next(iter(more.items()))
    headers = {"Authorization": f"Bearer {people.tokens['anna']}", f"x-{name}": str(value), "x-edge-hold": "hold_x"}
    with people.appliance.client(headers=headers) as client:
        answer = Answer.of(client.post(POLICIES, params={name: str(value)}, json={**POLICY, "name": "said-so"}))
    assert answer.status == 202
    assert people.ask("first", "GET", f"{POLICIES}/said-so").status == 404
    strict.mark()
    strict.served(people.approve(answer.document["id"]), upstream=False)
    assert people.approve(people.hold("anna", "DELETE", f"{POLICIES}/said-so")).status == 200


def test_one_admin_does_not_make_a_second_self(people: People, strict: Judge) -> None:
    """A new admin, a promoted operator, another's token: none of it without berta; and not by approving it alone."""
    attempts: list[tuple[str, str, Any]] = [
        ("POST", ADMINS, {"name": "anna2", "role": "admin"}),
        ("PATCH", f"{ADMINS}/otto", {"role": "admin"}),
        ("POST", f"{ADMINS}/berta/rotate", None),
        ("DELETE", f"{ADMINS}/berta", None),
        ("PATCH", f"{ADMINS}/berta", {"ttl_seconds": 1}),
    ]
    for method, path, body in attempts:
        identifier = people.hold("anna", method, path, body)
        strict.mark()
        answer = people.approve(identifier, "anna")
        assert "token" not in answer.document
        strict.refused(answer, OWN, f"{HOLDS}/{identifier}/approve")
        strict.mark()
        strict.served(people.decide(identifier, "reject", "anna"), upstream=False)
    assert people.ask("berta", "GET", HOLDS).status == 200
    assert people.ask("otto", "GET", HOLDS).status == 403
    assert people.ask("first", "GET", f"{ADMINS}/anna2").status == 404


def test_who_approves_a_new_admin_never_sees_the_token(people: People, strict: Judge) -> None:
    asked = people.ask("anna", "POST", ADMINS, {"name": "clara", "role": "admin"}).document
    code, shown = asked["claim"], people.ask("berta", "GET", f"{HOLDS}/{asked['id']}")
    approved = people.approve(asked["id"])
    assert approved.status == 200 and approved.document["result"]["body"]["claimed"] is False
    for seen in (shown, approved, people.ask("berta", "GET", f"{ADMINS}/clara")):
        assert b"mastio_admin_" not in seen.body and code.encode() not in seen.body
    people.tokens["code"] = code
    wait_until(lambda: people.ask("code", "GET", HOLDS).status == 403, 5, "the code is known")
    strict.mark()
    strict.refused(people.ask("code", "GET", HOLDS), CODE, HOLDS)
    strict.mark()
    strict.refused(people.exchange("berta", "code", "mastio_admin_x"), CODE, f"{ADMINS}/berta/rotate")
    people.tokens["clara"] = people.claim("clara", code)
    wait_until(lambda: people.ask("clara", "GET", HOLDS).status == 200, 5, "the token is known")
    assert "claimed" not in people.ask("berta", "GET", f"{ADMINS}/clara").document
    strict.mark()
    strict.served(people.ask("clara", "GET", HOLDS), upstream=False)
    wait_until(lambda: people.exchange("clara", "code", "mastio_admin_y").status == 401, 5, "the code worked once")


def test_a_code_that_nobody_used_in_time_is_refused(people: People, strict: Judge) -> None:
    """Its twin is the code that a rotation gives in its place."""
    asked = people.ask("anna", "POST", ADMINS, {"name": "emma", "role": "auditor"}).document
    approved = people.approve(asked["id"]).document["result"]["body"]
    assert approved["claim_expires_at"] > approved["created_at"]
    people.tokens["late"] = asked["claim"]
    wait_until(lambda: people.ask("late", "GET", HOLDS).status == 403, 5, "the code is known")
    database = sqlite3.connect(people.appliance.data / "db" / "control.sqlite", timeout=30)
    with database:  # the day goes by
        database.execute(
            "UPDATE admins SET token_hash = substr(token_hash, 1, 70) || ':1000000000' WHERE name = 'emma'"
        )
        database.execute("UPDATE revision SET value = value + 1, admins = value + 1")
    database.close()
    wait_until(lambda: people.ask("late", "GET", HOLDS).status == 401, 5, "its end is known")
    strict.mark()
    late = people.exchange("emma", "late", "mastio_admin_z")
    strict.refused(late, refusal(401, "invalid_admin_token"), f"{ADMINS}/emma/rotate")
    assert "one-time code has expired" in late.document["detail"] and "rotate" in late.document["detail"]
    again = people.ask("anna", "POST", f"{ADMINS}/emma/rotate").document
    assert people.approve(again["id"]).status == 200
    people.tokens["emma"] = people.claim("emma", again["claim"])
    emma = lambda: people.ask("emma", "GET", "/v1/audit/entries?limit=1")  # noqa: E731
    wait_until(lambda: emma().status == 200, 5, "the token is known")
    strict.mark()
    strict.served(emma(), upstream=False)


def test_a_new_admins_own_token_is_good_when_it_is_approved(people: People) -> None:
    token = "mastio_admin_" + secrets.token_urlsafe(32)
    body = {"name": "dora", "role": "auditor", "token_sha256": hashlib.sha256(token.encode()).hexdigest()}
    asked = people.ask("anna", "POST", ADMINS, body).document
    assert "claim" not in asked
    shown = people.ask("berta", "GET", f"{HOLDS}/{asked['id']}").document
    assert shown["parameters"]["body"] == body
    people.tokens["dora"] = token
    assert people.ask("dora", "GET", "/v1/audit/entries").status == 401
    assert "token" not in people.approve(asked["id"]).document["result"]["body"]
    wait_until(lambda: people.ask("dora", "GET", "/v1/audit/entries").status == 200, 5, "the token is known")


def test_rights_of_an_agent_need_two_admins(people: People, strict: Judge) -> None:
    identity = people.appliance.enroll("widened")
    path = f"{AGENTS}/{identity.name}"
    for change in ({"groups": ["all"]}, {"attributes": {"clearance": 9}}, {"api_keys": "on"}):
        strict.mark()
        strict.refused(people.ask("otto", "PATCH", path, change), INSIDE, path)
        identifier = people.hold("anna", "PATCH", path, change)
        before = people.ask("first", "GET", path).document
        assert not before["groups"] and not before["attributes"] and not before["api_keys"]
        people.decide(identifier, "reject", "anna")
    for change in ({"api_keys": "off"}, {"status": "suspended"}, {"status": "active"}):
        strict.mark()
        strict.served(people.ask("otto", "PATCH", path, change), upstream=False)
    assert people.approve(people.hold("anna", "PATCH", path, {"groups": ["all"]})).status == 200
    assert people.ask("otto", "GET", path).document["groups"] == ["all"]


ALL = {"star": "*", "upper": "%2A", "lower": "%2a", "two": "**"}


@pytest.mark.parametrize("name", ALL)
def test_an_operator_does_not_revoke_all_agents(people: People, strict: Judge, name: str) -> None:
    """Not even spelled otherwise. The twin: one agent, which is what an operator is for."""
    path = f"{AGENTS}/{ALL[name]}/revoke"
    identity = people.appliance.enroll(f"spared-{name}")
    strict.mark()
    expected = ROLE if name == "star" else refusal(404, "not_found", "control")
    strict.refused(people.ask("otto", "POST", path, {}), expected, path)
    with people.appliance.by_certificate(identity) as client:
        assert client.get(SELF).status_code == 200
    strict.mark()
    strict.served(people.ask("otto", "POST", f"{AGENTS}/spared-{name}/revoke", {}), upstream=False)


def test_all_agents_are_revoked_by_two(people: People, strict: Judge) -> None:
    """Everywhere within a second of the approval, and not a moment before."""
    identities = [people.appliance.enroll(f"many-{number}") for number in range(4)]

    def statuses() -> set[int]:
        found = set()
        for identity in identities:
            with people.appliance.by_certificate(identity) as client:
                found.add(client.get(SELF).status_code)
        return found

    path = f"{AGENTS}/*/revoke"
    identifier = people.hold("anna", "POST", path, {"reason": "drill"})
    assert statuses() == {200}
    strict.mark()
    strict.refused(people.approve(identifier, "anna"), OWN, f"{HOLDS}/{identifier}/approve")
    assert statuses() == {200}
    strict.mark()
    done = strict.served(people.approve(identifier), upstream=False).document
    assert done["result"]["body"]["revoked"] >= len(identities)
    wait_until(lambda: statuses() == {401}, 1.0, "all are refused")


SPELLINGS = ["Bearer", "bearer", "BEARER", "bEARER", "beArer", "bearEr", "beaReR", "BeArEr", "BEARer", "beaRER"]
"""Schemes that mean the same; the edge sends each to a worker of its own choice."""


def test_twenty_approvals_at_once_are_one(people: People, strict: Judge) -> None:
    """By two admins, through both workers."""
    identifier = people.hold("anna", "POST", ADMINS, {"name": "raced", "role": "auditor"})
    barrier = threading.Barrier(20)

    def approve(number: int) -> Answer:
        token = people.tokens[("berta", "first")[number % 2]]
        headers = {"Authorization": f"{SPELLINGS[number // 2]} {token}"}
        with people.appliance.client(headers=headers) as client:
            barrier.wait(30)
            return Answer.of(client.post(f"{HOLDS}/{identifier}/approve", json={}))

    strict.mark()
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(approve, range(20)))
    assert Counter(answer.status for answer in answers) == {200: 1, 409: 19}
    outcomes = Counter(entry["outcome"]["status"] for entry in strict.entries() if entry["phase"] == "outcome")
    assert outcomes == {"ok": 1, "failed": 19}
    assert sum("result" in json.loads(answer.body) for answer in answers) == 1
    assert not [answer for answer in answers if b"mastio_admin_" in answer.body]


def test_the_log_says_who_asked_and_who_approved(people: People, strict: Judge) -> None:
    strict.mark()
    identifier = people.hold("anna", "POST", ADMINS, {"name": "logged", "role": "auditor"})
    asked = strict.entries()
    assert [entry["phase"] for entry in asked] == ["intent", "outcome"]
    assert (asked[0]["kind"], asked[0]["credential"]) == ("admin.admins", {"name": "anna", "type": "admin"})
    assert (asked[1]["response"]["status"], asked[1]["response"]["hold"]) == (202, identifier)
    shown = people.ask("berta", "GET", f"{HOLDS}/{identifier}").document
    assert shown["exchange"] == asked[0]["id"]
    strict.mark()
    assert people.approve(identifier).document["result"]["body"]["claimed"] is False
    intent, outcome = strict.entries()
    assert intent["credential"] == {"name": "berta", "type": "admin"}
    said = {name: value for name, value in outcome["response"].items() if name not in ("bytes", "digest")}
    assert said == {
        "status": 200, "hold": identifier, "requested_by": "anna", "approved_by": "berta", "action": "admin.admins",
        "change": f"POST {ADMINS}", "result": 201,
    }  # fmt: skip
    assert not [entry for entry in people.appliance.entries() if "mastio_admin_" in json.dumps(entry)]
    assert people.appliance.verify() == 0


def test_what_waits_survives_control(people: People, strict: Judge) -> None:
    identifier = people.hold()
    people.appliance.replace_control()
    wait_until(lambda: people.ask("berta", "GET", HOLDS).status == 200, 10, "control is back")
    strict.mark()
    strict.refused(people.approve(identifier, "anna"), OWN, f"{HOLDS}/{identifier}/approve")
    strict.mark()
    strict.served(people.approve(identifier), upstream=False)
