"""Playbooks: a pipeline of small plugins, one request, and the sequence of what happened, written down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from mastio.errors import (
    AuditError,
    AuthenticationError,
    BadRequest,
    Blocked,
    ConfigurationError,
    Denied,
    DispatchError,
)
from mastio.exchange import (
    Action,
    AdminCredential,
    Allow,
    ApiKeyCredential,
    CertificateCredential,
    Decision,
    Deny,
    Entry,
    Hold,
    Intake,
    Message,
    NeedsApproval,
    Principal,
    Recorded,
    Reply,
    RequestHead,
    Restriction,
    Route,
    Window,
)
from mastio.hooks import Hooks
from mastio.inspection import Block, Finding, Layout, Pass, Passage, Redact
from mastio.pipeline import Pipeline
from mastio.reading.document import Document
from mastio.reading.stream import Delta, Shape, StreamRewriter
from mastio.services import Approval, Services, Trust, Wanted, Worker
from mastio.store.base import Agent
from mastio.telemetry import Telemetry

AGENT = Agent("alice", "spiffe://t/agent/alice", "active", frozenset(), {}, "pin", 9e9, version=1)
CERTIFICATE = CertificateCredential("alice", "pin", "01", 9e9)
CHAT = Route("/chat", ("POST",), frozenset({"agent"}), "llm.chat", "", dialect="openai", limit=100, streams=True)


class Directory:
    """The hot copy of one agent."""

    def __init__(self) -> None:
        self.agents = {"alice": AGENT, "keyed": replace(AGENT, name="keyed", api_keys=True)}
        self.admins: dict[str, Any] = {}
        self.providers: dict[str, Any] = {}
        self.policies: dict[str, Any] = {}
        self.version = 1

    async def refresh(self) -> None:
        return None

    def on_change(self, callback: Any) -> None:
        return None


class FixedKeys:
    def key(self, purpose: str) -> bytes:
        return purpose.encode().ljust(32, b".")


async def never(*_: Any) -> bool:
    return False


class Never:
    async def use(self, name: str, expires_at: float, now: float) -> bool:
        raise AssertionError("nothing here is used once")


SERVICES = Services(
    data=Path("/nowhere"), public_url="https://t", trust_domain="t", database_url="", directory=Directory(),
    keys=FixedKeys(), worker=Worker("n", 0, "i"), workers=1, upstreams=None,  # type: ignore[arg-type]
    trust=lambda: Trust((), ()), once=Never(), leases=None,  # type: ignore[arg-type]
    permits=never,
    note_api_key_uses=never, approvals=None, note=never, now=lambda: 1000.0,
)  # fmt: skip


class World:
    """Collects in one list what was recorded, dispatched and sent."""

    def __init__(self, **hooks: Any) -> None:
        self.events: list[Any] = []
        self.entries: list[Any] = []
        self.services = SERVICES
        self.log_fails_at: str | None = None
        self.arriving: list[dict[str, Any]] = []
        base = {
            "authenticate": lambda head: CERTIFICATE,
            "authorize": self.allow,
            "record": self.record,
            "read": {"llm.chat": lambda head, principal, body: (Action("llm.chat", "Model", "m"), Message(body))},
            "dispatch": {"llm.chat": self.dispatch},
        }
        self.hooks = Hooks(**{**base, **hooks})
        self.reply: Any = Reply(200, [(b"content-type", b"application/json")], b"{}")

    async def allow(self, *_: Any) -> Allow:
        return Allow("rule")

    async def record(self, entry: Entry) -> int:
        if entry.phase == self.log_fails_at:
            raise AuditError("The log is closed.")
        self.entries.append(entry)
        said = entry.outcome["status"] if entry.outcome else None
        self.events.append((entry.phase, said) if said else entry.phase)
        return len(self.events) - 1

    async def dispatch(self, recorded: Recorded) -> Reply:
        self.events.append(("dispatch", recorded.message.raw))
        if isinstance(self.reply, Exception):
            raise self.reply
        reply: Reply = self.reply
        return reply

    async def run(self, body: bytes = b"body", headers: Any = (), route: Route = CHAT, more: Any = ()) -> None:
        pipeline = Pipeline([CHAT], [("test", self.hooks), *more], self.services, Telemetry(), 10)
        head = RequestHead("id", "POST", "/chat", b"", {}, list(headers), route, None, "127.0.0.1")
        pieces = [{"type": "http.request", "body": body, "more_body": False}]
        pieces = self.arriving or pieces

        async def receive() -> Any:
            if pieces:
                return pieces.pop(0)
            await pending()

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.headers = dict(message["headers"])
                self.events.append(message["status"])
            elif message["body"]:
                self.events.append(message["body"])

        await pipeline.run(head, receive, send)

    @property
    def code(self) -> str:
        """The code in the last body that was sent."""
        code: str = orjson.loads(self.events[-1])["error"]["code"]
        return code


async def pending() -> None:
    await asyncio.Event().wait()


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


ASKED = NeedsApproval("hold", "It deletes.", 60, 1.0)


class Humans:
    """`services.approvals`, as one human would have it."""

    def __init__(self, says: Approval, meanwhile: Any = lambda: None) -> None:
        self.says, self.meanwhile, self.wanted, self.taken = says, meanwhile, list[Wanted](), list[str]()

    async def wait(self, wanted: Wanted) -> Approval:
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


async def test_what_content_forbids_of_one_may_go_to_another() -> None:
    a, b = Action("llm.chat", "Model", "a"), Action("llm.chat", "Model", "b")

    async def look(principal: Principal, action: Action, findings: Any) -> Decision:
        return Deny("far", "No.") if action.target == "a" else Allow("near")

    world = World(authorize_content=look, read={"llm.chat": lambda *_: (replace(a, alternatives=(b,)), Message(b"x"))})
    await world.run()
    assert world.entries[0].target == "b" and world.entries[0].decision == {"effect": "allow", "rule": "near"}


def deltas(event: dict[str, Any]) -> Iterator[Delta]:
    for choice in event.get("choices", []):
        yield Delta((choice["index"],), choice["delta"], "content")


SHAPE = Shape(
    deltas,
    lambda event: (),
    lambda event: None,
    frozenset(["messages", "role", "content", "n", "choices", "index", "delta"]),
)
LAYOUT = Layout(
    partial(Document, names=SHAPE.names), partial(Document, names=SHAPE.names), partial(StreamRewriter, SHAPE, "events")
)
BODY = b'{"messages":[{"role":"user","content":"my secret"}],  "n": 1}'


def read_body(*_: Any) -> Any:
    return Action("llm.chat", "Model", "m"), Message(BODY, orjson.loads(BODY), layout=LAYOUT)


class Replacing:
    """An inspector of both directions: puts one text in the place of another."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new
        self.carriers: list[str] = []

    async def inspect(self, principal: Any, action: Any, passages: Sequence[Passage]) -> Any:
        self.carriers = [passage.carrier for passage in passages]
        return Redact(self.find(passages), (Finding(f"seen.{self.old}", 90),), self)

    def find(self, passages: Sequence[Passage]) -> dict[int, str]:
        return {n: p.text.replace(self.old, self.new) for n, p in enumerate(passages) if self.old in p.text}

    async def look(self, passages: Sequence[Passage]) -> Any:
        found = self.find(passages)
        return Redact(found) if found else Pass()

    def open(self, carrier: str) -> Any:
        return self

    def feed(self, text: str) -> str:
        if "bad" in text:
            raise Blocked("No.")
        return text.replace(self.old, self.new)

    def close(self) -> str:
        return ""

    def findings(self) -> list[Finding]:
        return [Finding("reply.seen", 50)]


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
        return Hold(self.settled.append)


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


