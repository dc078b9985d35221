"""What stands before a body and goes upstream with it: an address, a model's name, headers. Pure.

Nobody can put another text in its place, so what is to be redacted there is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.errors import MessageError
from email.header import decode_header
from functools import lru_cache
from urllib.parse import unquote

from mastio.errors import Blocked
from mastio.inspection import UNINSPECTED, Finding, Passage, Texts
from mastio.reading.blobs import LONG_BLOB, find_blobs

_WORD = r"(?:[A-Za-z]{1,24}|[A-Za-z]{0,8}[0-9]{1,8}|(?:[0-9]{1,4}[a-z]{1,2}){1,4})"
_HARMLESS = re.compile(
    r"(?!.*(?:[0-9][ ._-]?){9})"
    rf"{_WORD}(?:[ /;,.*+()=_:\"-]+{_WORD})*[ /;,.*+()=_:\"-]*"
    r"|\*/\*|req_(?!.*[0-9]{7})[A-Za-z0-9]{8,64}"
)
"""Words and the numbers of versions, such as `OpenAI/Python 1.99.9` and `text/html;q=0.9`: no key, no long number. And
the id that a provider gives a request."""

_TRACE = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
"""`traceparent` (W3C Trace Context §3.2): random digits."""

MOST_ENCODED = 1024
"""Characters of a value that has encoded words."""

MOST_CHECKED = 512
"""Characters of a value that may be harmless."""


class Headed:
    """`Texts` of a body and of what stands before it."""

    def __init__(self, before: Sequence[Passage], headers: Sequence[Passage], body: Texts | None, what: str) -> None:
        """`before`: what is named `what`, the address or the model."""
        self._head = [*before, *headers]
        self._headers_from = len(before)
        self._body = body
        self._what = what

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
        if self._body is None or any(number < len(self._head) for number in texts):
            raise Blocked(f"What is to be redacted stands in {self._what} or in a header.")
        return self._body.replace({number - len(self._head): text for number, text in texts.items()})


def read_headers(headers: Iterable[tuple[str, bytes]]) -> Iterator[Passage]:
    """The values that say more than words and versions, decoded from percent and from encoded words (RFC 2047). Raises
    `Blocked` for what is no UTF-8."""
    for name, value in headers:
        try:
            text = value.decode()
        except UnicodeDecodeError as error:
            raise Blocked("A header is no text, so it cannot be inspected.") from error
        if text and not is_harmless(text) and not (name == "traceparent" and _TRACE.fullmatch(text)):
            yield Passage(_decode(text), "other", name)


def read_reply_header(name: bytes, value: bytes) -> Passage | None:
    """None for words and versions, and for cookies, which are the caller's to send back as they are."""
    text = value.decode("utf-8", "replace") if not value.isascii() else value.decode("ascii")
    if not text or is_harmless(text) or name == b"set-cookie":
        return None
    return Passage(unquote(text), "other", name.decode("latin-1"))


def write_reply_header(value: bytes, was: str, now: str) -> bytes | None:
    """The value with another text, where it said just that text and can say the other; else None."""
    is_plain = value == was.encode() and now.isascii() and now.isprintable()
    return now.encode() if is_plain else None


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
        return "".join(said if isinstance(said, str) else said.decode(code or "ascii") for said, code in parts)
    except (MessageError, LookupError, ValueError) as error:
        raise Blocked("A header has an encoding that cannot be inspected.") from error
