"""Google's Gemini API. Every name may be in camel case or with underscores; facts have the former. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mastio_llm.acts.found import UNKNOWN, Found, Grammar, items_of, plain, walk, walk_call

CLIENT = frozenset({"functionDeclarations", "computerUse"})
"""Members of a tool that stand for what the caller runs itself."""


def _both(*names: str) -> frozenset[str]:
    """These names in both spellings."""
    return frozenset(spelling for name in names for spelling in (name, re.sub("[A-Z]", _lower, name)))


def _lower(letter: re.Match[str]) -> str:
    return f"_{letter[0].lower()}"


GRAMMAR = Grammar(
    opaque=_both("args", "response", "functionDeclarations", "responseSchema", "responseJsonSchema", "labels",
                 "headers", "executableCode", "codeExecutionResult", "safetySettings", "stopSequences", "partialArgs",
                 "partMetadata"),
    texts=_both("text", "role", "data", "mimeType", "thoughtSignature", "displayName", "name", "id", "description",
                "responseMimeType", "cachedContent"),
    past=frozenset(),
    files=_both("fileId", "fileIds"),
    tools=frozenset({"tools"}),
)  # fmt: skip

KNOWN = _both("contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig", "labels",
              "cachedContent", "store")  # fmt: skip

_CACHED = _both("cachedContent")
_STORES = _both("fileSearchStoreNames", "ragStoreName", "ragResources", "datastore", "dataStoreSpecs", "engine",
                "ragCorpora")  # fmt: skip
"""Members of a tool that name what the provider keeps."""


def read(document: Mapping[str, Any], found: Found) -> None:
    if any(document.get(name) is not None for name in _CACHED):
        found.stored.add("cached_content")
    walk_call(GRAMMAR, document, found, _offer)
    found.add_unknown_members(document, KNOWN)


def _offer(tools: object, found: Found) -> None:
    for tool in items_of(tools):
        if not isinstance(tool, dict):
            found.hosted.add(UNKNOWN)
            continue
        for name, value in tool.items():
            called = plain(_camel(name))
            if called in CLIENT or value is None:
                continue
            found.hosted.add(called)
            if any(member in _STORES for member in _members(value)):
                found.stored.add("store")
            hosts = set[str]()
            walk(GRAMMAR, value, found, hosts, _offer)
            if called == "mcpServers":
                found.mcp_hosts |= hosts or {UNKNOWN}
            else:
                found.urls |= hosts


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _members(value: object) -> Iterator[str]:
    """The names of all members in it."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            yield from item
            left += item.values()
        elif isinstance(item, list):
            left += item
