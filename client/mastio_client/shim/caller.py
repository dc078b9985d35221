"""The caller's side of the shim: reads its body, notices that it has gone, sends its reply. ASGI 3.0, HTTP scope."""

from __future__ import annotations

import asyncio

from mastio_client.shim.rules import encode_error, give_back
from mastio_client.shim.transport import BrokenOff, Connection, RawHeaders
from mastio_primitives.asgi import ASGIMessage, ClientGone, Receive, Send, send_body, send_response, send_start

KEPT = 1024 * 1024
"""Bytes of a body that are kept for asking again."""


class HangUp:
    """Cancels the current task when the caller goes away, until `stop`. `waiting` ends when that happens."""

    def __init__(self, waiting: Receive) -> None:
        self.happened = False
        self._stopped = False
        self._exchange = asyncio.current_task()
        self._waiting = asyncio.ensure_future(waiting())
        self._waiting.add_done_callback(self._notice)

    def _notice(self, waiting: asyncio.Future[ASGIMessage]) -> None:
        if not self._stopped and not waiting.cancelled() and self._exchange is not None:
            self.happened = True
            self._exchange.cancel()

    def stop(self) -> None:
        self._stopped = True
        self._waiting.cancel()


class LongBody:
    """The rest of a body that is not kept. `sent`: the appliance has all of it."""

    def __init__(self, receive: Receive, connection: Connection, chunked: bool) -> None:
        self._receive = receive
        self._connection = connection
        self._chunked = chunked
        self.sent = False

    async def send(self) -> ASGIMessage:
        """Pass it on as fast as the appliance takes it; then wait. Ends when the caller has gone."""
        wanted = True
        while (message := await self._receive())["type"] == "http.request":
            if not wanted:
                continue
            last = not message.get("more_body", False)
            try:
                await self._connection.write(encode_piece(message.get("body", b""), self._chunked, last=last))
            except BrokenOff:
                wanted = False  # whoever reads the reply learns it too; the caller may go on sending meanwhile
            self.sent = last and wanted
        return message


class Answer:
    """The answer to the caller."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False

    async def give(self, connection: Connection) -> None:
        """Status, headers, and every piece as it arrives. Raises `BrokenOff`."""
        await self._start(connection.status, give_back(connection.headers))
        while True:
            piece = await connection.read()
            more = not connection.at_end
            await send_body(self._send, piece, more=more)
            if not more:
                return

    async def refuse(self, path: bytes, code: str, message: str) -> None:
        """An error of the shim's own. Once a reply has begun, it is left unfinished instead: the server cuts it off."""
        if self._begun:
            return
        status, body = encode_error(path, code, message)
        headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
        self._begun = True
        await send_response(self._send, status, headers, body)

    async def _start(self, status: int, headers: RawHeaders) -> None:
        self._begun = True
        await send_start(self._send, status, headers)


async def read_start(receive: Receive, declared: int | None) -> tuple[bytes, bool]:
    """The body, or about `KEPT` bytes of it, and whether that is all. Raises `ClientGone`."""
    pieces: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        more = message.get("more_body", False)
        if more and (size > KEPT or (declared or 0) > KEPT):
            break
    return pieces[0] if len(pieces) == 1 else b"".join(pieces), not more


def encode_piece(data: bytes, chunked: bool, *, last: bool = False) -> bytes:
    """A piece of a body as it travels (RFC 9112 §7.1)."""
    if not chunked:
        return data
    return (b"%x\r\n%b\r\n" % (len(data), data) if data else b"") + (b"0\r\n\r\n" if last else b"")
