"""Syslog to a receiver: one datagram for each entry (RFC 5426), or a stream of counted messages (RFC 6587, RFC 5425).

Syslog has no acknowledgement, so a stream is confirmed by its orderly end. A batch has a connection of its own: all is
sent, the receiver's machine has acknowledged every byte, our side is closed, and then the receiver closes its own. A
program that dies or hangs with unread bytes does not end a connection in that way: its kernel resets it. (TCP: unread
data at close is a reset, RFC 1122 §4.2.2.13; TLS: `close_notify` both ways, RFC 5425 §4.4. A receiver that answers
`close_notify` by closing TCP alone, as some do, is taken to have read everything.)

A datagram is confirmed by nothing. What a refusing host says comes back with the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import socket
import ssl
import struct
import termios
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial

from mastio_audit.log.chain import Row
from mastio_audit.sinks.rfc5424 import frame
from mastio_audit.sinks.sink import SinkError

PATIENCE = 15.0
"""Seconds that a batch may take, from looking up the name to the receiver's end."""

PIECE = 64 * 1024
YIELD_EVERY = 10
"""Entries after which formatting lets the worker's exchanges go on."""

_RESET = struct.pack("ii", 1, 0)

Connect = Callable[[], Awaitable[socket.socket]]
"""A connected socket that does not block, made by the one way out. Raises `OSError`."""

Render = Callable[[int, bytes], bytes]
"""A row as one syslog message."""


class SyslogSink:
    """Messages to who `connect` leads to. `tls` None: plain TCP, or UDP where that gives a socket for datagrams; `host`
    is the name that the certificate must have. See `Sink`."""

    def __init__(
        self,
        host: str,
        connect: Connect,
        render: Render,
        tls: ssl.SSLContext | None = None,
        *,
        patience: float = PATIENCE,
    ) -> None:
        self._host = host
        self._connect = connect
        self._render = render
        self._tls = tls
        self._patience = patience

    async def deliver(self, rows: Sequence[Row]) -> None:
        messages = await self._format(rows)
        try:
            async with asyncio.timeout(self._patience):
                await self._send(messages)
        except TimeoutError as error:
            raise SinkError("the receiver does not answer, or does not read") from error
        except ssl.SSLCertVerificationError as error:
            raise SinkError(f"the receiver's certificate is not accepted ({error.verify_message})") from error
        except ssl.SSLError as error:
            raise SinkError(f"TLS failed ({error.reason or type(error).__name__})") from error
        except OSError as error:
            why = error.strerror or str(error) or type(error).__name__
            raise SinkError(f"the receiver cannot be reached ({why})") from error

    async def close(self) -> None:
        """Nothing stays open between two batches."""

    async def _format(self, rows: Iterable[Row]) -> list[bytes]:
        messages = []
        for number, (index, entry) in enumerate(rows):
            messages.append(self._render(index, entry))
            if number % YIELD_EVERY == YIELD_EVERY - 1:
                await asyncio.sleep(0)
        return messages

    async def _send(self, messages: list[bytes]) -> None:
        loop = asyncio.get_running_loop()
        link = await self._connect()
        ended = False
        try:
            if link.type is socket.SOCK_DGRAM:
                for message in messages:
                    await loop.sock_sendall(link, message)
            elif self._tls is None:
                await _send_plain(link, messages)
            else:
                await _send_tls(link, self._tls, self._host, messages)
            ended = True
        finally:
            if not ended and link.type is socket.SOCK_STREAM:
                # what was not confirmed comes again: let the receiver drop the rest of it
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            link.close()


async def _send_plain(link: socket.socket, messages: Iterable[bytes]) -> None:
    loop = asyncio.get_running_loop()
    for piece in _pieces(messages):
        await loop.sock_sendall(link, piece)
    await _wait_acknowledged(link)
    await _end(link)


async def _send_tls(link: socket.socket, context: ssl.SSLContext, host: str, messages: Iterable[bytes]) -> None:
    channel = _Channel(link, context, host)
    await channel.run(channel.tls.do_handshake)
    for piece in _pieces(messages):
        await channel.run(partial(channel.tls.write, piece))
    await _wait_acknowledged(link)
    with contextlib.suppress(ssl.SSLEOFError):  # it closed TCP alone: see the module's text
        await channel.run(channel.tls.unwrap)
    await _end(link)


class _Channel:
    """TLS over a socket of the event loop, with the end of a connection in our own hands."""

    def __init__(self, link: socket.socket, context: ssl.SSLContext, host: str) -> None:
        self._link = link
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    async def run(self, step: Callable[[], object]) -> None:
        """Take `step`, again while TLS has to hear more for it; send what it has to say. Raises `OSError`."""
        loop = asyncio.get_running_loop()
        while True:
            done = _take(step)
            if self._outgoing.pending:
                await loop.sock_sendall(self._link, self._outgoing.read())
            if done:
                return
            heard = await loop.sock_recv(self._link, PIECE)
            if heard:
                self._incoming.write(heard)
            else:
                self._incoming.write_eof()


def _take(step: Callable[[], object]) -> bool:
    """True if `step` is done; else TLS wants to read."""
    try:
        step()
    except ssl.SSLWantReadError:
        return False
    return True


async def _wait_acknowledged(link: socket.socket) -> None:
    """Until the other machine has acknowledged every byte. Raises `OSError` when it reset the connection instead."""
    pause = 0.001
    while _unacknowledged(link):
        _raise_pending(link)  # after a reset the queue stays as it is
        await asyncio.sleep(pause)
        pause = min(2 * pause, 0.1)
    _raise_pending(link)


async def _end(link: socket.socket) -> None:
    """Close our side and wait for the other. Raises `OSError` when the receiver did not read everything."""
    link.shutdown(socket.SHUT_WR)
    while await asyncio.get_running_loop().sock_recv(link, PIECE):
        pass
    _raise_pending(link)


def _unacknowledged(link: socket.socket) -> int:
    """Bytes in the kernel's send queue (tcp(7), SIOCOUTQ)."""
    size: int = struct.unpack("i", fcntl.ioctl(link, termios.TIOCOUTQ, bytes(4)))[0]
    return size


def _raise_pending(link: socket.socket) -> None:
    """A reset that came after the receiver's end is told by no read."""
    code = link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise OSError(code, os.strerror(code))


def _pieces(messages: Iterable[bytes]) -> Iterator[bytes]:
    """Counted messages, joined to pieces of at least `PIECE` bytes."""
    piece = bytearray()
    for message in messages:
        piece += frame(message)
        if len(piece) >= PIECE:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)
