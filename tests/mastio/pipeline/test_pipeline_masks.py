"""What a caller wrote stands in entries without the values that are found in texts: paths, ids, targets, details."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from mastio.exchange.errors import Blocked
from mastio.exchange.values import Action, Deny, Entry, Message, Principal, Reply, RequestHead, Route
from mastio.host.metrics import Telemetry
from mastio.pipeline.order import MOST_PATH, Pipeline
from support.pipeline_world import CHAT, World

VALUE = "4012888888881881"
THROUGH = replace(CHAT, path="/through/{path...}")


def mask(principal: Principal, action: Action, text: str) -> str:
    assert principal.name in ("alice", "") and action.kind == "llm.chat"
    return text.replace(VALUE, "<CARD>")


class Masked(World):
    def head_of(self, headers: Any = (), route: Route = CHAT) -> RequestHead:
        return RequestHead("id", "POST", self.path, b"", {}, list(headers), route, None, "127.0.0.1")

    def __init__(self, path: str = f"/through/{VALUE}", **hooks: Any) -> None:
        def read(head: Any, principal: Any, body: bytes) -> Any:
            details = {"model": f"m-{VALUE}", "more": {"urls": [f"{VALUE}.example", 3]}, "name": VALUE}
            return (
                Action("llm.chat", "Model", f"p/{VALUE}"),
                Message(body, details=details, written=frozenset({"model", "more", "absent"})),
            )

        super().__init__(mask=mask, **{"read": {"llm.chat": read}, **hooks})
        self.path = path
        self.reply = Reply(200, [], b"{}", {"target": f"q/{VALUE}", "followed": [f"/{VALUE}"], "tries": 2})

    def go(self, route: Route = THROUGH, **more: Any) -> list[Any]:
        self.pipeline = Pipeline([route], [("test", self.hooks)], self.services, Telemetry(), 10)
        asyncio.run(self.run(route=route, headers=[(b"x-request-id", f"r-{VALUE}".encode())], **more))
        return self.entries


def test_intent_and_outcome_have_tags_in_the_place_of_values() -> None:
    intent, outcome = Masked().go()
    assert intent.target == outcome.target == "p/<CARD>"
    said = intent.request
    assert (said["path"], said["client_id"], said["model"]) == ("/through/<CARD>", "r-<CARD>", "m-<CARD>")
    assert said["more"] == {"urls": ["<CARD>.example", 3]} and said["name"] == VALUE, "an admin's own word"
    assert {name: outcome.response[name] for name in ("target", "followed", "tries")} == {
        "target": "q/<CARD>", "followed": ["/<CARD>"], "tries": 2,
    }  # fmt: skip


async def deny(*_: Any) -> Deny:
    return Deny("none", "No.")


async def block(*_: Any) -> Any:
    raise Blocked("No.")


@pytest.mark.parametrize(
    "hooks", [{"authorize": deny}, {"dispatch": {"llm.chat": block}}, {"authenticate": lambda head: None}]
)
def test_refusals_have_them_too(hooks: Any) -> None:
    entries = Masked(**hooks).go()
    assert entries
    for entry in entries:
        assert VALUE not in repr((entry.target, entry.response))
        if entry.phase != "outcome":
            assert (entry.request["path"], entry.request["client_id"]) == ("/through/<CARD>", "r-<CARD>")


def test_a_long_path_is_masked_before_it_is_cut() -> None:
    intent, _ = Masked(f"/through/{VALUE}/" + "x" * MOST_PATH).go()
    assert intent.request["path"].startswith("/through/<CARD>/xxx") and "digest" in intent.request["path"]


def test_paths_that_nobody_makes_up_are_not_looked_at() -> None:
    intent, _ = Masked("/chat").go(route=CHAT)
    assert intent.request["path"] == "/chat"


def test_what_an_admin_named_stays() -> None:
    def read(head: Any, principal: Any, body: bytes) -> Any:
        return Action("llm.chat", "Connection", VALUE), Message(body)

    intent, outcome = Masked(read={"llm.chat": read}).go()
    assert intent.target == outcome.target == VALUE


async def test_an_event_of_an_exchange_is_masked_by_its_own_policies() -> None:
    asked: list[Any] = []

    def mask(principal: Principal, action: Action, text: str) -> str:
        asked.append((principal, action))
        return "<X>"

    world = World(mask=mask)
    pipeline = Pipeline([CHAT], [("test", world.hooks)], world.services, Telemetry(), 10)
    alice, action = Principal("alice", frozenset({"agent"}), groups=frozenset({"crm"})), Action("egress.http", "C", "c")
    await pipeline.note(Entry("id", "event", "egress.redirect", agent="alice", request={"path": "/a"}), alice, action)
    assert asked == [(alice, action)] and world.entries[-1].request == {"path": "<X>"}


async def test_an_event_of_a_plugin_has_them_too() -> None:
    world = Masked()
    await world.run()
    pipeline = Pipeline([CHAT], [("test", world.hooks)], world.services, Telemetry(), 10)
    said = {"tool": f"pay_{VALUE}", "path": f"/{VALUE}", "host": VALUE}
    await pipeline.note(Entry("id", "event", "llm.chat", agent="alice", request=said))
    await pipeline.note(Entry("id", "event", "llm.chat", request={"object": VALUE}))
    assert [entry.request for entry in world.entries[-2:]] == [
        {"tool": "pay_<CARD>", "path": "/<CARD>", "host": VALUE}, {"object": VALUE},
    ]  # fmt: skip
