"""OpenAI's responses as what is called: requests are read, answers, streams and errors are written. Pure.

Nothing is kept: a response is whole in itself, and its conversation comes with each request. A tool of type `custom`
takes text instead of an object; elsewhere it is a function with the one argument `input`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from mastio_llm.dialects.operation import Form, Usage
from mastio_llm.translate.checks import (
    an_object,
    dump,
    flag,
    invalid,
    load_object,
    number,
    objects,
    odd,
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
    Part,
    Text,
    TextDelta,
    Tool,
    ToolCall,
    ToolResult,
    Turn,
    gather,
)
from mastio_llm.translate.from_chat import read_function, read_image, read_schema, write_error
from mastio_llm.translate.hints import names
from mastio_llm.translate.translation import Caller

KNOWN = (
    "model", "input", "instructions", "max_output_tokens", "stream", "stream_options", "temperature", "top_p", "tools",
    "tool_choice", "parallel_tool_calls", "text", "reasoning", "include", "user", "safety_identifier",
)  # fmt: skip
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "store": (False,), "background": (False,), "truncation": ("disabled",), "service_tier": ("auto", "default"),
    "top_logprobs": (0,),
}  # fmt: skip
INCLUDED = frozenset({"reasoning.encrypted_content"})
"""Thoughts are not shown, in no form."""

INPUT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
"""The one argument of a tool that takes text."""

REASONS: Mapping[Finish, str] = {"length": "max_output_tokens", "filtered": "content_filter"}
"""Why a response is not complete."""

# --- the request ------------------------------------------------------------------------------------------------------


def read(document: Mapping[str, Any]) -> Conversation:
    verify_members(document, KNOWN, NEUTRAL, "the request", names("responses"))
    if not INCLUDED.issuperset(texts(document.get("include"), "The member include")):
        raise refuse("What the member include asks for")
    if document.get("stream_options") is not None:
        options = an_object(document["stream_options"], "The member stream_options")
        verify_members(options, (), {"include_obfuscation": (False, True)}, "stream_options")
    tools = tuple(_tool(tool) for tool in objects(document.get("tools") or [], "The member tools"))
    choice = _choice(document.get("tool_choice"))
    if not tools and choice.mode not in ("auto", "none"):
        raise invalid("A tool_choice without tools")
    instructions = text_or_none(document.get("instructions"), "The member instructions")
    system, turns = _input(document.get("input"))
    user = document.get("user") if document.get("user") is not None else document.get("safety_identifier")
    return Conversation(
        gather(turns),
        (*([instructions] if instructions else []), *system),
        tools,
        choice,
        flag(document.get("parallel_tool_calls"), "The member parallel_tool_calls", True),
        _format(document.get("text")),
        whole(document.get("max_output_tokens"), "The member max_output_tokens"),
        (),
        number(document.get("temperature"), "The member temperature"),
        number(document.get("top_p"), "The member top_p"),
        effort=_effort(document.get("reasoning")),
        user=text_or_none(user, "The member user"),
        stream=flag(document.get("stream"), "The member stream"),
    )


def _input(value: object) -> tuple[list[str], list[Turn]]:
    """The system prompt, and the conversation."""
    if isinstance(value, str):
        return [], [Turn("user", (Text(value),))]
    system: list[str] = []
    turns: list[Turn] = []
    for item in objects(value, "The member input"):
        for turn in _item(item):
            if turn.role == "system" and not turns:
                system += [part.text for part in turn.parts if isinstance(part, Text)]
            else:
                turns.append(turn)
    return system, turns


def _item(item: dict[str, Any]) -> Iterator[Turn]:
    hints = names("responses item")
    match item.get("type", "message"):
        case "message":
            verify_members(item, ("type", "role", "content"), {}, "a message", hints)
            yield _message(item)
        case "function_call":
            verify_members(item, ("type", "call_id", "name", "arguments"), {}, "a function_call", hints)
            arguments = parse_arguments(item.get("arguments"))
            yield Turn("assistant", (ToolCall(_id(item), text(item.get("name"), "A call's name"), arguments),))
        case "custom_tool_call":
            verify_members(item, ("type", "call_id", "name", "input"), {}, "a custom_tool_call", hints)
            given = {"input": text(item.get("input"), "A call's input")}
            yield Turn("assistant", (ToolCall(_id(item), text(item.get("name"), "A call's name"), given),))
        case "function_call_output" | "custom_tool_call_output":
            verify_members(item, ("type", "call_id", "output"), {}, "the output of a call", (*hints, "name"))
            output = item.get("output")
            said = output if isinstance(output, str) else tuple(_shown(output, "The output of a call"))
            yield Turn("user", (ToolResult(_id(item), said),))
        case "reasoning":  # a model's own notes, which no other vendor's can read
            return
        case _:
            raise refuse(f"An item of type {str(item.get('type'))[:64]!r}")


def _id(item: Mapping[str, Any]) -> str:
    return text(item.get("call_id"), "The member call_id")


def _message(item: dict[str, Any]) -> Turn:
    parts: tuple[Part, ...] = tuple(_shown(item.get("content"), "A message's content"))
    match item.get("role"):
        case "user":
            return Turn("user", parts)
        case "assistant" if not any(isinstance(part, Image) for part in parts):
            return Turn("assistant", tuple(part for part in parts if part != Text("")))
        case "system" | "developer" if not any(isinstance(part, Image) for part in parts):
            return Turn("system", parts)
    raise refuse("The role of a message")


def _shown(value: object, where: str) -> Iterator[Text | Image]:
    if isinstance(value, str):
        yield Text(value)
        return
    for part in objects(value, where):
        hints = names("responses item")
        match part.get("type"):
            case "input_text" | "output_text" | "text":
                verify_members(part, ("type", "text"), {}, "a part", hints)
                yield Text(text(part.get("text"), "A part's text"))
            case "input_image":
                verify_members(part, ("type", "image_url"), {"detail": ("auto",)}, "a part", hints)
                yield read_image(part.get("image_url"))
            case _:
                raise refuse(f"A part of type {str(part.get('type'))[:64]!r}")


def _tool(tool: dict[str, Any]) -> Tool:
    neutral = {"defer_loading": (False,), "allowed_callers": (["direct"],)}
    match tool.get("type"):
        case "function":
            known = ("type", "name", "description", "parameters", "strict")
            verify_members(tool, known, neutral, "a tool", names("responses tool"))
            return read_function(tool)
        case "custom":
            verify_members(tool, ("type", "name", "description"), {**neutral, "format": ({"type": "text"},)}, "a tool")
            described = text_or_none(tool.get("description"), "A tool's description") or None
            return Tool(text(tool.get("name"), "A tool's name"), described, INPUT)
    raise refuse(f"A tool of type {str(tool.get('type'))[:64]!r}")


def _choice(choice: object) -> Choice:
    match choice:
        case None | "auto":
            return Choice()
        case "none":
            return Choice("none")
        case "required":
            return Choice("any")
        case {"type": "function" | "custom", "name": str(name), **more}:
            verify_members(more, (), {}, "tool_choice")
            return Choice("one", name)
    raise refuse("The tool_choice")


def _format(value: object) -> Format | None:
    config = an_object(value or {}, "The member text")
    verify_members(config, ("format",), {}, "text", names("responses text"))
    match config.get("format"):
        case None:
            return None
        case {"type": "text" | "json_object" as kind, **more}:
            verify_members(more, (), {}, "the format of the text")
            return None if kind == "text" else Format(None)
        case {"type": "json_schema"} as described:
            return read_schema(described)
    raise refuse("The format of the text")


def _effort(value: object) -> str | None:
    reasoning = an_object(value or {}, "The member reasoning")
    verify_members(reasoning, ("effort",), {"mode": ("standard",)}, "reasoning", names("responses reasoning"))
    return text_or_none(reasoning.get("effort"), "The member effort")


# --- the answer -------------------------------------------------------------------------------------------------------


def _customs(asked: Mapping[str, Any]) -> frozenset[str]:
    """The names of the tools that take text."""
    return frozenset(tool["name"] for tool in asked.get("tools") or [] if tool.get("type") == "custom")


def write(answer: Answer, asked: Mapping[str, Any], created: int) -> dict[str, Any]:
    items = _Items(answer.id, _customs(asked))
    for part in answer.parts:
        if isinstance(part, Text):
            items.say(part.text)
        else:
            items.call(Called(part.id, part.name), dump(part.arguments))
    return _response(answer.id, answer.model, asked, created, items.done(), answer.finish, answer.usage)


class _Items:
    """The output: texts that follow each other are one message, each call is an item."""

    def __init__(self, id: str, customs: frozenset[str]) -> None:
        self._id = id
        self._customs = customs
        self._made: list[dict[str, Any]] = []
        self._said: list[str] = []

    def say(self, said: str) -> None:
        self._said.append(said)

    def call(self, called: Called, arguments: str) -> None:
        self.done()
        self._made.append(_call(self._id, len(self._made), called, arguments, called.name in self._customs))

    def done(self) -> list[dict[str, Any]]:
        if self._said:
            self._made.append(_said(self._id, len(self._made), [_text("".join(self._said))], "completed"))
            self._said = []
        return self._made


def _said(id: str, index: int, content: list[dict[str, Any]], status: str) -> dict[str, Any]:
    return {"id": f"msg_{id}_{index}", "type": "message", "status": status, "role": "assistant", "content": content}


def _text(said: str) -> dict[str, Any]:
    return {"type": "output_text", "text": said, "annotations": [], "logprobs": []}


def _call(
    id: str, index: int, called: Called, arguments: str, custom: bool, status: str = "completed"
) -> dict[str, Any]:
    made = {"call_id": called.id, "name": called.name, "status": status}
    if custom:
        return {"id": f"ctc_{id}_{index}", "type": "custom_tool_call", **made, "input": _input_of(arguments)}
    return {"id": f"fc_{id}_{index}", "type": "function_call", **made, "arguments": arguments}


def _input_of(arguments: str) -> str:
    """The text for a tool that takes text. Raises `DispatchError` where the model gave none."""
    if not arguments:
        return ""
    match load_object(arguments):
        case {"input": str(given)}:
            return given
    raise odd("the arguments of a call are not as its tool has them")


def _response(
    id: str,
    model: str,
    asked: Mapping[str, Any],
    created: int,
    output: list[dict[str, Any]],
    finish: Finish | None,
    usage: Usage,
) -> dict[str, Any]:
    """`finish` is None for one that has only begun."""
    reason = REASONS.get(finish) if finish else None
    reasoning, wanted = asked.get("reasoning") or {}, asked.get("text") or {}
    return {
        "id": f"resp_{id}",
        "object": "response",
        "created_at": created,
        "status": "in_progress" if finish is None else "incomplete" if reason else "completed",
        "background": False,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": asked.get("instructions"),
        "max_output_tokens": asked.get("max_output_tokens"),
        "metadata": asked.get("metadata") or {},
        "model": model,
        "output": output,
        "parallel_tool_calls": asked.get("parallel_tool_calls") is not False,
        "previous_response_id": None,
        "reasoning": {"effort": reasoning.get("effort"), "summary": None},
        "service_tier": "default",
        "store": False,
        "temperature": asked.get("temperature"),
        "text": {"format": wanted.get("format") or {"type": "text"}},
        "tool_choice": asked.get("tool_choice") or "auto",
        "tools": asked.get("tools") or [],
        "top_p": asked.get("top_p"),
        "truncation": "disabled",
        "usage": None if finish is None else _usage(usage),
        "user": asked.get("user"),
    }


def _usage(usage: Usage) -> dict[str, Any]:
    read, written = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
    cached, kept = usage.get("cached_tokens", 0), usage.get("cache_write_tokens", 0)
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": kept},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": usage.get("reasoning_tokens", 0)},
        "total_tokens": read + written,
    }


class Writer:
    """The events of a response, numbered."""

    def __init__(self, document: Mapping[str, Any], created: int, form: Form) -> None:
        self._asked = document
        self._created = created
        self._customs = _customs(document)
        self._number = 0
        self._id = self._model = ""
        self._output: list[dict[str, Any]] = []
        self._said: list[str] = []
        self._call: Called | None = None
        self._arguments: list[str] = []

    def write(self, delta: Delta) -> bytes:
        match delta:
            case Begin(id, model):
                self._id, self._model = id, model
                return self._whole("response.created", None, {}) + self._whole("response.in_progress", None, {})
            case TextDelta(said):
                begun = b"" if self._said else self._close("completed") + self._open_message()
                self._said.append(said)
                return begun + self._in_message("output_text.delta", delta=said, logprobs=[])
            case Called():
                closed = self._close("completed")
                self._call, self._arguments = delta, []
                return closed + self._item("added", self._item_of("", "in_progress"))
            case Argued(piece):
                self._arguments.append(piece)
                return b"" if self._is_custom() else self._of_call("function_call_arguments.delta", delta=piece)
            case Ended(finish, usage):
                closed = self._close("incomplete" if finish == "length" else "completed")
                kind = "response.incomplete" if finish in REASONS else "response.completed"
                return closed + self._whole(kind, finish, usage)
            case Failed(message):
                error = {"code": "server_error", "message": message, "param": None}
                return self._event("error", **error, **write_error(message, 502))

    def _is_custom(self) -> bool:
        return self._call is not None and self._call.name in self._customs

    def _item_of(self, arguments: str, status: str) -> dict[str, Any]:
        if self._call is None:
            content = [_text("".join(self._said))] if status != "in_progress" else []
            return _said(self._id, len(self._output), content, status)
        return _call(self._id, len(self._output), self._call, arguments, self._is_custom(), status)

    def _open_message(self) -> bytes:
        opened = self._item("added", self._item_of("", "in_progress"))
        return opened + self._in_message("content_part.added", part=_text(""))

    def _close(self, status: str) -> bytes:
        """The end of the item that is open, if there is one."""
        if self._call is not None:
            arguments = "".join(self._arguments)
            item = self._item_of("" if self._is_custom() and status == "incomplete" else arguments, status)
            if self._is_custom():
                ends = self._of_call("custom_tool_call_input.delta", delta=item["input"])
                ends += self._of_call("custom_tool_call_input.done", input=item["input"])
            else:
                name = self._call.name
                ends = self._of_call("function_call_arguments.done", name=name, arguments=arguments)
        elif self._said:
            item, said = self._item_of("", status), "".join(self._said)
            ends = self._in_message("output_text.done", text=said, logprobs=[])
            ends += self._in_message("content_part.done", part=_text(said))
        else:
            return b""
        ends += self._item("done", item)
        self._output.append(item)
        self._said, self._call = [], None
        return ends

    def _item(self, what: str, item: dict[str, Any]) -> bytes:
        return self._event(f"response.output_item.{what}", output_index=len(self._output), item=item)

    def _of_call(self, kind: str, **members: object) -> bytes:
        item = f"{'ctc' if self._is_custom() else 'fc'}_{self._id}_{len(self._output)}"
        return self._event(f"response.{kind}", item_id=item, output_index=len(self._output), **members)

    def _in_message(self, kind: str, **members: object) -> bytes:
        at = len(self._output)
        place = {"item_id": f"msg_{self._id}_{at}", "output_index": at, "content_index": 0}
        return self._event(f"response.{kind}", **place, **members)

    def _whole(self, kind: str, finish: Finish | None, usage: Usage) -> bytes:
        response = _response(self._id, self._model, self._asked, self._created, self._output, finish, usage)
        return self._event(kind, response=response)

    def _event(self, kind: str, **members: object) -> bytes:
        data = {"type": kind, "sequence_number": self._number, **members}
        self._number += 1
        return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps(data))


CALLER = Caller(read, write, Writer, write_error)
