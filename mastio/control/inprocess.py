"""Calls an ASGI application in this process, as the dispatcher of control-plane routes, and collects its reply.

The pipeline has authenticated, authorized and recorded; the application gets the principal in `scope["state"]`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from mastio.exchange.errors import PluginError
from mastio.exchange.presented_credentials import HEADERS, is_password
from mastio.exchange.values import Action, Message, Principal, Recorded, Reply, RequestHead
from mastio.plugin.hooks import Read
from mastio_primitives.asgi import ASGIMessage, Receive, Send

Application = Callable[[Any, Receive, Send], Awaitable[None]]


def read_control(head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
    """A control-plane action is on the appliance itself; the application parses the body with its typed models."""
    return Action(head.route.kind, "Appliance", "self"), Message(body)


def read_judged(judge: Callable[[bytes], Awaitable[None]]) -> Read:
    """As `read_control`, after `judge`: the application validates the body, and that takes no time then."""

    async def read(head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
        await judge(body)
        return read_control(head, principal, body)

    return read


class InProcess:
    """Dispatches to `application`."""

    def __init__(self, application: Application, server: tuple[str, int]) -> None:
        self._application = application
        self._server = server

    async def dispatch(self, recorded: Recorded) -> Reply:
        """The application's reply. Its `MastioError`s pass through."""
        head = recorded.head
        headers = [(n, v) for n, v in head.headers if _is_passed_on(n, v)]
        state = {"principal": recorded.principal, "request_id": head.id}
        return await call_application(
            self._application, head.method, head.path, headers, recorded.message.raw, state,
            query=head.query, server=self._server,
        )  # fmt: skip


async def call_application(
    application: Application,
    method: str,
    path: str,
    headers: list[tuple[bytes, bytes]],
    body: bytes,
    state: dict[str, Any],
    *,
    query: bytes = b"",
    server: tuple[str, int] | None = None,
) -> Reply:
    """The reply of `application` to this request, whole. Its `MastioError`s pass through.

    What it puts into `state["facts"]` is for the outcome of the exchange.
    """
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "https",
        "path": path,
        "raw_path": path.encode("latin-1"),
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": None,
        "server": server,
        "state": state,
    }
    collected = _Collected(body)
    await application(scope, collected.receive, collected.send)
    if collected.status is None:
        raise PluginError("The control plane gave no answer.")
    return Reply(collected.status, collected.headers, b"".join(collected.pieces), state.get("facts", {}))


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
