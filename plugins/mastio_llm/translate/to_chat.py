"""OpenAI's chat completions as what a provider speaks: requests are written, answers and streams are read. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from mastio_llm.dialects import OPERATIONS
from mastio_llm.dialects.openai import read_usage
from mastio_llm.dialects.operation import Usage, member, tokens
from mastio_llm.translate.checks import (
    dump,
    find_message,
    load_object,
    made_id,
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
    Format,
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

LONGEST_ID = 40
"""OpenAI's API takes no longer ids of calls."""
LONGEST_USER = 64
ERROR = "Error: "
"""Before what a failed tool says: its result has no other place to tell that it failed."""

FINISH: Mapping[str, Finish] = {
    "stop": "stop", "length": "length", "tool_calls": "tools", "content_filter": "filtered",
}  # fmt: skip

# --- the request ------------------------------------------------------------------------------------------------------


def write(conversation: Conversation, model: str, *, limit: str) -> dict[str, Any]:
    """`limit` is the member that says how many tokens may be written: vendors differ."""
    if conversation.top_k is not None:
        raise refuse("The member 'top_k' of the request")
    messages: list[dict[str, Any]] = []
    if conversation.system:
        messages.append({"role": "system", "content": _content(tuple(Text(said) for said in conversation.system))})
    for turn in conversation.turns:
        messages += _turn(turn)
    request: dict[str, Any] = {"model": model, "messages": messages}
    if conversation.limit is not None:
        request[limit] = conversation.limit
    if conversation.stream:
        request |= {"stream": True, "stream_options": {"include_usage": True}}
    if conversation.stop:
        request["stop"] = list(conversation.stop)
    for name in ("temperature", "top_p", "seed", "presence_penalty", "frequency_penalty"):
        if (value := getattr(conversation, name)) is not None:
            request[name] = value
    if conversation.effort is not None:
        request["reasoning_effort"] = conversation.effort
    if conversation.user is not None:
        request["user"] = _user(conversation.user)
    if conversation.tools:
        request["tools"] = [_tool(tool) for tool in conversation.tools]
        request["tool_choice"] = _choice(conversation)
        if not conversation.parallel:
            request["parallel_tool_calls"] = False
    if conversation.format is not None:
        request["response_format"] = _format(conversation.format)
    return request


def _turn(turn: Turn) -> Iterator[dict[str, Any]]:
    """The messages of a turn: the results of calls come right behind the calls."""
    if turn.role == "assistant":
        yield _assistant(turn.parts)
        return
    for part in turn.parts:
        if isinstance(part, ToolResult):
            yield {"role": "tool", "tool_call_id": plain_id(part.call, LONGEST_ID), "content": _result(part)}
    rest = tuple(part for part in turn.parts if isinstance(part, Text | Image))
    if rest:
        yield {"role": turn.role, "content": _content(rest)}


def _assistant(parts: tuple[Part, ...]) -> dict[str, Any]:
    said = tuple(part for part in parts if isinstance(part, Text | Image))
    message: dict[str, Any] = {"role": "assistant", "content": _content(said) if said else None}
    calls = [
        {
            "id": plain_id(part.id, LONGEST_ID),
            "type": "function",
            "function": {"name": part.name, "arguments": dump(part.arguments)},
        }
        for part in parts
        if isinstance(part, ToolCall)
    ]
    return {**message, "tool_calls": calls} if calls else message


def _content(parts: tuple[Text | Image, ...]) -> str | list[dict[str, Any]]:
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return [_part(part) for part in parts]


def _part(part: Text | Image) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    url = f"data:{part.media_type};base64,{part.data}" if part.url is None else part.url
    return {"type": "image_url", "image_url": {"url": url}}


def _result(result: ToolResult) -> str | list[dict[str, Any]]:
    if isinstance(result.content, str):
        return ERROR + result.content if result.error else result.content
    if any(isinstance(part, Image) for part in result.content):
        raise refuse("An image as the result of a tool")
    parts = (Text(ERROR), *result.content) if result.error else result.content
    return _content(parts) if parts else ""


def _user(user: str) -> str:
    """The same name for the same user, as long as it may be."""
    return user if len(user) <= LONGEST_USER else hashlib.sha256(user.encode("utf-8", "surrogatepass")).hexdigest()


