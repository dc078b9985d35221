"""A chat completion of OpenAI's API, carried out as a message of Anthropic's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from mastio_llm.dialects import OPERATIONS
from mastio_llm.dialects.anthropic import read_usage
from mastio_llm.dialects.operation import Usage
from mastio_llm.translate.translation import (
    Translation,
    find_message,
    invalid,
    objects,
    parse_arguments,
    refuse,
    text,
    verify_members,
)

MAX_TOKENS = 8192
"""For callers who set no limit: Anthropic's API insists on one."""

KNOWN = (
    "model", "messages", "max_tokens", "max_completion_tokens", "stop", "temperature", "top_p", "stream",
    "stream_options", "tools", "tool_choice", "parallel_tool_calls", "response_format", "user",
)  # fmt: skip
NEUTRAL = {
    "n": 1, "logprobs": False, "frequency_penalty": 0, "presence_penalty": 0, "store": False, "logit_bias": {},
    "service_tier": "auto", "modalities": ["text"],
}  # fmt: skip
"""What is so anyway."""

FINISH = {
    "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "model_context_window_exceeded": "length",
    "tool_use": "tool_calls", "refusal": "content_filter",
}  # fmt: skip
_INLINE = re.compile(r"data:(image/[a-z0-9.+-]+);base64,(.*)", re.DOTALL)


# --- the request ------------------------------------------------------------------------------------------------------


