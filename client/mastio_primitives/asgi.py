"""The types of ASGI 3.0 for the HTTP scope, and how a response is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

ASGIMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[ASGIMessage]]
Send = Callable[[ASGIMessage], Awaitable[None]]
RawHeaders = list[tuple[bytes, bytes]]


class ClientGone(Exception):
    """The client hung up before its body was complete, so there is nobody to answer."""


async def send_start(send: Send, status: int, headers: RawHeaders) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def send_body(send: Send, body: bytes, *, more: bool = False) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def send_response(send: Send, status: int, headers: RawHeaders, body: bytes) -> None:
    """A whole response; `content-length` is added."""
    headers.append((b"content-length", b"%d" % len(body)))
    await send_start(send, status, headers)
    await send_body(send, body)
