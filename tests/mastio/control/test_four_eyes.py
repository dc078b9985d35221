"""Four eyes over REST: held, approved by another, carried out once and exactly, or not at all."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from sqlalchemy import Connection, text

from mastio.control.admin.four_eyes import REQUEST
from mastio.exchange.values import Principal
from mastio.identity.principal import ROLES
from mastio.store.holds import KEEP_SECONDS, MAX_PENDING
from mastio_llm.collection import SecretBody
from mastio_policy.collection import POLICIES as COLLECTION
from mastio_policy.collection import STARTER
from support.control_plane import NOW, World, open_world

POLICIES, ADMINS, HOLDS, AGENTS = "/v1/admin/policies", "/v1/admin/admins", "/v1/admin/holds", "/v1/admin/agents"
CEDAR = "permit (principal, action, resource);"
POLICY = {"name": "wide", "cedar": CEDAR}


def person(name: str) -> Principal:
    return Principal(name, ROLES["admin"], credential={"type": "admin", "name": name})


ANNA, BERTA, CARLA = person("anna"), person("berta"), person("carla")


@pytest.fixture
async def alone(tmp_path: Path, url: str) -> AsyncIterator[World]:
    """Four eyes are on, for an hour, and there is one admin."""
    async with open_world(tmp_path, url, 3600.0) as world:
        await world.store.admins.add("anna", "admin", "mastio_admin_anna", NOW)
        yield world


@pytest.fixture
async def strict(alone: World) -> World:
    """And another."""
    await alone.store.admins.add("berta", "admin", "mastio_admin_berta", NOW)
    return alone


async def ask(world: World, method: str, path: str, body: Any = None, by: Principal = ANNA) -> dict[str, Any]:
    """The hold of a change that `by` asks for."""
    reply = await world.call(method, path, body, by)
    assert reply.status_code == 202, reply.text
    document: dict[str, Any] = reply.json()
    return document


async def decide(world: World, hold: dict[str, Any], verb: str = "approve", by: Principal = BERTA) -> httpx.Response:
    return await world.call("POST", f"{HOLDS}/{hold['id']}/{verb}", {"reason": "because"}, by)


async def status_of(world: World, hold: dict[str, Any]) -> str:
    return str((await world.call("GET", f"{HOLDS}/{hold['id']}")).json()["status"])


async def test_a_change_waits_and_is_carried_out(strict: World) -> None:
    hold = await ask(strict, "POST", POLICIES, POLICY)
    assert hold.pop("id").startswith("hold_")
    assert strict.door.facts.keys() == {"hold"}
    identifier = strict.door.facts["hold"]
    assert hold == {
        "status": "pending",
        "action": "admin.policies",
        "expires_at": "2027-01-15T09:00:00Z",
        "approve": f"{HOLDS}/{identifier}/approve",
    }
    assert dict(strict.directory.objects("policies")) == {}
    shown = (await strict.call("GET", HOLDS)).json()["items"]
    assert shown == [
        {
            "id": identifier,
            "exchange": "r",
            "agent": None,
            "requested_by": "anna",
            "action": "admin.policies",
            "parameters": {"method": "POST", "path": POLICIES, "body": POLICY},
            "status": "pending",
            "created_at": "2027-01-15T08:00:00Z",
            "expires_at": "2027-01-15T09:00:00Z",
            "decided_at": None,
            "decided_by": None,
            "reason": None,
        }
    ]
    strict.clock.time += 60
    reply = await decide(strict, {"id": identifier})
    assert reply.status_code == 200
    made = {**POLICY, "enabled": True, "mode": "enforce"}
    assert reply.json() == {"id": identifier, "status": "approved", "result": {"status": 201, "body": made}}
    assert strict.directory.objects("policies")["wide"].cedar == CEDAR
    assert strict.door.facts == {
        "hold": identifier, "requested_by": "anna", "approved_by": "berta", "action": "admin.policies",
        "change": f"POST {POLICIES}", "result": 201,
    }  # fmt: skip
    shown = (await strict.call("GET", f"{HOLDS}/{identifier}")).json()
    assert (shown["status"], shown["decided_by"], shown["reason"], shown["decided_at"]) == (
        "approved", "berta", "because", "2027-01-15T08:01:00Z",
    )  # fmt: skip


async def test_what_waits_and_what_does_not(strict: World) -> None:
    """By what happens, not by what is flagged: every change of the table, once with a second admin and once without."""
    await strict.store.of(COLLECTION).create(STARTER)
    await strict.store.admins.add("carla", "admin", "mastio_admin_carla", NOW)
    await strict.enrol("alice", token=await strict.token())
    held: list[tuple[str, str, Any]] = [
        ("POST", POLICIES, POLICY), ("PUT", f"{POLICIES}/starter", {"cedar": CEDAR}),
        ("PATCH", f"{POLICIES}/starter", {"enabled": False}), ("DELETE", f"{POLICIES}/starter", None),
        ("POST", ADMINS, {"name": "x", "role": "auditor"}), ("PATCH", f"{ADMINS}/carla", {"role": "auditor"}),
        ("DELETE", f"{ADMINS}/carla", None), ("POST", f"{ADMINS}/carla/rotate", None),
        ("DELETE", f"{ADMINS}/anna", None), ("PATCH", f"{ADMINS}/anna", {"role": "auditor"}),
        ("PATCH", f"{AGENTS}/alice", {"groups": ["a"]}), ("PATCH", f"{AGENTS}/alice", {"attributes": {"a": 1}}),
        ("PATCH", f"{AGENTS}/alice", {"api_keys": True}),
        ("POST", f"{AGENTS}/*/revoke", {"reason": "all"}), ("POST", "/v1/admin/keys", {"name": "token"}),
    ]  # fmt: skip
    before = strict.directory.version
    for method, path, body in held:
        await ask(strict, method, path, body)
    assert strict.directory.version == before
    free: list[tuple[str, str, Any]] = [
        ("POST", f"{AGENTS}/alice/revoke", {}), ("PATCH", f"{AGENTS}/alice", {"api_keys": "off"}),
        ("POST", "/v1/admin/enrollment-tokens", {"name": "x"}), ("POST", f"{ADMINS}/anna/rotate", None),
        ("POST", "/v1/admin/providers", {"name": "p", "kind": "openai", "base_url": "https://a.example/v1"}),
    ]  # fmt: skip
    for method, path, body in free:
        assert (await strict.call(method, path, body, ANNA)).status_code in (200, 201), path


def test_every_flagged_endpoint_is_one_whose_body_may_be_shown(strict: World) -> None:
    """The approver sees the body, the row keeps it in the clear, and a query would be lost."""
    guarded = []
    for route in strict.app.routes:
        assert isinstance(route, APIRoute)
        parameters = inspect.signature(route.endpoint, eval_str=True).parameters
        if REQUEST in parameters:
            guarded.append((sorted(route.methods)[0], route.path))
            bodies = [one.annotation for one in parameters.values() if inspect.isclass(one.annotation)]
            assert not any(issubclass(body, SecretBody) for body in bodies)
            assert not route.dependant.query_params and not route.dependant.header_params
            assert [one for one in route.dependant.dependencies if one.query_params] == []
    assert len(guarded) == 23


async def test_what_is_not_well_formed_is_not_held(strict: World) -> None:
    for body in ({}, {"name": "wide", "cedar": "permit"}, {**POLICY, "more": 1}):
        reply = await strict.call("POST", POLICIES, body, ANNA)
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid_body")
    assert (await strict.call("GET", HOLDS)).json()["items"] == []


async def test_a_change_of_what_is_not_there_is_not_held(strict: World) -> None:
    changes: list[tuple[str, str, Any]] = [
        ("PUT", f"{POLICIES}/none", {"cedar": CEDAR}), ("PATCH", f"{POLICIES}/none", {"enabled": False}),
        ("DELETE", f"{POLICIES}/none", None), ("PATCH", f"{ADMINS}/none", {"role": "auditor"}),
        ("DELETE", f"{ADMINS}/none", None), ("POST", f"{ADMINS}/none/rotate", None),
        ("PATCH", f"{AGENTS}/none", {"groups": ["a"]}),
    ]  # fmt: skip
    for method, path, body in changes:
        reply = await strict.call(method, path, body, ANNA)
        assert (reply.status_code, reply.json()["code"]) == (404, "not_found"), (method, path)
    assert (await strict.call("GET", HOLDS)).json()["items"] == []


async def test_nobody_approves_alone(strict: World) -> None:
    hold = await ask(strict, "POST", POLICIES, POLICY)
    own = await decide(strict, hold, by=ANNA)
    assert (own.status_code, own.json()["code"]) == (403, "second_admin_required")
    assert await status_of(strict, hold) == "pending" and dict(strict.directory.objects("policies")) == {}
    assert (await decide(strict, hold)).status_code == 200


async def test_an_hour_and_no_longer(strict: World) -> None:
    await strict.store.of(COLLECTION).create(STARTER)
    late, timely = await ask(strict, "POST", POLICIES, POLICY), await ask(strict, "DELETE", f"{POLICIES}/starter")
    await strict.store.of(COLLECTION).delete("starter")
    strict.clock.time = NOW + 3599.9
    reply = await decide(strict, timely)
    assert (reply.status_code, reply.json()["code"]) == (404, "not_found")  # carried out: the policy is gone by now
    strict.clock.time = NOW + 3600
    for verb in ("approve", "reject"):
        reply = await decide(strict, late, verb)
        assert (reply.status_code, reply.json()["code"]) == (409, "conflict")
    assert await status_of(strict, late) == "expired"
    for status, expected in (("expired", [late["id"]]), ("pending", []), ("failed", [timely["id"]])):
        items = (await strict.call("GET", f"{HOLDS}?status={status}")).json()["items"]
        assert [item["id"] for item in items] == expected
    strict.clock.time = NOW + 3600 + KEEP_SECONDS + 1
    await ask(strict, "POST", POLICIES, POLICY)
    assert len((await strict.call("GET", HOLDS)).json()["items"]) == 1


@pytest.mark.parametrize("by", [ANNA, BERTA], ids=["taken back", "other"])
async def test_rejected_is_for_ever(strict: World, by: Principal) -> None:
    hold = await ask(strict, "POST", POLICIES, POLICY)
    reply = await decide(strict, hold, "reject", by)
    assert (reply.status_code, reply.json()["status"], reply.json()["decided_by"]) == (200, "rejected", by.name)
    assert strict.door.facts == {"hold": hold["id"], "requested_by": "anna"}
    for verb in ("approve", "reject"):
        assert (await decide(strict, hold, verb)).status_code == 409
    assert dict(strict.directory.objects("policies")) == {}


async def test_a_hold_is_used_once(strict: World) -> None:
    await strict.store.admins.add("carla", "admin", "mastio_admin_carla", NOW)
    hold = await ask(strict, "POST", ADMINS, {"name": "dora", "role": "auditor"})
    replies = [await decide(strict, hold, by=by) for by in (BERTA, CARLA, BERTA)]
    assert [reply.status_code for reply in replies] == [200, 409, 409]
    assert replies[0].json()["result"]["body"]["created_by"] == "anna"
    assert replies[0].json()["result"]["body"]["claimed"] is False and "mastio_admin_" not in replies[0].text
    assert hold["claim"].startswith("mastio_admin_claim_")


async def test_two_approvals_at_once_are_one(strict: World, url: str) -> None:
    """Through two workers: the second application is on the same database."""
    async with open_world(strict.data, url, 3600.0) as other:
        for number in range(10):
            hold = await ask(strict, "POST", POLICIES, {**POLICY, "name": f"p{number}"})
            replies = await asyncio.gather(decide(strict, hold), decide(other, hold), decide(other, hold))
            assert sorted(reply.status_code for reply in replies) == [200, 409, 409]
    await strict.directory.refresh()  # the other worker's last change too
    assert len(strict.directory.objects("policies")) == 10


@pytest.mark.parametrize("who", ["anna", "berta"])
@pytest.mark.parametrize("how", ["removed", "demoted", "expired"])
async def test_both_must_be_admins_when_it_is_approved(strict: World, who: str, how: str) -> None:
    """Whom the pipeline still took for one a moment ago."""
    await strict.store.admins.add("carla", "admin", "mastio_admin_carla", NOW)
    hold = await ask(strict, "POST", POLICIES, POLICY)
    sql = {"removed": "revoked = true", "demoted": "role = 'operator'", "expired": f"expires_at = {NOW - 1}"}[how]

    def work(connection: Connection, version: int) -> None:
        connection.execute(text(f"UPDATE admins SET {sql} WHERE name = :who"), {"who": who})

    await strict.store.holds._change(work, "admins")
    reply = await decide(strict, hold)
    expected = (409, "conflict") if who == "anna" else (403, "role_required")
    assert (reply.status_code, reply.json()["code"]) == expected
    assert dict(strict.directory.objects("policies")) == {} and await status_of(strict, hold) == "pending"
    if who == "berta":
        assert (await decide(strict, hold, by=CARLA)).status_code == 200


async def test_what_cannot_be_carried_out_is_failed(strict: World) -> None:
    first, second = await ask(strict, "POST", POLICIES, POLICY), await ask(strict, "POST", POLICIES, POLICY)
    assert (await decide(strict, first)).status_code == 200
    reply = await decide(strict, second)
    assert (reply.status_code, reply.json()["code"]) == (409, "conflict")
    assert "exists" in reply.json()["message"]
    assert await status_of(strict, second) == "failed"
    assert "exists" not in (await decide(strict, second)).json()["message"]


async def test_the_second_admin_is_added_by_the_first(alone: World) -> None:
    """Only while there is one: everything else waits even then, and so does a third admin."""
    hold = await ask(alone, "POST", POLICIES, POLICY)
    assert (await decide(alone, hold, by=ANNA)).status_code == 403
    assert (await alone.call("POST", ADMINS, {"name": "otto", "role": "operator"}, ANNA)).status_code == 201
    assert (await alone.call("POST", ADMINS, {"name": "berta", "role": "admin"}, ANNA)).status_code == 201
    await ask(alone, "POST", ADMINS, {"name": "carla", "role": "admin"})
    assert (await decide(alone, hold)).status_code == 200
    removal = await ask(alone, "DELETE", f"{ADMINS}/berta")
    assert (await decide(alone, removal)).status_code == 200  # berta agreed
    assert (await alone.call("POST", ADMINS, {"name": "dora", "role": "admin"}, ANNA)).status_code == 201


async def test_an_admin_who_has_expired_is_none(alone: World) -> None:
    await alone.store.admins.add("berta", "admin", "mastio_admin_berta", NOW, NOW + 60)
    await ask(alone, "POST", ADMINS, {"name": "carla", "role": "admin"})
    alone.clock.time += 60
    assert (await alone.call("POST", ADMINS, {"name": "dora", "role": "admin"}, ANNA)).status_code == 201


async def test_ones_own_token_is_ones_own(strict: World) -> None:
    """An approver would get to see it. Another's waits."""
    reply = await strict.call("POST", f"{ADMINS}/anna/rotate", principal=ANNA)
    assert reply.status_code == 200 and reply.json()["token"]
    hold = await ask(strict, "POST", f"{ADMINS}/berta/rotate")
    assert (await decide(strict, hold)).json()["result"]["body"]["name"] == "berta"