def translate_request(document: Mapping[str, Any], model: str) -> dict[str, Any]:
    verify_members(document, KNOWN, NEUTRAL, "the request")
    system, messages = _messages(objects(document.get("messages"), "The member messages"))
    limit = document.get("max_completion_tokens") or document.get("max_tokens") or MAX_TOKENS
    request: dict[str, Any] = {"model": model, "max_tokens": limit, "messages": messages}
    if system:
        request["system"] = system
    temperature = document.get("temperature")
    if isinstance(temperature, int | float) and temperature > 1:
        raise refuse("A temperature above 1")
    for name in ("temperature", "top_p", "stream"):
        if document.get(name) is not None:
            request[name] = document[name]
    if (stop := document.get("stop")) is not None:
        request["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    if document.get("user") is not None:
        request["metadata"] = {"user_id": document["user"]}
    options = document.get("stream_options")
    if options is not None:
        (one,) = objects([options], "The member stream_options")
        verify_members(one, ("include_usage",), {"include_obfuscation": False}, "stream_options")
    request |= _tools(document) | _format(document.get("response_format"))
    return request


def _messages(messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The system prompt, and the conversation; what follows each other in one role is one message there."""
    system: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for message in messages:
        match message.get("role"):
            case "system" | "developer":
                if turns:
                    raise refuse("A system message after the conversation has begun")
                verify_members(message, ("role", "content"), {}, "a system message")
                system += _parts(message.get("content"), images=False)
                continue
            case "user":
                verify_members(message, ("role", "content"), {}, "a user message")
                role, blocks = "user", _parts(message.get("content"), images=True)
            case "assistant":
                role, blocks = "assistant", _assistant(message)
            case "tool":
                verify_members(message, ("role", "content", "tool_call_id"), {}, "a tool message")
                role, blocks = "user", [_tool_result(message)]
            case _:
                raise refuse("The role of a message")
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return system, turns


def _assistant(message: dict[str, Any]) -> list[dict[str, Any]]:
    verify_members(message, ("role", "content", "tool_calls"), {"annotations": []}, "an assistant message")
    calls = objects(message.get("tool_calls") or [], "The member tool_calls")
    content = message.get("content")
    blocks = _parts(content, images=False) if content else []
    for call in calls:
        function = call.get("function")
        if call.get("type", "function") != "function" or not isinstance(function, dict):
            raise refuse("A tool call that is not of a function")
        blocks.append(
            {
                "type": "tool_use",
                "id": text(call.get("id"), "A tool call's id"),
                "name": text(function.get("name"), "A tool call's name"),
                "input": parse_arguments(function.get("arguments")),
            }
        )
    return blocks


def _tool_result(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    said = content if isinstance(content, str) else _parts(content, images=False)
    return {
        "type": "tool_result",
        "tool_use_id": text(message.get("tool_call_id"), "The member tool_call_id"),
        "content": said,
    }


def _parts(content: object, *, images: bool) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    blocks: list[dict[str, Any]] = []
    for part in objects(content, "A message's content"):
        match part.get("type"):
            case "text":
                verify_members(part, ("type", "text"), {}, "a part")
                blocks.append({"type": "text", "text": text(part.get("text"), "A part's text")})
            case "image_url" if images:
                blocks.append({"type": "image", "source": _source(part.get("image_url"))})
            case _:
                raise refuse("The type of a message's part")
    return blocks


def _source(image: object) -> dict[str, Any]:
    (one,) = objects([image], "The member image_url")
    verify_members(one, ("url",), {"detail": "auto"}, "image_url")
    url = text(one.get("url"), "An image's url")
    if inline := _INLINE.fullmatch(url):
        return {"type": "base64", "media_type": inline[1], "data": inline[2]}
    if url.startswith("data:"):
        raise refuse("An inline image that is not base64")
    return {"type": "url", "url": url}


def _tools(document: Mapping[str, Any]) -> dict[str, Any]:
    tools = objects(document.get("tools") or [], "The member tools")
    if not tools:
        if document.get("tool_choice") not in (None, "none", "auto"):
            raise invalid("A tool_choice without tools")
        return {}
    choice = _choice(document.get("tool_choice"))
    if document.get("parallel_tool_calls") is False and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return {"tools": [_tool(tool) for tool in tools], "tool_choice": choice}


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, dict):
        raise refuse("A tool that is not a function")
    verify_members(function, ("name", "description", "parameters", "strict"), {}, "a function")
    made = {
        "name": text(function.get("name"), "A function's name"),
        "input_schema": function.get("parameters") or {"type": "object", "properties": {}},
    }
    for name in ("description", "strict"):
        if function.get(name):
            made[name] = function[name]
    return made


def _choice(choice: object) -> dict[str, Any]:
    match choice:
        case None | "auto":
            return {"type": "auto"}
        case "none":
            return {"type": "none"}
        case "required":
            return {"type": "any"}
        case {"type": "function", "function": {"name": str(name)}}:
            return {"type": "tool", "name": name}
    raise refuse("The tool_choice")


def _format(response_format: object) -> dict[str, Any]:
    match response_format:
        case None | {"type": "text"}:
            return {}
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
    raise refuse("The response_format")


# --- the answer -------------------------------------------------------------------------------------------------------


def translate_reply(message: Mapping[str, Any], created: int) -> dict[str, Any]:
    said: list[str] = []
    calls: list[dict[str, Any]] = []
    for block in _blocks(message):
        if block.get("type") == "text":
            said.append(str(block.get("text", "")))
        elif block.get("type") == "tool_use":
            arguments = orjson.dumps(block.get("input") or {}).decode()
            calls.append(_call(block, arguments))
    answer: dict[str, Any] = {"role": "assistant", "content": "".join(said) if said else None, "refusal": None}
    if calls:
        answer["tool_calls"] = calls
    choice = {"index": 0, "message": answer, "logprobs": None, "finish_reason": _finish(message.get("stop_reason"))}
    return {
        "id": _id(message),
        "object": "chat.completion",
        "created": created,
        "model": message.get("model"),
        "choices": [choice],
        "usage": _usage(read_usage(message) or {}),
    }


def _blocks(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    content = message.get("content")
    yield from (block for block in content if isinstance(block, dict)) if isinstance(content, list) else ()


def _call(block: Mapping[str, Any], arguments: str) -> dict[str, Any]:
    function = {"name": block.get("name"), "arguments": arguments}
    return {"id": block.get("id"), "type": "function", "function": function}


def _finish(reason: object) -> str:
    return FINISH.get(reason, "stop") if isinstance(reason, str) else "stop"


def _id(message: Mapping[str, Any]) -> str:
    return f"chatcmpl-{message.get('id')}"


def _usage(usage: Usage) -> dict[str, Any]:
    read, written = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": usage.get("cached_tokens", 0)},
    }


def translate_error(message: str, status: int) -> dict[str, Any]:
    kind = "rate_limit_error" if status == 429 else "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


class Stream:
    """The events of a message as chunks of a chat completion."""

    def __init__(self, document: Mapping[str, Any], created: int) -> None:
        options = document.get("stream_options")
        self._with_usage = isinstance(options, dict) and options.get("include_usage") is True
        self._head: dict[str, Any] = {"id": "", "object": "chat.completion.chunk", "created": created, "model": ""}
        self._usage: Usage = {}
        self._tools: dict[object, int] = {}

    def feed(self, event: Any) -> bytes:
        match event:
            case {"type": "message_start", "message": dict(message)}:
                self._head |= {"id": _id(message), "model": message.get("model")}
                self._usage |= read_usage(message) or {}
                return self._delta({"role": "assistant", "content": ""})
            case {"type": "content_block_start", "index": index, "content_block": {"type": "tool_use"}}:
                at = self._tools[index] = len(self._tools)
                return self._delta({"tool_calls": [{"index": at, **_call(event["content_block"], "")}]})
            case {"type": "content_block_start", "content_block": {"type": "text", "text": str(said)}} if said:
                return self._delta({"content": said})
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(said)}}:
                return self._delta({"content": said})
            case {"type": "content_block_delta", "index": index, "delta": {"partial_json": str(part)}} if part:
                at = self._tools.get(index, 0)
                return self._delta({"tool_calls": [{"index": at, "function": {"arguments": part}}]})
            case {"type": "message_delta", "delta": dict(delta)}:
                written = (read_usage(event) or {}).get("output_tokens")
                if written is not None:
                    self._usage["output_tokens"] = written
                return self._delta({}, _finish(delta.get("stop_reason")))
            case {"type": "message_stop"}:
                end = b"data: [DONE]\n\n"
                return self._chunk([], _usage(self._usage)) + end if self._with_usage else end
            case {"type": "error"}:
                return b"data: " + orjson.dumps(translate_error(find_message(event), 502)) + b"\n\n"
        return b""

    def _delta(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        return self._chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}])

    def _chunk(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
        chunk = {**self._head, "choices": choices}
        if self._with_usage:
            chunk["usage"] = usage
        return b"data: " + orjson.dumps(chunk) + b"\n\n"


TRANSLATION = Translation(OPERATIONS["/v1/messages"], translate_request, translate_reply, translate_error, Stream)
