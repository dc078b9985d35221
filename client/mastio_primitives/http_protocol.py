"""The HTTP protocol of a server: uvicorn's, with head and body of a reply in one system call. For plugins."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class JoinedWrites:
    """A transport that sends what was written in one turn of the event loop as one piece.

    The server writes head and body of a reply separately, and each write is a system call: joined, a reply
    costs a fifth less. Chunks of a stream are written in turns of their own and stay separate.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._call_soon = loop.call_soon
        self._waiting: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._waiting:
            self._call_soon(self._flush)
        self._waiting.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._waiting and not self._transport.is_closing():
            self._transport.write(b"".join(self._waiting))
        self._waiting.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class HttpProtocol(HttpToolsProtocol):
    """For `uvicorn.Config(http=…)`."""

    malformed: ClassVar[tuple[bytes, bytes]] = (b"text/plain", b"Bad request.")
    """Content type and body of the 400 for a request that the parser refuses."""

    is_closing = False
    """True: on all connections, each reply that has not begun says that it is the last one (RFC 9112 §9.6)."""

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if self.is_closing and self.cycle is not None:
            self.cycle.keep_alive = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, JoinedWrites(transport, self.loop)))

    def shutdown(self) -> None:
        """The server is about to end. A request may be on its way on an idle connection: the server waits for it, and
        its reply ends the connection; otherwise the edge closes it. Without this, that request would fail."""
        if self.is_closing and (self.cycle is None or self.cycle.response_complete):
            return
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Answers a request that the parser refuses, with `malformed`. The parser's message is not used."""
        kind, body = self.malformed
        head = b"HTTP/1.1 400 Bad Request\r\ncontent-type: %b\r\nconnection: close\r\n" % kind
        self.transport.write(head + b"content-length: %d\r\n\r\n" % len(body) + body)
        self.transport.close()
