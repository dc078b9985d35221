"""One agent, one route, and a world around the pipeline that writes down what happens to a request."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from mastio.exchange.errors import AuditError
from mastio.exchange.records import Agent
from mastio.exchange.values import (
    Action,
    Allow,
    CertificateCredential,
    Entry,
    Message,
    Recorded,
    Reply,
    RequestHead,
    Route,
)
from mastio.host.metrics import Telemetry
from mastio.identity.trust import Trust
from mastio.pipeline.order import Pipeline
from mastio.plugin.hooks import Hooks
from mastio.plugin.services import Services, Worker
from support.collections import Described

AGENT = Agent("alice", "spiffe://t/agent/alice", "active", frozenset(), {}, "pin", 9e9, version=1)
CERTIFICATE = CertificateCredential("alice", "pin", "01", 9e9)
CHAT = Route("/chat", ("POST",), frozenset({"agent"}), "llm.chat", "", dialect="openai", limit=100, streams=True)


class Directory(Described):
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
    keys=FixedKeys(), worker=Worker("n", 0, "i"), workers=1, slots=range(1), host_memory=None, upstreams=None,  # type: ignore[arg-type]
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
        self.pipeline: Pipeline | None = None
        """One for all runs, where a test sets it."""
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

    def head_of(self, headers: Any = (), route: Route = CHAT) -> RequestHead:
        """The head of a request with these headers."""
        return RequestHead("id", "POST", "/chat", b"", {}, list(headers), route, None, "127.0.0.1")

    async def run(self, body: bytes = b"body", headers: Any = (), route: Route = CHAT, more: Any = ()) -> None:
        pipeline = self.pipeline or Pipeline([CHAT], [("test", self.hooks), *more], self.services, Telemetry(), 10)
        head = self.head_of(headers, route)
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


CHUNKED = [(b"transfer-encoding", b"chunked")]


def arriving(*pieces: bytes, ends: bool = True) -> list[dict[str, Any]]:
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    if ends:
        messages[-1]["more_body"] = False
    else:
        messages.append({"type": "http.disconnect"})
    return messages
