"""Gemini's generateContent as what is called: requests are read, answers, streams and errors are written. Pure.

Google's JSON takes members in two spellings, `maxOutputTokens` and `max_output_tokens`; they are one here.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import orjson

from mastio_llm.dialects.operation import Form, Usage
from mastio_llm.translate.checks import (
    an_object,
    dump,
    invalid,
    load_object,
    number,
    objects,
    odd,
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
from mastio_llm.translate.schemas import read_schema
from mastio_llm.translate.translation import Caller

KNOWN = ("contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings")
CONFIG = (
    "temperature", "topP", "topK", "maxOutputTokens", "stopSequences", "seed", "presencePenalty", "frequencyPenalty",
    "responseMimeType", "responseSchema", "responseJsonSchema", "thinkingConfig",
)  # fmt: skip
NEUTRAL_CONFIG = {"candidateCount": (1,), "responseModalities": (["TEXT"], ["text"]), "responseLogprobs": (False,)}
OFF = ("BLOCK_NONE", "OFF")
"""Thresholds of Google's own filters that block nothing."""

FINISH: Mapping[Finish, str] = {"stop": "STOP", "length": "MAX_TOKENS", "tools": "STOP", "filtered": "SAFETY"}
STATUSES = {404: "NOT_FOUND", 409: "ABORTED", 429: "RESOURCE_EXHAUSTED"}

_SNAKE = re.compile(r"_([a-z])")

# --- the request ------------------------------------------------------------------------------------------------------


def read(document: Mapping[str, Any], *, stream: bool) -> Conversation:
    document = camel(document, "the request")
    verify_members(document, KNOWN, {}, "the request", names("gemini"))
    for setting in objects(document.get("safetySettings") or [], "The member safetySettings"):
        verify_members(setting, ("category", "threshold"), {}, "a setting of safetySettings")
        if setting.get("threshold") not in OFF:
            raise refuse("A threshold in safetySettings")
    config = camel(an_object(document.get("generationConfig") or {}, "The member generationConfig"), "generationConfig")
    verify_members(config, CONFIG, NEUTRAL_CONFIG, "generationConfig")
    choice, allowed, strict = _choice(document.get("toolConfig"))
    declared = _tools(document.get("tools") or [], strict)
    tools = tuple(tool for tool in declared if not allowed or tool.name in allowed)
    if not tools and choice.mode not in ("auto", "none"):
        raise invalid("A mode of function calling without functions")
    effort, budget = _thinking(config.get("thinkingConfig"))
    return Conversation(
        gather(_Contents().read(document.get("contents"))),
        tuple(_system(document.get("systemInstruction"))),
        tools,
        choice,
        True,
        _format(config),
        whole(config.get("maxOutputTokens"), "The member maxOutputTokens"),
        texts(config.get("stopSequences"), "The member stopSequences"),
        number(config.get("temperature"), "The member temperature"),
        number(config.get("topP"), "The member topP"),
        whole(config.get("topK"), "The member topK"),
        whole(config.get("seed"), "The member seed"),
        number(config.get("presencePenalty"), "The member presencePenalty") or None,
        number(config.get("frequencyPenalty"), "The member frequencyPenalty") or None,
        effort,
        budget,
        stream=stream,
    )


