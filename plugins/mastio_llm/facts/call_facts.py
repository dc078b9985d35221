"""The content facts of a call for policies: sizes, counts and tools. Pure; it reads values only.

Tools are told by name as they are offered, and by name and arguments where their calls are seen in the conversation.
Names that are no strings are no names: the provider refuses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from mastio.http.strictjson import Allowance, JsonError, TooManyValues, parse
from mastio_llm.dialects.operation import member, parts_of

Call = tuple[str, Any]
"""A tool's name and the arguments of one call of it."""


class CallSummary(NamedTuple):
    """`images`: with other files. `tools` are offered, `calls` were made."""

    messages: int
    images: int = 0
    system: bool = False
    tools: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()


Tell = Callable[[Mapping[str, Any]], CallSummary]


# --- OpenAI -----------------------------------------------------------------------------------------------------------

_OPENAI_FILES = frozenset({"image_url", "input_image", "input_file", "input_audio", "file", "video_url"})


def tell_chat(document: Mapping[str, Any]) -> CallSummary:
    messages = document.get("messages")
    images, system, calls = 0, False, list[Call]()
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict):
            continue
        system = system or message.get("role") in ("system", "developer")
        content = message.get("content")
        if not isinstance(content, str):
            images += sum(part.get("type") in _OPENAI_FILES for part in parts_of(content))
        if "tool_calls" in message or "function_call" in message:
            calls += _calls_of_chat(message)
    tools: tuple[str, ...] = ()
    if "tools" in document or "functions" in document:
        functions = (tool.get("name") for tool in parts_of(document.get("functions")))
        tools = _strings([*_openai_tools(document), *functions])
    return CallSummary(_length(messages), images, system, tools, tuple(calls))


def _openai_tools(document: Mapping[str, Any]) -> Iterator[object]:
    """The provider's own tools have no names but their types."""
    for tool in parts_of(document.get("tools")):
        kind = tool.get("type")
        inner = member(tool, kind) if isinstance(kind, str) else {}
        yield tool.get("name") or inner.get("name") or kind


def _calls_of_chat(message: dict[str, Any]) -> Iterator[Call]:
    for call in parts_of(message.get("tool_calls")):
        for made in (member(call, "function"), member(call, "custom")):
            yield from _call(made.get("name"), made.get("arguments", made.get("input")))
    made = member(message, "function_call")
    yield from _call(made.get("name"), made.get("arguments"))


def tell_response(document: Mapping[str, Any]) -> CallSummary:
    items = list(parts_of(document.get("input")))
    calls = [
        call
        for item in items
        if item.get("type") in ("function_call", "custom_tool_call")
        for call in _call(item.get("name"), item.get("arguments", item.get("input")))
    ]
    parts = [part for item in items for part in (item, *parts_of(item.get("content")), *parts_of(item.get("output")))]
    return CallSummary(
        _length(document.get("input")),
        sum(part.get("type") in _OPENAI_FILES for part in parts),
        bool(document.get("instructions")) or any(item.get("role") in ("system", "developer") for item in items),
        _strings(_openai_tools(document)),
        tuple(calls),
    )


def tell_inputs(document: Mapping[str, Any]) -> CallSummary:
    """Embeddings and moderations."""
    return CallSummary(_length(document.get("input")))


# --- Anthropic --------------------------------------------------------------------------------------------------------


def tell_message(document: Mapping[str, Any]) -> CallSummary:
    blocks = [block for message in parts_of(document.get("messages")) for block in _blocks_of(message.get("content"))]
    offered = [tool.get("name") or tool.get("type") for tool in parts_of(document.get("tools"))]
    offered += [server.get("name") for server in parts_of(document.get("mcp_servers"))]
    calls = [
        call
        for block in blocks
        if block.get("type") in ("tool_use", "server_tool_use", "mcp_tool_use")
        for call in _call(block.get("name"), block.get("input"))
    ]
    return CallSummary(
        _length(document.get("messages")),
        sum(block.get("type") in ("image", "document") for block in blocks),
        bool(document.get("system")),
        _strings(offered),
        tuple(calls),
    )


def _blocks_of(content: object) -> Iterator[dict[str, Any]]:
    """Results of tools have blocks too."""
    for block in parts_of(content):
        yield block
        yield from _blocks_of(block.get("content"))


# --- Gemini -----------------------------------------------------------------------------------------------------------

_DECLARATIONS = ("functionDeclarations", "function_declarations")


def tell_content(document: Mapping[str, Any]) -> CallSummary:
    """In both spellings of every name."""
    parts = [part for content in parts_of(document.get("contents")) for part in parts_of(content.get("parts"))]
    offered: list[object] = []
    for tool in parts_of(document.get("tools")):
        for name, value in tool.items():
            offered += [one.get("name") for one in parts_of(value)] if name in _DECLARATIONS else [name]
    calls = [
        call
        for part in parts
        for made in (member(part, "functionCall"), member(part, "function_call"))
        for call in _call(made.get("name"), made.get("args"))
    ]
    files = ("inlineData", "inline_data", "fileData", "file_data")
    return CallSummary(
        _length(document.get("contents")),
        sum(any(name in part for name in files) for part in parts),
        bool(document.get("systemInstruction") or document.get("system_instruction")),
        _strings(offered),
        tuple(calls),
    )


# --- definitions of tools --------------------------------------------------------------------------------------------


def find_definitions(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every tool that is offered, with its definition, in the shapes of all dialects."""
    for tool in (*parts_of(document.get("tools")), *parts_of(document.get("functions"))):
        declared = [one for name in (*_DECLARATIONS, "tools") for one in parts_of(tool.get(name))]
        kind = tool.get("type")
        inner = member(tool, kind) if isinstance(kind, str) else {}
        for one in declared or [tool]:
            name = one.get("name") or inner.get("name") or kind
            yield name if isinstance(name, str) else "", one


# --- what they share --------------------------------------------------------------------------------------------------


def _length(value: object) -> int:
    """Of a list; one thing alone is one, nothing is none."""
    return len(value) if isinstance(value, list) else int(bool(value))


def _strings(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str))


def _call(name: object, arguments: Any) -> Iterator[Call]:
    """Arguments may be JSON in a string; what is no JSON is looked at as it is. Raises `TooManyValues`, which arguments
    in a body with few values cannot have."""
    if not isinstance(name, str):
        return
    if isinstance(arguments, str):
        try:
            arguments = parse(arguments.encode("utf-8", "surrogatepass"), Allowance())
        except TooManyValues:
            raise
        except JsonError:
            pass
    yield name, arguments


TELL: Mapping[tuple[str, str], Tell] = {
    ("openai", "llm.chat"): tell_chat,
    ("openai", "llm.responses"): tell_response,
    ("openai", "llm.embeddings"): tell_inputs,
    ("openai", "llm.moderations"): tell_inputs,
    ("anthropic", "llm.chat"): tell_message,
    ("anthropic", "llm.count_tokens"): tell_message,
    ("gemini", "llm.chat"): tell_content,
}
"""By the caller's dialect and the kind of action."""
