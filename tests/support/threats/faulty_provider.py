"""A provider below HTTP: what it sends is said byte by byte, with pauses and resets, and it sees when it is left alone.

A fault acts as a generator over the answer as it should have been (`Right`): it gives bytes, pauses in seconds, `HOLD`
(say nothing more until the appliance hangs up) or `RESET`. At its end the connection is closed. `plain` and `stream`
say what the caller must be told: a code, `late` and a code for an error event in a stream that has begun, or `ok`.
"""

from __future__ import annotations

import gzip
import json
import re
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

MIB = 1024 * 1024
EVENTS, JSON = b"text/event-stream", b"application/json"
HOLD: Literal["hold"] = "hold"
RESET: Literal["reset"] = "reset"
PATIENCE = 20.0
"""Seconds that a connection is held at most: an appliance that does not hang up by then never does."""

Step = bytes | float | Literal["hold", "reset"]

FIRST = {
    "openai": b'data: {"choices":[]}\n\n',
    "anthropic": b'event: ping\ndata: {"type":"ping"}\n\n',
    "gemini": b'data: {"candidates":[]}\r\n\r\n',
}
END = {
    "openai": b"data: [DONE]\n\n",
    "anthropic": b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    "gemini": b'data: {"candidates":[{"finishReason":"STOP"}]}\r\n\r\n',
}
WHOLE = {
    "openai": b'{"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}',
    "anthropic": b'{"type":"message","content":[],"usage":{"input_tokens":3,"output_tokens":2}}',
    "gemini": b'{"candidates":[],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2}}',
}
FAILED = {
    "openai": b'{"error":{"message":"No.","type":"t","param":null,"code":"theirs"}}',
    "anthropic": b'{"type":"error","error":{"type":"theirs","message":"No."}}',
    "gemini": b'{"error":{"code":500,"message":"No.","status":"THEIRS"}}',
}


@dataclass(frozen=True)
class Right:
    """The answer as it should have been."""

    kind: str
    stream: bool

    @property
    def first(self) -> bytes:
        """The first event."""
        return FIRST[self.kind]

    @property
    def shown(self) -> bytes:
        """What the caller sees of the first event."""
        return self.first

    @property
    def end(self) -> bytes:
        return END[self.kind]

    @property
    def one(self) -> bytes:
        """An answer that is no stream."""
        return WHOLE[self.kind]

    @property
    def body(self) -> bytes:
        return self.first + self.end if self.stream else self.one

    def read_failure(self, content: bytes) -> Any:
        """The error that a stream ended with, as the caller sees it."""
        return json.loads(re.findall(rb"^data: ?([^\r\n]*)", content, re.M)[-1])["error"]

    @property
    def start(self) -> bytes:
        """What of the body comes before something goes wrong."""
        return self.first if self.stream else self.body[:9]

    @property
    def type(self) -> bytes:
        return EVENTS if self.stream else JSON

    def head(self, *more: bytes, status: bytes = b"200 OK", kind: bytes | None = None) -> bytes:
        lines = [b"HTTP/1.1 " + status, b"content-type: " + (kind or self.type), b"connection: close", *more]
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def with_length(self, length: int, **more: Any) -> bytes:
        return self.head(b"content-length: %d" % length, **more)

    def whole(self, body: bytes | None = None, *more: bytes, **other: Any) -> bytes:
        """Head and body, of the length that it says."""
        body = self.body if body is None else body
        return self.head(b"content-length: %d" % len(body), *more, **other) + body

    def begun(self, *more: bytes) -> bytes:
        """A chunked reply up to where something goes wrong."""
        return self.head(b"transfer-encoding: chunked", *more) + chunk(self.start)


class ArrayRight(Right):
    """Gemini's streams without `alt=sse`: one array, an element at a time."""

    @property
    def first(self) -> bytes:
        return b'[{"candidates":[]}'

    @property
    def end(self) -> bytes:
        return b',\r\n{"candidates":[{"finishReason":"STOP"}]}]'

    @property
    def type(self) -> bytes:
        return JSON

    def read_failure(self, content: bytes) -> Any:
        return json.loads(content)[-1]["error"]


