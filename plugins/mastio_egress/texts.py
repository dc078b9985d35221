"""Where texts are in requests to a connection and in its replies: in JSON its strings, names and long numbers, in a
form its names and values, else all of it. The path and the query of the request are texts as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote_plus, unquote_plus

from mastio.errors import Blocked
from mastio.exchange import RequestHead
from mastio.inspection import Carrier, Layout, Passage, Texts
from mastio.reading.document import Document
from mastio.reading.stream import Delta, Key, Shape, StreamRewriter
from mastio.store.base import ConnectionRow

NAMES: frozenset[str] = frozenset()
"""No API is known here, so every name is a text."""

FORM = b"application/x-www-form-urlencoded"


class Form:
    """`Texts` of application/x-www-form-urlencoded (WHATWG URL §5). What is not changed keeps its bytes."""

    def __init__(self, raw: bytes) -> None:
        """Raises `Blocked` for what is no text."""
        pairs = [pair.partition(b"=") for pair in raw.split(b"&")]
        self._parts = [part for name, joint, value in pairs for part in (name, joint, value, b"&")][:-1]
        self._places = [n for n, part in enumerate(self._parts) if n % 2 == 0 and part]
        self._texts = [_decode(self._parts[n]) for n in self._places]

    @property
    def passages(self) -> Sequence[Passage]:
        names = {n: _decode(self._parts[n - 2]) for n in self._places if n % 4 == 2}
        return [Passage(t, "user", names.get(n, "")) for n, t in zip(self._places, self._texts, strict=True)]

    def place(self, number: int) -> str:
        at = self._places[number]
        name = _decode(self._parts[at - at % 4])
        return f"{name} (name)" if at % 4 == 0 else name

    def replace(self, texts: Mapping[int, str]) -> bytes:
        parts = list(self._parts)
        for number, text in texts.items():
            parts[self._places[number]] = quote_plus(text).encode("ascii")
        return b"".join(parts)


class Both:
    """`Texts` of a body and of the URL before it, which nobody can change."""

    def __init__(self, url: Sequence[Passage], body: Texts | None) -> None:
        self._url = url
        self._body = body

    @property
    def passages(self) -> Sequence[Passage]:
        return [*self._url, *(() if self._body is None else self._body.passages)]

    def place(self, number: int) -> str:
        if number < len(self._url) or self._body is None:
            return "the URL"
        return self._body.place(number - len(self._url))

    def replace(self, texts: Mapping[int, str]) -> bytes:
        """Raises `Blocked`."""
        if self._body is None or any(number < len(self._url) for number in texts):
            raise Blocked("What is to be redacted stands in the URL.")
        return self._body.replace({number - len(self._url): text for number, text in texts.items()})


def open_layout(row: ConnectionRow, head: RequestHead) -> Layout:
    """For one request to a connection that is inspected in one direction or both."""
    request = partial(read_request, head) if row.inspect_request else read_nothing
    return Layout(request, read_reply, open_stream, row.inspect_response)


def read_request(head: RequestHead, raw: bytes, document: Any) -> Texts:
    """Raises `Blocked` for what nobody can look into."""
    if head.header(b"content-encoding") not in (None, b"identity"):
        raise Blocked("The body is encoded, so it cannot be inspected.")
    url = list(read_url(head.params.get("path", ""), head.query))
    return Both(url, _read_body(head, raw, document))


def _read_body(head: RequestHead, raw: bytes, document: Any) -> Texts | None:
    if not raw:
        return None
    kind = (head.header(b"content-type") or b"").split(b";")[0].strip().lower()
    if kind == FORM:
        return Form(raw)
    return read_reply(raw, document, "user")


def read_url(path: str, query: bytes) -> Iterator[Passage]:
    """Raises `Blocked`."""
    if text := _decode(path.replace("+", "%2B").encode("latin-1")):
        yield Passage(text, "other", "path")
    for pair in query.split(b"&"):
        name, _, value = (_decode(part) for part in pair.partition(b"="))
        if name:
            yield Passage(name, "other")
        if value:
            yield Passage(value, "other", name)


def read_reply(raw: bytes, document: Any, carrier: Carrier = "tool") -> Texts:
    """Raises `Blocked`."""
    if document is not None:
        return Document(raw, document, NAMES, carrier)
    try:
        return Document.of_text(raw.decode(), NAMES, carrier)
    except UnicodeDecodeError as error:
        raise Blocked("The content is no text, so it cannot be inspected.") from error


def read_nothing(raw: bytes, document: Any) -> Texts:
    return Both((), None)


def open_stream(watches: Sequence[Any]) -> StreamRewriter:
    return StreamRewriter(SHAPE, "events", watches)


def _no_deltas(event: dict[str, Any]) -> Iterator[Delta]:
    yield from ()


def _no_ends(event: dict[str, Any]) -> Iterable[Key]:
    return ()


SHAPE = Shape(_no_deltas, _no_ends, lambda event: None, NAMES)
"""Events of an API that nobody here knows: each is looked into by itself."""


def _decode(part: bytes) -> str:
    try:
        return unquote_plus(part.decode("ascii"), errors="strict")
    except UnicodeDecodeError as error:
        raise Blocked("The content is no text, so it cannot be inspected.") from error
