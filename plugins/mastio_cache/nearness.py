"""The similarity of a question to answered ones: texts taken out of bodies, and vectors compared. Pure.

Only what is generated is looked for by nearness. What a text's embedding, moderation or count is, is true of that text
alone.
"""

from __future__ import annotations

import json
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from math import isfinite, sqrt
from operator import mul
from typing import Any, NamedTuple

import orjson

KINDS = frozenset({"llm.chat", "llm.responses"})
MAX_DIMENSIONS = 8192
CLOSER_LOOKS = 16
"""Neighbours whose cosine is computed: those whose signs agree in most places. To leave one out may cost a hit."""

ENTRY = 256
"""Bytes that a neighbour takes beside its numbers."""


class Vector(NamedTuple):
    """A direction: numbers of length 1, and their signs as bits."""

    numbers: array[float]
    signs: int

    @property
    def size(self) -> int:
        return ENTRY + 4 * len(self.numbers)


def make_vector(numbers: object) -> Vector | None:
    """None for what is no direction: not a list of finite numbers, too long, or all zero."""
    if not isinstance(numbers, list) or not 0 < len(numbers) <= MAX_DIMENSIONS:
        return None
    if not all(type(number) in (int, float) and isfinite(number) and abs(number) < 1e12 for number in numbers):
        return None
    length = sqrt(sum(map(mul, numbers, numbers)))
    if length < 1e-12:
        return None
    signs = int("".join("1" if number > 0 else "0" for number in numbers), 2)
    return Vector(array("f", [number / length for number in numbers]), signs)


def cosine(one: Vector, other: Vector) -> float:
    """From -1 to 1. Of two lengths that differ: -1, since those are of different models."""
    if len(one.numbers) != len(other.numbers):
        return -1.0
    product: float = sum(map(mul, one.numbers, other.numbers))
    return min(1.0, product)


def split_text(body: bytes) -> tuple[str, bytes] | None:
    """The text that the user said last, and the body without it. None where the last thing said is no such text.

    Everything else stays, to the byte: the texts before it, images beside it, every other member. So the text has to
    be found again among the bytes; where it is written in a rare way, or the body has it twice, nothing is compared.
    """
    try:
        text = find_text(orjson.loads(body))
    except orjson.JSONDecodeError:
        return None
    if text is None:
        return None
    for written in (orjson.dumps(text), json.dumps(text).encode()):
        if body.count(written) == 1:
            return text, body.replace(written, b"null")
    return None


def find_text(document: Any) -> str | None:
    """The one text of the last message, where that is the user's; in each of the APIs."""
    if not isinstance(document, dict):
        return None
    if isinstance(text := document.get("input"), str):
        return text
    said = [document[name] for name in ("messages", "input", "contents") if isinstance(document.get(name), list)]
    if len(said) != 1 or not said[0] or not isinstance(last := said[0][-1], dict):
        return None
    if last.get("role", "user" if "parts" in last else None) != "user":
        return None
    content = last.get("content", last.get("parts"))
    if isinstance(content, str):
        return content
    parts = [part for part in content if isinstance(part, dict) and "text" in part] if isinstance(content, list) else []
    return parts[0]["text"] if len(parts) == 1 and isinstance(parts[0]["text"], str) else None


class Neighbours:
    """Answered questions by tenant. Bounded for each tenant, and in bytes for all of them; the oldest go first."""

    def __init__(self, max_entries: int, max_bytes: int) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._tenants: OrderedDict[bytes, OrderedDict[tuple[bytes, bytes], Vector]] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return sum(map(len, self._tenants.values()))

    def nearest(self, tenant: bytes, scope: bytes, vector: Vector, floor: float) -> Sequence[tuple[float, bytes]]:
        """Similarities and keys of those in `scope` that are at least `floor`, the nearest first."""
        entries = self._tenants.get(tenant) or OrderedDict()
        same = [(key, other) for (place, key), other in entries.items() if place == scope]
        same.sort(key=lambda entry: (vector.signs ^ entry[1].signs).bit_count())
        near = [(cosine(vector, other), key) for key, other in same[:CLOSER_LOOKS]]
        return sorted((found for found in near if found[0] >= floor), reverse=True)

    def add(self, tenant: bytes, scope: bytes, key: bytes, vector: Vector) -> None:
        self.remove(tenant, scope, key)
        entries = self._tenants.setdefault(tenant, OrderedDict())
        self._tenants.move_to_end(tenant)
        entries[(scope, key)] = vector
        self.bytes += vector.size
        while len(entries) > self._max_entries:
            self._pop_oldest(tenant)
        while self.bytes > self._max_bytes:
            self._pop_oldest(next(iter(self._tenants)))

    def remove(self, tenant: bytes, scope: bytes, key: bytes) -> None:
        entries = self._tenants.get(tenant)
        if entries is not None and (vector := entries.pop((scope, key), None)) is not None:
            self.bytes -= vector.size
            if not entries:
                del self._tenants[tenant]

    def _pop_oldest(self, tenant: bytes) -> None:
        scope, key = next(iter(self._tenants[tenant]))
        self.remove(tenant, scope, key)