class ChatRight(Right):
    """Of a provider of OpenAI's kind, asked by `/v1/messages`."""

    @property
    def first(self) -> bytes:
        return b'data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}\n\n'

    @property
    def shown(self) -> bytes:
        return b"event: message_start\ndata: {"

    @property
    def end(self) -> bytes:
        return b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

    @property
    def one(self) -> bytes:
        message = b'{"role":"assistant","content":"a"}'
        choice = b'{"index":0,"message":' + message + b',"finish_reason":"stop"}'
        return b'{"id":"c","model":"m","choices":[' + choice + b'],"usage":{"prompt_tokens":3,"completion_tokens":2}}'


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@dataclass(frozen=True)
class Fault:
    act: Callable[[Right], Iterator[Step]]
    plain: str = "upstream_error"
    stream: str = "late upstream_error"
    reads: bool = True
    """Whether the request is read before it acts."""

    @property
    def is_ended_by_time(self) -> bool:
        """Whether a timeout ends it, and not what the provider does or a bound of bytes."""
        return "upstream_timeout" in self.plain + self.stream

    def expected(self, stream: bool) -> str:
        return self.stream if stream else self.plain


def says(make: Callable[[Right], bytes | tuple[Step, ...]]) -> Callable[[Right], Iterator[Step]]:
    def act(right: Right) -> Iterator[Step]:
        said = make(right)
        yield from (said,) if isinstance(said, bytes) else said

    return act


def drip(data: bytes, every: float) -> Iterator[Step]:
    for byte in data:
        yield bytes((byte,))
        yield every


def drip_head(right: Right) -> Iterator[Step]:
    yield from drip(right.whole(), 0.3)


def drip_body(right: Right) -> Iterator[Step]:
    yield right.head() + right.start
    yield from drip(right.body[len(right.start) :], 1.0)


def endless_head(right: Right) -> Iterator[Step]:
    yield b"HTTP/1.1 200 OK\r\nx-long: "
    while True:
        yield b"a" * MIB


def endless_headers(right: Right) -> Iterator[Step]:
    yield b"HTTP/1.1 200 OK\r\n"
    while True:
        yield b"x-another: a\r\n" * 1000


def endless_body(right: Right) -> Iterator[Step]:
    yield right.head() + right.start
    while True:
        yield b"a" * MIB


def flood(right: Right) -> Iterator[Step]:
    """100 MiB in one event, or as one string."""
    yield right.begun()
    yield chunk(b"data: " if right.stream else b'"')
    for _ in range(100):
        yield chunk(b"a" * MIB)
    yield b"0\r\n\r\n"


def interim(status: bytes, right: Right) -> tuple[Step, ...]:
    return (b"HTTP/1.1 " + status + b"\r\n\r\n", right.whole())


LAST = b"0\r\n\r\n"
EARLY = "upstream_error"
SOON = "upstream_error|upstream_unreachable"
"""Whether a reset comes while the connection is made or after it is the kernel's to say."""
SLOW = "upstream_timeout"


def early(make: Callable[[Right], bytes | tuple[Step, ...]], code: str = EARLY) -> Fault:
    """Nothing of it reaches the caller, whatever was asked for."""
    return Fault(says(make), code, code)


def late(make: Callable[[Right], bytes | tuple[Step, ...]], code: str = EARLY) -> Fault:
    """In a stream, an event has reached the caller before it."""
    return Fault(says(make), code, f"late {code}")


def fine(make: Callable[[Right], bytes | tuple[Step, ...]]) -> Fault:
    return Fault(says(make), "ok", "ok")


