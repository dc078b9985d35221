"""The receiving side of an exchange over ASGI: reading a bounded body, being interrupted.

ASGI 3.0, HTTP connection scope. Nothing here knows what the bytes mean.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable

from mastio.exchange.errors import BadRequest, MastioError
from mastio.exchange.values import RequestHead, Stream
from mastio.pipeline.admission import Ticket
from mastio_primitives.asgi import ClientGone, Receive

BODY_SECONDS = 60.0
"""Seconds that a body may take after its first piece, its wait for room included. The edge has its own limit between
two pieces.
"""

STRANGER_BODY_SECONDS = 10.0
"""The same for a body that is read before anybody is known. The edge has all of it before it asks."""


SMALL = 64 * 1024
"""Bytes. What is small needs no room of its own: each slot has that much."""

WITHOUT_CONTENT = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
"""Methods whose requests have no content as a rule. The edge takes them for short."""

STEP = 256 * 1024
"""Bytes by which the room of a body grows whose length nobody said."""


async def read_body(
    head: RequestHead, receive: Receive, limit: int, ticket: Ticket | None = None, seconds: float = BODY_SECONDS
) -> bytes:
    """The whole body, with room from `ticket` for what is not small. Raises `BadRequest` (413, 408), `Denied` (429),
    and `ClientGone`."""
    length = find_length(head, limit)
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGone
    body: bytes = message.get("body", b"")
    if message.get("more_body", False):
        try:
            async with asyncio.timeout(seconds):
                body = await _read_rest(body, limit, receive, ticket, length)
        except TimeoutError as error:
            raise _too_slow() from error
    elif len(body) > limit:
        raise _too_large(limit)
    return body


async def _read_rest(
    first: bytes, limit: int, receive: Receive, ticket: Ticket | None, length: int | None = None
) -> bytes:
    """`length`: what the sender says; the room for it is there before more is read."""
    if ticket is not None and length is not None and length > SMALL:
        await ticket.take(length)
        ticket = None
    pieces, size, room, more = [first], len(first), SMALL, True
    while more:
        if size > limit:
            raise _too_large(limit)
        if ticket is not None and size > room:
            step = max(size - room, STEP)
            ticket.grow(step)
            room += step
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        more = message.get("more_body", False)
    if size > limit:
        raise _too_large(limit)
    return b"".join(pieces)


def _too_slow() -> BadRequest:
    return BadRequest("The body took too long to arrive.", code="request_timeout")


def _too_large(limit: int) -> BadRequest:
    return BadRequest(f"The body is larger than {limit} bytes.", code="payload_too_large")


def find_length(head: RequestHead, limit: int) -> int | None:
    """The declared length of the body in bytes, or None. Raises `BadRequest`: 413, and 400 where a method without
    content of its own (RFC 9110 §9.3.1) has a body of unknown length."""
    declared = head.header(b"content-length")
    if declared is None:
        if head.method in WITHOUT_CONTENT and head.all(b"transfer-encoding"):
            raise BadRequest(f"A {head.method} with a body must say its length.", hint="Send Content-Length.")
        return None
    if not declared.isdigit() or int(declared) > limit:
        raise _too_large(limit)
    return int(declared)


def _ignore(*_: object) -> None:
    """Nobody wants to know."""


def is_small(head: RequestHead) -> bool:
    """True if a request declares little content or none (RFC 9112 §6): too little to forward in pieces."""
    length = head.header(b"content-length")
    if length is None:
        return not head.all(b"transfer-encoding")
    return len(length) <= len(str(SMALL)) and length.isdigit() and int(length) <= SMALL


class ArrivingBody:
    """`exchange.Stream`: a body that goes on as it arrives."""

    def __init__(
        self, head: RequestHead, receive: Receive, limit: int, digest_key: bytes, ticket: Ticket | None = None
    ) -> None:
        """`ticket`: where the room is from when it is gathered. Raises `BadRequest` (413) for one that says itself that
        it is too large."""
        self.length = find_length(head, limit)
        self._ticket = ticket
        self.size = 0
        self.is_over = False
        self._cut: Callable[[MastioError | None], None] = _ignore
        self._done: Callable[[], None] = _ignore
        self._receive = receive
        self._limit = limit
        self._digest = hmac.new(digest_key, digestmod=hashlib.sha256)

    def digest(self) -> str:
        return self._digest.hexdigest()

    def tell(self, cut: Callable[[MastioError | None], None], done: Callable[[], None]) -> None:
        self._cut, self._done = cut, done

    async def gather(self, limit: int) -> bytes:
        if self.length is not None and self.length > limit:
            raise _too_large(limit)
        self.is_over = True
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return await _read_rest(b"", min(limit, self._limit), self._receive, self._ticket, self.length)
        except TimeoutError as error:
            raise _too_slow() from error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while not self.is_over:
                message = await self._receive()
                if message["type"] == "http.disconnect":
                    await self._end(None)
                piece: bytes = message.get("body", b"")
                self.size += len(piece)
                if self.size > self._limit:
                    await self._end(_too_large(self._limit))
                self._digest.update(piece)
                if not message.get("more_body", False):
                    self.is_over = True
                    self._done()  # whoever knows its length asks for no piece after the last
                if piece:
                    yield piece
        finally:
            self._done()

    async def _end(self, error: MastioError | None) -> None:
        """The exchange is cancelled; no end of this body is ever seen, for that would make it a whole one."""
        self.is_over = True
        self._cut(error)
        await asyncio.get_running_loop().create_future()


class Interruption:
    """Cancels the current task when the client goes away, or when `cut` says that it may not go on, until `stop`.

    As long as the body is arriving, its reader is who learns of that, and calls `begin` when it reads no more.
    """

    def __init__(self, receive: Receive, body: Stream | None = None) -> None:
        self.hung_up = False
        self.error: MastioError | None = None
        self._stopped = False
        self._exchange = asyncio.current_task()
        self._receive = receive
        self._waiting: asyncio.Future[None] | None = None
        if body is None:
            self.begin()
        else:
            body.tell(self.cut, self.begin)

    def begin(self) -> None:
        """Listen for the client's going away. What still comes of a body that nobody wants is thrown away."""
        if self._waiting is None and not self._stopped:
            self._waiting = asyncio.ensure_future(self._listen())

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.cut(None)

    def cut(self, error: MastioError | None) -> None:
        """End the exchange with `error`; None: the client has gone. Whoever catches the cancellation calls `resume` and
        then says so."""
        if not self._stopped and not self.hung_up and self._exchange is not None:
            self.error = error
            self.hung_up = error is None
            if error is not None:
                self._listen_no_more()
            self._exchange.cancel()

    def resume(self) -> None:
        """The cancellation that `cut` asked for has been taken; the task may await again."""
        if self._exchange is not None:
            self._exchange.uncancel()

    def stop(self) -> None:
        """End with the exchange. The listening task refers to this object, so this object drops the task: a reference
        cycle would be freed only by the garbage collector, which stops the event loop while it runs."""
        self._listen_no_more()
        self._exchange = None

    def _listen_no_more(self) -> None:
        self._stopped = True
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
