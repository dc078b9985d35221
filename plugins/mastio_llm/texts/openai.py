"""Streams of OpenAI's API: chunks of chat completions, and the events of responses. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mastio.reading.stream import ALL, Delta, Key, Shape
from mastio_llm.dialects.operation import member, parts_of
from mastio_llm.texts.names import NAMES

_LABELS = frozenset({"role", "id"})
"""Members of a delta that are whole, as a rule."""

_NAME = ("function", "name")

_SOUND = ("audio", "data")
"""Where sound is, in base64."""

_SHORT = 256
"""Fewer signs are hardly a piece of a sound."""


def _chat_deltas(event: dict[str, Any]) -> Iterator[Delta]:
    """Every string in a choice's delta goes on, whatever it is called: other providers have names of their own."""
    for choice in parts_of(event.get("choices")):
        yield from _texts((choice.get("index"),), member(choice, "delta"))


def _texts(key: Key, holder: dict[str, Any]) -> Iterator[Delta]:
    for name, value in list(holder.items()):
        if isinstance(value, str):
            path = (*key, name)
            if name in _LABELS or path[-2:] == _NAME or (path[-2:] == _SOUND and len(value) < _SHORT):
                yield Delta(path, holder, name, is_label=True)
            elif name != "type" and path[-2:] != _SOUND:
                yield Delta(path, holder, name, is_json=name == "arguments")
        elif isinstance(value, dict):
            yield from _texts((*key, name), value)
        else:
            for n, part in enumerate(parts_of(value)):
                yield from _texts((*key, name, part.get("index", n)), part)


def _chat_ends(event: dict[str, Any]) -> Iterator[Key]:
    for choice in parts_of(event.get("choices")):
        if choice.get("finish_reason"):
            yield (choice.get("index"),)


def _strip_chat(event: dict[str, Any]) -> None:
    event.pop("usage", None)
    for choice in parts_of(event.get("choices")):
        choice["finish_reason"] = None
        choice.pop("logprobs", None)
        delta = member(choice, "delta")
        delta.pop("role", None)
        for call in parts_of(delta.get("tool_calls")):
            call.pop("id", None)
            member(call, "function").pop("name", None)


def _response_key(event: dict[str, Any]) -> Key:
    return (event.get("output_index"), event.get("content_index"), event.get("summary_index"))


_BEGUN = {
    ("response.content_part.added", "output_text"): ("text", "response.output_text"),
    ("response.content_part.added", "refusal"): ("refusal", "response.refusal"),
    ("response.content_part.added", "reasoning_text"): ("text", "response.reasoning_text"),
    ("response.reasoning_summary_part.added", "summary_text"): ("text", "response.reasoning_summary_text"),
    ("response.output_item.added", "function_call"): ("arguments", "response.function_call_arguments"),
    ("response.output_item.added", "mcp_call"): ("arguments", "response.mcp_call_arguments"),
    ("response.output_item.added", "custom_tool_call"): ("input", "response.custom_tool_call_input"),
    ("response.output_item.added", "code_interpreter_call"): ("code", "response.code_interpreter_call_code"),
}
"""By an event that begins something, and what that is: the member with its text, and the events that go on with it."""


def _begun(event: dict[str, Any]) -> tuple[dict[str, Any], str, str] | None:
    """The object that holds the beginning of a text, its member, and the type of the events that continue it."""
    for name in ("part", "item"):
        holder = member(event, name)
        begins = _BEGUN.get((str(event.get("type")), str(holder.get("type"))))
        if begins is not None and isinstance(holder.get(begins[0]), str):
            return holder, *begins
    return None


def _response_deltas(event: dict[str, Any]) -> Iterator[Delta]:
    kind = event.get("type")
    if not isinstance(kind, str):
        return
    if kind.endswith(".delta") and isinstance(event.get("delta"), str):
        key, is_json = (*_response_key(event), kind.removesuffix(".delta")), "arguments" in kind
        if kind != "response.audio.delta":
            yield Delta(key, event, "delta", is_json=is_json)
        elif len(event["delta"]) < _SHORT:  # else sound, in base64
            yield Delta(key, event, "delta", is_label=True)
    elif kind.endswith(".added") and (begun := _begun(event)) is not None:
        holder, name, goes_on = begun
        yield Delta((*_response_key(event), goes_on), holder, name, is_json="arguments" in goes_on)


def _response_ends(event: dict[str, Any]) -> Iterator[Key]:
    kind = event.get("type")
    if not isinstance(kind, str):
        return
    if kind in ("response.completed", "response.incomplete", "response.failed", "error"):
        yield ALL
    elif kind == "response.output_item.done":
        yield (event.get("output_index"),)
    elif kind.endswith(".done"):
        yield (*_response_key(event), kind.removesuffix(".done"))


def _strip_response(event: dict[str, Any]) -> None:
    """A beginning becomes a piece of its text."""
    begun = _begun(event)
    if begun is not None:
        holder, name, goes_on = begun
        event["type"], event["delta"] = f"{goes_on}.delta", holder[name]
        event.setdefault("item_id", holder.get("id"))
        event.pop("part", None)
        event.pop("item", None)
    event.pop("logprobs", None)
    event.pop("obfuscation", None)


def _no_deltas(event: dict[str, Any]) -> Iterator[Delta]:
    return iter(())


def _no_ends(event: dict[str, Any]) -> Iterator[Key]:
    return iter(())


CHAT = Shape(_chat_deltas, _chat_ends, _strip_chat, NAMES)
RESPONSES = Shape(_response_deltas, _response_ends, _strip_response, NAMES, "sequence_number")
WHOLE = Shape(_no_deltas, _no_ends, lambda event: None, NAMES)
"""For what never streams."""
