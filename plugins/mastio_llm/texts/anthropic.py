"""Streams of Anthropic's API: a block is a channel for each kind of text in it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mastio.reading.stream import ALL, Delta, Key, Shape
from mastio_llm.dialects.operation import member
from mastio_llm.texts.names import NAMES

_CHOSEN = frozenset({"type", "signature"})

_BEGUN = ("text", "thinking", "content")
"""Members of a block that may have the beginning of a text that goes on."""

BEGINS, GOES_ON = "content_block_start", "content_block_delta"


def _deltas(event: dict[str, Any]) -> Iterator[Delta]:
    kind, index = event.get("type"), event.get("index")
    if kind == GOES_ON:
        holder = member(event, "delta")
        for name, value in list(holder.items()):
            if isinstance(value, str) and name not in _CHOSEN:
                yield Delta((index, name), holder, name, is_json=name == "partial_json")
    elif kind == BEGINS:
        holder = member(event, "content_block")
        for name in _BEGUN:
            if isinstance(holder.get(name), str):
                yield Delta((index, name), holder, name)


def _ends(event: dict[str, Any]) -> Iterator[Key]:
    match event.get("type"):
        case "content_block_stop":
            yield (event.get("index"),)
        case "message_delta" | "message_stop" | "error":
            yield ALL


def _strip(event: dict[str, Any]) -> None:
    """There is nothing in a piece but its text, and a beginning becomes one."""
    if event.get("type") == BEGINS:
        block = event.pop("content_block")
        event["type"] = GOES_ON
        name = next((name for name in _BEGUN if block.get(name)), "text")
        event["delta"] = {"type": f"{name}_delta", name: block.get(name, "")}


MESSAGES = Shape(_deltas, _ends, _strip, NAMES)
