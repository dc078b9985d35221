"""The texts of a request outside its body that go upstream: path, query, a model's name, headers. Pure.

They cannot be replaced. So a value to redact there refuses the request, or its header is left out where
a call does the same without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from email.errors import MessageError
from email.header import decode_header
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote, unquote_to_bytes

from mastio.exchange.errors import Blocked
from mastio.exchange.inspection import UNINSPECTED, Finding, Passage, Texts
from mastio.reading.blobs import LONG_BLOB, find_blobs

_WORD = r"(?:[A-Za-z]{1,24}|[A-Za-z]{0,8}[0-9]{1,8}|(?:[0-9]{1,4}[a-z]{1,2}){1,4})"
_HARMLESS = re.compile(
    r"(?!.*(?:[0-9][ ._-]?){9})"
    rf"{_WORD}(?:[ /;,.*+()=_:\"-]+{_WORD})*[ /;,.*+()=_:\"-]*"
    r"|\*/\*|req_(?!.*[0-9]{7})[A-Za-z0-9]{8,64}"
)
"""Words and the numbers of versions, such as `OpenAI/Python 1.99.9` and `text/html;q=0.9`: no key, no long number. And
the id that a provider gives a request."""

_TRACE = re.compile(r"(?!.*[0-9]{9})[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
"""`traceparent` (W3C Trace Context §3.2): random digits. With nine decimal ones in a row it is looked at."""

OPTIONAL = frozenset({
    "accept", "accept-charset", "accept-datetime", "accept-language", "cache-control", "last-event-id", "pragma",
    "prefer", "traceparent", "tracestate", "user-agent",
})  # fmt: skip
"""Of a request: without them it does the same."""

_PROTOCOL = OPTIONAL | {
    "age", "anthropic-beta", "anthropic-version", "content-encoding", "content-language", "content-length",
    "content-range", "content-type", "date", "etag", "expires", "if-match", "if-modified-since", "if-none-match",
    "if-range", "if-unmodified-since", "last-modified", "openai-beta", "openai-processing-ms", "openai-version",
    "range", "request-id", "retry-after", "server", "vary", "x-cache", "x-cost-usd", "x-model", "x-provider",
    "x-request-id", "x-should-retry", "x-tokens-input", "x-tokens-output",
}  # fmt: skip
_PREFIXES = ("accept-", "anthropic-ratelimit-", "x-ratelimit-", "x-stainless-")
"""Headers whose words and versions say nothing of anybody: what they mean is known."""

_UNIT = re.compile(rb"%[0-9A-Fa-f]{2}|.", re.DOTALL)
_BETWEEN = re.compile(rb"[/?&=#;,]")

MOST_ENCODED = 1024
"""Characters of a value that has encoded words."""

MOST_CHECKED = 512
"""Characters of a value that may be harmless."""


class Headed:
    """`Texts` of a body and of what stands before it."""

    def __init__(
        self,
        before: Sequence[Passage],
        headers: Sequence[Passage],
        body: Texts | None,
        what: str,
        leave_out: Callable[[Collection[str]], bool] = lambda names: False,
    ) -> None:
        """`before`: what is named `what`, the address or the model. `leave_out`: as `leave_out` here, of the headers
        that go up."""
        self._head = [*before, *headers]
        self._headers_from = len(before)
        self._body = body
        self._what = what
        self._leave_out = leave_out

    @property
    def passages(self) -> Sequence[Passage]:
        return [*self._head, *(() if self._body is None else self._body.passages)]

    @property
    def uninspected(self) -> Sequence[Finding]:
        own = [
            Finding(UNINSPECTED, 100, 1, kind, end - start)
            for one in self._head
            if len(one.text) >= LONG_BLOB
            for start, end, kind in find_blobs(one.text)
        ]
        return [*own, *(() if self._body is None else self._body.uninspected)]

    def place(self, number: int) -> str:
        if number < len(self._head) or self._body is None:
            return self._what if number < self._headers_from else f"the header {self._head[number].name}"
        return self._body.place(number - len(self._head))

    def replace(self, texts: Mapping[int, str]) -> bytes:
        """Raises `Blocked`."""
        names = {self._head[number].name for number in texts if self._headers_from <= number < len(self._head)}
        if any(number < self._headers_from for number in texts) or (names and not self._leave_out(names)):
            raise Blocked(f"What is to be redacted stands in {self._what} or in a header.")
        if self._body is None:
            return b""
        return self._body.replace(
            {number - len(self._head): text for number, text in texts.items() if number >= len(self._head)}
        )


def leave_out(headers: list[tuple[Any, Any]], named: Collection[str], names: Collection[str]) -> bool:
    """Take the headers of these names out, and say so; False: they have to stay. `named`: those that an admin named."""
    if any(name in named or name not in OPTIONAL for name in names):
        return False
    gone = {*names, *(name.encode("latin-1") for name in names)}
    headers[:] = [pair for pair in headers if pair[0] not in gone]
    return True


def read_headers(headers: Iterable[tuple[str, bytes]], named: Collection[str] = ()) -> Iterator[Passage]:
    """The values, decoded from percent and from encoded words (RFC 2047), but for words and versions in headers of the
    protocol. `named`: those that an admin named, each of which is looked at. Raises `Blocked`."""
    for name, value in headers:
        text = _read(value)
        if text and (name in named or not _is_plain(name, text)):
            yield Passage(_decode(text), "other", name)


def read_reply_header(name: bytes, value: bytes) -> Passage | None:
    """None for words and versions in headers of the protocol, and for cookies, which are the caller's to send back as
    they are."""
    text, said = value.decode("utf-8", "replace"), name.decode("latin-1")
    if not text or name == b"set-cookie" or _is_plain(said, text):
        return None
    return Passage(unquote(text), "other", said)


def write_reply_header(value: bytes, was: str, now: str) -> bytes | None:
    """The value with another text, quoted where the value is; None where it cannot say it."""
    if value == was.encode():
        return now.encode() if now.isascii() and now.isprintable() else None
    old, new = was.encode(), now.encode()
    if unquote_to_bytes(value) != old or not value.isascii():
        return None
    start = _count_same(old, new)
    end = _count_same(old[: start - 1 if start else None : -1], new[: start - 1 if start else None : -1])
    if _BETWEEN.search(old, start, len(old) - end) is not None:
        return None  # two values, perhaps, and what stands between them
    units = _UNIT.findall(value)  # one for each byte
    return b"".join(
        (*units[:start], quote(new[start : len(new) - end], safe="").encode("ascii"), *units[len(units) - end :])
    )


def _count_same(one: bytes, other: bytes) -> int:
    """The length of the common prefix, in bytes."""
    most = min(len(one), len(other))
    return next((n for n in range(most) if one[n] != other[n]), most)


def _read(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _is_plain(name: str, text: str) -> bool:
    if name not in _PROTOCOL and not name.startswith(_PREFIXES):
        return False
    return is_harmless(text) or (name == "traceparent" and _TRACE.fullmatch(text) is not None)


@lru_cache(maxsize=1024)
def is_harmless(text: str) -> bool:
    return len(text) <= MOST_CHECKED and _HARMLESS.fullmatch(text) is not None


def _decode(text: str) -> str:
    text = unquote(text)
    if "=?" not in text:
        return text
    if len(text) > MOST_ENCODED:
        raise Blocked("A header has too much in an encoding to be inspected.")
    try:
        parts = decode_header(text)
        return "".join(said if isinstance(said, str) else said.decode(code or "latin-1") for said, code in parts)
    except (MessageError, LookupError, ValueError) as error:
        raise Blocked("A header has an encoding that cannot be inspected.") from error
