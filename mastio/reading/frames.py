"""The events of a stream as bytes: server-sent events, and the elements of a JSON array that grows. Pure.

Only the fields of a server-sent event that a client reads go on (WHATWG HTML §9.2.6): `data`, `event`, `id` and
`retry`. A comment becomes an empty comment, which still keeps a connection open. A field with any other name is left
out.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mastio.exchange.errors import DispatchError

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
_LINE = re.compile(rb"[^\r\n]+")
_GAP = re.compile(r"[\s,\[\]]*")
_DECODER = json.JSONDecoder()

MOST_LINES = 20_000
"""The most lines of one event."""

_PLAIN = {
    b"event": re.compile(rb"[a-z]{1,24}(?:[._/-][a-z]{1,24}){0,6}"),
    b"id": re.compile(rb"[0-9]{1,6}"),
    b"retry": re.compile(rb"[0-9]{1,6}"),
}
"""Values of fields that are not inspected as texts: words of an API, and counts."""

_EMPTY = (b":", b"event:", b"id:")
"""Lines without a value: a comment as it goes on, and fields that reset an earlier value."""


class Frame(NamedTuple):
    """One event. `raw`: its bytes as they go on. `head` and `tail`: the bytes before and after its data. `joint`: the
    bytes between the lines of its data. `data` is empty if it has none. `fields`: its other fields whose value is a
    text."""

    raw: bytes
    head: bytes = b""
    data: bytes = b""
    tail: bytes = b""
    joint: bytes = b"\n"
    fields: tuple[tuple[str, str], ...] = ()

    def with_data(self, data: bytes) -> bytes:
        return self.head + data.replace(b"\n", self.joint) + self.tail

    def with_event(self, old: str, new: str) -> Frame:
        """The frame with the event name `new` in place of `old`; unchanged if it has another name."""
        was, name = f"event: {old}\n".encode(), f"event: {new}\n".encode()
        return self._replace(head=self.head.replace(was.rstrip(), name.rstrip(), 1))

    def with_fields(self, changed: Mapping[str, str]) -> Frame:
        """The frame with other values of these fields."""
        lines = {
            f"{name}: {value}".encode(): f"{name}: {' '.join(changed[name].split())}".encode()
            for name, value in self.fields
            if name in changed
        }

        def change(said: bytes) -> bytes:
            return _LINE.sub(lambda line: lines.get(line.group().removeprefix(BOM_UTF8), line.group()), said)

        return self._replace(head=change(self.head), raw=change(self.raw))


def split_events(window: bytes) -> Iterator[Frame]:
    """The events of a window that ends with a whole event. Several lines of data become one value. Raises
    `DispatchError` for a field that is not UTF-8, and for more than `MOST_LINES` lines."""
    start = 0
    for match in _END.finditer(window):
        yield _frame(window[start : match.start()], match.group())
        start = match.end()
    if start < len(window):
        yield _frame(window[start:], b"")


def _frame(event: bytes, tail: bytes) -> Frame:
    lines = _LINE.findall(event)
    if len(lines) > MOST_LINES:
        raise DispatchError(f"The provider sent an event of more than {MOST_LINES} lines.")
    data: list[bytes] = []
    others: dict[bytes, bytes] = {}
    is_kept = True
    for n, line in enumerate(lines):
        if n == 0:
            line = line.removeprefix(BOM_UTF8)  # a client takes it off the first line
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
            continue
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
            continue
        kept = line if name in _PLAIN and _PLAIN[name].fullmatch(value) else _keep(name, value)
        is_kept = is_kept and kept == line and name not in others
        if kept is not None:
            others[name] = kept  # of several, the last one counts
    fields = tuple(
        (name.decode(), _decode(said))
        for name, line in others.items()
        if line not in _EMPTY and not _PLAIN[name].fullmatch(said := line.partition(b":")[2].removeprefix(b" "))
    )
    newline = tail[: len(tail) // 2] or b"\n"
    if not any(data):
        return Frame(event + tail if is_kept else newline.join(others.values()) + tail, fields=fields)
    head = b"".join((*(line + newline for line in others.values()), b"data: "))
    frame = Frame(event + tail, head, b"\n".join(data), tail, newline + b"data: ", fields)
    return frame if is_kept else frame._replace(raw=frame.with_data(frame.data))


def _keep(name: bytes, value: bytes) -> bytes | None:
    """The line of a field whose value is not plain; None if the field is left out."""
    if not name:
        return b":"
    if name in (b"event", b"id"):
        return name + b": " + value if value else name + b":"
    return None


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise DispatchError("The provider sent an event that cannot be inspected.") from error


def is_object_to_others(data: bytes) -> bool:
    """True if a client that is less strict would read an event of the API: with a name twice, or with NaN."""
    if data.removeprefix(BOM_UTF8).lstrip()[:1] != b"{" and b"\0" not in data[:4]:
        return False  # an object in any encoding has one or the other (RFC 4627 §3); no need to read the rest
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False


def split_array(window: bytes) -> Iterator[Frame]:
    """The elements of a part of an array, each with the bytes before it. The part has whole elements only. Raises
    `DispatchError` for an element that is not valid JSON."""
    try:
        text = window.decode()
    except UnicodeDecodeError as error:
        raise DispatchError("The provider sent an element that cannot be inspected.") from error
    at = 0
    while at < len(text):
        gap = _GAP.match(text, at)
        start = gap.end() if gap is not None else at
        if start >= len(text):
            yield Frame(text[at:].encode())
            return
        try:
            _, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            raise DispatchError("The provider sent an element that is not valid JSON.") from error
        yield Frame(text[at:end].encode(), text[at:start].encode(), text[start:end].encode())
        at = end
