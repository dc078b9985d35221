"""Holds and the revocation of all agents, on every database: decided once, whoever asks at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

import pytest

from mastio.exchange.errors import MastioError
from mastio.exchange.records import Hold
from mastio.store.holds import MAX_PENDING, new_hold_id
from support.stores import NOW, Opened, enrol, open_store


def hold_of(name: str = "anna", now: float = NOW) -> Hold:
    body = b'{"name":"p"}'
    return Hold(
        id=new_hold_id(), exchange="e", requested_by=name, action="admin.policies", method="POST",
        path="/v1/admin/policies", body=body, parameters={"body": {"name": "p"}}, created_at=now, expires_at=now + 60,
    )  # fmt: skip


async def code_of(call: Awaitable[object]) -> str | None:
    try:
        await call
    except MastioError as error:
        return error.code
    return None


@pytest.fixture
async def staffed(opened: Opened) -> Opened:
    for name in ("anna", "berta", "carla"):
        await opened.store.admins.add(name, "admin", f"mastio_admin_{name}", NOW)
    return opened


async def test_a_hold_comes_back_as_it_was(staffed: Opened) -> None:
    store = staffed.store.holds
    made = await store.create(hold_of())
    assert await store.get(made.id, NOW) == made and made.place > 0
    assert (await store.get(made.id, NOW + 60)).status == "expired"
    decided = await store.approve(made.id, "berta", "yes", NOW + 1)
    assert decided == replace(made, status="approved", decided_at=NOW + 1, decided_by="berta", reason="yes")
    assert await store.get(made.id, NOW + 99) == decided
    await store.fail(made.id)
    assert (await store.get(made.id, NOW)).status == "failed"
    assert await code_of(store.get("hold_x", NOW)) == "not_found"


async def test_one_of_many_decisions_is_written(staffed: Opened) -> None:
    async with open_store(staffed.url, staffed.data) as other:
        for _ in range(5):
            made = await staffed.store.holds.create(hold_of())
            stores = (staffed.store.holds, other.store.holds)
            calls = [stores[n % 2].approve(made.id, ("berta", "carla")[n % 2], None, NOW) for n in range(6)]
            calls += [store.reject(made.id, "anna", None, NOW) for store in stores]
            codes = await asyncio.gather(*map(code_of, calls))
            assert sorted(map(str, codes)) == ["None", *["conflict"] * 7]


async def test_an_admin_who_goes_at_the_same_moment(staffed: Opened) -> None:
    """Either the approval came first, or there was nobody to approve any more; never both and never neither."""
    async with open_store(staffed.url, staffed.data) as other:
        for number in range(5):
            name = f"going-{number}"
            await staffed.store.admins.add(name, "admin", f"mastio_admin_{name}", NOW)
            made = await staffed.store.holds.create(hold_of(name))
            code, gone = await asyncio.gather(
                code_of(other.store.holds.approve(made.id, "berta", None, NOW)),
                code_of(staffed.store.admins.revoke(name)),
            )
            status = (await staffed.store.holds.get(made.id, NOW)).status
            assert gone is None and (code, status) in ((None, "approved"), ("conflict", "pending"))


async def test_lists_by_status(staffed: Opened) -> None:
    store = staffed.store.holds
    made = [await store.create(hold_of(now=NOW + n)) for n in range(4)]
    await store.reject(made[1].id, "anna", None, NOW)
    at = NOW + 61
    found = {
        status: [hold.id for hold in (await store.list(10, 0, at, status)).items]
        for status in ("pending", "expired", "rejected", "approved", None)
    }
    pending, expired = [made[2].id, made[3].id], [made[0].id]
    assert found == {
        "pending": pending, "expired": expired, "rejected": [made[1].id], "approved": [],
        None: [hold.id for hold in made],
    }  # fmt: skip
    page = await store.list(2, made[0].place, at)
    assert [hold.id for hold in page.items] == [made[1].id, made[2].id] and page.more


async def test_requests_of_one_are_bounded(staffed: Opened) -> None:
    store = staffed.store.holds
    for _ in range(MAX_PENDING):
        await store.create(hold_of())
    assert await code_of(store.create(hold_of())) == "rate_limited"
    assert await code_of(store.create(hold_of("berta"))) is None
    assert await code_of(store.create(hold_of(now=NOW + 61))) is None


async def test_all_agents_are_revoked_in_one_change(opened: Opened) -> None:
    for name in ("a", "b", "c"):
        await enrol(opened, name)
    await opened.store.agents.revoke("b", "before", NOW)
    async with open_store(opened.url, opened.data) as other:
        before = opened.directory.version
        assert await opened.store.agents.revoke_all("all", NOW) == 2
        assert opened.directory.version == before + 1
        await other.directory.refresh()
        for directory in (opened.directory, other.directory):
            agents = directory.agents
            assert {agent.status for agent in agents.values()} == {"revoked"}
            assert [agents[name].status_reason for name in "abc"] == ["all", "before", "all"]
        assert len(await other.store.agents.revoked(NOW)) == 3
        assert await other.store.agents.revoke_all("again", NOW) == 0


# --- what agents ask for ----------------------------------------------------------------------------------------------


def asked_of(binding: str = "b", now: float = NOW) -> Hold:
    return replace(
        hold_of("alice", now), agent="alice", binding=binding, body=b"", parameters={"bytes": 3, "content": "secret"}
    )


async def test_the_same_request_finds_its_hold_and_uses_it_once(staffed: Opened) -> None:
    store = staffed.store.holds
    async with open_store(staffed.url, staffed.data) as other:
        made = await asyncio.gather(*((store, other.store.holds)[n % 2].ask(asked_of()) for n in range(6)))
        assert len({hold.id for hold in made}) == 1 and made[0].status == "pending"
        assert (await store.ask(asked_of("other"))).id != made[0].id
        assert await store.use(made[0].id, NOW) is None
        approved = await store.approve(made[0].id, "berta", "fine", NOW + 1)
        assert (approved.status, approved.parameters) == ("approved", {"bytes": 3})
        assert (await other.store.holds.ask(asked_of(now=NOW + 2))).status == "approved"
        used = await asyncio.gather(*((store, other.store.holds)[n % 2].use(made[0].id, NOW + 3) for n in range(6)))
        assert [hold.status for hold in used if hold] == ["used"]
        assert (await store.ask(asked_of(now=NOW + 4))).id != made[0].id


async def test_a_rejection_stands_until_its_time_is_over(staffed: Opened) -> None:
    store = staffed.store.holds
    made = await store.ask(asked_of())
    await store.reject(made.id, "berta", None, NOW + 1)
    assert (await store.ask(asked_of(now=NOW + 59))).status == "rejected"
    assert (await store.ask(asked_of(now=NOW + 60))).id != made.id


async def test_what_nobody_decided_or_used_in_time_is_over(staffed: Opened) -> None:
    store = staffed.store.holds
    made = await store.ask(asked_of())
    ended = await store.ask(asked_of(now=NOW + 60))
    assert (ended.id, ended.status, ended.parameters) == (made.id, "expired", {"bytes": 3})
    fresh = await store.ask(asked_of(now=NOW + 61))
    assert fresh.id != made.id
    await store.approve(fresh.id, "berta", None, NOW + 100)
    assert await store.use(fresh.id, NOW + 160) is None, "an approval lasts as long as the decision might have taken"
    assert (await store.ask(asked_of(now=NOW + 160))).status == "expired"
    assert await code_of(store.approve(fresh.id, "berta", None, NOW + 161)) == "conflict"


async def test_an_admin_of_the_agents_name_may_approve(staffed: Opened) -> None:
    made = await staffed.store.holds.ask(replace(asked_of(), agent="anna", requested_by="anna"))
    assert (await staffed.store.holds.approve(made.id, "anna", None, NOW)).status == "approved"
    other = await staffed.store.holds.ask(asked_of("c"))
    assert await code_of(staffed.store.holds.approve(other.id, "nobody", None, NOW)) == "role_required"


async def test_an_agent_has_only_so_many(staffed: Opened) -> None:
    for number in range(MAX_PENDING):
        await staffed.store.holds.ask(asked_of(str(number)))
    assert await code_of(staffed.store.holds.ask(asked_of("more"))) == "rate_limited"
    assert (await staffed.store.holds.ask(asked_of("1"))).status == "pending"
