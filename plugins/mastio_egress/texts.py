"""Finds the texts of requests to a connection and of its replies: in JSON its strings, names and long numbers, in a
form its names and values, else all of it. The path and the query of the request are texts as well, and so are the
headers that go upstream, but for cookies, which are the upstream's own. Pure.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote_plus, unquote_plus

import orjson

from mastio.exchange.errors import BadRequest, Blocked
from mastio.exchange.inspection import Carrier, Finding, Layout, Passage, Texts
from mastio.exchange.values import RequestHead
from mastio.http.strictjson import Allowance, JsonError, TooManyValues, count_up_to, parse
from mastio.outbound.request_headers import COOKIES
from mastio.reading.document import MAX_TEXTS, Document
from mastio.reading.frames import is_object_to_others
from mastio.reading.heads import Headed, leave_out, read_headers
from mastio.reading.stream import Delta, Key, Shape, StreamRewriter
from mastio_egress.connections.connection import ConnectionRow

NAMES: frozenset[str] = frozenset()
"""No API is known here, so every name is a text."""

MOST_PAIRS = 10_000
"""The most pairs of a form or of a query."""

MOST_LINES = 50_000
"""The most lines of a body in lines of JSON, one value each."""

FORM = b"application/x-www-form-urlencoded"

_CHARSET = re.compile(rb"charset\s*=\s*[\"']?([^\"';\s]*)")
_READABLE = frozenset({b"utf-8", b"utf8", b"us-ascii", b"ascii", b"iso-8859-1", b"latin1", b"windows-1252"})
"""The character sets that are inspected. Content in another one may hide its letters: UTF-7 and UTF-16 can be valid
UTF-8 with another meaning."""


class Form:
    """`Texts` of application/x-www-form-urlencoded (WHATWG URL §5), and of a query, as if each pair were a JSON object:
    so what is JSON within a value is read as such. What is not changed keeps its bytes."""

    def __init__(self, raw: bytes, carrier: Carrier = "user") -> None:
        """Raises `Blocked` for what is no text, and `BadRequest` for more pairs than are taken apart."""
        if count_up_to(MOST_PAIRS, raw, b"&") >= MOST_PAIRS:
            raise BadRequest(f"There are more than {MOST_PAIRS} pairs.", code="too_many_parts")
        self._pairs = [pair.partition(b"=") for pair in raw.split(b"&")]
        self._said = [{_decode(name): _decode(value)} for name, _, value in self._pairs]
        self._texts = Document(orjson.dumps(self._said), self._said, NAMES, carrier)

    @property
    def passages(self) -> Sequence[Passage]:
        return self._texts.passages

    @property
    def uninspected(self) -> Sequence[Finding]:
        return self._texts.uninspected

    def place(self, number: int) -> str:
        return self._texts.place(number).partition(".")[2]

    def replace(self, texts: Mapping[int, str]) -> bytes:
        changed = orjson.loads(self._texts.replace(texts))
        return b"&".join(map(_encode_pair, self._pairs, self._said, changed))


def _encode_pair(pair: tuple[bytes, bytes, bytes], before: Mapping[str, str], after: Mapping[str, str]) -> bytes:
    (was_name, was_value), (name, value) = *before.items(), *after.items()
    raw_name = pair[0] if name == was_name else quote_plus(name).encode("ascii")
    raw_value = pair[2] if value == was_value else quote_plus(value).encode("ascii")
    return raw_name + pair[1] + raw_value


class Lines:
    """`Texts` of lines of JSON (NDJSON): each is read by itself."""

    def __init__(self, raw: bytes, carrier: Carrier) -> None:
        """Raises `Blocked`, and `BadRequest` for more lines, or values in them, than are taken apart."""
        if count_up_to(MOST_LINES, raw, b"\n") >= MOST_LINES:
            raise BadRequest(f"There are more than {MOST_LINES} lines.", code="too_many_parts")
        self._lines = raw.split(b"\n")
        self._texts: dict[int, Texts] = {}
        self._numbers: list[tuple[int, int]] = []
        self.passages: list[Passage] = []
        self.uninspected: list[Finding] = []
        allowance = Allowance()
        for n, line in enumerate(self._lines):
            if not line.strip():
                continue
            texts = read_text(line, carrier, allowance)
            passages = texts.passages
            self.uninspected += texts.uninspected
            if not passages:
                continue
            self._texts[n] = texts
            self._numbers += [(n, k) for k in range(len(passages))]
            self.passages += passages
            if len(self.passages) > MAX_TEXTS:
                raise Blocked(f"There are more than {MAX_TEXTS} texts in it, more than are inspected.")

    def place(self, number: int) -> str:
        line, within = self._numbers[number]
        return f"line {line + 1}: {self._texts[line].place(within)}"

    def replace(self, texts: Mapping[int, str]) -> bytes:
        wanted: dict[int, dict[int, str]] = {}
        for number, text in texts.items():
            line, within = self._numbers[number]
            wanted.setdefault(line, {})[within] = text
        lines = list(self._lines)
        for line, changed in wanted.items():
            lines[line] = self._texts[line].replace(changed)
        return b"\n".join(lines)


def open_layout(row: ConnectionRow, head: RequestHead, sent: list[tuple[str, str]] | None = None) -> Layout:
    """The layout of one request to a connection that is inspected in one direction or both. `sent`: the headers that go
    upstream; some of them may be left out."""
    sent = [] if sent is None else sent
    names = frozenset(name.encode("latin-1") for name in (*row.request_headers, *(name for name, _ in sent)))
    request = partial(read_request, head, names - COOKIES, row, sent) if row.inspect_request else read_nothing
    return Layout(request, read_reply, open_stream, row.inspect_response)


def read_request(
    head: RequestHead,
    seen: Collection[bytes],
    row: ConnectionRow,
    sent: list[tuple[str, str]],
    raw: bytes,
    document: Any,
) -> Texts:
    """`seen`: names of the headers that are looked at. Raises `Blocked` for what nobody can look into."""
    if head.header(b"content-encoding") not in (None, b"identity"):
        raise Blocked("The body is encoded, so it cannot be inspected.")
    url = list(read_url(head.params.get("path", ""), head.query))
    if not head.method.isalpha():
        url.append(Passage(head.method, "other", "method"))
    named = frozenset(name.lower() for name in row.request_headers)
    headers = read_headers(((name.decode("latin-1"), value) for name, value in head.headers if name in seen), named)
    return Headed(url, list(headers), _read_body(head, raw, document), "the URL", partial(leave_out, sent, named))


def _read_body(head: RequestHead, raw: bytes, document: Any) -> Texts | None:
    """The texts of a body by its declared type, and then by its form: an upstream may ignore the declared type."""
    if not raw:
        return None
    declared = (head.header(b"content-type") or b"").lower()
    if b"\0" in raw or not has_readable_charset(declared):
        raise Blocked("The content is in an encoding that cannot be inspected.")
    if document is not None:
        return Document(raw, document, NAMES, "user")
    if declared.partition(b";")[0].strip() == FORM:
        return Form(raw)
    first, _, rest = raw.partition(b"\n")
    if rest and not rest.isspace() and _parse_container(first, Allowance()) is not None:
        return Lines(raw, "user")
    return read_text(raw, "user")


def has_readable_charset(content_type: bytes) -> bool:
    """True if the character set of a content type (in lower case) is inspected, or none is named."""
    charset = _CHARSET.search(content_type)
    return charset is None or charset[1] in _READABLE


def read_text(raw: bytes, carrier: Carrier, allowance: Allowance | None = None) -> Texts:
    """The texts of content that may be JSON; any other content is one text. Raises `Blocked`, and `BadRequest` for more
    values than are parsed."""
    allowance = allowance or Allowance()
    value = _parse_container(raw, allowance)
    if value is not None:
        return Document(raw, value, NAMES, carrier, allowance=allowance)
    if is_object_to_others(raw):
        raise Blocked("The content is read in several ways, so it cannot be inspected.")
    try:
        return Document.of_text(raw.decode(), NAMES, carrier)
    except UnicodeDecodeError as error:
        raise Blocked("The content is no text, so it cannot be inspected.") from error


def _parse_container(raw: bytes, allowance: Allowance) -> Any:
    """The JSON object or array in `raw`; None for anything else. Raises `BadRequest`."""
    if raw.removeprefix(BOM_UTF8).lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        return parse(raw, allowance)
    except TooManyValues as error:
        raise BadRequest(str(error), code="too_many_parts") from error
    except JsonError:
        return None


def read_url(path: str, query: bytes) -> Iterator[Passage]:
    """Raises `Blocked`."""
    if text := _decode(path.replace("+", "%2B").encode("latin-1")):
        yield Passage(text, "other", "path")
    yield from Form(query, "other").passages


def read_reply(raw: bytes, document: Any, carrier: Carrier = "tool") -> Texts:
    """Raises `Blocked`."""
    if document is not None:
        return Document(raw, document, NAMES, carrier)
    try:
        return Document.of_text(raw.decode(), NAMES, carrier)
    except UnicodeDecodeError as error:
        raise Blocked("The content is no text, so it cannot be inspected.") from error


def read_nothing(raw: bytes, document: Any) -> Texts:
    return Headed((), (), None, "the URL")


def open_stream(watches: Sequence[Any]) -> StreamRewriter:
    return StreamRewriter(SHAPE, "events", watches)


def _no_deltas(event: dict[str, Any]) -> Iterator[Delta]:
    yield from ()


def _no_ends(event: dict[str, Any]) -> Iterable[Key]:
    return ()


SHAPE = Shape(_no_deltas, _no_ends, lambda event: None, NAMES)
"""Events of an API that is not known here: each event is inspected by itself."""


def _decode(part: bytes) -> str:
    try:
        return unquote_plus(part.decode("ascii"), errors="strict")
    except UnicodeDecodeError as error:
        raise Blocked("The content is no text, so it cannot be inspected.") from error
