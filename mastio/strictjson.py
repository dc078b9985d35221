"""JSON as a security boundary wants it: what is inspected is what everybody else will read.

Pure. RFC 8259, and beyond it: UTF-8 only, no byte order mark, no NaN, no lone surrogates (orjson refuses all of
these), no duplicate member names, bounded depth. Duplicates matter because parsers disagree about which one counts:
a request that we inspect and an upstream reads must not have two meanings.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

MAX_DEPTH = 128

_CONTAINERS = frozenset((dict, list))
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)
_COLON = re.compile(rb"\s*:\s*")


class JsonError(ValueError):
    """Not acceptable JSON. The text says why, without quoting the input."""


def parse(raw: bytes) -> Any:
    """The value of `raw`. Raises `JsonError` for anything that is not one strict JSON value."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise JsonError("The body is not valid JSON.") from error
    # Every member name in the text is followed by one colon outside of strings; a parser that drops a duplicate
    # ends up with fewer members than there were colons.
    if type(value) in _CONTAINERS and _count_members(value) != _count_colons(raw):
        raise JsonError("The body has a duplicate member name.")
    return value


def parse_object(raw: bytes) -> dict[str, Any]:
    """As `parse`, for a body that must be an object."""
    value = parse(raw)
    if not isinstance(value, dict):
        raise JsonError("The body must be a JSON object.")
    return value


def _count_colons(raw: bytes) -> int:
    """Those outside of strings."""
    if b"\\" in raw:
        return _STRING.sub(b"", raw).count(b":")
    return b"".join(raw.split(b'"')[::2]).count(b":")  # without escapes, every other piece is outside


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


def replace_member(raw: bytes, name: str, value: Any) -> bytes:
    """`raw`, an object that `parse_object` accepted, with the value of one string member replaced.

    Every other byte stays as it was. Raises `KeyError` when the object has no such string member at its top level.
    """
    depth = 0
    tokens = _TOKEN.finditer(raw)
    for token in tokens:
        text = token.group()
        if text in (b"{", b"["):
            depth += 1
        elif text in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and (colon := _COLON.match(raw, token.end())) and orjson.loads(text) == name:
            old = _STRING.match(raw, colon.end())
            if old is None:
                break
            return raw[: old.start()] + orjson.dumps(value) + raw[old.end() :]
    raise KeyError(name)
