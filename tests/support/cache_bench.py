"""A cache with nothing around it: one worker's, a provider that is a function, a clock that a test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from mastio.exchange.records import Agent
from mastio.exchange.values import (
    Action,
    Allow,
    AnswerInputs,
    Approved,
    Authenticated,
    Authorized,
    Bound,
    Inspected,
    Message,
    Principal,
    Read,
    Received,
    Recorded,
    Reply,
    RequestHead,
    Reservation,
    Reserved,
    Route,
    Window,
)
from mastio_cache.answering import Cache, NoSharedCache
from mastio_cache.memory import Memory
from mastio_cache.semantic import Semantic
from mastio_llm.provider import ProviderRow
from mastio_policy.collection import PolicyRow
from support.collections import Described

ROUTE = Route("/v1/chat/completions", ("POST",), frozenset({"agent"}), "llm.chat", "", dialect="openai", streams=True)
AGENT = Agent("alice", "spiffe://t/agent/alice", "active", frozenset(), {}, "pin", 9e9, created_at=1.5)
BODY = b'{"model":"stub/m","messages":[]}'
USAGE = {"input_tokens": 9, "output_tokens": 4, "cost_nano_usd": 12_500}


class Directory(Described):
    def __init__(self) -> None:
        self.agents = {"alice": AGENT, "bob": replace(AGENT, name="bob", created_at=2.5)}
        self.policies = {"starter": PolicyRow("starter", "permit(principal, action, resource);")}
        self.providers = {"stub": ProviderRow("stub", "openai", "https://one.example/v1")}
        self.version = 1

    def change(self, **sections: Any) -> None:
        for name, value in sections.items():
            setattr(self, name, value)
        self.version += 1


class FixedKeys:
    def key(self, purpose: str) -> bytes:
        return purpose.encode().ljust(32, b".")


@dataclass
class Services:
    directory: Directory = field(default_factory=Directory)
    keys: FixedKeys = field(default_factory=FixedKeys)
    upstreams: Any = None
    time: float = 1000.0

    def now(self) -> float:
        return self.time


@dataclass
class Upstream:
    """The dispatch that is wrapped. `answer` makes each reply; `asked` counts."""

    answer: Callable[[Recorded], Reply] | None = None
    asked: int = 0
    closed: int = 0

    async def dispatch(self, recorded: Recorded) -> Reply:
        self.asked += 1
        recorded.meter.usage = dict(USAGE)
        if self.answer is not None:
            return self.answer(recorded)
        provider, _, model = recorded.action.target.partition("/")
        said = [(b"content-type", b"application/json"), (b"x-provider", provider.encode())]
        said += [(b"x-model", quote(model, safe="/:@+").encode()), (b"x-ratelimit-remaining", b"7")]
        return Reply(200, [*said, (b"x-cache", b"BYPASS")], b'{"answer":%d}' % self.asked)

    async def close(self) -> None:
        self.closed += 1


HEAD = [
    (b"content-type", b"application/json"),
    (b"x-provider", b"stub"),
    (b"x-model", b"m"),
    (b"x-ratelimit-remaining", b"7"),
    (b"x-cache", b"BYPASS"),
]


def plain(body: bytes, status: int = 200, more: Sequence[tuple[bytes, bytes]] = ()) -> Reply:
    return Reply(status, [*HEAD, *more], body)


def streamed(
    upstream: Upstream, pieces: Sequence[bytes], *, failure: str | None = None, marks_end: bool = True
) -> Reply:
    async def windows() -> AsyncIterator[Window]:
        for number, piece in enumerate(pieces, 1):
            end = number == len(pieces)
            yield Window(piece, last=end and marks_end, failure=failure if end else None)

    return Reply(200, [(b"content-type", b"text/event-stream"), *HEAD[1:]], windows(), close=upstream.close)


def ask(
    body: bytes = BODY,
    *,
    agent: Agent = AGENT,
    control: Sequence[bytes] = (),
    context: tuple[bytes, ...] = (b"/chat/completions",),
    has_one_answer: bool = True,
    target: str = "stub/m",
    question: bool = True,
    route: Route = ROUTE,
    granted: Bound | None = None,
    came: bytes | None = None,
) -> Recorded:
    """An exchange that has come as far as dispatch. `came`: what it was before inspectors put `body` in its place."""
    headers = [(b"cache-control", value) for value in control]
    head = RequestHead("id", "POST", route.path, b"", {}, headers, route, None, "127.0.0.1")
    principal = Principal(agent.name, frozenset({"agent"}), agent.groups)
    message = Message(body, question=AnswerInputs(context, has_one_answer) if question else None)
    recorded = record(head, principal, Action(route.kind, "Model", target), message, came)
    hold = Reservation(lambda usage: None, granted)
    return replace(recorded, reserved=Reserved(recorded.reserved.approved, (hold,)))


def record(
    head: RequestHead, principal: Principal, action: Action, message: Message, came: bytes | None = None
) -> Recorded:
    sent = message if came is None else replace(message, raw=came)
    read = Read(Authenticated(Received(head), principal, (), 0.0, 1), action, sent)
    return Recorded(
        Reserved(Approved(Inspected(Authorized(read, Allow("test")), message, Allow("test")), Allow("test")), ()), 0
    )


def header(reply: Reply, name: bytes) -> bytes | None:
    values = [value for key, value in reply.headers if key == name]
    assert len(values) <= 1, values
    return values[0] if values else None


async def read(reply: Reply) -> list[Window]:
    """As the pipeline reads: to the last window and no further, then `close`."""
    assert not isinstance(reply.body, bytes)
    windows = []
    try:
        async for window in reply.body:
            windows.append(window)
            if window.last:
                break
    finally:
        await reply.close()
    return windows


class Bench:
    """A cache around `upstream`."""

    def __init__(self, **settings: Any) -> None:
        self.services, self.upstream = Services(), Upstream()
        self.second: Any = settings.pop("second", NoSharedCache())
        chosen = {
            "answers": "deterministic", "share": "agent", "ttl": 3600.0, "patience": 5.0,
            "max_answer_bytes": 100_000, "max_gathering_bytes": 1_000_000, **settings,
        }  # fmt: skip
        self.memory = Memory(10_000_000, chosen["ttl"])
        self.semantic: Any = chosen.pop("semantic", None)
        if self.semantic is not None:
            self.semantic = Semantic(self.services, self.semantic)  # type: ignore[arg-type]
            chosen["semantic"] = self.semantic
        self.cache = Cache(self.services, self.memory, self.second, **chosen)  # type: ignore[arg-type]
        self.dispatch = self.cache.around(self.upstream.dispatch)

    async def get(self, **wanted: Any) -> tuple[bytes | None, Reply]:
        """`X-Cache` and the reply."""
        reply = await self.dispatch(ask(**wanted))
        return header(reply, b"x-cache"), reply
