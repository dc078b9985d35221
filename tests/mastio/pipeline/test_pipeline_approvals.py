"""Requests that wait for a human: who is asked, what an approval is good for, and what is read before."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from mastio.exchange.errors import Denied
from mastio.exchange.values import Action, Allow, Decision, Deny, Intake, Message, NeedsApproval, Principal
from mastio.plugin.services import Approval, ApprovalRequest
from support.pipeline_world import AGENT, CHUNKED, SERVICES, Directory, World, arriving

ASKED = NeedsApproval("hold", "It deletes.", 60, 1.0)


class Humans:
    """`services.approvals`, as one human would have it."""

    def __init__(self, says: Approval, meanwhile: Any = lambda: None) -> None:
        self.says, self.meanwhile, self.wanted, self.taken = says, meanwhile, list[ApprovalRequest](), list[str]()

    async def wait(self, wanted: ApprovalRequest) -> Approval:
        self.wanted.append(wanted)
        self.meanwhile()
        return self.says

    async def use(self, hold: str) -> None:
        if hold in self.taken:
            raise Denied("It was taken.", code="hold_expired")
        self.taken.append(hold)


PENDING = Approval("hold_1", refusal=Denied("It waits.", code="hold_pending", headers=(("Retry-After", "10"),)))
APPROVED = Approval("hold_1", by="berta")


def world_with(humans: Humans, *decisions: Decision, **hooks: Any) -> World:
    given = list(decisions)

    async def authorize(principal: Principal, action: Action) -> Decision:
        return given.pop(0) if len(given) > 1 else given[0]

    world = World(authorize=authorize, **hooks)
    world.services = replace(SERVICES, approvals=humans)
    return world


async def test_what_waits_for_a_human_is_refused_until_then() -> None:
    world = world_with(humans := Humans(PENDING), ASKED)
    await world.run()
    assert world.events[:2] == [("event", "refused"), 403] and world.code == "hold_pending"
    assert world.headers[b"retry-after"] == b"10"
    assert world.entries[-1].decision == {"effect": "hold", "rule": "hold", "hold": "hold_1"}
    assert humans.wanted[0].raw == b"body" and humans.taken == []


async def test_what_a_human_approved_is_taken_with_the_intent_once() -> None:
    world = world_with(humans := Humans(APPROVED), ASKED)
    await world.run()
    assert world.events[:2] == ["intent", ("dispatch", b"body")] and humans.taken == ["hold_1"]
    said = {"effect": "allow", "rule": "hold", "hold": "hold_1", "approved_by": "berta"}
    assert world.entries[0].decision == said
    await world.run()
    assert world.code == "hold_expired" and [e for e in world.events if e == "intent"] == ["intent"]


async def test_who_waited_is_judged_by_what_holds_then() -> None:
    after: tuple[tuple[Decision, str | None], ...] = ((Deny("night", "Not now."), "denied"), (Allow("day"), None))
    for decision, code in after:
        world = world_with(humans := Humans(APPROVED), ASKED, decision)
        await world.run()
        assert humans.taken == []
        assert (world.code if code else world.entries[0].decision["rule"]) == (code or "day")


async def test_who_was_revoked_while_waiting_is_refused() -> None:
    directory = Directory()

    def revoke() -> None:
        directory.agents = {"alice": replace(AGENT, status="revoked", version=2)}
        directory.version = 2

    world = world_with(humans := Humans(APPROVED, revoke), ASKED)
    world.services = replace(world.services, directory=directory)
    await world.run()
    assert (world.code, humans.taken) == ("agent_inactive", [])


async def test_a_refused_limit_takes_no_approval() -> None:
    async def reserve(*_: Any) -> None:
        raise Denied("Spent.", code="budget_exceeded")

    world = world_with(humans := Humans(APPROVED), ASKED, reserve=reserve)
    await world.run()
    assert (world.code, humans.taken) == ("budget_exceeded", [])


async def test_a_human_is_not_overruled_by_an_allow_on_content() -> None:
    async def look(*_: Any) -> Allow:
        return Allow("content")

    world = world_with(Humans(PENDING), ASKED, authorize_content=look)
    await world.run()
    assert world.code == "hold_pending"


async def test_a_deny_on_content_asks_nobody() -> None:
    async def look(*_: Any) -> Deny:
        return Deny("content", "No.")

    world = world_with(humans := Humans(APPROVED), ASKED, authorize_content=look)
    await world.run()
    assert (world.code, humans.wanted) == ("denied", [])


async def test_of_alternatives_that_need_a_human_always_the_same_is_asked_for() -> None:
    a, b = Action("llm.chat", "Model", "a"), Action("llm.chat", "Model", "b")
    for first in (replace(a, alternatives=(b,)), replace(b, alternatives=(a,))):
        read = {"llm.chat": partial(lambda action, *_: (action, Message(b"")), first)}
        world = world_with(humans := Humans(PENDING), ASKED, read=read)
        await world.run()
        assert [wanted.action.target for wanted in humans.wanted] == ["a"]


async def test_what_a_human_approves_is_read_whole() -> None:
    world = world_with(
        humans := Humans(APPROVED), ASKED, intake={"llm.chat": lambda head, principal: Intake(100, streams=True)}
    )
    world.arriving = arriving(b"one", b"two")
    await world.run(headers=CHUNKED)
    assert humans.wanted[0].raw == b"onetwo"
    assert world.events[:2] == ["intent", ("dispatch", b"onetwo")]
    assert world.entries[0].request["digest"] == SERVICES.digest(b"onetwo")
    world.arriving = arriving(b"x" * 60, b"x" * 60)
    await world.run(headers=CHUNKED)
    assert world.code == "payload_too_large"
