"""Work that depends on what a caller wrote is done for those who may make the call, and for nobody else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mastio.exchange.errors import BadRequest
from mastio.exchange.values import Action, Allow, Deny, Message, NeedsApproval
from support.pipeline_world import World

FIRST, SECOND = Action("llm.chat", "Model", "first"), Action("llm.chat", "Model", "second")
BOTH = replace(FIRST, alternatives=(SECOND,))


class Narrowing:
    """A world where `denied` targets are forbidden and only `possible` ones can be carried out."""

    def __init__(self, *, denied: set[str], possible: list[Action]) -> None:
        self.narrowed = 0
        self.judged: list[str] = []
        self.denied = denied
        self.possible = possible
        self.world = World(authorize=self.authorize, read={"llm.chat": self.read})

    async def authorize(self, principal: Any, action: Action) -> Allow | Deny | NeedsApproval:
        self.judged.append(action.target)
        return Deny("rule", "No.") if action.target in self.denied else Allow("rule")

    async def read(self, head: Any, principal: Any, body: bytes) -> tuple[Action, Message]:
        """As a coroutine: what takes long may be one."""
        return BOTH, Message(body, narrow=self.narrow)

    async def narrow(self) -> tuple[Action, Message] | None:
        self.narrowed += 1
        if not self.possible:
            raise BadRequest("Nothing can.", code="not_translatable")
        if len(self.possible) == 2:
            return None
        return self.possible[0], Message(b"narrowed")


async def test_nothing_is_worked_out_for_the_forbidden() -> None:
    scene = Narrowing(denied={"first", "second"}, possible=[])
    await scene.world.run()
    assert scene.world.code == "denied" and scene.narrowed == 0


async def test_what_cannot_be_carried_out_is_refused_before_its_intent() -> None:
    scene = Narrowing(denied=set(), possible=[])
    await scene.world.run()
    assert scene.world.code == "not_translatable" and scene.narrowed == 1
    (entry,) = scene.world.entries
    assert (entry.phase, entry.target) == ("event", "first")


async def test_who_may_do_something_else_is_denied_what_can_be_done() -> None:
    scene = Narrowing(denied={"second"}, possible=[SECOND])
    await scene.world.run()
    assert scene.world.code == "denied" and scene.judged == ["first", "second"]


@pytest.mark.parametrize(
    ("denied", "possible", "target", "body"),
    [
        (set(), [BOTH, SECOND], "first", b"body"),
        (set(), [SECOND], "second", b"narrowed"),
        ({"first"}, [SECOND], "second", b"narrowed"),
        ({"first"}, [BOTH, SECOND], "second", b"body"),
    ],
)
async def test_what_is_left_is_carried_out(denied: set[str], possible: list[Action], target: str, body: bytes) -> None:
    scene = Narrowing(denied=denied, possible=possible)
    await scene.world.run()
    assert [entry.target for entry in scene.world.entries] == [target, target]
    assert ("dispatch", body) in scene.world.events
