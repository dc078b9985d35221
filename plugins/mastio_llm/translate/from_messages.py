"""Anthropic's messages as what is called: requests are read, answers, streams and errors are written. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from mastio_llm.dialects.operation import Form, Usage
from mastio_llm.translate.checks import (
    an_object,
    flag,
    invalid,
    number,
    objects,
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
    Part,
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
    "model", "messages", "max_tokens", "system", "stop_sequences", "stream", "temperature", "top_p", "top_k", "tools",
    "tool_choice", "metadata", "thinking", "output_config", "output_format", "context_management",
)  # fmt: skip
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "service_tier": ("auto", "standard_only"), "speed": ("standard",), "mcp_servers": ([],), "betas": ([],),
}  # fmt: skip
THOUGHTS = ("thinking", "redacted_thinking")
"""Of an earlier answer. Only the vendor that wrote them can read them, and it leaves out most of them itself."""

FINISH: Mapping[Finish, str] = {
    "stop": "end_turn", "length": "max_tokens", "tools": "tool_use", "filtered": "refusal",
}  # fmt: skip
ERRORS = {
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error",
}  # fmt: skip

# --- the request ------------------------------------------------------------------------------------------------------


def read(document: Mapping[str, Any]) -> Conversation:
    verify_members(document, KNOWN, NEUTRAL, "the request", names("messages"))
    _verify_context(document.get("context_management"))
    tools = tuple(_tool(tool) for tool in objects(document.get("tools") or [], "The member tools"))
    choice, parallel = _choice(document.get("tool_choice"))
    if not tools and choice.mode not in ("auto", "none"):
        raise invalid("A tool_choice without tools")
    metadata = an_object(document.get("metadata") or {}, "The member metadata")
    verify_members(metadata, ("user_id",), {}, "metadata")
    effort, wanted = _output(document)
    return Conversation(
        gather(_turn(message) for message in objects(document.get("messages"), "The member messages")),
        _system(document.get("system")),
        tools,
        choice,
        parallel,
        wanted,
        whole(document.get("max_tokens"), "The member max_tokens"),
        texts(document.get("stop_sequences"), "The member stop_sequences"),
        number(document.get("temperature"), "The member temperature"),
        number(document.get("top_p"), "The member top_p"),
        whole(document.get("top_k"), "The member top_k"),
        effort=effort,
        budget=_budget(document.get("thinking")),
        user=text_or_none(metadata.get("user_id"), "The member user_id"),
        stream=flag(document.get("stream"), "The member stream"),
    )


def _system(system: object) -> tuple[str, ...]:
    if system is None or isinstance(system, str):
        return (system,) if system else ()
    return tuple(_text(block) for block in objects(system, "The member system"))


def _text(block: Mapping[str, Any]) -> str:
    if block.get("type") != "text":
        raise refuse("The type of a block")
    verify_members(block, ("type", "text"), {"citations": ([],)}, "a block", names("messages block"))
    return text(block.get("text"), "A block's text")


def _turn(message: dict[str, Any]) -> Turn:
    verify_members(message, ("role", "content"), {}, "a message")
    content = message.get("content")
    blocks = (
        [{"type": "text", "text": content}] if isinstance(content, str) else objects(content, "A message's content")
    )
    match message.get("role"):
        case "user":
            return Turn("user", tuple(_of_user(block) for block in blocks))
        case "assistant":
            return Turn("assistant", tuple(_of_assistant(b) for b in blocks if b.get("type") not in THOUGHTS))
        case "system":
            return Turn("system", tuple(Text(_text(block)) for block in blocks))
    raise refuse("The role of a message")


def _of_assistant(block: dict[str, Any]) -> Part:
    if block.get("type") != "tool_use":
        return Text(_text(block))
    known = ("type", "id", "name", "input")
    verify_members(block, known, {"caller": ({"type": "direct"},)}, "a tool_use", names("messages block"))
    return ToolCall(
        text(block.get("id"), "A tool_use's id"),
        text(block.get("name"), "A tool_use's name"),
        an_object(block.get("input"), "A tool_use's input"),
    )


def _of_user(block: dict[str, Any]) -> Part:
    match block.get("type"):
        case "tool_result":
            known = ("type", "tool_use_id", "content", "is_error")
            verify_members(block, known, {}, "a tool_result", names("messages block"))
            return ToolResult(
                text(block.get("tool_use_id"), "The member tool_use_id"),
                _result(block.get("content")),
                flag(block.get("is_error"), "The member is_error"),
            )
        case _:
            return _shown(block)


def _result(content: object) -> str | tuple[Text | Image, ...]:
    if content is None or isinstance(content, str):
        return content or ""
    return tuple(_shown(block) for block in objects(content, "A tool_result's content"))


def _shown(block: dict[str, Any]) -> Text | Image:
    if block.get("type") != "image":
        return Text(_text(block))
    verify_members(block, ("type", "source"), {}, "an image", names("messages block"))
    source = an_object(block.get("source"), "An image's source")
    match source.get("type"):
        case "base64":
            verify_members(source, ("type", "media_type", "data"), {}, "an image's source")
            return Image(text(source.get("data"), "An image"), None, text(source.get("media_type"), "Its media_type"))
        case "url":
            verify_members(source, ("type", "url"), {}, "an image's source")
            return Image(url=text(source.get("url"), "An image's url"))
    raise refuse("The type of an image's source")


def _tool(tool: dict[str, Any]) -> Tool:
    if tool.get("type") not in (None, "custom"):
        raise refuse(f"The tool {str(tool.get('name'))[:64]!r}, which is the vendor's own,")
    neutral = {"defer_loading": (False,), "allowed_callers": (["direct"],)}
    known = ("type", "name", "description", "input_schema", "strict")
    verify_members(tool, known, neutral, "a tool", names("messages tool"))
    return Tool(
        text(tool.get("name"), "A tool's name"),
        text_or_none(tool.get("description"), "A tool's description") or None,
        an_object(tool.get("input_schema"), "A tool's input_schema"),
        flag(tool.get("strict"), "A tool's strict"),
    )


def _choice(value: object) -> tuple[Choice, bool]:
    """The choice, and whether an answer may have several calls."""
    if value is None:
        return Choice(), True
    choice = an_object(value, "The member tool_choice")
    verify_members(choice, ("type", "name", "disable_parallel_tool_use"), {}, "tool_choice")
    parallel = not flag(choice.get("disable_parallel_tool_use"), "The member disable_parallel_tool_use")
    match choice.get("type"):
        case "auto":
            return Choice(), parallel
        case "none":
            return Choice("none"), parallel
        case "any":
            return Choice("any"), parallel
        case "tool":
            return Choice("one", text(choice.get("name"), "The tool_choice's name")), parallel
    raise refuse("The tool_choice")


def _budget(value: object) -> int | None:
    """The most tokens for thinking. With `adaptive` the model decides, as with other vendors."""
    if value is None:
        return None
    thinking = an_object(value, "The member thinking")
    verify_members(thinking, ("type", "budget_tokens"), {}, "thinking", names("messages thinking"))
    match thinking.get("type"):
        case "disabled" | "adaptive":
            return None
        case "enabled":
            return whole(thinking.get("budget_tokens"), "The member budget_tokens")
    raise refuse("The type of thinking")


def _output(document: Mapping[str, Any]) -> tuple[str | None, Format | None]:
    config = an_object(document.get("output_config") or {}, "The member output_config")
    verify_members(config, ("effort", "format"), {}, "output_config")
    described = config.get("format") or document.get("output_format")
    wanted = None
    if described is not None:
        described = an_object(described, "The format of the answer")
        verify_members(described, ("schema",), {"type": ("json_schema",)}, "the format of the answer")
        wanted = Format(an_object(described.get("schema"), "The answer's JSON schema"))
    return text_or_none(config.get("effort"), "The member effort"), wanted


def _verify_context(value: object) -> None:
    """Thoughts of earlier answers are left out anyway; any other editing is refused."""
    management = an_object(value or {}, "The member context_management")
    verify_members(management, ("edits",), {}, "context_management")
    for edit in objects(management.get("edits") or [], "The member edits"):
        if not text(edit.get("type"), "An edit's type").startswith("clear_thinking_"):
            raise refuse("An edit of context_management")


# --- the answer -------------------------------------------------------------------------------------------------------


def write(answer: Answer, asked: Mapping[str, Any], created: int) -> dict[str, Any]:
    content = [
        {"type": "text", "text": part.text}
        if isinstance(part, Text)
        else {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
        for part in answer.parts
    ]
    return _message(answer.id, answer.model, content, FINISH[answer.finish], answer.usage)


def _message(id: str, model: str, content: list[dict[str, Any]], stop: str | None, usage: Usage) -> dict[str, Any]:
    return {
        "id": id if id.startswith("msg_") else f"msg_{id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": _usage(usage),
    }


def _usage(usage: Usage) -> dict[str, Any]:
    """The usage in Anthropic's form: `input_tokens` does not contain what the cache read and wrote."""
    cached, written = usage.get("cached_tokens", 0), usage.get("cache_write_tokens", 0)
    return {
        "input_tokens": max(usage.get("input_tokens", 0) - cached - written, 0),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "output_tokens": usage.get("output_tokens", 0),
    }


