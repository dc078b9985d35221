"""Gemini's generateContent as what a provider speaks: requests are written, answers and streams are read. Pure.

A model's own note on a call (`thoughtSignature`) must come back with the call, or newer models refuse. No other API has
a place for it, so it travels in the call's id, which every client hands back as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mastio_llm.dialects import OPERATIONS
from mastio_llm.dialects.gemini import read_usage
from mastio_llm.dialects.operation import Usage, member, tokens
from mastio_llm.translate.checks import (
    CallOnlyError,
    dump,
    find_message,
    invalid,
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

ROLES = {"user": "user", "assistant": "model"}
LEVELS = {word: word.upper() for word in ("minimal", "low", "medium", "high", "xhigh")}
MODES = {"auto": "AUTO", "none": "NONE", "any": "ANY", "one": "ANY"}
TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif"}

FINISH: Mapping[str, Finish] = {
    "STOP": "stop", "MAX_TOKENS": "length",
    **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"), "filtered"),
}  # fmt: skip
"""Any other is a failure: a call that is no call, a reason that nobody names."""

SIGNED = "_sig_"
"""Between a call's id and the note that goes with it."""
LONGEST_ID = 64

_WORD = re.compile(r"[A-Z_]{1,40}")
_TO_PLAIN, _FROM_PLAIN = str.maketrans("+/", "-_", "="), str.maketrans("-_", "+/")

# --- the request ------------------------------------------------------------------------------------------------------


def write(conversation: Conversation, model: str) -> dict[str, Any]:
    called: dict[str, str] = {}
    request: dict[str, Any] = {"contents": [_turn(turn, called) for turn in conversation.turns]}
    if conversation.system:
        request["systemInstruction"] = {"parts": [{"text": said} for said in conversation.system]}
    if conversation.tools:
        request["tools"] = [{"functionDeclarations": [_tool(tool) for tool in conversation.tools]}]
        request["toolConfig"] = {"functionCallingConfig": _choice(conversation)}
    if config := _config(conversation):
        request["generationConfig"] = config
    return request


def _turn(turn: Turn, called: dict[str, str]) -> dict[str, Any]:
    """`called` has the names of the calls so far by their ids: a result is told by its function's name here."""
    if turn.role == "system":
        raise refuse("A system message after the conversation has begun")
    called |= {part.id: part.name for part in turn.parts if isinstance(part, ToolCall)}
    return {"role": ROLES[turn.role], "parts": [_part(part, called) for part in turn.parts]}


def _part(part: Part, called: Mapping[str, str]) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"text": text}
        case Image(None, url):
            return {"fileData": _file(str(url))}
        case Image(data, _, media_type):
            return {"inlineData": {"mimeType": media_type, "data": data}}
        case ToolCall(id, name, arguments):
            plain, _, note = id.partition(SIGNED)
            call = {"functionCall": {"id": plain_id(plain, LONGEST_ID), "name": name, "args": arguments}}
            return {**call, "thoughtSignature": _unfold(note)} if note else call
        case ToolResult():
            return {"functionResponse": _result(part, called)}


def _result(result: ToolResult, called: Mapping[str, str]) -> dict[str, Any]:
    name = called.get(result.call)
    if name is None:
        raise invalid("A tool's result, which belongs to a call before it,")
    content = (Text(result.content),) if isinstance(result.content, str) else result.content
    said = "\n".join(part.text for part in content if isinstance(part, Text))
    made: dict[str, Any] = {
        "id": plain_id(result.call.partition(SIGNED)[0], LONGEST_ID),
        "name": name,
        "response": {"error" if result.error else "output": said},
    }
    images = [part for part in content if isinstance(part, Image)]
    if any(image.url is not None for image in images):
        raise refuse("An image by address as the result of a tool")
    return {**made, "parts": [_part(image, called) for image in images]} if images else made


def _file(url: str) -> dict[str, Any]:
    end = url.split("?")[0].split("#")[0].lower()
    found = [kind for ending, kind in TYPES.items() if end.endswith(ending)]
    return {"fileUri": url, "mimeType": found[0]} if found else {"fileUri": url}


def _unfold(note: str) -> str:
    plain = note.translate(_FROM_PLAIN)
    return plain + "=" * (-len(plain) % 4)


def _tool(tool: Tool) -> dict[str, Any]:
    made: dict[str, Any] = {"name": tool.name}
    if tool.description:
        made["description"] = tool.description
    if tool.schema is not None:
        made["parametersJsonSchema"] = tool.schema
    return made


def _choice(conversation: Conversation) -> dict[str, Any]:
    """`VALIDATED` keeps to the schemas as `ANY` does, and leaves it to the model whether to call."""
    choice = conversation.choice
    strict = choice.mode == "auto" and any(tool.strict for tool in conversation.tools)
    made: dict[str, Any] = {"mode": "VALIDATED" if strict else MODES[choice.mode]}
    if choice.mode == "one":
        made["allowedFunctionNames"] = [choice.name]
    return made