async def test_requests_are_bounded(strict: World) -> None:
    for _ in range(MAX_PENDING):
        await ask(strict, "POST", POLICIES, POLICY)
    reply = await strict.call("POST", POLICIES, POLICY, ANNA)
    assert (reply.status_code, reply.json()["code"]) == (429, "rate_limited")
    await ask(strict, "POST", POLICIES, POLICY, by=BERTA)  # another's do not count
    strict.clock.time += 3600
    await ask(strict, "POST", POLICIES, POLICY)


async def test_without_an_answer_of_the_store_nothing_is_done(strict: World) -> None:
    hold = await ask(strict, "POST", POLICIES, POLICY)

    def rename(name: str, to: str) -> Any:
        return lambda connection: connection.execute(text(f"ALTER TABLE {name} RENAME TO {to}"))

    await strict.store.holds._database.write(rename("holds", "gone"))
    for method, path, body, by in (
        ("POST", POLICIES, POLICY, ANNA), ("POST", hold["approve"], {}, BERTA), ("GET", HOLDS, None, ANNA),
    ):  # fmt: skip
        reply = await strict.call(method, path, body, by)
        assert (reply.status_code, reply.json()["code"]) == (503, "store_unavailable")
    assert dict(strict.directory.objects("policies")) == {}
    await strict.store.holds._database.write(rename("gone", "holds"))
    assert (await decide(strict, hold)).status_code == 200


async def test_all_agents_at_once(world: World) -> None:
    """Without four eyes: at once."""
    token = await world.token(uses=4)
    for name in ("a", "b", "c", "d"):
        assert (await world.enrol(name, token=token)).status_code == 201
    await world.call("PATCH", f"{AGENTS}/b", {"status": "suspended"})
    await world.call("POST", f"{AGENTS}/c/revoke", {"reason": "before"})
    reply = await world.call("POST", f"{AGENTS}/*/revoke", {"reason": "all"})
    assert (reply.status_code, reply.json()) == (200, {"revoked": 3})
    shown = {name: world.directory.agents[name] for name in "abcd"}
    assert {agent.status for agent in shown.values()} == {"revoked"}
    assert {name: agent.status_reason for name, agent in shown.items()} == {
        "a": "all",
        "b": "all",
        "c": "before",
        "d": "all",
    }
    assert len(await world.store.agents.revoked(NOW)) == 4
    assert (await world.call("POST", f"{AGENTS}/*/revoke")).json() == {"revoked": 0}
    assert (await world.call("POST", f"{AGENTS}/a/reactivate")).json()["status"] == "active"
    assert len(await world.store.agents.revoked(NOW)) == 3
