"""Enrolment in the store, the same on every database: tokens, requests, decisions, and who holds a name."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import select

from mastio.exchange.errors import BadRequest, Denied
from mastio.exchange.records import Enrollment
from mastio.pki.public import IssuedLeaf
from mastio.store.agents import AgentChanges
from mastio.store.sql import tables
from support.store_observations import code_of, count
from support.stores import DAY, NOW, Opened, enrol, issue, open_store, request_for


async def test_a_token_enrols_at_once(opened: Opened) -> None:
    token, text = await opened.store.tokens.create("build-*", 2, NOW + 60, "op", NOW)
    issued = await opened.store.enrollments.issue_with_token(
        request_for("build-1"), opened.store.tokens.hash(text), issue
    )
    assert issued.status == "issued" and issued.certificate and issued.decided_by == "token"
    assert opened.directory.agents["build-1"].status == "active"
    assert (await opened.store.tokens.list(10, 0)).items == [replace(token, uses_left=1)]
    assert text not in str(await opened.database.read(lambda c: c.execute(select(tables.enrollment_tokens)).all()))


async def test_fifty_at_once_on_one_use_give_exactly_one_certificate(opened: Opened) -> None:
    _, text = await opened.store.tokens.create("*", 1, NOW + 60, "op", NOW)
    made: list[str] = []

    def counted(enrollment: Enrollment) -> IssuedLeaf:
        made.append(enrollment.name)
        return issue(enrollment)

    hashed = opened.store.tokens.hash(text)
    calls = [opened.store.enrollments.issue_with_token(request_for(f"a{n}"), hashed, counted) for n in range(50)]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    refused = [o for o in outcomes if isinstance(o, Denied)]
    assert [o.code for o in refused] == ["invalid_enrollment_token"] * 49
    assert len(made) == 1
    assert len(opened.directory.agents) == await count(opened, "certificates") == 1


async def test_fifty_at_once_over_two_workers_give_exactly_one_certificate(opened: Opened) -> None:
    _, text = await opened.store.tokens.create("*", 1, NOW + 60, "op", NOW)
    hashed = opened.store.tokens.hash(text)
    async with open_store(opened.url, opened.data) as other:
        stores = [opened.store, other.store]
        calls = [stores[n % 2].enrollments.issue_with_token(request_for(f"a{n}"), hashed, issue) for n in range(50)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(o, Enrollment) for o in outcomes) == 1
    assert sum(isinstance(o, Denied) for o in outcomes) == 49
    assert await count(opened, "certificates") == 1


async def test_fifty_at_once_for_one_name_give_it_to_one(opened: Opened) -> None:
    _, text = await opened.store.tokens.create("*", 50, NOW + 60, "op", NOW)
    hashed = opened.store.tokens.hash(text)
    calls = [opened.store.enrollments.issue_with_token(request_for("same"), hashed, issue) for _ in range(50)]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(o, Enrollment) for o in outcomes) == 1
    assert {o.code for o in outcomes if isinstance(o, BadRequest)} == {"name_taken"}
    assert (await opened.store.tokens.list(1, 0)).items[0].uses_left == 49  # who was refused gave the use back


@pytest.mark.parametrize(
    ("pattern", "name", "at"),
    [
        ("alice", "bob", NOW),
        ("alice", "alice2", NOW),
        ("build-?", "build-10", NOW),
        ("alice", "alice", NOW + 60),
    ],
)
async def test_a_token_is_good_for_its_names_and_time_only(opened: Opened, pattern: str, name: str, at: float) -> None:
    _, text = await opened.store.tokens.create(pattern, 1, NOW + 60, "op", NOW)
    call = opened.store.enrollments.issue_with_token(request_for(name, at), opened.store.tokens.hash(text), issue)
    assert await code_of(call) == "invalid_enrollment_token"
    assert (await opened.store.tokens.list(1, 0)).items[0].uses_left == 1


async def test_a_removed_token_is_good_for_nothing(opened: Opened) -> None:
    token, text = await opened.store.tokens.create("*", 1, NOW + 60, "op", NOW)
    await opened.store.tokens.delete(token.id)
    call = opened.store.enrollments.issue_with_token(request_for("a"), opened.store.tokens.hash(text), issue)
    assert await code_of(call) == "invalid_enrollment_token"
    assert await code_of(opened.store.tokens.delete(token.id)) == "not_found"


async def test_approval_issues_and_is_final(opened: Opened) -> None:
    store = opened.store.enrollments
    asked = await store.request(request_for("alice"), 10)
    assert asked.status == "pending" and "alice" not in opened.directory.agents
    issued = await store.approve(asked.id, "op", "known to me", NOW + 1, issue)
    assert (issued.status, issued.decided_by, issued.decision_reason) == ("issued", "op", "known to me")
    assert await store.get(asked.id, NOW + 1) == issued
    assert opened.directory.agents["alice"].cert_sha256.startswith("x5t-")
    assert await code_of(store.approve(asked.id, "op", None, NOW, issue)) == "conflict"
    assert await code_of(store.reject(asked.id, "op", None, NOW)) == "conflict"
    assert await code_of(store.approve("enr_x", "op", None, NOW, issue)) == "not_found"


async def test_rejection_gives_the_name_free(opened: Opened) -> None:
    store = opened.store.enrollments
    asked = await store.request(request_for("alice"), 10)
    assert (await store.reject(asked.id, "op", "no", NOW)).status == "rejected"
    assert await code_of(store.approve(asked.id, "op", None, NOW, issue)) == "conflict"
    assert (await store.request(request_for("alice"), 10)).status == "pending"


async def test_a_name_is_held_by_an_agent_or_a_request(opened: Opened) -> None:
    store = opened.store
    await enrol(opened, "alice")
    await store.enrollments.request(request_for("bob"), 10)
    _, text = await store.tokens.create("*", 9, NOW + 60, "op", NOW)
    hashed = store.tokens.hash(text)
    for name in ("alice", "bob"):
        assert await code_of(store.enrollments.request(request_for(name), 10)) == "name_taken"
    assert await code_of(store.enrollments.issue_with_token(request_for("alice"), hashed, issue)) == "name_taken"
    await store.agents.update("alice", AgentChanges(status="suspended"), NOW)
    assert await code_of(store.enrollments.request(request_for("alice"), 10)) == "name_taken"


async def test_a_strangers_request_does_not_hold_a_name_against_a_token(opened: Opened) -> None:
    store = opened.store
    asked = await store.enrollments.request(request_for("bob"), 10)
    _, text = await store.tokens.create("bob", 1, NOW + 60, "op", NOW)
    issued = await store.enrollments.issue_with_token(request_for("bob"), store.tokens.hash(text), issue)
    assert (issued.status, issued.decided_by) == ("issued", "token")
    assert await code_of(store.enrollments.approve(asked.id, "op", None, NOW, issue)) == "name_taken"
    assert (await store.enrollments.reject(asked.id, "op", None, NOW)).status == "rejected"


async def test_a_revoked_name_comes_back_by_approval_only_and_with_nothing_of_before(opened: Opened) -> None:
    store = opened.store
    await enrol(opened, "alice")
    old = await store.agents.update("alice", AgentChanges(groups=frozenset({"g"}), api_keys=True), NOW)
    await store.agents.revoke("alice", "lost", NOW)
    _, text = await store.tokens.create("*", 9, NOW + 60, "op", NOW)
    call = store.enrollments.issue_with_token(request_for("alice"), store.tokens.hash(text), issue)
    assert await code_of(call) == "name_taken"
    await enrol(opened, "alice", NOW + 5)
    new = opened.directory.agents["alice"]
    assert new.status == "active" and new.cert_sha256 != old.cert_sha256
    assert (new.groups, new.api_keys, new.status_reason) == (frozenset(), False, None)
    assert len(await store.agents.revoked(NOW + 5)) == 1  # the old leaf stays revoked


async def test_a_request_expires_and_gives_the_name_free(opened: Opened) -> None:
    store = opened.store.enrollments
    asked = await store.request(request_for("alice"), 10)
    late = NOW + DAY
    assert (await store.get(asked.id, late)).status == "expired"
    assert await code_of(store.approve(asked.id, "op", None, late, issue)) == "conflict"
    assert [e.id for e in (await store.list(10, 0, late, "expired")).items] == [asked.id]
    assert (await store.list(10, 0, late, "pending")).items == []
    again = await store.request(request_for("alice", late), 10)
    assert (await store.get(again.id, late)).status == "pending"
    assert await store.find("enr_nobody", NOW) is None


async def test_a_token_is_not_stopped_by_an_expired_request(opened: Opened) -> None:
    store = opened.store
    await store.enrollments.request(request_for("alice"), 10)
    late = NOW + DAY + 1
    _, text = await store.tokens.create("*", 1, late + 60, "op", late)
    issued = await store.enrollments.issue_with_token(request_for("alice", late), store.tokens.hash(text), issue)
    assert issued.status == "issued"


async def test_requests_that_ended_long_ago_are_forgotten(opened: Opened) -> None:
    store = opened.store.enrollments
    await store.request(request_for("alice"), 10)
    await store.request(request_for("bob", NOW + 9 * DAY), 10)
    assert await count(opened, "enrollments") == 1


async def test_undecided_requests_do_not_pile_up(opened: Opened) -> None:
    for n in range(3):
        await opened.store.enrollments.request(request_for(f"a{n}"), 3)
    assert await code_of(opened.store.enrollments.request(request_for("more"), 3)) == "rate_limited"
    assert await count(opened, "enrollments") == 3


async def test_lists_are_in_order_and_complete(opened: Opened) -> None:
    names = [f"a{n}" for n in (3, 1, 2, 5, 4)]
    for name in names:
        await opened.store.enrollments.request(request_for(name), 10)
    seen: list[str] = []
    after = 0
    while True:
        page = await opened.store.enrollments.list(2, after, NOW)
        seen += [e.name for e in page.items]
        if not page.more:
            break
        after = page.items[-1].place
    assert seen == names
