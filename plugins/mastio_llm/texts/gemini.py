"""Streams of Gemini's API: the texts of a candidate go on from one to the next, thoughts beside them.

Arguments of functions come whole, and are read as any other text of an event.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mastio.reading.stream import Delta, Key, Shape
from mastio_llm.dialects.operation import member, parts_of
from mastio_llm.texts.names import NAMES


def _deltas(event: dict[str, Any]) -> Iterator[Delta]:
    for n, candidate in enumerate(parts_of(event.get("candidates"))):
        for part in parts_of(member(candidate, "content").get("parts")):
            if isinstance(part.get("text"), str):
                yield Delta((candidate.get("index", n), bool(part.get("thought"))), part, "text")


def _ends(event: dict[str, Any]) -> Iterator[Key]:
    for n, candidate in enumerate(parts_of(event.get("candidates"))):
        if candidate.get("finishReason"):
            yield (candidate.get("index", n),)


def _strip(event: dict[str, Any]) -> None:
    event.pop("usageMetadata", None)
    for candidate in parts_of(event.get("candidates")):
        for name in ("finishReason", "safetyRatings", "citationMetadata", "groundingMetadata"):
            candidate.pop(name, None)
        content = member(candidate, "content")
        content["parts"] = [part for part in parts_of(content.get("parts")) if part.get("text")]


CONTENTS = Shape(_deltas, _ends, _strip, NAMES)
