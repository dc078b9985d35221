"""Streams of each dialect, as a caller sees them: whether one is whole, how many are open at once. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lib.generators import STRESS

DIALECTS: dict[str, Any] = json.loads((STRESS / "lib" / "dialects.json").read_text())["dialects"]


def count_pieces(body: bytes, dialect: str) -> tuple[int, bool]:
    """Pieces of text in a stream of server-sent events, and whether the dialect's own end is its last event."""
    stream = DIALECTS[dialect]["stream"]
    *events, rest = body.decode("utf-8", "replace").replace("\r\n", "\n").split("\n\n")
    pieces = sum(has_text(event, stream["delta"]) for event in events)
    return pieces, bool(events) and rest == "" and stream["end"] in events[-1]


def has_text(event: str, steps: Sequence[Any]) -> bool:
    lines = [line for line in event.split("\n") if line.startswith("data: {")]
    value = json.loads(lines[0].removeprefix("data: ")) if lines else None
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False
    return isinstance(value, str) and value != ""


def is_whole(body: bytes, dialect: str, pieces: int) -> bool:
    return count_pieces(body, dialect) == (pieces, True)


@dataclass(frozen=True, slots=True)
class Span:
    """How long one stream was open: from its first event to its end, in seconds of one clock."""

    begun: float
    ended: float


def most_at_once(spans: Sequence[Span]) -> int:
    """How many were open at the same moment, at most. One that ends as another begins is not open with it."""
    moments = sorted([(span.begun, 1) for span in spans] + [(span.ended, -1) for span in spans])
    now = most = 0
    for _, change in moments:
        now += change
        most = max(most, now)
    return most
