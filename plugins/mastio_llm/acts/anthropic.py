"""Anthropic's API: messages, and the count of their tokens. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mastio_llm.acts.found import UNKNOWN, Found, Grammar, items_of, plain, walk, walk_call

_CLIENT = re.compile(r"custom|(?:bash|text_editor|computer|memory)_20[0-9]{6}")
"""Types of tools that the caller runs itself; the API's own have a version."""

GRAMMAR = Grammar(
    opaque=frozenset({"input", "input_schema", "input_examples", "metadata", "citations", "output_config",
                      "output_format", "mcp_servers", "container", "user_location", "stop_sequences"}),
    texts=frozenset({
        "text", "content", "system", "thinking", "signature", "role", "type", "id", "tool_use_id", "name", "title",
        "context", "description", "model", "media_type", "data", "partial_json", "authorization_token",
        "instructions",
    }),
    past=frozenset({
        "web_search_tool_result", "web_search_result", "web_fetch_tool_result", "web_fetch_result", "search_result",
        "code_execution_tool_result", "bash_code_execution_tool_result", "text_editor_code_execution_tool_result",
        "tool_search_tool_result", "server_tool_use", "mcp_tool_use", "mcp_tool_result",
    }),
    files=frozenset({"file_id", "file_ids"}),
    tools=frozenset({"tools"}),
)  # fmt: skip

KNOWN = frozenset({
    "model", "messages", "system", "tools", "tool_choice", "mcp_servers", "container", "metadata", "stream",
    "stop_sequences", "context_management",
})  # fmt: skip


def read(document: Mapping[str, Any], found: Found) -> None:
    _read_container(document.get("container"), found)
    for server in items_of(document.get("mcp_servers")):
        found.hosted.add("mcp")
        hosts = set[str]()
        walk(GRAMMAR, server, found, hosts, _offer)
        found.mcp_hosts |= hosts or {UNKNOWN}
    walk_call(GRAMMAR, document, found, _offer)
    found.add_unknown_members(document, KNOWN)


def _read_container(container: object, found: Found) -> None:
    """One that is there already, or one to be made: with skills, which run in it."""
    if container is None:
        return
    if isinstance(container, str) or (isinstance(container, dict) and container.get("id") is not None):
        found.stored.add("container")
    if isinstance(container, dict) and not container.keys() <= {"id"}:
        found.hosted.add("skills" if container.get("skills") else "container")


def _offer(tools: object, found: Found) -> None:
    for tool in items_of(tools):
        kind = tool.get("type", "custom") if isinstance(tool, dict) else UNKNOWN
        if kind is None or (isinstance(kind, str) and _CLIENT.fullmatch(kind)):
            continue
        found.hosted.add(plain(kind))
        walk(GRAMMAR, tool, found, found.urls, _offer)
