"""JSON as a security boundary wants it: what is inspected is what everybody else will read.

Pure. RFC 8259, and beyond it: UTF-8 only, no byte order mark, no NaN, no lone surrogates (orjson refuses all of
these), no duplicate member names, bounded depth. Duplicates matter because parsers disagree about which one counts:
a request that we inspect and an upstream reads must not have two meanings.

Cost: a body is weighed before it is parsed (`Allowance`), so that a text of many small values cannot cost what no text
of its size should. All other work is linear and done in pieces of `_PIECE` bytes: no single call of C code, which
nothing can interrupt, takes longer than a few milliseconds, but for the parser itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import orjson

MAX_DEPTH = 128

MAX_WEIGHT = 1_000_000
"""The highest weight of a request's body: about 30 ms of parsing. A value weighs 1, a list or object 4, a member 12.
The size of strings does not count."""

_PIECE = 64 * 1024
_LOOKED_AT = 10_000
_OPENING, _CLOSING = (b"{", b"["), (b"}", b"]")

_CONTAINERS = frozenset((dict, list))
_TOKEN = re.compile(rb'"[^"]*"|[{}\[\]]')
_TOKEN_OR_COMMA = re.compile(rb'"[^"]*"|[{}\[\],]')
_COLON = re.compile(rb"\s*:\s*")


class JsonError(ValueError):
    """Not acceptable JSON. The text says why, without quoting the input."""


class TooManyValues(JsonError):
    """The text has too many values. It was not parsed, so it may be valid JSON or not."""


class Allowance:
    """The weight that several texts may have together. Nothing is parsed here."""

    __slots__ = ("left",)

    def __init__(self, most: int = MAX_WEIGHT) -> None:
        self.left = most

    def take(self, raw: bytes) -> None:
        """Raises `TooManyValues`, and `JsonError` for a text whose beginning is nested too deeply to be JSON here."""
        weight = _weigh((raw,), self.left)
        if weight > self.left:  # perhaps most of it is in strings
            weight = _weigh(_outside(raw), self.left)
        if weight > self.left:
            if _begins_deep(raw):
                raise JsonError(f"The body is nested deeper than {MAX_DEPTH} levels.")
            raise TooManyValues("The body has more values than are taken apart.")
        self.left -= weight


def _begins_deep(raw: bytes) -> bool:
    """True if the first `_LOOKED_AT` brackets and strings nest deeper than `MAX_DEPTH`."""
    depth = 0
    for found in islice(_TOKEN.finditer(mask_escapes(raw[:_PIECE])), _LOOKED_AT):
        token = found[0]
        depth += (token in _OPENING) - (token in _CLOSING)
        if depth > MAX_DEPTH:
            return True
    return False


def _weigh(parts: Iterable[bytes], most: int) -> int:
    """An upper bound of the weight of some parts of a text: signs in strings are counted too. Above `most`, the weight
    of what was looked at so far."""
    weight = 0
    for raw in parts:
        for start in range(0, len(raw), _PIECE):
            end = start + _PIECE
            opened = raw.count(b"{", start, end) + raw.count(b"[", start, end)
            weight += raw.count(b",", start, end) + 4 * opened + 12 * raw.count(b":", start, end)
            if weight > most:
                return weight
    return weight


def count_up_to(most: int, raw: bytes, *signs: bytes) -> int:
    """The number of occurrences in `raw` of `signs`, single bytes. Counting stops soon after it exceeds `most`."""
    found = 0
    for start in range(0, len(raw), _PIECE):
        found += sum(raw.count(sign, start, start + _PIECE) for sign in signs)
        if found > most:
            break
    return found


def parse(raw: bytes, allowance: Allowance | None = None) -> Any:
    """The value of `raw`. Raises `JsonError` for anything that is not one strict JSON value, and `TooManyValues` before
    it is parsed for one that weighs more than `allowance` has left."""
    if allowance is not None:
        allowance.take(raw)
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise JsonError("The body is not valid JSON.") from error
    # Every member name in the text is followed by one colon outside of strings; a parser that drops a duplicate
    # ends up with fewer members than there were colons.
    if type(value) in _CONTAINERS and _count_members(value) != _count_colons(raw):
        raise JsonError("The body has a duplicate member name.")
    return value


def parse_object(raw: bytes, allowance: Allowance | None = None) -> dict[str, Any]:
    """As `parse`, for a body that must be an object."""
    value = parse(raw, allowance)
    if not isinstance(value, dict):
        raise JsonError("The body must be a JSON object.")
    return value


def mask_escapes(raw: bytes) -> bytes:
    """`raw` with other bytes in the place of escaped quotes and backslashes, each where it was: so every quote that is
    left begins or ends a string. Not JSON any more."""
    return b"".join(_mask(raw)) if b"\\" in raw else raw


def _mask(raw: bytes) -> Iterator[bytes]:
    """In pieces that begin and end between escapes. A run of backslashes is read from its beginning, so a piece that
    would end within one ends behind an even number of its backslashes."""
    start, size = 0, len(raw)
    while start < size:
        piece = raw[start : start + _PIECE]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2 and start + len(piece) < size:
            piece = piece[:-1]
        start += len(piece)
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        yield piece


def _outside(raw: bytes) -> Iterator[bytes]:
    """The parts of `raw` that are outside of strings, in pieces."""
    inside = False
    for piece in _mask(raw):
        parts = piece.split(b'"')
        yield b"".join(parts[inside::2])
        inside ^= len(parts) % 2 == 0


def _count_colons(raw: bytes) -> int:
    """Those outside of strings."""
    return sum(piece.count(b":") for piece in _outside(raw))


def _count_members(value: Any) -> int:
    """Members of all objects in `value`. Raises `JsonError` beyond `MAX_DEPTH`."""
    count = 0
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                count += len(item)
                below += [v for v in item.values() if type(v) in _CONTAINERS]
            else:
                below += [v for v in item if type(v) in _CONTAINERS]
        if not below:
            return count
        level = below
    raise JsonError(f"The body is nested deeper than {MAX_DEPTH} levels.")


def set_member(raw: bytes, name: str, value: Any, *, is_new: bool) -> bytes:
    """`raw`, an object with members that `parse_object` accepted, with one member at its top level set to `value`.

    Every other byte stays as it was. `is_new`: there is no such member yet. Raises `KeyError` where it is missing.
    """
    if is_new:
        start = raw.index(b"{") + 1
        return b"".join((raw[:start], orjson.dumps({name: value})[1:-1], b",", raw[start:]))
    masked = mask_escapes(raw)
    depth, begin = 0, -1
    for token in _TOKEN_OR_COMMA.finditer(masked):
        sign = token[0]
        if begin >= 0 and depth == 1 and sign in b",}":
            return b"".join((raw[:begin], orjson.dumps(value), raw[token.start() :]))
        depth += (sign in _OPENING) - (sign in _CLOSING)
        is_name = begin < 0 and depth == 1 and sign[:1] == b'"' and _COLON.match(masked, token.end())
        if is_name and orjson.loads(raw[token.start() : token.end()]) == name:
            begin = is_name.end()
    raise KeyError(name)


def replace_member(raw: bytes, name: str, value: Any) -> bytes:
    """`raw`, an object that `parse_object` accepted, with the value of one string member replaced.

    Every other byte stays as it was. Raises `KeyError` when the object has no such string member at its top level.
    """
    masked = mask_escapes(raw)
    depth = 0
    for token in _TOKEN.finditer(masked):
        start, end = token.span()
        sign = raw[start]
        if sign in b"{[":
            depth += 1
        elif sign in b"}]":
            depth -= 1
        elif depth == 1 and (colon := _COLON.match(masked, end)) and orjson.loads(raw[start:end]) == name:
            old = _TOKEN.match(masked, colon.end())
            if old is None or not old.group().startswith(b'"'):
                break
            return raw[: old.start()] + orjson.dumps(value) + raw[old.end() :]
    raise KeyError(name)
