"""The body of one request on its way to an upstream, piece by piece. Used by `mastio.outbound.upstream` only.

The next piece is asked for when the upstream has taken the last. A length that was announced is kept to the byte: what
would be too long or too short is never sent to its end, so nothing of it can be taken for another request. Whatever
happens, the pieces are closed, and a body that was not sent whole ends its connection at once.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

import aiohttp
from aiohttp.abc import AbstractStreamWriter

from mastio.exchange.errors import DispatchError

PIECE = 64 * 1024


async def cut(body: bytes) -> AsyncIterator[bytes]:
    """A body that is there already, in pieces."""
    view = memoryview(body)
    for at in range(0, len(body), PIECE):
        yield bytes(view[at : at + PIECE])


class Upload(aiohttp.Payload):
    """`length`: what the head says, in bytes; None: the body is sent in chunks. `idle`: seconds that the upstream may
    take no byte; once it has answered, who reads its answer keeps the time."""

    _consumed = True  # pieces are there once: the library must never send them again

    def __init__(self, pieces: AsyncIterator[bytes], length: int | None, idle: float) -> None:
        super().__init__(pieces)
        self._pieces = pieces
        self._length = length
        self._size = length
        self._idle = idle
        self._begun = False
        self._answered = False
        self._halted = False
        self._ended = asyncio.Event()
        self.failure: BaseException | None = None
        """The error that the sender's pieces caused, not the upstream."""

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        raise TypeError("a body that is sent in pieces cannot be read")

    async def write(self, writer: AbstractStreamWriter) -> None:
        await self.write_with_length(writer, None)

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        """The library's way to have a body sent; it puts an end to it when this returns."""
        self._begun = True
        sent = False
        try:
            await self._send(writer)
            sent = True
        finally:
            transport = writer.transport
            if not sent and transport is not None:
                transport.abort()
            await close_pieces(self._pieces)
            self._ended.set()

    def answer(self, status: int) -> None:
        """The reply's head has come. Unless the upstream likes what it gets, it gets no more (RFC 9112 §9.5)."""
        self._answered = True
        self._halted = status >= 300

    async def finish(self) -> None:
        """Until the pieces are closed. For when the library has ended, or will never begin, to send them."""
        if self._begun:
            await self._ended.wait()
        else:
            self._begun = True
            await close_pieces(self._pieces)

    async def _send(self, writer: AbstractStreamWriter) -> None:
        left = self._length
        while (piece := await self._next()) is not None:
            if self._halted:
                await close_pieces(self._pieces)
                await asyncio.get_running_loop().create_future()  # cancelled when the reply has been read
            if left is not None:
                left -= len(piece)
                if left < 0 or (left == 0 and await self._has_more()):
                    raise self._fail()
            if piece:
                await self._put(writer, piece)
        if left:
            raise self._fail()

    async def _next(self) -> bytes | None:
        """None at the end."""
        got = False
        try:
            piece = await anext(self._pieces, None)
            got = True
            return piece
        finally:
            if not got:
                self.failure = sys.exception()

    async def _has_more(self) -> bool:
        """Asked before the last piece that the length has room for: without it there is no whole request."""
        while (piece := await self._next()) is not None:
            if piece:
                return True
        return False

    def _fail(self) -> DispatchError:
        self.failure = error = DispatchError("The body is not as long as its head says.")
        return error

    async def _put(self, writer: AbstractStreamWriter, piece: bytes) -> None:
        step = _write(writer, piece)
        while True:
            try:
                async with asyncio.timeout(None if self._answered else self._idle):
                    await step
                return
            except TimeoutError:
                if not self._answered:
                    raise
            step = writer.drain()


async def _write(writer: AbstractStreamWriter, piece: bytes) -> None:
    await writer.write(piece)
    await writer.drain()


async def close_pieces(pieces: AsyncIterator[bytes]) -> None:
    close = getattr(pieces, "aclose", None)
    if close is not None:
        await close()