def stream(*windows: Window | Exception) -> AsyncIterator[Window]:
    async def go() -> AsyncIterator[Window]:
        for window in windows:
            if isinstance(window, Exception):
                raise window
            yield window

    return go()


SSE = [(b"content-type", b"text/event-stream")]


async def test_a_stream_releases_its_last_window_after_the_outcome() -> None:
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    world = World()
    world.reply = Reply(200, SSE, stream(Window(b"a"), Window(b"b"), Window(b"end", last=True)), close=close)
    await world.run()
    assert world.events == ["intent", ("dispatch", b"body"), 200, b"a", b"b", ("outcome", "ok"), b"end"]
    assert closed == [True]


async def test_a_stream_whose_outcome_is_not_durable_never_ends_well() -> None:
    world = World()
    world.log_fails_at = "outcome"
    world.reply = Reply(200, SSE, stream(Window(b"a"), Window(b"end", last=True)))
    await world.run()
    assert b"end" not in world.events
    assert b"audit_unavailable" in world.events[-1]


async def test_a_stream_that_breaks_ends_with_the_dialects_event() -> None:
    world = World()
    world.reply = Reply(200, SSE, stream(Window(b"a"), DispatchError("Broken off.")))
    await world.run()
    assert world.events[3:5] == [b"a", ("outcome", "failed")]
    assert orjson.loads(world.events[-1].removeprefix(b"data: "))["error"]["code"] == "upstream_error"