def write_error(message: str, status: int) -> dict[str, Any]:
    kind = ERRORS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": None}


class Writer:
    """The events of a message."""

    def __init__(self, document: Mapping[str, Any], created: int, form: Form) -> None:
        self._index = -1
        self._open = ""  # the kind of the block that is open

    def write(self, delta: Delta) -> bytes:
        match delta:
            case Begin(id, model, usage):
                return _event({"type": "message_start", "message": _message(id, model, [], None, usage)})
            case TextDelta(said):
                begun = b"" if self._open == "text" else self._begin({"type": "text", "text": ""})
                return begun + self._delta({"type": "text_delta", "text": said})
            case Called(id, name):
                return self._begin({"type": "tool_use", "id": id, "name": name, "input": {}})
            case Argued(piece):
                return self._delta({"type": "input_json_delta", "partial_json": piece})
            case Ended(finish, usage):
                stop = {"stop_reason": FINISH[finish], "stop_sequence": None}
                end = _event({"type": "message_delta", "delta": stop, "usage": _usage(usage)})
                return self._close() + end + _event({"type": "message_stop"})
            case Failed(message):
                return _event(write_error(message, 502))

    def _begin(self, block: dict[str, Any]) -> bytes:
        closed = self._close()
        self._index, self._open = self._index + 1, block["type"]
        return closed + _event({"type": "content_block_start", "index": self._index, "content_block": block})

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event({"type": "content_block_delta", "index": self._index, "delta": delta})

    def _close(self) -> bytes:
        if not self._open:
            return b""
        self._open = ""
        return _event({"type": "content_block_stop", "index": self._index})


def _event(data: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (data["type"].encode(), orjson.dumps(data))


CALLER = Caller(read, write, Writer, write_error)
