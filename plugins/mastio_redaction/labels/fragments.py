"""JSON and literals of programs within a text: reads the values that a label names from elsewhere in its document.

Pure, and linear in the text: each fragment is taken apart once, and only where a label has no value behind it. A value
is called as in a message that is JSON itself (`mastio.reading.naming`): by a member beside it, by the member that its
object is in, by the columns of its row, by the item before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mastio.reading.naming import (
    IDS,
    ROWS,
    Heads,
    find_heads,
    find_names,
    is_holder,
    is_pair,
    is_row,
    name_inside,
    read_heads,
)
from mastio_redaction.labels.cells import MIN_VALUE, Line, Piece

MAX_DEPTH = 24
"""Lists and objects within each other that are taken apart."""

_BEGIN = re.compile(r"[\[{]\s{0,80}[\[{\"'}\]A-Za-z_]")
_TOKEN = re.compile(
    r"\s{0,200}(?:(?P<open>[\[{])|(?P<close>[\]}])|(?P<sign>=>|[:=,;])"
    r"|[bfruN@]{0,2}(?:\"(?P<double>(?:[^\"\\\n]|\\.){0,4000})\"|'(?P<single>(?:[^'\\\n]|\\.){0,4000})')"
    r"|(?P<bare>[^\s\[\]{}\"',:;=]{1,200})|(?P<other>['\"]))"
)


class Fragments:
    """The fragments of a text. Each is read for the first label in it, with all values in it that have a name."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._until = -1
        self._first = -1

    def read(self, place: int) -> list[Line]:
        """The named values of the fragment in which a label ends at `place`; none where it was read already."""
        while self._until < place:
            begin = _BEGIN.search(self._text, max(self._at, self._until))
            if begin is None:
                self._first, self._until = -1, len(self._text)
                break
            self._first = begin.start()
            if self._first > place:
                self._at = self._first
                return []
            reader = _Reader(self._text, self._first)
            self._at = self._until = reader.at
            if self._until >= place:
                return list(_walk(reader.value, "", False, reader.places))
        return []


class _Reader:
    """One fragment: its value, with strings and words as strings, and their places by identity."""

    def __init__(self, text: str, start: int) -> None:
        self.places: dict[int, Piece] = {}
        self.value: Any = {} if text[start] == "{" else []
        self.at = self._parse(text, start + 1)

    def _parse(self, text: str, at: int) -> int:
        stack: list[Any] = [self.value]
        names: list[str | None] = [None]
        last: str | None = None
        while stack and (match := _TOKEN.match(text, at)) is not None:
            at = match.end()
            kind = match.lastgroup
            if kind == "open":
                inner: Any = {} if match["open"] == "{" else []
                if len(stack) == MAX_DEPTH:
                    return at
                _put(stack[-1], names[-1], inner)
                stack.append(inner)
                names.append(None)
                last = None
            elif kind == "close":
                stack.pop()
                names.pop()
                last = None
            elif kind == "sign":
                names[-1] = last if match["sign"] not in (",", ";") and type(stack[-1]) is dict else None
                last = None
            elif kind != "other" and kind is not None and last is None:
                last = match[kind]
                self.places[id(last)] = match.span(kind)
                _put(stack[-1], names[-1], last)
        return at


def _put(holder: Any, name: str | None, item: Any) -> None:
    if type(holder) is list:
        holder.append(item)
    elif name is not None:
        holder.setdefault(name, item)


def _walk(value: Any, called: str, is_direct: bool, places: dict[int, Piece]) -> Iterator[Line]:
    """The values with a name that does not stand right before them."""
    if type(value) is str:
        if called and not is_direct and len(value) >= MIN_VALUE:
            yield called, places[id(value)]
    elif type(value) is dict:
        heads = find_heads(value)
        given: tuple[str, ...] | None = None
        for name, item in value.items():
            own = ""
            if is_holder(name) and name not in IDS:
                given = find_names(value) if given is None else given
                own = name_inside(given, name, called, item)
            if heads and name in ROWS and type(item) is list:
                yield from _walk_rows([item] if is_row(item, heads) else item, heads, places)
            else:
                yield from _walk(item, own or name, not own, places)
    else:
        yield from _walk_list(value, called, places)


def _walk_list(value: list[Any], called: str, places: dict[int, Piece]) -> Iterator[Line]:
    heads = read_heads(value[0]) if len(value) > 1 else ()
    if heads:
        yield from _walk_rows(value[1:], heads, places)
    elif not called and is_pair(value):
        for name, item in zip(value[::2], value[1::2], strict=True):
            yield from _walk(item, name, False, places)
    else:
        for item in value:
            yield from _walk(item, "" if type(item) is list else called, False, places)


def _walk_rows(rows: list[Any], heads: Heads, places: dict[int, Piece]) -> Iterator[Line]:
    for row in rows:
        for item, head in zip(row, heads, strict=False) if type(row) is list else ((row, ""),):
            yield from _walk(item, head, False, places)
