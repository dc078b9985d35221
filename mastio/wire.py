"""The ASGI edges of an exchange: reading a bounded body, being interrupted, sending a response.

ASGI 3.0, HTTP connection scope. Nothing here knows what the bytes mean.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from mastio.errors import BadRequest, MastioError
from mastio.exchange import RequestHead

ASGIMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[ASGIMessage]]
Send = Callable[[ASGIMessage], Awaitable[None]]
RawHeaders = list[tuple[bytes, bytes]]

BODY_SECONDS = 60.0
"""How long a body may take once its first piece is here; the edge has its own limit between two pieces."""


class ClientGone(Exception):
    """The client hung up before its body was complete. Nobody is left to answer."""


async def read_body(head: RequestHead, receive: Receive) -> bytes:
    """The whole body. Raises `BadRequest` (413, 408) and `ClientGone`."""
    limit = head.route.limit
    declared = head.header(b"content-length")
    if declared is not None and (not declared.isdigit() or int(declared) > limit):
        raise _too_large(limit)
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGone
    body: bytes = message.get("body", b"")
    if message.get("more_body", False):
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await _read_rest(body, limit, receive)
        except TimeoutError as error:
            raise BadRequest("The body took too long to arrive.", code="request_timeout") from error
    if len(body) > limit:
        raise _too_large(limit)
    return body


async def _read_rest(first: bytes, limit: int, receive: Receive) -> bytes:
    pieces, size, more = [first], len(first), True
    while more:
        if size > limit:
            raise _too_large(limit)
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        more = message.get("more_body", False)
    return b"".join(pieces)


def _too_large(limit: int) -> BadRequest:
    return BadRequest(f"The body is larger than {limit} bytes.", code="payload_too_large")


class Interruption:
    """Cancels the current task when the client goes away, or when `cut` says that it may not go on, until `stop`.

    The body must have been read.
    """

    def __init__(self, receive: Receive) -> None:
        self.hung_up = False
        self.error: MastioError | None = None
        self._stopped = False
        self._exchange = asyncio.current_task()
        self._waiting = asyncio.ensure_future(receive())
        self._waiting.add_done_callback(self._notice)

    def _notice(self, waiting: asyncio.Future[ASGIMessage]) -> None:
        if not self._stopped and not waiting.cancelled() and self._exchange is not None:
            self.hung_up = True
            self._exchange.cancel()

    def cut(self, error: MastioError) -> None:
        """End the exchange with `error`. Whoever catches the cancellation calls `resume` and then says so."""
        if not self._stopped and not self.hung_up and self._exchange is not None:
            self.error = error
            self.stop()
            self._exchange.cancel()

    def resume(self) -> None:
        """The cancellation that `cut` asked for has been taken; the task may await again."""
        if self._exchange is not None:
            self._exchange.uncancel()

    def stop(self) -> None:
        self._stopped = True
        self._waiting.cancel()


async def send_start(send: Send, status: int, headers: RawHeaders) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def send_body(send: Send, body: bytes, *, more: bool = False) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def send_response(send: Send, status: int, headers: RawHeaders, body: bytes) -> None:
    """A whole response; `content-length` is added."""
    headers.append((b"content-length", b"%d" % len(body)))
    await send_start(send, status, headers)
    await send_body(send, body)
