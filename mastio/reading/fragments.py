"""The text of one channel of a stream: plain text, or JSON that comes in pieces (the arguments of a tool). Pure.

Wherever the text is cut, inspectors get its characters, never its escapes. Text that they change is escaped again. Text
that they do not change keeps its bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

import orjson

from mastio.exchange.errors import DispatchError
from mastio.exchange.inspection import Filter
from mastio.reading.numbers import write_plain

MAX_BARE = 4096
"""The most characters between two signs of JSON outside of strings. No number is longer."""

MAX_NAME = 240
"""The most characters of a member's name in the source: 40 characters, each written as an escape of six."""

_CONTENT = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_COMPLETE = re.compile(r"(?:[^\\]|\\[^u]|\\u[0-9a-fA-F]{4})*", re.DOTALL)
_HALF_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_BEGINS = frozenset('{["')
_SIGN = re.compile(r'[{}\[\],:"]')
_PLAIN = re.compile(r"-?\d{1,6}|true|false|null|-?\d{1,6}\.\d{1,6}")


class Channel(Protocol):
    """One text of a stream. Like `inspection.Filter`, but it takes and returns the text in its encoded form."""

    def feed(self, text: str) -> str: ...

    def close(self) -> str: ...


class PlainText:
    """A text without escapes. It passes through each filter in turn."""

    __slots__ = ("_filters",)

    def __init__(self, filters: Sequence[Filter]) -> None:
        self._filters = filters

    def feed(self, text: str) -> str:
        for one in self._filters:
            if not text:
                break
            text = one.feed(text)
        return text

    def close(self) -> str:
        text = ""
        for one in self._filters:
            text = (one.feed(text) if text else "") + one.close()
        return text


class JsonText:
    """A JSON text in pieces. Each of its strings is a text of its own, and so is each long number.

    A text that does not begin as an object, a list or a string is a plain text. Text that turns out not to be valid
    JSON is inspected too, as far as its strings can be told apart. Raises `DispatchError` if they cannot.
    `open_filters` takes the name of the member that holds the text, "" for none.
    """

    __slots__ = ("_bare", "_has_begun", "_holders", "_name", "_open", "_pending", "_plain", "_said", "_string")

    def __init__(self, open_filters: Callable[[str], Sequence[Filter]]) -> None:
        self._open = open_filters
        self._has_begun = False
        self._plain: PlainText | None = None
        self._name = ""
        self._said = ""  # the beginning of the last string, as it is written: a name, where a colon follows
        self._holders: list[str] = []
        self._string: PlainText | None = None
        self._pending = ""  # of a string: an escape that is not whole yet
        self._bare = ""  # outside of strings: what may be a long number

    def feed(self, text: str) -> str:
        if not self._has_begun:
            begin = text.lstrip()[:1]
            if not begin:
                return text
            self._has_begun = True
            if begin not in _BEGINS:
                self._plain = PlainText(self._open(""))
        if self._plain is not None:
            return self._plain.feed(text)
        pieces: list[str] = []
        at = 0
        while at < len(text):
            at = self._outside(text, at, pieces) if self._string is None else self._inside(text, at, pieces)
        return "".join(pieces)

    def close(self) -> str:
        """The rest of the text. If it broke off within a string, the rest is not whole JSON either."""
        if self._plain is not None:
            return self._plain.close()
        if self._string is None:
            return self._end_bare()
        rest = self._release(self._pending) + _escape(self._string.close())
        self._string, self._pending = None, ""
        return rest

    def _outside(self, text: str, at: int, pieces: list[str]) -> int:
        sign = _SIGN.search(text, at)
        end = len(text) if sign is None else sign.start()
        self._bare += text[at:end]
        if sign is None:
            if self._bare.isspace():
                pieces.append(self._bare)
                self._bare = ""
            if len(self._bare) > MAX_BARE:
                raise DispatchError("The provider sent arguments that are not JSON.")
            return end
        if sign.group() == ":" and not self._bare.isspace():
            self._said = self._bare.strip() or self._said  # a name without quotes
        pieces += (self._end_bare(), sign.group())
        if sign.group() == '"':
            self._string, self._pending, self._said = PlainText(self._open(self._name)), "", ""
        else:
            self._follow(sign.group())
        return sign.end()

    def _follow(self, sign: str) -> None:
        """Update the current name after a sign. A name applies to its value, and to the items of a list that is its
        value."""
        if sign == ":":
            self._name = _unescape(self._said) if len(self._said) <= MAX_NAME else ""
        elif sign in "{[":
            self._holders.append(sign)
        elif sign in "}]" and self._holders:
            self._holders.pop()
        if sign in "{}]" or (sign == "," and self._holders[-1:] != ["["]):
            self._name = ""

    def _end_bare(self) -> str:
        bare, self._bare = self._bare, ""
        said = bare.strip()
        if not said or _PLAIN.fullmatch(said):
            return bare
        text, digits = PlainText(self._open(self._name)), write_plain(said)
        seen = text.feed(digits) + text.close()
        return bare if seen == digits else bare.replace(said, orjson.dumps(seen).decode(), 1)

    def _inside(self, text: str, at: int, pieces: list[str]) -> int:
        """Read to the end of the string, or to the end of `text`. Return the position after it."""
        assert self._string is not None
        raw = self._pending + text[at:]
        content = _CONTENT.match(raw)
        end = content.end() if content is not None else 0
        if end < len(raw) and raw[end] == '"':
            said = raw[:end]
            pieces += (self._release(said), _escape(self._string.close()), '"')
            self._string = None
            taken = end + 1 - len(self._pending)
            self._pending = ""
            return at + taken
        complete = _COMPLETE.match(raw, 0, end)
        whole = complete.end() if complete is not None else 0
        if half := _HALF_PAIR.search(raw, 0, whole):
            whole = half.start()
        pieces.append(self._release(raw[:whole]))
        self._pending = raw[whole:]
        return len(text)

    def _release(self, raw: str) -> str:
        """The part of a piece that can be released now, escaped for JSON. A piece that is released whole is returned as
        it is."""
        assert self._string is not None
        if not raw:
            return ""
        if len(self._said) <= MAX_NAME:
            self._said += raw
        said = _unescape(raw)
        seen = self._string.feed(said)
        return raw if seen == said else _escape(seen)


def _unescape(raw: str) -> str:
    if "\\" not in raw:
        return raw
    try:
        said = orjson.loads(f'"{raw}"')
    except orjson.JSONDecodeError:
        return raw  # no JSON: looked at as it stands
    return said if isinstance(said, str) else raw


def _escape(text: str) -> str:
    return orjson.dumps(text).decode()[1:-1]
