"""Anthropic's messages as what a provider speaks: requests are written, answers and streams are read. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mastio_llm.dialects import OPERATIONS
from mastio_llm.dialects.anthropic import read_last_usage, read_usage
from mastio_llm.dialects.operation import Usage, member, tokens
from mastio_llm.translate.checks import (
    find_message,
    odd,
    plain_id,
    refuse,
    said_name,
    said_object,
    said_objects,
    said_text,
)
from mastio_llm.translate.conversation import (
    Answer,
    Argued,
    Begin,
    Called,
    Conversation,
    Delta,
    Ended,
    Failed,
    Finish,
    Image,
    Part,
    Text,
    TextDelta,
    Tool,
    ToolCall,
    ToolResult,
    Turn,
)
from mastio_llm.translate.translation import Provider

MAX_TOKENS = 8192
"""For callers who set no limit: Anthropic's API insists on one."""
LONGEST_ID = 64
EFFORTS = ("low", "medium", "high", "xhigh", "max")

FINISH: Mapping[str, Finish] = {
    "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "model_context_window_exceeded": "length",
    "tool_use": "tools", "refusal": "filtered",
}  # fmt: skip
"""Any other is `stop`: the answer is whole, for whatever reason."""

THOUGHTS = ("thinking", "redacted_thinking")

# --- the request ------------------------------------------------------------------------------------------------------


def write(conversation: Conversation, model: str) -> dict[str, Any]:
    for value, name in (
        (conversation.seed, "seed"),
        (conversation.presence_penalty, "presence penalty"),
        (conversation.frequency_penalty, "frequency penalty"),
    ):
        if value is not None:
            raise refuse(f"The member {name!r} of the request")
    request: dict[str, Any] = {
        "model": model,
        "max_tokens": MAX_TOKENS if conversation.limit is None else conversation.limit,
        "messages": [_turn(turn) for turn in conversation.turns],
    }
    if conversation.system:
        request["system"] = [_text(said) for said in conversation.system]
    if conversation.temperature is not None and conversation.temperature > 1:
        raise refuse("A temperature above 1")
    for name in ("temperature", "top_p", "top_k"):
        if (value := getattr(conversation, name)) is not None:
            request[name] = value
    if conversation.stream:
        request["stream"] = True
    if conversation.stop:
        request["stop_sequences"] = list(conversation.stop)
    if conversation.user is not None:
        request["metadata"] = {"user_id": conversation.user}
    if conversation.tools:
        request["tools"] = [_tool(tool) for tool in conversation.tools]
        request["tool_choice"] = _choice(conversation)
    if output := _output(conversation):
        request["output_config"] = output
    return request


def _turn(turn: Turn) -> dict[str, Any]:
    return {"role": turn.role, "content": [_part(part) for part in turn.parts]}


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Text(text):
            return _text(text)
        case Image(None, url):
            return {"type": "image", "source": {"type": "url", "url": url}}
        case Image(data, _, media_type):
            return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
        case ToolCall(id, name, arguments):
            return {"type": "tool_use", "id": plain_id(id, LONGEST_ID), "name": name, "input": arguments}
        case ToolResult(call, content, error):
            said = content if isinstance(content, str) else [_part(inner) for inner in content]
            result = {"type": "tool_result", "tool_use_id": plain_id(call, LONGEST_ID), "content": said}
            return {**result, "is_error": True} if error else result


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _tool(tool: Tool) -> dict[str, Any]:
    made: dict[str, Any] = {"name": tool.name, "input_schema": tool.schema or {"type": "object", "properties": {}}}
    if tool.description:
        made["description"] = tool.description
    if tool.strict:
        made["strict"] = True
    return made


def _choice(conversation: Conversation) -> dict[str, Any]:
    choice = conversation.choice
    made: dict[str, Any] = {"type": "tool", "name": choice.name} if choice.mode == "one" else {"type": choice.mode}
    if not conversation.parallel and choice.mode != "none":
        made["disable_parallel_tool_use"] = True
    return made