def chunk(text: str) -> bytes:
    return b"data: " + orjson.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}) + b"\n\n"


async def test_a_window_that_is_blocked_ends_the_stream() -> None:
    world = World(inspect=Replacing("x", "y").inspect, read={"llm.chat": read_body})
    end = Window(b"data: [DONE]\n\n", last=True)
    world.reply = Reply(200, SSE, stream(Window(chunk("ax")), Window(chunk("bad")), end))
    await world.run()
    sent = b"".join(event for event in world.events if isinstance(event, bytes))
    assert b'"ay"' in sent and b'"blocked"' in sent
    assert b"bad" not in sent and b"DONE" not in sent
    assert ("outcome", "failed") in world.events
    assert world.entries[-1].response["findings"] == [{"label": "reply.seen", "confidence": 50, "times": 1}]


class Sink:
    """Dispatches by reading the body piece by piece, `most` of them."""

    def __init__(self, world: World, most: int = 100) -> None:
        self.world, self.most, self.got = world, most, list[bytes]()

    async def dispatch(self, recorded: Recorded) -> Reply:
        assert recorded.message.stream is not None and recorded.message.raw == b""
        self.world.events.append("dispatch")
        pieces = aiter(recorded.message.stream)
        async for piece in pieces:
            self.got.append(piece)
            if len(self.got) == self.most:
                await pieces.aclose()  # type: ignore[attr-defined]
                break
        return Reply(200, [], b"ok")


def arriving(*pieces: bytes, ends: bool = True) -> list[dict[str, Any]]:
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    if ends:
        messages[-1]["more_body"] = False
    else:
        messages.append({"type": "http.disconnect"})
    return messages


def streaming(limit: int = 100, most: int = 100, **hooks: Any) -> tuple[World, Sink]:
    world = World(intake={"llm.chat": lambda head, principal: Intake(limit, streams=True)}, **hooks)
    sink = Sink(world, most)
    world.hooks = replace(world.hooks, dispatch={"llm.chat": sink.dispatch})
    return world, sink


CHUNKED = [(b"transfer-encoding", b"chunked")]


async def test_what_is_small_is_read_all_the_same() -> None:
    world = World(intake={"llm.chat": lambda head, principal: Intake(5, streams=True)})
    await world.run(b"small", headers=[(b"content-length", b"5")])
    assert world.events[:2] == ["intent", ("dispatch", b"small")]
    assert world.entries[0].request["digest"] == SERVICES.digest(b"small")
    await world.run(b"larger", headers=[(b"content-length", b"6")])
    assert world.code == "payload_too_large"


