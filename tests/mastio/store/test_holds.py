"""Holds and the revocation of all agents, on every database: decided once, whoever asks at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

import pytest
from store_world import NOW, Opened, enrol, open_store

from mastio.errors import MastioError
from mastio.store.base import Hold
from mastio.store.holds import MAX_PENDING, new_hold_id


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
