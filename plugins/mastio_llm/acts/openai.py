"""OpenAI's API: chat completions, responses, embeddings, moderations. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mastio_llm.acts.found import UNKNOWN, Found, Grammar, items_of, plain, walk, walk_call

CLIENT = frozenset(
    {"function", "custom", "local_shell", "apply_patch", "computer", "computer_use", "computer_use_preview"}
)
"""Types of tools that the caller runs itself."""

GRAMMAR = Grammar(
    opaque=frozenset({
        "parameters", "json_schema", "schema", "format", "metadata", "annotations", "logprobs", "logit_bias", "headers",
        "filters", "user_location", "allowed_tools", "require_approval", "results", "operation", "action", "actions",
        "client_metadata", "response_format", "guided_json", "structured_outputs", "chat_template_kwargs",
        "tool_choice", "arguments", "pending_safety_checks", "acknowledged_safety_checks",
    }),
    texts=frozenset({
        "content", "text", "input", "instructions", "output", "description", "name", "role", "type", "id",
        "call_id", "tool_call_id", "refusal", "reasoning_content", "reasoning", "thinking", "summary", "model", "title",
        "authorization", "user", "prompt_cache_key", "safety_identifier", "server_label", "server_description",
        "filename", "status", "query", "encrypted_content", "signature", "diff", "stop",
        "stdout", "stderr", "commands", "current_url", "transcript", "bad_words", "guided_choice", "guided_regex",
        "guided_grammar", "$schema", "$id", "$ref",
    }),
    past=frozenset({
        "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call",
        "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "url_citation", "file_citation",
        "container_file_citation", "file_path",
    }),
    files=frozenset({"file_id", "file_ids"}),
    tools=frozenset({"tools"}),
)  # fmt: skip

_FLAT = frozenset({"name", "parameters"})
_FLAT_MOST = _FLAT | {"type", "description", "strict"}
"""The members of a function that is written without its type, as some libraries do."""

SEARCHING = re.compile(r".*-search-(?:preview|api)(?:-.*)?|.*:online(?::.*)?", re.DOTALL)
"""Models that search the web whatever is asked: by their own name, or by a suffix that routers understand."""

PRESET = "@preset/"
"""In a model's name: settings that a router keeps, which may choose another model."""

STORED = ("previous_response_id", "conversation", "prompt", "preset")
"""Members of a call that name an object which the provider keeps, and are called as it is."""

KNOWN = frozenset({
    "model", "messages", "input", "tools", "tool_choice", "functions", "function_call", "parallel_tool_calls",
    "max_tool_calls", "web_search_options", "store", "stream", "stream_options", "instructions", "metadata",
    "prompt_cache_retention", *STORED,
})  # fmt: skip


def read(document: Mapping[str, Any], found: Found) -> None:
    model = document.get("model")
    if document.get("web_search_options") is not None or (isinstance(model, str) and SEARCHING.fullmatch(model)):
        found.hosted.add("web_search")
    for name in STORED:
        if document.get(name):
            found.stored.add(name)
    _read_items(document.get("input"), found)
    _read_messages(document.get("messages"), found)
    walk_call(GRAMMAR, document, found, _offer)
    found.add_unknown_members(document, KNOWN)


def _read_items(items: object, found: Found) -> None:
    """An item without a type that has an id and nothing to say stands for a stored one, and so does an image that was
    made before, without the image."""
    for item in items if isinstance(items, list) else [items]:
        if isinstance(item, dict):
            kind = item.get("type")
            is_bare = kind is None and "id" in item and not item.keys() & {"role", "content"}
            if kind == "item_reference" or is_bare or (kind == "image_generation_call" and not item.get("result")):
                found.stored.add("item_reference")


def _read_messages(messages: object, found: Found) -> None:
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and isinstance(message.get("audio"), dict) and "id" in message["audio"]:
            found.stored.add("audio")


def _offer(tools: object, found: Found) -> None:
    for tool in items_of(tools):
        if not isinstance(tool, dict):
            found.hosted.add(UNKNOWN)
        elif not _is_client(tool):
            _read_hosted(tool, found)
        elif "tools" in tool:
            _offer(tool["tools"], found)


def _is_client(tool: dict[str, Any]) -> bool:
    """True if the caller runs it. A namespace only groups other tools; they are looked at one by one."""
    kind = tool.get("type")
    if kind is None:
        return isinstance(tool.get("function"), dict) or (_FLAT <= tool.keys() <= _FLAT_MOST)
    if kind == "shell":
        environment = tool.get("environment")
        return isinstance(environment, dict) and environment.get("type") == "local"
    if kind == "tool_search":
        return tool.get("execution") == "client"
    return isinstance(kind, str) and (kind in CLIENT or kind == "namespace")


def _read_hosted(tool: dict[str, Any], found: Found) -> None:
    kind = plain(tool.get("type"))
    found.hosted.add(kind)
    if tool.get("vector_store_ids"):
        found.stored.add("vector_store")
    if isinstance(tool.get("container"), str):
        found.stored.add("container")
    is_mcp = kind == "mcp" or not tool.keys().isdisjoint({"server_url", "connector_id"})
    hosts = set[str]()
    walk(GRAMMAR, tool, found, hosts, _offer)
    if not is_mcp:
        found.urls |= hosts
        return
    if tool.get("connector_id") is not None:
        hosts.add(plain(tool["connector_id"]))
    found.mcp_hosts |= hosts or {UNKNOWN}
