"""Calls an ASGI application in this process, as the dispatcher of control-plane routes, and collects its reply.

The pipeline has authenticated, authorized and recorded; the application gets the principal in `scope["state"]`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from mastio.errors import PluginError
from mastio.exchange import Action, Message, Principal, Recorded, Reply, RequestHead
from mastio.presented import HEADERS, is_password
from mastio.wire import ASGIMessage, Receive, Send

Application = Callable[[Any, Receive, Send], Awaitable[None]]


def read_control(head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
    """A control-plane action is on the appliance itself; the application parses the body with its typed models."""
    return Action(head.route.kind, "Appliance", "self"), Message(body)


class InProcess:
    """Dispatches to `application`."""

    def __init__(self, application: Application, server: tuple[str, int]) -> None:
        self._application = application
        self._server = server

    async def dispatch(self, recorded: Recorded) -> Reply:
        """The application's reply, whole. Its `MastioError`s pass through."""
        collected = _Collected(recorded.message.raw)
        await self._application(self._scope(recorded), collected.receive, collected.send)
        if collected.status is None:
            raise PluginError("The control plane gave no answer.")
        return Reply(collected.status, collected.headers, b"".join(collected.pieces))

    def _scope(self, recorded: Recorded) -> dict[str, Any]:
        head = recorded.head
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": head.method,
            "scheme": "https",
            "path": head.path,
            "raw_path": head.path.encode("latin-1"),
            "query_string": head.query,
            "root_path": "",
            "headers": [(n, v) for n, v in head.headers if _is_passed_on(n, v)],
            "client": None,
            "server": self._server,
            "state": {"principal": recorded.principal, "request_id": head.id},
        }


def _is_passed_on(name: bytes, value: bytes) -> bool:
    """Nothing that the pipeline has dealt with already."""
    return not name.startswith(b"x-edge-") and (name not in HEADERS or is_password(name, value))


class _Collected:
    def __init__(self, body: bytes) -> None:
        self._body = body
        self.status: int | None = None
        self.headers: list[tuple[bytes, bytes]] = []
        self.pieces: list[bytes] = []

    async def receive(self) -> ASGIMessage:
        return {"type": "http.request", "body": self._body, "more_body": False}

    async def send(self, message: ASGIMessage) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = [(n, v) for n, v in message["headers"] if n != b"content-length"]
        else:
            self.pieces.append(message.get("body", b""))