def _config(conversation: Conversation) -> dict[str, Any]:
    made: dict[str, Any] = {
        "maxOutputTokens": conversation.limit,
        "stopSequences": list(conversation.stop) or None,
        "temperature": conversation.temperature,
        "topP": conversation.top_p,
        "topK": conversation.top_k,
        "seed": conversation.seed,
        "presencePenalty": conversation.presence_penalty,
        "frequencyPenalty": conversation.frequency_penalty,
    }
    if conversation.format is not None:
        made |= {"responseMimeType": "application/json", "responseJsonSchema": conversation.format.schema}
    if conversation.effort == "none":
        made["thinkingConfig"] = {"thinkingBudget": 0}
    elif conversation.effort is not None:  # which is the more of a demand: a budget only bounds it
        if conversation.effort not in LEVELS:
            raise refuse(f"The effort {conversation.effort[:16]!r}")
        made["thinkingConfig"] = {"thinkingLevel": LEVELS[conversation.effort]}
    elif conversation.budget is not None:
        made["thinkingConfig"] = {"thinkingBudget": conversation.budget}
    return {name: value for name, value in made.items() if value is not None}


# --- the answer -------------------------------------------------------------------------------------------------------


def read(reply: Mapping[str, Any]) -> Answer:
    id, parts = said_name(reply.get("responseId")), []
    finish: Finish | None = _blocked(reply)
    for candidate in _candidates(reply):
        parts = list(_parts(candidate, id, 0))
        finish = _finish(candidate) or finish
    if finish is None:
        raise odd("the answer has no end")
    return Answer(id, said_name(reply.get("modelVersion")), tuple(parts), _called(finish, parts), _usage(reply))


def _candidates(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    candidates = said_objects(reply.get("candidates"), "the candidates")
    if len(candidates) > 1:
        raise odd("there is more than one candidate")
    return candidates


def _parts(candidate: Mapping[str, Any], id: str, calls: int) -> Iterator[Text | ToolCall]:
    """`calls`: how many there were before. Thoughts are left out."""
    content = said_object(candidate.get("content") or {}, "the content")
    for part in said_objects(content.get("parts"), "the parts"):
        if part.get("thought") is True:
            continue
        if "functionCall" in part:
            yield _call(part, id, calls)
            calls += 1
        elif "text" in part:
            if text := said_text(part["text"], "a text"):
                yield Text(text)
        elif part.keys() - {"thoughtSignature", "thought"}:
            raise odd("a part is of a kind that was not asked for")


def _call(part: Mapping[str, Any], id: str, index: int) -> ToolCall:
    call = said_object(part["functionCall"], "a call")
    name = said_text(call.get("name"), "a call's name")
    arguments = said_object(call.get("args") or {}, "a call's arguments")
    given = said_text(call.get("id") or "", "a call's id")
    plain = plain_id(given, LONGEST_ID) if given else made_id(id, str(index), name, dump(arguments))
    note = said_text(part.get("thoughtSignature") or "", "a call's signature")
    return ToolCall(f"{plain}{SIGNED}{note.translate(_TO_PLAIN)}" if note else plain, name, arguments)


def _blocked(reply: Mapping[str, Any]) -> Finish | None:
    return "filtered" if member(reply, "promptFeedback").get("blockReason") else None


def _finish(candidate: Mapping[str, Any]) -> Finish | None:
    reason = candidate.get("finishReason")
    if reason is None:
        return None
    finish = FINISH.get(reason) if isinstance(reason, str) else None
    if finish is None:
        said = reason if isinstance(reason, str) and _WORD.fullmatch(reason) else "unknown"
        raise CallOnlyError(f"The provider did not finish its answer ({said}).")
    return finish


def _called(finish: Finish, parts: Iterable[Text | ToolCall]) -> Finish:
    return "tools" if finish == "stop" and any(isinstance(part, ToolCall) for part in parts) else finish


def _usage(reply: Mapping[str, Any]) -> Usage:
    thoughts = tokens(member(reply, "usageMetadata").get("thoughtsTokenCount"))
    return (read_usage(reply) or {}) | ({"reasoning_tokens": thoughts} if thoughts else {})


class Reader:
    """Each event is an answer of its own, with what is new; the last ones have the finish and the usage."""

    def __init__(self) -> None:
        self._id = ""
        self._begun = False
        self._calls = 0
        self._finish: Finish | None = None
        self._usage: Usage = {}

    def feed(self, event: dict[str, Any]) -> Iterator[Delta]:
        if event.get("error"):
            yield Failed(find_message(event))
            return
        self._usage |= _usage(event)
        if not self._begun:
            self._begun, self._id = True, said_name(event.get("responseId"))
            known = {name: count for name, count in self._usage.items() if name in ("input_tokens", "cached_tokens")}
            yield Begin(self._id, said_name(event.get("modelVersion")), known)
        self._finish = _blocked(event) or self._finish
        for candidate in _candidates(event):
            for part in _parts(candidate, self._id, self._calls):
                yield from self._tell(part)
            self._finish = _finish(candidate) or self._finish

    def end(self) -> Iterable[Delta]:
        if self._finish is None:
            raise odd("the stream ends before the answer does")
        return [Ended("tools" if self._finish == "stop" and self._calls else self._finish, self._usage)]

    def _tell(self, part: Text | ToolCall) -> Iterator[Delta]:
        if isinstance(part, Text):
            yield TextDelta(part.text)
            return
        self._calls += 1
        yield Called(part.id, part.name)
        yield Argued(dump(part.arguments))


PROVIDER = Provider(
    OPERATIONS["/v1beta/models/{model...}:generateContent"],
    OPERATIONS["/v1beta/models/{model...}:streamGenerateContent"],
    write,
    read,
    Reader,
    always_parallel=True,
)