FAULTS: dict[str, Fault] = {
    # before there is a reply
    "closesAtOnce": Fault(says(lambda r: ()), EARLY, EARLY, reads=False),
    "closes": early(lambda r: ()),
    "resetsAtOnce": Fault(says(lambda r: (RESET,)), SOON, SOON, reads=False),
    "resets": early(lambda r: (RESET,)),
    "silent": early(lambda r: (HOLD,), SLOW),
    "halfHead": early(lambda r: r.whole()[:20]),
    "halfHeadReset": early(lambda r: (r.whole()[:20], RESET)),
    "halfHeadSilent": early(lambda r: (r.whole()[:20], HOLD), SLOW),
    "dripsHead": Fault(drip_head, SLOW, SLOW),
    "endlessHead": Fault(endless_head, EARLY, EARLY),
    "endlessHeaders": Fault(endless_headers, EARLY, EARLY),
    "noHttp": early(lambda r: b"220 mail.example.com ESMTP\r\n"),
    "oddStatusLine": early(lambda r: r.whole(status=b"two hundred")),
    "oldVersion": early(lambda r: r.whole().replace(b"HTTP/1.1", b"HTTP/9.7")),
    "oddHeader": early(lambda r: r.head(b"no colon here") + r.body),
    "nulInHeader": early(lambda r: r.whole(None, b"openai-organization: a\x00b")),
    # statuses
    "continueOnly": early(lambda r: (b"HTTP/1.1 100 Continue\r\n\r\n", HOLD), SLOW),
    "continueFirst": fine(lambda r: interim(b"100 Continue", r)),
    "hintsFirst": fine(lambda r: interim(b"103 Early Hints", r)),
    "switches": early(lambda r: b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nhello"),
    "nothing204": early(lambda r: r.head(status=b"204 No Content")),
    "created201": early(lambda r: r.whole(status=b"201 Created")),
    "partial206": early(lambda r: r.whole(None, b"content-range: bytes 0-1/2", status=b"206 Partial Content")),
    "notModified304": early(lambda r: r.head(status=b"304 Not Modified")),
    "odd599": early(lambda r: r.whole(status=b"599 Odd")),
    "odd418": early(lambda r: r.whole(status=b"418 Odd")),
    "proxy407": early(lambda r: r.whole(status=b"407 Proxy")),
    # bodies that end wrongly
    "resetsInBody": late(lambda r: (r.begun(), 0.2, RESET)),
    "closesInBody": late(lambda r: (r.begun(), 0.2)),
    "closesWithoutLength": late(lambda r: r.head() + r.start),
    "silentInBody": late(lambda r: (r.begun(), HOLD), SLOW),
    "dripsBody": Fault(drip_body, SLOW, f"late {SLOW}"),
    "endlessBody": Fault(endless_body),
    "flood": Fault(flood),
    "longerThanBody": late(lambda r: (r.with_length(10_000) + r.start, 0.2)),
    "longerAndSilent": late(lambda r: (r.with_length(10_000) + r.start, HOLD), SLOW),
    "shorterThanBody": late(lambda r: (r.with_length(len(r.start) + 3) + r.start + b"dat", 0.2, r.body)),
    "shorterAtOnce": early(lambda r: r.with_length(len(r.start) + 3) + r.body),
    "empty": early(lambda r: r.whole(b"")),
    "oddLength": early(lambda r: r.head(b"content-length: -1") + r.body),
    "twoLengths": early(lambda r: r.head(b"content-length: 3", b"content-length: 9000") + r.body),
    "oddChunk": late(lambda r: (r.begun(), 0.2, b"zz\r\n" + r.body)),
    "hugeChunk": late(lambda r: (r.begun(), 0.2, b"ffffffffffffffffffff\r\n" + r.body)),
    "chunkWithoutEnd": late(lambda r: (r.begun(), 0.2, b"5\r\nabcde and more")),
    # bodies of the wrong kind
    "gzip": early(lambda r: r.whole(gzip.compress(r.body), b"content-encoding: gzip")),
    "brokenGzip": early(lambda r: r.whole(gzip.compress(r.body)[:-9] + b"?" * 9, b"content-encoding: gzip")),
    "unnamedGzip": early(lambda r: r.whole(gzip.compress(r.body))),
    "gzipTransfer": early(lambda r: r.head(b"transfer-encoding: gzip, chunked") + chunk(gzip.compress(r.body)) + LAST),
    "html": early(lambda r: r.whole(b"<html>Log in</html>", kind=b"text/html")),
    "htmlAsRight": early(lambda r: r.whole(b"<html>Log in</html>")),
    "failureWith200": early(lambda r: r.whole(FAILED[r.kind], kind=JSON)),
    "jsonList": early(lambda r: r.whole(b"[]", kind=JSON)),
    "jsonText": early(lambda r: r.whole(b'"hello"', kind=JSON)),
    "jsonNull": early(lambda r: r.whole(b"null", kind=JSON)),
    "jsonDeep": early(lambda r: r.whole(b"[" * 100_000 + b"]" * 100_000, kind=JSON)),
    "jsonTwice": early(lambda r: r.whole(b"{}{}", kind=JSON)),
    "eventsAsJson": early(lambda r: r.whole(FIRST[r.kind] + END[r.kind], kind=JSON)),
    "eventsAsText": early(lambda r: r.whole(FIRST[r.kind] + END[r.kind], kind=b"text/plain")),
    "noType": fine(lambda r: b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + r.one),
}  # fmt: skip

REDIRECTS = ("301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent")

ODD_EVENTS: dict[str, bytes] = {
    "invalidJson": b'data: {"choices":[{"delta"\n\n',
    "invalidJsonMarked": b'data: {"usage": {"error": "message_delta\n\n',
    "nul": b"data: a\x00b\n\n",
    "loneReturns": b'data: {"a":1}\r\rdata: {"b":2}\r\r',
    "returnInside": b'data: {"a":\rdata: 1}\n\n',
    "forged": b'data: {"a": "x\\n\\ndata: [DONE]"}\n\n',
    "unknownFields": b"id: 7\nretry: 0\nevent: odd\nnonsense\n: comment\n\n",
    "byteOrderMark": b'\xef\xbb\xbfdata: {"a":1}\n\n',
    "deep": b'data: {"usage":' + b"[" * 50_000 + b"]" * 50_000 + b"}\n\n",
    "oddUsage": b'data: {"usage":{"prompt_tokens":-1,"completion_tokens":1e300},"type":"message_delta"}\n\n',
    "hugeUsage": b'data: {"usage":{"prompt_tokens":%d},"usageMetadata":{"promptTokenCount":%d}}\n\n' % (10**30, 10**30),
    "usageOfText": b'data: {"type":"message_start","message":"x","usage":"x","usageMetadata":[1]}\n\n',
}
"""Events that no client can use, or that mean nothing. Where nothing is translated they are the provider's to send."""


@dataclass
class Faulty:
    """The provider. `fault` is what it does next; None: it answers rightly."""

    kind: str
    make: Callable[[str, bool], Right] = Right
    fault: Callable[[Right], Iterator[Step]] | None = None
    reads: bool = True
    arrived: list[str] = field(default_factory=list)
    """The request ids that it has read."""
    open: int = 0
    left: list[bool] = field(default_factory=list)
    """For each held or endless answer: whether the appliance hung up."""

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.open += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError):
                connection.settimeout(PATIENCE)
                fault = self.fault
                request = self._read(connection) if self.reads or fault is None else b""
                right = self.make(self.kind, b'"stream":true' in request or b":streamGenerateContent" in request)
                self._act(connection, fault(right) if fault is not None else iter((right.whole(),)))
        finally:
            with self._lock:
                self.open -= 1

    def _read(self, connection: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            if not (piece := connection.recv(65536)):
                return data
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(found[1]) if (found := re.search(rb"content-length: *(\d+)", head, re.I)) else 0
        while len(body) < length:
            body += connection.recv(65536)
        named = re.search(rb"x-request-id: *(\w+)", head, re.I)
        self.arrived.append(named[1].decode() if named else "")
        return head + body.replace(b'": ', b'":')

    def _act(self, connection: socket.socket, steps: Iterator[Step]) -> None:
        for step in steps:
            if isinstance(step, bytes):
                try:
                    connection.sendall(step)
                except OSError:
                    self.left.append(True)
                    raise
            elif step == RESET:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            elif self._is_left(connection, PATIENCE if step == HOLD else float(step)):
                self.left.append(True)
                return
            elif step == HOLD:
                self.left.append(False)

    @staticmethod
    def _is_left(connection: socket.socket, seconds: float) -> bool:
        """Whether the appliance hung up within this time."""
        end = time.monotonic() + seconds
        while (wait := end - time.monotonic()) > 0:
            if select.select([connection], [], [], wait)[0] and not connection.recv(65536):
                return True
        return False
