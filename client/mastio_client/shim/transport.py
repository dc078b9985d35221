"""Pooled HTTP/1.1 connections to the appliance: bytes in, bytes out, both bounded.

The shim must add little time, and must pass on names, order, path and encoding unchanged. So it uses no client library,
only a parser (`httptools`), one protocol class, and a stack of idle connections.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from typing import Any, cast
from urllib.parse import urlsplit

import httptools

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 50.0
"""Seconds that an unused connection is kept: less than the edge's 75 s, so that it is never closed under a request."""

MOST_IDLE = 128
HIGH_WATER = 64 * 1024
"""Bytes of a reply that may wait for the caller before the appliance is asked to pause."""

RawHeaders = list[tuple[bytes, bytes]]


class Unreachable(Exception):
    """No connection to the appliance can be made. Nothing was sent."""


class BrokenOff(Exception):
    """The connection ended before the reply did. `begun`: some of the reply had come."""

    def __init__(self, *, begun: bool) -> None:
        super().__init__("The connection to the appliance ended before the reply did.")
        self.begun = begun


class Connection(asyncio.Protocol):
    """One exchange at a time: `start`, more `write`s if the body is long, `read_head`, then `read` until b"".

    One task may write while another reads; otherwise one task uses it.
    """

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser: Any = None
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        self._pieces: list[bytes] = []
        self._held = 0
        self._read_paused = False
        self._write_paused = False
        self._lost = False
        self._busy = False
        self._head_only = False
        self._informational = False
        self._has_head = False
        self._complete = False
        self._framed = False
        self._reusable = False
        self.status = 0
        self.headers: RawHeaders = []
        self.used = False
        """True if an earlier exchange used this connection."""
        self.idle_since = 0.0

    # --- for the one who uses it --------------------------------------------------------------------------------------

    @property
    def is_usable(self) -> bool:
        return not self._lost and self._transport is not None and not self._transport.is_closing()

    @property
    def is_reusable(self) -> bool:
        """The last reply was read to its end, and the connection may carry another exchange."""
        return self.is_usable and self._complete and self._reusable and not self._pieces

    def start(self, data: bytes, *, head_only: bool) -> None:
        """Send the beginning of a request; `head_only` when its reply has no body (HEAD)."""
        assert self._transport is not None
        self._busy, self._head_only = True, head_only
        self._has_head = self._complete = self._framed = self._reusable = False
        self.status, self.headers = 0, []
        self._transport.write(data)

    async def write(self, data: bytes) -> None:
        """Send more of the body, no faster than the appliance takes it. Raises `BrokenOff`."""
        if self._lost or self._transport is None:
            raise BrokenOff(begun=self._has_head)
        self._transport.write(data)
        if self._write_paused:
            self._writer = asyncio.get_running_loop().create_future()
            await self._writer

    async def read_head(self) -> None:
        """Wait for `status` and `headers`. Raises `BrokenOff`."""
        while not self._has_head:
            await self._more()

    async def read(self) -> bytes:
        """The bytes of the body that came since the last call, at least one; b"" at its end. Raises `BrokenOff`."""
        while not self._pieces:
            if self._complete:
                return b""
            await self._more()
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._held = 0
        if self._read_paused and self._transport is not None:
            self._read_paused = False
            self._transport.resume_reading()
        return data

    @property
    def at_end(self) -> bool:
        """Nothing more will come: the next `read` gives b""."""
        return self._complete and not self._pieces

    def abort(self) -> None:
        """Close at once, so that the appliance stops working for a caller that has gone."""
        if self._transport is not None:
            self._transport.abort()

    def rest(self) -> None:
        self._busy, self.used = False, True
        self.idle_since = time.monotonic()

    async def _more(self) -> None:
        if self._lost:
            raise BrokenOff(begun=self._has_head)
        self._reader = asyncio.get_running_loop().create_future()
        await self._reader

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    # --- asyncio.Protocol ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._parser = httptools.HttpResponseParser(self)

    def data_received(self, data: bytes) -> None:
        if not self._busy or self._complete:  # nobody asked
            self.abort()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self.abort()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True
        if self._busy and self._has_head and not self._framed and error is None:
            self._complete = True  # RFC 9112 §6.3: a body without a length ends with the connection
        self._wake()
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)

    def pause_writing(self) -> None:
        self._write_paused = True

    def resume_writing(self) -> None:
        self._write_paused = False
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)

    # --- httptools ----------------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._complete:  # more than one reply to one request
            self.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        self._informational = status < 200
        if self._informational:
            self.headers = []
            return
        self.status = status
        self._has_head = True
        self._framed = any(name in (b"content-length", b"transfer-encoding") for name, _ in self.headers)
        if self._head_only:
            self._complete = True  # the parser would wait for the body: this connection is not used again
        self._wake()

    def on_body(self, data: bytes) -> None:
        self._pieces.append(data)
        self._held += len(data)
        if self._held > HIGH_WATER and not self._read_paused and self._transport is not None:
            self._read_paused = True
            self._transport.pause_reading()
        self._wake()

    def on_message_complete(self) -> None:
        if self._informational:
            return
        self._complete = True
        self._reusable = not self._head_only and self._parser.should_keep_alive()
        self._wake()


class Pool:
    """Connections to one appliance. `context` verifies it and shows no certificate."""

    def __init__(self, base_url: str, context: ssl.SSLContext) -> None:
        parts = urlsplit(base_url)
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._context = context if parts.scheme == "https" else None
        self._idle: list[Connection] = []

    async def take(self) -> Connection:
        """The connection used last, or a new one. Raises `Unreachable`."""
        oldest = time.monotonic() - IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable and connection.idle_since > oldest:
                return connection
            connection.abort()
        return await self._open()

    def give_back(self, connection: Connection) -> None:
        """Keep it for the next exchange, or close it when its last one is not over."""
        if connection.is_reusable and len(self._idle) < MOST_IDLE:
            connection.rest()
            self._idle.append(connection)
        else:
            connection.abort()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().abort()

    async def _open(self) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                transport, connection = await loop.create_connection(
                    Connection, self._host, self._port, ssl=self._context
                )
        except (OSError, TimeoutError) as error:  # ssl.SSLError is an OSError
            raise Unreachable(describe(error)) from error
        _notice_death(transport.get_extra_info("socket"))
        return connection


def describe(error: BaseException) -> str:
    """The reason why no connection could be made, in a few words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate was not believed: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    return getattr(error, "strerror", None) or type(error).__name__


def _notice_death(connected: socket.socket) -> None:
    """Let the kernel probe a silent connection, and close it within a minute when the host is gone."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 60_000)):
        option = getattr(socket, name, None)  # not on every system
        if option is not None:
            connected.setsockopt(socket.IPPROTO_TCP, option, value)
