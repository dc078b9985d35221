"""Turns of a model that calls tools, by a script: the stand-in answers a conversation with its next step.

Which step is next is told by the conversation itself, from the number of tool results in it, so that nothing has to be
remembered. A request that does not offer the tool of the step, such as one for a title, gets the usual text. This works
for Anthropic's messages, and OpenAI's chat completions and responses, whole and streamed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from mastio_llm.stubs.anthropic import anthropic_message
from mastio_llm.stubs.openai import output_text, response_message, response_shape
from mastio_llm.stubs.template import Text


@dataclass(frozen=True, slots=True)
class Step:
    """One turn: a call of `tool` with `arguments`, or, without a tool, `text`. A tool that takes a text and no JSON
    gets `raw`."""

    tool: str | None = None
    arguments: Mapping[str, Any] | None = None
    raw: str | None = None
    text: str = "Done."


def read_script(path: Path) -> tuple[Step, ...]:
    """Raises `ValueError` and `OSError`."""
    document = json.loads(path.read_text("utf-8"))
    if not isinstance(document, list) or not all(isinstance(step, dict) for step in document):
        raise ValueError("a script is a list of objects")
    try:
        return tuple(Step(**step) for step in document)
    except TypeError as error:
        raise ValueError("a step has tool, arguments, raw and text") from error


def find_step(script: Sequence[Step], path: str, content: Mapping[str, Any]) -> Step | None:
    """The step that this request asks for; None: it is not one of the script's."""
    done = len(set(filter(None, _results(path, content))))
    step = script[done] if done < len(script) else None
    if step is None or (step.tool is not None and step.tool not in set(_offered(content))):
        return None
    return step if step.tool is not None or done else None


def _results(path: str, content: Mapping[str, Any]) -> Iterator[str]:
    """The ids of tool calls that have a result in the conversation so far."""
    for message in _objects(content.get("input" if path == "/v1/responses" else "messages")):
        if message.get("role") == "tool" or str(message.get("type", "")).endswith("_call_output"):
            yield str(message.get("call_id") or message.get("tool_call_id") or "")
        yield from (
            str(part.get("tool_use_id"))
            for part in _objects(message.get("content"))
            if part.get("type") == "tool_result"
        )


def _offered(content: Mapping[str, Any]) -> Iterator[str]:
    for tool in _objects(content.get("tools")):
        inner = tool.get("function")
        yield str(tool.get("name") or (inner.get("name") if isinstance(inner, dict) else None) or tool.get("type"))


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


# --- replies ----------------------------------------------------------------------------------------------------------


def write_reply(step: Step, path: str, model: str, serial: str, *, stream: bool) -> bytes:
    """The body of the reply, whole or as events."""
    write = {"/v1/messages": _message, "/v1/responses": _response}.get(path, _chat)
    return write(step, model, serial, stream)


def _event(shape: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (str(shape["type"]).encode(), orjson.dumps(shape))


def _message(step: Step, model: str, serial: str, stream: bool) -> bytes:
    stop = "end_turn" if step.tool is None else "tool_use"
    block: dict[str, Any] = {"type": "text", "text": step.text}
    empty: dict[str, Any] = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": step.text}
    if step.tool is not None:
        block = {"type": "tool_use", "id": f"toolu_{serial}", "name": step.tool, "input": dict(step.arguments or {})}
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step.arguments or {})}
    usage = {"input_tokens": 10, "output_tokens": 10}
    shape = {**anthropic_message([block], stop, 10), "id": f"msg_{serial}", "model": model, "usage": usage}
    if not stream:
        return orjson.dumps(shape)
    opening = {**shape, "content": [], "stop_reason": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": opening},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": 10},
        },
        {"type": "message_stop"},
    ]
    return b"".join(map(_event, events))


def _response(step: Step, model: str, serial: str, stream: bool) -> bytes:
    item = response_message([output_text(step.text)], "completed") | {"id": f"msg_{serial}"}
    if step.tool is not None:
        made: dict[str, Any] = {"call_id": f"call_{serial}", "name": step.tool, "status": "completed"}
        if step.raw is not None:
            item = {"id": f"ctc_{serial}", "type": "custom_tool_call", **made, "input": step.raw}
        else:
            arguments = json.dumps(step.arguments or {})
            item = {"id": f"fc_{serial}", "type": "function_call", **made, "arguments": arguments}
    usage: dict[str, Any] = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    base = response_shape(Text("", ("",), 0), "in_progress")
    base |= {"id": f"resp_{serial}", "model": model, "created_at": 1_800_000_000}
    done = {**base, "status": "completed", "output": [item], "usage": usage}
    if not stream:
        return orjson.dumps(done)
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": base},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]
    return b"".join(_event({**event, "sequence_number": number}) for number, event in enumerate(events))


def _chat(step: Step, model: str, serial: str, stream: bool) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": step.text}
    finish = "stop"
    if step.tool is not None:
        function = {"name": step.tool, "arguments": json.dumps(step.arguments or {})}
        call = {"index": 0, "id": f"call_{serial}", "type": "function", "function": function}
        message, finish = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    shape = {"id": f"chatcmpl-{serial}", "created": 1_800_000_000, "model": model}
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    if not stream:
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return orjson.dumps({**shape, "object": "chat.completion", "choices": [choice], "usage": usage})
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {"choices": [], "usage": usage},
    ]
    written = [orjson.dumps({**shape, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
    return b"".join(b"data: %b\n\n" % one for one in [*written, b"[DONE]"])
