"""Streams of Gemini's API: the texts of a candidate go on from one to the next, thoughts beside them, and so do the
strings of a function's arguments that come in pieces. Pure.

Arguments that come whole are read as any other text of an event.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mastio.reading.stream import Delta, Key, Shape
from mastio_llm.dialects.operation import member, parts_of
from mastio_llm.texts.names import NAMES

CALLS = ("functionCall", "function_call")
PIECES = ("partialArgs", "partial_args")
STRINGS = ("stringValue", "string_value")


def _deltas(event: dict[str, Any]) -> Iterator[Delta]:
    for n, candidate in enumerate(parts_of(event.get("candidates"))):
        index = candidate.get("index", n)
        for part in parts_of(member(candidate, "content").get("parts")):
            if isinstance(part.get("text"), str):
                yield Delta((index, bool(part.get("thought"))), part, "text")
            for piece in _pieces(part):
                for name in STRINGS:
                    if isinstance(piece.get(name), str):
                        yield Delta((index, "args", _path_of(piece)), piece, name)


def _pieces(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for call in CALLS:
        for pieces in PIECES:
            yield from parts_of(member(part, call).get(pieces))


def _path_of(piece: dict[str, Any]) -> str:
    return str(piece.get("jsonPath", piece.get("json_path")))


def _ends(event: dict[str, Any]) -> Iterator[Key]:
    for n, candidate in enumerate(parts_of(event.get("candidates"))):
        index = candidate.get("index", n)
        if candidate.get("finishReason"):
            yield (index,)
        for part in parts_of(member(candidate, "content").get("parts")):
            for piece in _pieces(part):
                if not (piece.get("willContinue") or piece.get("will_continue")):
                    yield (index, "args", _path_of(piece))


def _strip(event: dict[str, Any]) -> None:
    event.pop("usageMetadata", None)
    for candidate in parts_of(event.get("candidates")):
        for name in ("finishReason", "safetyRatings", "citationMetadata", "groundingMetadata"):
            candidate.pop(name, None)
        content = member(candidate, "content")
        content["parts"] = [part for part in parts_of(content.get("parts")) if part.get("text") or any(_pieces(part))]


CONTENTS = Shape(_deltas, _ends, _strip, NAMES)
