"""Playbooks: a pipeline of small plugins, one request, and the sequence of what happened, written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from mastio.exchange.errors import AuthenticationError, BadRequest, ConfigurationError, Denied, DispatchError
from mastio.exchange.inspection import Block, Finding
from mastio.exchange.values import (
    Action,
    AdminCredential,
    Allow,
    ApiKeyCredential,
    Decision,
    Deny,
    Entry,
    Message,
    Principal,
    Recorded,
    Reply,
    RequestHead,
    Reservation,
    Restriction,
)
from mastio.host.metrics import Telemetry
from mastio.pipeline.order import Pipeline
from mastio.plugin.hooks import Hooks
from support.pipeline_world import AGENT, CHAT, SERVICES, Directory, World, never, pending
from support.replacing_inspector import BODY, Replacing, read_body


async def test_the_whole_order() -> None:
    world = World()
    await world.run()
    assert world.events == ["intent", ("dispatch", b"body"), ("outcome", "ok"), 200, b"{}"]
    assert world.headers[b"mastio-receipt"] == b"0"
    assert world.headers[b"x-request-id"] == b"id"


async def test_a_stranger_is_refused_before_the_body_is_looked_at() -> None:
    looked: list[bytes] = []
    read = {"llm.chat": lambda head, principal, body: looked.append(body)}
    world = World(authenticate=lambda head: None, read=read)
    await world.run()
    assert world.events[:2] == [("event", "refused"), 401]
    assert (world.code, looked) == ("missing_credential", [])


async def test_present_and_wrong_ends_it_even_beside_a_good_one() -> None:
    def wrong(head: RequestHead) -> None:
        raise AuthenticationError("Wrong.", code="invalid_token")

    world = World(authenticate=wrong, challenge=lambda head, error: {"WWW-Authenticate": f"X {error.code}"})
    await world.run()
    assert world.events[:2] == [("event", "refused"), 401]
    assert world.headers[b"www-authenticate"] == b"X invalid_token"


async def test_a_role_that_does_not_cover_the_route() -> None:
    world = World(authenticate=lambda head: AdminCredential("root", "auditor", "hash"))
    await world.run()
    assert (world.events[:2], world.code) == ([("event", "refused"), 403], "role_required")


async def test_too_large_a_body() -> None:
    world = World()
    await world.run(b"x" * 101)
    assert (world.events[:2], world.code) == ([("event", "refused"), 413], "payload_too_large")
    world = World()
    await world.run(headers=[(b"content-length", b"101")])
    assert world.code == "payload_too_large"


async def test_a_parser_that_refuses() -> None:
    def read(*_: Any) -> None:
        raise BadRequest("No.", code="invalid_body")

    world = World(read={"llm.chat": read})
    await world.run()
    assert (world.events[:2], world.code) == ([("event", "refused"), 422], "invalid_body")


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (Deny("r", "No."), 403, "denied"),
        (Deny("r", "Wait.", code="rate_limited", headers=(("Retry-After", "7"),)), 429, "rate_limited"),
        (None, 403, "denied"),
    ],
)
async def test_denied(answer: Any, status: int, code: str) -> None:
    async def authorize(*_: Any) -> Any:
        return answer

    world = World(authorize=authorize)
    await world.run()
    assert (world.events[:2], world.code) == ([("event", "refused"), status], code)
    assert world.headers.get(b"retry-after") == (b"7" if status == 429 else None)


@pytest.mark.parametrize(
    ("restriction", "status"),
    [
        (Restriction(), 200),
        (Restriction(("llm.*",), ("p/m",), ("/chat",)), 200),
        (Restriction(kinds=("mcp.*",)), 403),
        (Restriction(models=("q/*",)), 403),
        (Restriction(paths=("/other",)), 403),
    ],
)
async def test_a_restriction_holds_whatever_the_policies_permit(restriction: Restriction, status: int) -> None:
    asked: list[Action] = []
    entries: list[Entry] = []

    async def allow(principal: Any, action: Action) -> Allow:
        asked.append(action)
        return Allow("rule")

    async def record(entry: Entry) -> int:
        entries.append(entry)
        return len(entries)

    action = Action("llm.chat", "Model", "p/m")
    world = World(
        authenticate=lambda head: ApiKeyCredential("keyed", "key_1", restriction, "hash"),
        read={"llm.chat": lambda head, principal, body: (action, Message(body))},
        authorize=allow,
        record=record,
    )
    await world.run()
    assert world.headers and status in world.events
    assert entries[0].credential == {"type": "api_key", "id": "key_1"}
    if status == 403:
        assert (world.code, asked) == ("denied", [])
        assert [(e.phase, e.decision) for e in entries] == [("event", {"effect": "deny", "rule": "credential"})]


@pytest.mark.parametrize(("turned_on", "status"), [(True, 200), (False, 401)])
async def test_what_another_worker_turned_on_a_moment_ago_counts(turned_on: bool, status: int) -> None:
    looks: list[int] = []

    class Behind(Directory):
        async def refresh(self) -> None:
            looks.append(1)
            self.agents["alice"] = replace(AGENT, api_keys=turned_on)

    world = World(authenticate=lambda head: ApiKeyCredential("alice", "key_1", Restriction(), "hash"))
    world.services = replace(SERVICES, directory=Behind())
    await world.run()
    assert status in world.events and looks == [1]
    if status == 401:
        assert world.code == "api_keys_off"


async def test_permits_says_no_to_what_a_restriction_excludes() -> None:
    pipeline = Pipeline([CHAT], [("test", World().hooks)], SERVICES, Telemetry(), 10)
    principal = Principal("keyed", frozenset({"agent"}), restriction=Restriction(models=("p/m", "fast"), paths=("/x",)))
    asked = [Action("llm.chat", "Model", "p/m"), Action("llm.chat", "Model", "p/n")]
    asked.append(Action("llm.chat", "Model", "p/n", alias="fast"))
    assert [await pipeline.permits(principal, action, ()) for action in asked] == [True, False, True]
    assert await pipeline.permits(replace(principal, restriction=None), asked[1], ())


@pytest.mark.parametrize(
    ("permitted", "target", "left"),
    [("a", "a", ["b", "c"]), ("b", "b", ["c"]), ("c", "c", []), ("bc", "b", ["c"]), ("", None, None)],
)
async def test_the_first_target_that_is_allowed_is_taken(permitted: str, target: str | None, left: Any) -> None:
    a, b, c = (Action("llm.chat", "Model", name) for name in "abc")
    taken: list[Action] = []

    async def authorize(principal: Principal, action: Action) -> Any:
        return Allow("rule") if action.target in permitted else Deny(f"not-{action.target}", "No.")

    async def dispatch(recorded: Recorded) -> Reply:
        taken.append(recorded.action)
        return Reply(200, [], b"{}")

    world = World(
        authorize=authorize, dispatch={"llm.chat": dispatch},
        read={"llm.chat": lambda *_: (replace(a, alternatives=(b, c)), Message(b""))},
    )  # fmt: skip
    await world.run()
    found = [(action.target, [other.target for other in action.alternatives]) for action in taken]
    assert found == ([(target, left)] if target else [])


async def test_what_content_forbids_of_one_may_go_to_another() -> None:
    a, b = Action("llm.chat", "Model", "a"), Action("llm.chat", "Model", "b")

    async def look(principal: Principal, action: Action, findings: Any) -> Decision:
        return Deny("far", "No.") if action.target == "a" else Allow("near")

    world = World(authorize_content=look, read={"llm.chat": lambda *_: (replace(a, alternatives=(b,)), Message(b"x"))})
    await world.run()
    assert world.entries[0].target == "b" and world.entries[0].decision == {"effect": "allow", "rule": "near"}


async def test_inspectors_redact_in_turn_and_every_other_byte_stays() -> None:
    first, second = Replacing("my", "your"), Replacing("your", "their")
    world = World(inspect=first.inspect, read={"llm.chat": read_body})
    world.reply = Reply(200, [], b'{"choices":[{"message":{"content":"my my"}}]}')
    await world.run(more=[("more", Hooks(inspect=second.inspect))])
    assert first.carriers == ["user"]
    assert world.events[1] == ("dispatch", BODY.replace(b"my", b"their"))
    assert b'"their their"' in world.events[-1]


async def test_an_inspector_blocks_and_nothing_is_dispatched() -> None:
    async def block(*_: Any) -> Any:
        return Block("There is a secret in it.", (Finding("secret.KEY", 99),))

    world = World(inspect=block, read={"llm.chat": read_body})
    await world.run()
    assert (world.events[:2], world.code) == ([("event", "refused"), 422], "blocked")
    assert world.entries[0].request["findings"] == [{"label": "secret.KEY", "confidence": 99, "times": 1}]


async def test_rules_that_look_at_the_content_are_asked_after_inspection() -> None:
    seen: list[Any] = []

    async def authorize_content(principal: Any, action: Any, findings: Sequence[Finding]) -> Any:
        seen.append([finding.label for finding in findings])
        return Deny("no-secrets", "No.") if findings else Allow("after")

    looker = Replacing("secret", "***")
    world = World(inspect=looker.inspect, authorize_content=authorize_content, read={"llm.chat": read_body})
    await world.run()
    assert (seen, world.code) == ([["seen.secret"]], "denied")
    assert world.events[:2] == [("event", "refused"), 403]
    world = World(authorize_content=authorize_content)
    await world.run()
    assert world.entries[0].decision == {"effect": "allow", "rule": "after"}


class Held:
    """A limit that writes down what it is told."""

    def __init__(self) -> None:
        self.settled: list[Any] = []

    async def reserve(self, principal: Principal, action: Action, message: Message) -> Any:
        return Reservation(self.settled.append)


async def test_what_was_reserved_is_settled_with_what_was_used_before_the_outcome() -> None:
    held = Held()
    world = World(reserve=held.reserve)

    async def dispatch(recorded: Recorded) -> Reply:
        recorded.meter.usage = {"input_tokens": 3}
        return Reply(200, [], b"{}")

    async def record(entry: Entry) -> int:
        world.events.append((entry.phase, entry.usage, list(held.settled)))
        return 0

    world.hooks = replace(world.hooks, dispatch={"llm.chat": dispatch}, record=record)
    await world.run()
    used = {"input_tokens": 3}
    assert world.events[:2] == [("intent", None, []), ("outcome", used, [used])]
    assert held.settled == [used]


@pytest.mark.parametrize(("phase", "settled"), [("intent", None), ("outcome", {})])
async def test_what_was_reserved_is_given_back_when_it_cannot_be_recorded(phase: str, settled: Any) -> None:
    held = Held()
    world = World(reserve=held.reserve)
    world.log_fails_at = phase
    await world.run()
    assert held.settled == [settled]


async def test_a_failed_dispatch_is_settled_as_carried_out_with_nothing_used() -> None:
    held = Held()
    world = World(reserve=held.reserve)
    world.reply = DispatchError("gone")
    await world.run()
    assert held.settled == [{}]


async def test_a_spent_limit_refuses_before_the_intent_and_frees_the_limits_before_it() -> None:
    held = Held()

    async def refuse(*_: Any) -> None:
        raise Denied("Spent.", code="rate_limited", headers=(("Retry-After", "7"),))

    world = World(reserve=held.reserve)
    await world.run(more=[("limit", Hooks(reserve=refuse))])
    assert world.events[:2] == [("event", "refused"), 429] and world.code == "rate_limited"
    assert held.settled == [None]


async def test_who_is_around_dispatch_may_answer_in_its_place() -> None:
    def answer(dispatch: Any) -> Any:
        async def instead(recorded: Recorded) -> Reply:
            if recorded.message.raw == b"known":
                return Reply(200, [], b"remembered")
            reply: Reply = await dispatch(recorded)
            return reply

        return instead

    world = World(around={"llm.chat": answer})
    await world.run(b"known")
    assert ("dispatch", b"known") not in world.events and world.events[-1] == b"remembered"
    world = World(around={"llm.chat": answer})
    await world.run(b"other")
    assert ("dispatch", b"other") in world.events


async def test_no_audit_no_service() -> None:
    world = World()
    world.log_fails_at = "intent"
    await world.run()
    assert (world.events[0], world.code) == (503, "audit_unavailable")
    assert world.headers[b"retry-after"] == b"1"


async def test_an_answer_whose_outcome_is_not_durable_is_withheld() -> None:
    world = World()
    world.log_fails_at = "outcome"
    await world.run()
    assert world.events[:3] == ["intent", ("dispatch", b"body"), 503]
    assert world.code == "audit_unavailable"


async def test_a_refusal_that_cannot_be_recorded_is_a_503() -> None:
    world = World(authenticate=lambda head: None)
    world.log_fails_at = "event"
    await world.run()
    assert (world.events[0], world.code) == (503, "audit_unavailable")


async def test_a_failed_dispatch_has_its_outcome() -> None:
    world = World()
    world.reply = DispatchError("Broken.")
    await world.run()
    assert world.events[:4] == ["intent", ("dispatch", b"body"), ("outcome", "failed"), 502]


@pytest.mark.parametrize("stage", ["authenticate", "read", "authorize", "inspect", "dispatch"])
async def test_an_undeclared_error_refuses_at_every_stage(stage: str) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("the secret of the plugin")

    async def broken_later(*_: Any) -> Any:
        raise ZeroDivisionError("the secret of the plugin")

    hooks = {
        "authenticate": {"authenticate": broken},
        "read": {"read": {"llm.chat": broken}},
        "authorize": {"authorize": broken_later},
        "inspect": {"inspect": broken_later, "read": {"llm.chat": read_body}},
        "dispatch": {"dispatch": {"llm.chat": broken_later}},
    }
    world = World(**hooks[stage])
    await world.run()
    assert world.code == "internal"
    assert b"secret of" not in world.events[-1]
    dispatched = [event for event in world.events if isinstance(event, tuple) and event[0] == "dispatch"]
    assert dispatched == []
    assert 200 not in world.events


async def test_overload_sheds() -> None:
    world = World()
    pipeline = Pipeline([CHAT], [("test", world.hooks)], SERVICES, Telemetry(), 0)
    head = RequestHead("id", "POST", "/chat", b"", {}, [], CHAT, None, "")
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await pipeline.run(head, pending, send)
    assert sent[0]["status"] == 503
    assert dict(sent[0]["headers"])[b"retry-after"] == b"1"


@pytest.mark.parametrize(
    "plugins",
    [
        [],
        [("a", Hooks(authenticate=lambda head: None, record=never))],
        [("a", World().hooks), ("b", World().hooks)],
        [("a", replace(World().hooks, dispatch={}))],
        [("a", replace(World().hooks, authenticate=None))],
        [("a", replace(World().hooks, authorize=None))],
        [("a", replace(World().hooks, record=None))],
    ],
)
def test_a_pipeline_with_a_hole_does_not_start(plugins: Any) -> None:
    with pytest.raises(ConfigurationError):
        Pipeline([CHAT], plugins, SERVICES, Telemetry(), 10)