def _tool(tool: Tool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    if tool.schema is not None:
        function["parameters"] = tool.schema
    if tool.strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def _choice(conversation: Conversation) -> str | dict[str, Any]:
    if conversation.choice.mode == "one":
        return {"type": "function", "function": {"name": conversation.choice.name}}
    return "required" if conversation.choice.mode == "any" else conversation.choice.mode


def _format(wanted: Format) -> dict[str, Any]:
    if wanted.schema is None:
        return {"type": "json_object"}
    described = {"name": wanted.name, "schema": wanted.schema, "strict": wanted.strict}
    return {"type": "json_schema", "json_schema": described}


# --- the answer -------------------------------------------------------------------------------------------------------


def read(completion: Mapping[str, Any]) -> Answer:
    choices = said_objects(completion.get("choices"), "the choices")
    if len(choices) != 1:
        raise odd("there is not one choice")
    message = said_object(choices[0].get("message"), "the message")
    finish = _finish(choices[0].get("finish_reason"))
    id = said_name(completion.get("id"))
    parts: list[Text | ToolCall] = []
    for name in ("content", "refusal"):
        if said := said_text(message.get(name) or "", "the message's text"):
            parts.append(Text(said))
            finish = "filtered" if name == "refusal" else finish
    for index, call in enumerate(said_objects(message.get("tool_calls"), "the calls")):
        called, json = _called(call, id, index), _arguments(call)
        arguments = load_object(json)
        if finish == "length" and not arguments:  # one that was cut off, which nobody should carry out
            continue
        if arguments is None:
            raise odd("the arguments of a call are no JSON object")
        parts.append(ToolCall(called.id, called.name, arguments))
    if finish == "stop" and any(isinstance(part, ToolCall) for part in parts):
        finish = "tools"
    return Answer(id, said_name(completion.get("model")), tuple(parts), finish, _usage(completion))


def _called(call: Mapping[str, Any], id: str, index: int) -> Called:
    function = said_object(call.get("function"), "a call that is not of a function")
    given = said_text(call.get("id") or "", "a call's id")
    name = said_text(function.get("name"), "a call's name")
    return Called(given or made_id(id, str(index), name), name)


def _arguments(call: Mapping[str, Any]) -> str:
    function = said_object(call.get("function", {}), "a call that is not of a function")
    return said_text(function.get("arguments") or "", "a call's arguments")


def _finish(reason: object) -> Finish:
    return FINISH.get(reason, "stop") if isinstance(reason, str) else "stop"


def _usage(document: Mapping[str, Any]) -> Usage:
    thoughts = tokens(member(member(document, "usage"), "completion_tokens_details").get("reasoning_tokens"))
    return (read_usage(document) or {}) | ({"reasoning_tokens": thoughts} if thoughts else {})


class Reader:
    """Usage comes behind the finish, and `[DONE]`, which is no event, behind both."""

    def __init__(self) -> None:
        self._id = ""
        self._begun = False
        self._call = -1
        self._usage: Usage = {}
        self._finish: Finish | None = None
        self._refused = False

    def feed(self, event: dict[str, Any]) -> Iterator[Delta]:
        if event.get("error"):
            yield Failed(find_message(event))
            return
        self._usage |= _usage(event)
        for choice in said_objects(event.get("choices"), "the choices"):
            if (choice.get("index") or 0) != 0:
                raise odd("there is not one choice")
            if not self._begun:
                self._begun, self._id = True, said_name(event.get("id"))
                yield Begin(self._id, said_name(event.get("model")), {})
            yield from self._read(said_object(choice.get("delta") or {}, "a delta"))
            if choice.get("finish_reason") is not None:
                self._finish = _finish(choice["finish_reason"])

    def end(self) -> Iterable[Delta]:
        if self._finish is None:
            raise odd("the stream ends before the answer does")
        finish = self._finish
        if finish == "stop":
            finish = "filtered" if self._refused else "tools" if self._call >= 0 else "stop"
        return [Ended(finish, self._usage)]

    def _read(self, delta: dict[str, Any]) -> Iterator[Delta]:
        for name in ("content", "refusal"):
            if said := said_text(delta.get(name) or "", "a text"):
                self._refused = self._refused or name == "refusal"
                yield TextDelta(said)
        for call in said_objects(delta.get("tool_calls"), "the calls"):
            index = call.get("index")
            if index is None:  # some who imitate the API leave it out
                index = self._call + 1 if call.get("id") else self._call
            if type(index) is not int or not self._call <= index <= self._call + 1:
                raise odd("the calls are not one behind the other")
            if index > self._call:
                self._call = index
                yield _called(call, self._id, index)
            if piece := _arguments(call):
                yield Argued(piece)


def _provider(limit: str) -> Provider:
    operation = OPERATIONS["/v1/chat/completions"]
    return Provider(operation, operation, partial(write, limit=limit), read, Reader)


PROVIDER = _provider("max_completion_tokens")
OLLAMA = _provider("max_tokens")
"""As most who imitate the API, it knows the older name alone."""
