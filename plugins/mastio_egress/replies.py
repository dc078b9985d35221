"""Makes the caller's reply from an upstream's: bounded, with the credential masked; read whole if it is inspected, else
passed on as it arrives.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from mastio.exchange.errors import DispatchError
from mastio.exchange.values import Reply, Window
from mastio.plugin.services import UpstreamReply
from mastio_egress.connections.connection import ConnectionRow
from mastio_egress.header_policy import incoming, reply_length
from mastio_egress.redirects import REDIRECTS, Hop, make_absolute, rewrite_location
from mastio_egress.secret_masking import EchoFilter, Needles, mask_headers, open_filter
from mastio_egress.texts import has_readable_charset

Headers = list[tuple[bytes, bytes]]

SMALL = 64 * 1024
"""Bytes of a reply that is read whole before it goes on: its head and its body are sent together then."""

MOST_INSPECTED = 10 * 1024 * 1024
MOST_HELD = 1024 * 1024
"""The most bytes of an unfinished event that are held, if events are inspected."""

EVENTS = b"text/event-stream"
NO_BODY = frozenset({204, 205, 304})

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply's head, and the request that it answers. `started` (monotonic): the time when that was sent."""

    upstream: UpstreamReply
    row: ConnectionRow
    needles: Needles
    hop: Hop
    started: float


async def answer(answered: Answered, close: Callable[[], Awaitable[None]]) -> Reply:
    """The reply for the caller. Raises `DispatchError`. `close` is called by the stream if the reply is one, else by
    the caller."""
    upstream, row = answered.upstream, answered.row
    facts: dict[str, Any] = {"upstream_status": upstream.status}
    length = reply_length(upstream.headers)
    has_body = answered.hop.asked.method != "HEAD" and upstream.status not in NO_BODY
    echo = open_filter(answered.needles, upstream.headers if has_body else [])
    if has_body and length is not None and length > row.limits.response_bytes:
        raise DispatchError("The upstream's reply is larger than the connection takes.")
    headers = [pair for pair in incoming(upstream.headers, row.keep_headers) if pair[0] != b"location"]
    headers += find_location(answered)
    headers, masked = mask_headers(headers, answered.needles)
    told = ReplyFacts(facts, answered.started, masked)
    if not has_body:
        told.end(echo)
        if length is not None and upstream.status not in (204, 205):  # the only length that these have is none
            headers.append((b"content-length", b"%d" % length))
        return Reply(upstream.status, headers, _nothing(), facts, close)
    if row.inspect_response and sum(name == b"content-type" for name, _ in headers) > 1:
        raise DispatchError("The upstream's reply has two types of content, and cannot be inspected.")
    is_events = row.inspect_response and content_type(headers) == EVENTS
    if row.inspect_response and (find_coding(upstream.headers) or not is_readable(headers)):
        raise DispatchError("The upstream's reply is encoded in a way that cannot be inspected.")
    if (row.inspect_response and not is_events) or (length is not None and length <= SMALL):
        most = min(row.limits.response_bytes, MOST_INSPECTED)
        body = echo.whole(await upstream.read(most))
        told.end(echo)
        return Reply(upstream.status, headers, body, facts)
    pieces = _pieces(upstream, row, echo, told, length)
    if is_events:
        return Reply(upstream.status, headers, _events(pieces), facts, close)
    if length is not None:
        headers.append((b"content-length", b"%d" % length))
    return Reply(upstream.status, headers, pieces, facts, close)


class ReplyFacts:
    """The facts of a reply for the audit entry."""

    def __init__(self, facts: dict[str, Any], started: float, masked: int) -> None:
        self._facts = facts
        self._started = started
        self._masked = masked

    def end(self, echo: EchoFilter) -> None:
        self._facts["milliseconds"] = int((time.monotonic() - self._started) * 1000)
        if masked := self._masked + echo.masked:
            self._facts["credential_masked"] = masked


async def _pieces(
    upstream: UpstreamReply, row: ConnectionRow, echo: EchoFilter, told: ReplyFacts, length: int | None
) -> AsyncIterator[Window]:
    """The body as it arrives. A client that knows the length has the whole body with the last byte, so the piece with
    that byte is marked as the last one."""
    size = 0
    async for chunk in upstream.chunks():
        size += len(chunk)
        if size > row.limits.response_bytes:
            raise DispatchError("The upstream's reply is larger than the connection takes.")
        data = echo.feed(chunk)
        if size == length:
            break
        if data:
            yield Window(data)
    else:
        data = b""
    data += echo.close()
    told.end(echo)
    yield Window(data, last=True)


async def _nothing() -> AsyncIterator[Window]:
    """The length in the head is that of another reply (RFC 9110 §8.6)."""
    yield Window(b"", last=True)


async def _events(windows: AsyncIterator[Window]) -> AsyncIterator[Window]:
    """The body cut at the ends of events, for inspection."""
    held = b""
    async for window in windows:
        seen = max(0, len(held) - 3)  # no end of an event is longer than four bytes
        held += window.data
        if window.last:
            yield Window(held, last=True)
            return
        end = 0
        for match in _END.finditer(held, seen):
            end = match.end()
        if end:
            yield Window(held[:end])
            held = held[end:]
        if len(held) > MOST_HELD:
            raise DispatchError("The upstream sent an event without end.")


def find_location(answered: Answered) -> Headers:
    """The `Location` header of a redirect that was not followed; empty for none. A target at the upstream itself leads
    through the connection."""
    row, prefix = answered.row, f"/v1/egress/{answered.row.name}"
    locations = [value for name, value in answered.upstream.headers if name == b"location"]
    if len(locations) != 1 or answered.upstream.status not in (201, 202, *REDIRECTS):
        return []
    location = make_absolute(row, answered.hop, locations[0])
    shown = None if location is None else rewrite_location(row, location, answered.hop.asked.path, prefix)
    return [] if shown is None else [(b"location", shown)]


def find_coding(headers: Headers) -> bytes:
    """The content codings, as they came; empty for none."""
    codings = [value.strip().lower() for name, value in headers if name == b"content-encoding"]
    return b",".join(coding for coding in codings if coding not in (b"", b"identity"))


def is_readable(headers: Headers) -> bool:
    return all(has_readable_charset(value.lower()) for name, value in headers if name == b"content-type")


def content_type(headers: Headers) -> bytes:
    value = next((value for name, value in headers if name == b"content-type"), b"")
    return value.split(b";")[0].strip().lower()