def camel(document: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Its own members in the one spelling; not those of what is in it."""
    made = {_SNAKE.sub(lambda match: match[1].upper(), name): value for name, value in document.items()}
    if len(made) != len(document):
        raise invalid(f"A member of {where}, which is there in two spellings,")
    return made


def _system(value: object) -> Iterator[str]:
    if value is None:
        return
    if isinstance(value, str):
        yield value
        return
    content = camel(an_object(value, "The member systemInstruction"), "systemInstruction")
    verify_members(content, ("role", "parts"), {}, "systemInstruction")
    for part in _list(content.get("parts"), "The parts of systemInstruction"):
        part = camel(part, "a part")
        verify_members(part, ("text",), {}, "a part of systemInstruction", names("gemini part"))
        yield text(part.get("text"), "A part's text")


def _list(value: object, where: str) -> list[dict[str, Any]]:
    """Google's JSON takes one object for a list of one."""
    return [value] if isinstance(value, dict) else objects(value, where)


class _Contents:
    """Calls and results belong together by their ids, or, where there are none, by name and order."""

    def __init__(self) -> None:
        self._count = 0
        self._open: dict[int, str] = {}  # the ids of calls that have no result yet, by their numbers
        self._by_id: dict[str, deque[int]] = defaultdict(deque)
        self._by_name: dict[str, deque[int]] = defaultdict(deque)

    def read(self, value: object) -> Iterator[Turn]:
        for content in _list(value, "The member contents"):
            content = camel(content, "a content")
            verify_members(content, ("role", "parts"), {}, "a content")
            parts = [camel(part, "a part") for part in _list(content.get("parts"), "A content's parts")]
            match content.get("role"):
                case None | "user" | "function":
                    yield Turn("user", tuple(self._of_user(part) for part in parts))
                case "model":
                    yield Turn("assistant", tuple(self._of_model(p) for p in parts if p.get("thought") is not True))
                case _:
                    raise refuse("The role of a content")

    def _of_model(self, part: dict[str, Any]) -> Part:
        hints = names("gemini part")
        if "functionCall" not in part:
            verify_members(part, ("text",), {"thought": (False,)}, "a part", hints)
            return Text(text(part.get("text"), "A part's text"))
        verify_members(part, ("functionCall",), {"thought": (False,)}, "a part", hints)
        call = camel(an_object(part["functionCall"], "A functionCall"), "a functionCall")
        verify_members(call, ("id", "name", "args"), {}, "a functionCall")
        name = text(call.get("name"), "A functionCall's name")
        id = text_or_none(call.get("id"), "A functionCall's id") or f"call_{self._count}"
        self._open[self._count] = id
        self._by_id[id].append(self._count)
        self._by_name[name].append(self._count)
        self._count += 1
        return ToolCall(id, name, an_object(call.get("args") or {}, "A functionCall's args"))

    def _of_user(self, part: dict[str, Any]) -> Part:
        hints = names("gemini part")
        if "functionResponse" in part:
            verify_members(part, ("functionResponse",), {}, "a part", hints)
            return self._result(camel(an_object(part["functionResponse"], "A functionResponse"), "a functionResponse"))
        if "inlineData" in part or "fileData" in part:
            verify_members(part, ("inlineData", "fileData"), {}, "a part", hints)
            return _image(part)
        verify_members(part, ("text",), {"thought": (False,)}, "a part", hints)
        return Text(text(part.get("text"), "A part's text"))

    def _result(self, response: dict[str, Any]) -> ToolResult:
        verify_members(response, ("id", "name", "response", "parts"), {"willContinue": (False,)}, "a functionResponse")
        name, id = text(response.get("name"), "A functionResponse's name"), response.get("id")
        call = self._close(self._by_name.get(name) if id is None else self._by_id.get(text(id, "Its id")))
        said = an_object(response.get("response") or {}, "A functionResponse's response")
        shown = [_image(camel(part, "a part")) for part in objects(response.get("parts") or [], "Its parts")]
        words = _words(said)
        return ToolResult(call, (Text(words), *shown) if shown else words, said.keys() == {"error"})

    def _close(self, calls: deque[int] | None) -> str:
        """The id of the first of these calls that has no result yet, which it has now."""
        while calls:
            call = self._open.pop(calls.popleft(), None)
            if call is not None:
                return call
        raise invalid("A functionResponse, which belongs to a functionCall before it,")


def _words(response: dict[str, Any]) -> str:
    """The result of a function: its text if it has one member with a generic name, else the object as JSON."""
    match response:
        case {"output": str(said)} | {"result": str(said)} | {"error": str(said)} if len(response) == 1:
            return said
    return dump(response)


def _image(part: dict[str, Any]) -> Image:
    if "inlineData" in part:
        data = camel(an_object(part["inlineData"], "The member inlineData"), "inlineData")
        verify_members(data, ("mimeType", "data"), {}, "inlineData", ("displayName",))
        kind = text(data.get("mimeType"), "A mimeType")
        if not kind.startswith("image/"):
            raise refuse(f"Inline data of type {kind[:64]!r}")
        return Image(_standard(text(data.get("data"), "Inline data")), None, kind)
    file = camel(an_object(part.get("fileData"), "The member fileData"), "fileData")
    verify_members(file, ("mimeType", "fileUri"), {}, "fileData", ("displayName",))
    kind = text_or_none(file.get("mimeType"), "A mimeType") or "image/"
    url = text(file.get("fileUri"), "A fileUri")
    own = not url.startswith(("https://", "http://")) or url.startswith("https://generativelanguage.googleapis.com/")
    if own or not kind.startswith("image/"):
        raise refuse("A file that is kept by the vendor, or is no image,")
    return Image(url=url)


def _standard(data: str) -> str:
    """Google's base64 may be of the alphabet for URLs, and without its end."""
    data = data.replace("-", "+").replace("_", "/")
    return data + "=" * (-len(data) % 4)


def _tools(value: object, strict: bool) -> Iterator[Tool]:
    for tool in _list(value, "The member tools"):
        tool = camel(tool, "a tool")
        verify_members(tool, ("functionDeclarations",), {}, "a tool")
        for function in _list(tool.get("functionDeclarations") or [], "The member functionDeclarations"):
            function = camel(function, "a function")
            known = ("name", "description", "parameters", "parametersJsonSchema")
            neutral = {"behavior": ("BLOCKING", "UNSPECIFIED")}
            verify_members(function, known, neutral, "a function", names("gemini function"))
            schema = function.get("parametersJsonSchema")
            if schema is not None:
                schema = an_object(schema, "The member parametersJsonSchema")
            elif function.get("parameters") is not None:
                schema = read_schema(function["parameters"], closed=strict)
            yield Tool(
                text(function.get("name"), "A function's name"),
                text_or_none(function.get("description"), "A function's description") or None,
                schema,
                strict,
            )


def _choice(value: object) -> tuple[Choice, frozenset[str], bool]:
    """The choice, the functions that it leaves (none: all), and whether calls must keep to the schemas."""
    config = camel(an_object(value or {}, "The member toolConfig"), "toolConfig")
    verify_members(config, ("functionCallingConfig",), {}, "toolConfig")
    calling = camel(an_object(config.get("functionCallingConfig") or {}, "functionCallingConfig"), "toolConfig")
    neutral = {"streamFunctionCallArguments": (False,)}
    verify_members(calling, ("mode", "allowedFunctionNames"), neutral, "functionCallingConfig")
    allowed = frozenset(texts(calling.get("allowedFunctionNames"), "The member allowedFunctionNames"))
    mode = text(calling.get("mode") or "AUTO", "The mode of function calling").upper()
    match mode:
        case "AUTO" | "MODE_UNSPECIFIED":
            return Choice(), allowed, False
        case "VALIDATED":
            return Choice(), allowed, True
        case "NONE":
            return Choice("none"), frozenset(), False
        case "ANY" if len(allowed) == 1:
            return Choice("one", *allowed), frozenset(), False
        case "ANY":
            return Choice("any"), allowed, False
    raise refuse("The mode of function calling")


def _format(config: Mapping[str, Any]) -> Format | None:
    kind = text(config.get("responseMimeType") or "text/plain", "The member responseMimeType")
    given, other = config.get("responseJsonSchema"), config.get("responseSchema")
    if kind == "text/plain" and given is None and other is None:
        return None
    if kind != "application/json" or (given is not None and other is not None):
        raise refuse("The responseMimeType, or a schema beside it,")
    if other is not None:
        return Format(read_schema(other, closed=True))
    return Format(None if given is None else an_object(given, "The member responseJsonSchema"))


def _thinking(value: object) -> tuple[str | None, int | None]:
    """The effort and the budget. A budget of 0 is no thinking at all, and one of -1 is the model's own."""
    config = camel(an_object(value or {}, "The member thinkingConfig"), "thinkingConfig")
    verify_members(config, ("thinkingLevel", "thinkingBudget"), {"includeThoughts": (False,)}, "thinkingConfig")
    level = text_or_none(config.get("thinkingLevel"), "The member thinkingLevel")
    budget = whole(config.get("thinkingBudget"), "The member thinkingBudget")
    if level is not None and level.upper() != "THINKING_LEVEL_UNSPECIFIED":
        return level.lower(), None
    return ("none", None) if budget == 0 else (None, budget if budget is not None and budget > 0 else None)


# --- the answer -------------------------------------------------------------------------------------------------------


def write(answer: Answer, asked: Mapping[str, Any], created: int) -> dict[str, Any]:
    parts = [
        {"text": part.text} if isinstance(part, Text) else _call(part.id, part.name, part.arguments)
        for part in answer.parts
    ]
    return _reply(answer.id, answer.model, parts, FINISH[answer.finish], answer.usage)


def _reply(
    id: str, model: str, parts: list[dict[str, Any]], finish: str | None = None, usage: Usage | None = None
) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    made: dict[str, Any] = {"candidates": [candidate], "modelVersion": model, "responseId": id}
    return made if usage is None else {**made, "usageMetadata": _usage(usage)}


def _call(id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"functionCall": {"id": id, "name": name, "args": arguments}}


def _usage(usage: Usage) -> dict[str, Any]:
    """Thoughts are not among the candidates' tokens here."""
    read, written, thoughts = (usage.get(name, 0) for name in ("input_tokens", "output_tokens", "reasoning_tokens"))
    made = {
        "promptTokenCount": read,
        "candidatesTokenCount": max(written - thoughts, 0),
        "totalTokenCount": read + written,
    }
    if thoughts:
        made["thoughtsTokenCount"] = thoughts
    if "cached_tokens" in usage:
        made["cachedContentTokenCount"] = usage["cached_tokens"]
    return made


def write_error(message: str, status: int) -> dict[str, Any]:
    word = STATUSES.get(status, "UNAVAILABLE" if status >= 500 else "INVALID_ARGUMENT")
    return {"error": {"code": status, "message": message, "status": word}}


class Writer:
    """Answers that each have what is new: as events, or as the elements of an array. A call comes whole."""

    def __init__(self, document: Mapping[str, Any], created: int, form: Form) -> None:
        self._array = form == "array"
        self._empty = True
        self._id = self._model = ""
        self._call: Called | None = None
        self._arguments = ""

    def write(self, delta: Delta) -> bytes:
        match delta:
            case Begin(id, model):
                self._id, self._model = id, model
                return b""
            case TextDelta(said):
                return self._flush() + self._element(_reply(self._id, self._model, [{"text": said}]))
            case Called():
                flushed = self._flush()
                self._call, self._arguments = delta, ""
                return flushed
            case Argued(piece):
                self._arguments += piece
                return b""
            case Ended(finish, usage):
                cut = finish == "length" and not (self._arguments and load_object(self._arguments))
                flushed = b"" if cut else self._flush()  # a call that was cut off is none
                last = _reply(self._id, self._model, [{"text": ""}], FINISH[finish], usage)
                return flushed + self._element(last) + self._end()
            case Failed(message):
                return self._element(write_error(message, 502)) + self._end()

    def _flush(self) -> bytes:
        """The call that is complete now, if there is one."""
        if self._call is None:
            return b""
        call, arguments, self._call = self._call, load_object(self._arguments), None
        if arguments is None:
            raise odd("the arguments of a call are no JSON object")
        return self._element(_reply(self._id, self._model, [_call(call.id, call.name, arguments)]))

    def _element(self, document: dict[str, Any]) -> bytes:
        if not self._array:
            return b"data: " + orjson.dumps(document) + b"\r\n\r\n"
        before, self._empty = b"[" if self._empty else b",\r\n", False
        return before + orjson.dumps(document)

    def _end(self) -> bytes:
        return b"]" if self._array else b""


WHOLE = Caller(partial(read, stream=False), write, Writer, write_error)
STREAMED = Caller(partial(read, stream=True), write, Writer, write_error)
