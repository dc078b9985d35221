"""Streams of Anthropic's API: a block is a channel for each kind of text in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mastio.reading.stream import ALL, Delta, Key, Shape
from mastio_llm.dialects.operation import member
from mastio_llm.texts.names import NAMES

_CHOSEN = frozenset({"type", "signature"})


def _deltas(event: dict[str, Any]) -> Iterator[Delta]:
    if event.get("type") == "content_block_delta":
        holder = member(event, "delta")
        for name, value in list(holder.items()):
            if isinstance(value, str) and name not in _CHOSEN:
                yield Delta((event.get("index"), name), holder, name, is_json=name == "partial_json")


def _ends(event: dict[str, Any]) -> Iterator[Key]:
    match event.get("type"):
        case "content_block_stop":
            yield (event.get("index"),)
        case "message_delta" | "message_stop" | "error":
            yield ALL


def _strip(event: dict[str, Any]) -> None:
    """There is nothing in it but its delta."""


MESSAGES = Shape(_deltas, _ends, _strip, NAMES)
