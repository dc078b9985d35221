"""OpenAI's chat completions as what is called: requests are read, answers, streams and errors are written. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from mastio_llm.dialects.operation import Form, Usage
from mastio_llm.translate.checks import (
    dump,
    flag,
    invalid,
    number,
    objects,
    parse_arguments,
    refuse,
    text,
    text_or_none,
    texts,
    verify_members,
    whole,
)
from mastio_llm.translate.conversation import (
    Answer,
    Argued,
    Begin,
    Called,
    Choice,
    Conversation,
    Delta,
    Ended,
    Failed,
    Finish,
    Format,
    Image,
    Text,
    TextDelta,
    Tool,
    ToolCall,
    ToolResult,
    Turn,
    gather,
)
from mastio_llm.translate.hints import names
from mastio_llm.translate.translation import Caller

KNOWN = (
    "model", "messages", "max_tokens", "max_completion_tokens", "stop", "temperature", "top_p", "stream",
    "stream_options", "tools", "tool_choice", "parallel_tool_calls", "response_format", "user", "safety_identifier",
    "seed", "presence_penalty", "frequency_penalty", "reasoning_effort",
)  # fmt: skip
NEUTRAL = {
    "n": (1,), "logprobs": (False,), "top_logprobs": (0,), "store": (False,), "logit_bias": ({},),
    "service_tier": ("auto", "default"), "modalities": (["text"],),
}  # fmt: skip

FINISH: Mapping[Finish, str] = {
    "stop": "stop", "length": "length", "tools": "tool_calls", "filtered": "content_filter",
}  # fmt: skip

_INLINE = re.compile(r"data:(image/[a-z0-9.+-]+);base64,([A-Za-z0-9+/=]*)")


# --- the request ------------------------------------------------------------------------------------------------------


def read(document: Mapping[str, Any]) -> Conversation:
    verify_members(document, KNOWN, NEUTRAL, "the request", names("chat"))
    system, turns = _messages(objects(document.get("messages"), "The member messages"))
    limit = document.get("max_completion_tokens")
    if document.get("stream_options") is not None:
        (options,) = objects([document["stream_options"]], "The member stream_options")
        verify_members(options, ("include_usage",), {"include_obfuscation": (False, True)}, "stream_options")
    tools = tuple(_tool(tool) for tool in objects(document.get("tools") or [], "The member tools"))
    choice = document.get("tool_choice")
    if not tools and choice not in (None, "none", "auto"):
        raise invalid("A tool_choice without tools")
    user = document.get("user") if document.get("user") is not None else document.get("safety_identifier")
    return Conversation(
        gather(turns),
        tuple(system),
        tools,
        _choice(choice),
        flag(document.get("parallel_tool_calls"), "The member parallel_tool_calls", True),
        _format(document.get("response_format")),
        whole(document.get("max_tokens") if limit is None else limit, "The limit of tokens"),
        texts(document.get("stop"), "The member stop"),
        number(document.get("temperature"), "The member temperature"),
        number(document.get("top_p"), "The member top_p"),
        None,
        whole(document.get("seed"), "The member seed"),
        number(document.get("presence_penalty"), "The member presence_penalty") or None,
        number(document.get("frequency_penalty"), "The member frequency_penalty") or None,
        text_or_none(document.get("reasoning_effort"), "The member reasoning_effort"),
        user=text_or_none(user, "The member user"),
        stream=flag(document.get("stream"), "The member stream"),
    )


def _messages(messages: list[dict[str, Any]]) -> tuple[list[str], list[Turn]]:
    """The system prompt, and the conversation."""
    system: list[str] = []
    turns: list[Turn] = []
    for message in messages:
        match message.get("role"):
            case "system" | "developer":
                verify_members(message, ("role", "content"), {}, "a system message")
                said = _texts(message.get("content"))
                if turns:
                    turns.append(Turn("system", said))
                else:
                    system += [part.text for part in said]
            case "user":
                verify_members(message, ("role", "content"), {}, "a user message")
                turns.append(Turn("user", _parts(message.get("content"), images=True)))
            case "assistant":
                turns.append(Turn("assistant", _assistant(message)))
            case "tool":
                verify_members(message, ("role", "content", "tool_call_id"), {}, "a tool message")
                turns.append(Turn("user", (_tool_result(message),)))
            case _:
                raise refuse("The role of a message")
    return system, turns


def _assistant(message: dict[str, Any]) -> tuple[Text | ToolCall, ...]:
    verify_members(message, ("role", "content", "tool_calls"), {"annotations": ([],)}, "an assistant message")
    content = message.get("content")
    parts: list[Text | ToolCall] = list(_texts(content)) if content else []
    for call in objects(message.get("tool_calls") or [], "The member tool_calls"):
        verify_members(call, ("id", "function"), {"type": ("function",)}, "a tool call")
        function = call.get("function")
        if not isinstance(function, dict):
            raise refuse("A tool call that is not of a function")
        verify_members(function, ("name", "arguments"), {}, "a tool call's function")
        parts.append(
            ToolCall(
                text(call.get("id"), "A tool call's id"),
                text(function.get("name"), "A tool call's name"),
                parse_arguments(function.get("arguments")),
            )
        )
    return tuple(parts)


def _tool_result(message: dict[str, Any]) -> ToolResult:
    content = message.get("content")
    return ToolResult(
        text(message.get("tool_call_id"), "The member tool_call_id"),
        content if isinstance(content, str) else _texts(content),
    )


def _texts(content: object) -> tuple[Text, ...]:
    return tuple(part for part in _parts(content, images=False) if isinstance(part, Text))


def _parts(content: object, *, images: bool) -> tuple[Text | Image, ...]:
    if isinstance(content, str):
        return (Text(content),)
    parts: list[Text | Image] = []
    for part in objects(content, "A message's content"):
        match part.get("type"):
            case "text":
                verify_members(part, ("type", "text"), {}, "a part")
                parts.append(Text(text(part.get("text"), "A part's text")))
            case "image_url" if images:
                verify_members(part, ("type", "image_url"), {}, "a part")
                (image,) = objects([part.get("image_url")], "The member image_url")
                verify_members(image, ("url",), {"detail": ("auto",)}, "image_url")
                parts.append(read_image(image.get("url")))
            case _:
                raise refuse("The type of a message's part")
    return tuple(parts)


def read_image(value: object) -> Image:
    """An image of its address, which may be a `data:` one."""
    url = text(value, "An image's url")
    if inline := _INLINE.fullmatch(url):
        return Image(inline[2], None, inline[1])
    if url.startswith("data:"):
        raise refuse("An inline image that is not base64")
    return Image(url=url)


def _tool(tool: dict[str, Any]) -> Tool:
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, dict):
        raise refuse("A tool that is not a function")
    verify_members(tool, ("type", "function"), {}, "a tool")
    verify_members(function, ("name", "description", "parameters", "strict"), {}, "a function")
    return read_function(function)


def read_function(function: Mapping[str, Any]) -> Tool:
    schema = function.get("parameters")
    if schema is not None and not isinstance(schema, dict):
        raise invalid("A function's parameters, an object,")
    return Tool(
        text(function.get("name"), "A function's name"),
        text_or_none(function.get("description"), "A function's description") or None,
        schema or None,
        flag(function.get("strict"), "A function's strict"),
    )


def _choice(value: object) -> Choice:
    match value:
        case None | "auto":
            return Choice()
        case "none":
            return Choice("none")
        case "required":
            return Choice("any")
        case {"type": "function", "function": dict(function), **more}:
            verify_members(more, (), {}, "tool_choice")
            verify_members(function, ("name",), {}, "tool_choice")
            return Choice("one", text(function.get("name"), "The name in tool_choice"))
    raise refuse("The tool_choice")


def _format(value: object) -> Format | None:
    match value:
        case None:
            return None
        case {"type": "text" | "json_object" as kind, **more}:
            verify_members(more, (), {}, "response_format")
            return None if kind == "text" else Format(None)
        case {"type": "json_schema", "json_schema": dict(described), **more}:
            verify_members(more, (), {}, "response_format")
            return read_schema(described)
    raise refuse("The response_format")


def read_schema(described: Mapping[str, Any]) -> Format:
    verify_members(described, ("type", "name", "schema", "strict", "description"), {}, "the answer's JSON schema")
    if not isinstance(described.get("schema"), dict):
        raise invalid("The answer's JSON schema, an object,")
    name = text_or_none(described.get("name"), "The JSON schema's name") or "answer"
    return Format(described["schema"], name, flag(described.get("strict"), "The JSON schema's strict"))


# --- the answer -------------------------------------------------------------------------------------------------------


def write(answer: Answer, asked: Mapping[str, Any], created: int) -> dict[str, Any]:
    said = [part.text for part in answer.parts if isinstance(part, Text)]
    calls = [_call(part.id, part.name, dump(part.arguments)) for part in answer.parts if isinstance(part, ToolCall)]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(said) if said else None, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": FINISH[answer.finish]}
    return {
        "id": f"chatcmpl-{answer.id}",
        "object": "chat.completion",
        "created": created,
        "model": answer.model,
        "choices": [choice],
        "usage": _usage(answer.usage),
    }


def _call(id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _usage(usage: Usage) -> dict[str, Any]:
    read, written = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
    made: dict[str, Any] = {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": usage.get("cached_tokens", 0)},
    }
    if "reasoning_tokens" in usage:
        made["completion_tokens_details"] = {"reasoning_tokens": usage["reasoning_tokens"]}
    return made


def write_error(message: str, status: int) -> dict[str, Any]:
    kind = "rate_limit_error" if status == 429 else "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


class Writer:
    """The chunks of a chat completion."""

    def __init__(self, document: Mapping[str, Any], created: int, form: Form) -> None:
        options = document.get("stream_options")
        self._with_usage = isinstance(options, dict) and options.get("include_usage") is True
        self._head: dict[str, Any] = {"id": "", "object": "chat.completion.chunk", "created": created, "model": ""}
        self._calls = 0

    def write(self, delta: Delta) -> bytes:
        match delta:
            case Begin(id, model):
                self._head |= {"id": f"chatcmpl-{id}", "model": model}
                return self._delta({"role": "assistant", "content": ""})
            case TextDelta(said):
                return self._delta({"content": said})
            case Called(id, name):
                self._calls += 1
                return self._delta({"tool_calls": [{"index": self._calls - 1, **_call(id, name, "")}]})
            case Argued(piece):
                call = {"index": self._calls - 1, "function": {"arguments": piece}}
                return self._delta({"tool_calls": [call]})
            case Ended(finish, usage):
                last = self._delta({}, FINISH[finish])
                counted = self._chunk([], _usage(usage)) if self._with_usage else b""
                return last + counted + b"data: [DONE]\n\n"
            case Failed(message):
                return b"data: " + orjson.dumps(write_error(message, 502)) + b"\n\n"

    def _delta(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        return self._chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}])

    def _chunk(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
        chunk = {**self._head, "choices": choices}
        if self._with_usage:
            chunk["usage"] = usage
        return b"data: " + orjson.dumps(chunk) + b"\n\n"


CALLER = Caller(read, write, Writer, write_error)