async def test_what_has_no_body_is_watched_from_the_beginning() -> None:
    """There is no reader of a body that would notice who hangs up."""
    world, _ = streaming()

    async def dispatch(recorded: Recorded) -> Reply:
        assert recorded.message.stream is None
        world.events.append("dispatch")
        await pending()
        return Reply(200, [])

    world.hooks = replace(world.hooks, dispatch={"llm.chat": dispatch})
    world.arriving = [{"type": "http.request"}, {"type": "http.disconnect"}]
    await asyncio.wait_for(world.run(), 5)
    assert world.events == ["intent", "dispatch", ("outcome", "cancelled")]


async def test_a_body_goes_on_as_it_arrives_once_its_intent_is_durable() -> None:
    world, sink = streaming()
    world.arriving = arriving(b"one", b"", b"two")
    await world.run(headers=CHUNKED)
    assert sink.got == [b"one", b"two"]
    assert world.events == ["intent", "dispatch", ("outcome", "ok"), 200, b"ok"]
    assert "bytes" not in world.entries[0].request
    assert world.entries[1].request == {"bytes": 6, "digest": SERVICES.digest(b"onetwo")}
    world.arriving = arriving(b"x" * 70_000)
    world.hooks = replace(world.hooks, intake={"llm.chat": lambda head, principal: Intake(70_000, streams=True)})
    await world.run(headers=[(b"content-length", b"70000")])
    assert world.entries[2].request["bytes"] == 70_000


async def test_a_body_that_goes_on_is_bounded() -> None:
    world, sink = streaming(limit=70_000)
    await world.run(headers=[(b"content-length", b"70001")])
    assert (world.events[:2], world.code) == ([("event", "refused"), 413], "payload_too_large")
    world, sink = streaming(limit=5)
    world.arriving = arriving(b"one", b"two", b"three")
    await world.run(headers=CHUNKED)
    assert sink.got == [b"one"]
    assert world.events[:4] == ["intent", "dispatch", ("outcome", "failed"), 413]
    assert world.entries[1].outcome["code"] == "payload_too_large"


async def test_a_body_whose_sender_goes_away_never_ends() -> None:
    world, sink = streaming()
    world.arriving = arriving(b"one", ends=False)
    await world.run(headers=CHUNKED)
    assert sink.got == [b"one"]
    assert world.events == ["intent", "dispatch", ("outcome", "cancelled")]


async def test_a_body_that_nobody_wants_any_more_is_thrown_away() -> None:
    world, sink = streaming(most=1)
    world.arriving = arriving(b"one", b"two", b"three", ends=False)

    async def slow() -> AsyncIterator[Window]:
        yield Window(b"a")
        await pending()

    async def dispatch(recorded: Recorded) -> Reply:
        await sink.dispatch(recorded)
        return Reply(200, SSE, slow())

    world.hooks = replace(world.hooks, dispatch={"llm.chat": dispatch})
    await world.run(headers=CHUNKED)
    assert sink.got == [b"one"]
    assert world.events == ["intent", "dispatch", 200, b"a", ("outcome", "cancelled")]


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


class Waiting(Replacing):
    """Lets nothing go before the end."""

    def open(self, carrier: str) -> Any:
        held: list[str] = []

        class Filter:
            def feed(self, text: str) -> str:
                held.append(text)
                return ""

            def close(self) -> str:
                return "".join(held)

        return Filter()


async def test_what_was_held_back_of_a_stream_without_a_last_window_still_comes() -> None:
    world = World(inspect=Waiting("x", "y").inspect, read={"llm.chat": read_body})
    world.reply = Reply(200, SSE, stream(Window(chunk("one")), Window(chunk("two"))))
    await world.run()
    sent = b"".join(event for event in world.events if isinstance(event, bytes))
    assert sent.count(b"onetwo") == 1
    assert world.events.index(("outcome", "ok")) < len(world.events) - 1


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