def _output(conversation: Conversation) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if conversation.effort not in (None, "none"):  # it does not think unless it is asked to
        if conversation.effort not in EFFORTS:
            raise refuse(f"The effort {str(conversation.effort)[:16]!r}")
        made["effort"] = conversation.effort
    if conversation.format is not None:
        if conversation.format.schema is None:
            raise refuse("JSON as the format of the answer, without a schema,")
        made["format"] = {"type": "json_schema", "schema": conversation.format.schema}
    return made


# --- the answer -------------------------------------------------------------------------------------------------------


def read(message: Mapping[str, Any]) -> Answer:
    if not isinstance(message.get("content"), list):
        raise odd("a message has no content")
    parts: list[Text | ToolCall] = []
    for block in said_objects(message["content"], "its content"):
        match block.get("type"):
            case "text":
                parts.append(Text(said_text(block.get("text"), "a text")))
            case "tool_use":
                call = _called(block)
                parts.append(ToolCall(call.id, call.name, said_object(block.get("input", {}), "a call's input")))
            case kind if kind not in THOUGHTS:
                raise odd("a block of the content is of a kind that was not asked for")
    return Answer(
        said_name(message.get("id")),
        said_name(message.get("model")),
        tuple(parts),
        _finish(message.get("stop_reason")),
        _usage(message),
    )


def _called(block: Mapping[str, Any]) -> Called:
    return Called(said_text(block.get("id"), "a call's id"), said_text(block.get("name"), "a call's name"))


def _finish(reason: object) -> Finish:
    return FINISH.get(reason, "stop") if isinstance(reason, str) else "stop"


def _usage(document: Mapping[str, Any]) -> Usage:
    return (read_usage(document) or {}) | _thoughts(document)


def _thoughts(document: Mapping[str, Any]) -> Usage:
    thoughts = tokens(member(member(document, "usage"), "output_tokens_details").get("thinking_tokens"))
    return {"reasoning_tokens": thoughts} if thoughts else {}


class Reader:
    """Blocks follow each other, and the pieces of one come while it is open."""

    def __init__(self) -> None:
        self._usage: Usage = {}
        self._finish: Finish = "stop"
        self._open: object = None
        self._kind = ""

    def feed(self, event: dict[str, Any]) -> Iterator[Delta]:
        match event.get("type"):
            case "message_start":
                message = said_object(event.get("message"), "a message_start")
                self._usage |= _usage(message)
                yield Begin(said_name(message.get("id")), said_name(message.get("model")), dict(self._usage))
            case "content_block_start":
                yield from self._begin(event)
            case "content_block_delta":
                yield from self._piece(event)
            case "message_delta":
                self._usage |= (read_last_usage(event) or {}) | _thoughts(event)
                self._finish = _finish(said_object(event.get("delta"), "a message_delta").get("stop_reason"))
            case "message_stop":
                yield Ended(self._finish, self._usage)
            case "error":
                yield Failed(find_message(event))

    def end(self) -> Iterable[Delta]:
        raise odd("a message has no end")

    def _begin(self, event: dict[str, Any]) -> Iterator[Delta]:
        block = said_object(event.get("content_block"), "a block")
        self._open, self._kind = event.get("index"), said_name(block.get("type"))
        if self._kind == "text":
            if text := said_text(block.get("text", ""), "a text"):
                yield TextDelta(text)
        elif self._kind == "tool_use":
            yield _called(block)
        elif self._kind not in THOUGHTS:
            raise odd("a block of the content is of a kind that was not asked for")

    def _piece(self, event: dict[str, Any]) -> Iterator[Delta]:
        delta = said_object(event.get("delta"), "a delta")
        if event.get("index") != self._open:
            raise odd("a delta is of a block that is not open")
        match delta.get("type"):
            case "text_delta" if self._kind == "text":
                if text := said_text(delta.get("text"), "a text"):
                    yield TextDelta(text)
            case "input_json_delta" if self._kind == "tool_use":
                if piece := said_text(delta.get("partial_json"), "a call's input"):
                    yield Argued(piece)
            case "text_delta" | "input_json_delta":
                raise odd("a delta is not of its block's kind")


PROVIDER = Provider(OPERATIONS["/v1/messages"], OPERATIONS["/v1/messages"], write, read, Reader)
