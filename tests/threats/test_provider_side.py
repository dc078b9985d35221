"""What a provider would do for a caller: refused by default whatever its name, in the log, and permitted by type."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mastio_client import Identity
from support.appliance import Appliance, Stub
from support.provider_side import permit_provider_side
from support.threats.judge import Answer, Judge, refusal

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
GEMINI = "/v1beta/models/acts-gemini/m:generateContent"
HELLO = [{"role": "user", "content": "hello"}]
KINDS = ("openai", "anthropic", "gemini")
PUBLIC = "https://images.example.com/a.png"


@pytest.fixture(scope="module", autouse=True)
def providers(appliance: Appliance, stub: Stub) -> Iterator[None]:
    for kind in KINDS:
        appliance.add_provider(stub, f"acts-{kind}", kind)
    yield
    with appliance.admin() as admin:
        for kind in KINDS:
            assert admin.delete(f"/v1/admin/providers/acts-{kind}").status_code == 204


def body_of(path: str, **more: Any) -> dict[str, Any]:
    if path == GEMINI:
        return {"contents": [{"parts": [{"text": "hello"}]}], **more}
    if path == MESSAGES:
        return {"model": "acts-anthropic/m", "max_tokens": 9, "messages": HELLO, **more}
    said = {"messages": HELLO} if path == CHAT else {"input": "hello"}
    return {"model": "acts-openai/m", **said, **more}


def ask(appliance: Appliance, agent: Identity, path: str, body: dict[str, Any]) -> Answer:
    with appliance.by_certificate(agent) as client:
        sent = {"content-type": "application/json"}
        return Answer.of(client.post(path, content=json.dumps(body).encode(), headers=sent))


ACTS: dict[str, tuple[str, dict[str, Any], dict[str, list[str]]]] = {
    "chat search": (CHAT, {"web_search_options": {}}, {"hosted": ["web_search"]}),
    "searching model": (CHAT, {"model": "acts-openai/gpt-4o-search-preview"}, {"hosted": ["web_search"]}),
    "searching model from afar": (MESSAGES, {"model": "acts-openai/gpt-5-search-api"}, {"hosted": ["web_search"]}),
    "search": (RESPONSES, {"tools": [{"type": "web_search"}]}, {"hosted": ["web_search"]}),
    "mcp": (RESPONSES, {"tools": [{"type": "mcp", "server_url": "https://mcp.example.com/"}]},
            {"hosted": ["mcp"], "mcp_hosts": ["mcp.example.com"]}),
    "connector": (RESPONSES, {"tools": [{"type": "mcp", "connector_id": "connector_gmail"}]},
                  {"hosted": ["mcp"], "mcp_hosts": ["connector_gmail"]}),
    "code": (RESPONSES, {"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]},
             {"hosted": ["code_interpreter"]}),
    "file search": (RESPONSES, {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]},
                    {"hosted": ["file_search"], "stored": ["vector_store"]}),
    "unheard of": (RESPONSES, {"tools": [{"type": "teleport_2027"}]}, {"hosted": ["teleport_2027"]}),
    "response": (RESPONSES, {"previous_response_id": "resp_1"}, {"stored": ["previous_response_id"]}),
    "prompt": (RESPONSES, {"prompt": {"id": "pmpt_1"}}, {"stored": ["prompt"]}),
    "file": (RESPONSES, {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]}]},
             {"files": ["file-1"]}),
    "image": (CHAT, {"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": PUBLIC}}]}]}, {"urls": ["images.example.com"]}),
    "servers": (MESSAGES, {"mcp_servers": [{"type": "url", "url": "https://mcp.example.com/", "name": "m",
                                            "authorization_token": "t"}]},
                {"hosted": ["mcp"], "mcp_hosts": ["mcp.example.com"]}),
    "renamed": (MESSAGES, {"tools": [{"type": "web_fetch_20250910", "name": "bash"}]},
                {"hosted": ["web_fetch_20250910"]}),
    "container": (MESSAGES, {"container": "container_1"}, {"stored": ["container"]}),
    "grounding": (GEMINI, {"tools": [{"googleSearch": {}}]}, {"hosted": ["googleSearch"]}),
    "context": (GEMINI, {"tools": [{"url_context": {}}]}, {"hosted": ["urlContext"]}),
    "gemini servers": (GEMINI, {"tools": [{"mcpServers": [{"streamableHttpTransport": {
        "url": "https://mcp.example.com/"}}]}]}, {"hosted": ["mcpServers"], "mcp_hosts": ["mcp.example.com"]}),
    "cache": (GEMINI, {"cachedContent": "cachedContents/1"}, {"stored": ["cached_content"]}),
}  # fmt: skip

CLIENT: dict[str, dict[str, Any]] = {
    CHAT: {"tools": [{"type": "function", "function": {"name": "web_search", "parameters": {"type": "object"}}}]},
    RESPONSES: {"tools": [{"type": "local_shell"}, {"type": "apply_patch"}, {"type": "custom", "name": "x"}],
                "input": [{"role": "user", "content": "hello"},
                          {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "http://localhost/"}]},
                          {"type": "computer_call_output", "call_id": "d", "current_url": "http://localhost:8080/x",
                           "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}}]},
    MESSAGES: {"tools": [{"type": "bash_20250124", "name": "bash"}, {"type": "memory_20250818", "name": "memory"},
                         {"name": "mcp", "input_schema": {"type": "object"}}], "stop_sequences": ["http://"]},
    GEMINI: {"tools": [{"functionDeclarations": [{"name": "googleSearch"}]}],
             "generationConfig": {"stopSequences": ["https://"]}},
}  # fmt: skip


@pytest.mark.parametrize("name", ACTS)
def test_nothing_is_done_for_a_caller_unless_a_policy_says_so(
    appliance: Appliance, agent: Identity, judge: Judge, name: str
) -> None:
    path, more, named = ACTS[name]
    answer = ask(appliance, agent, path, body_of(path, **more))
    (refused,) = [entry for entry in judge.entries() if entry["id"] == answer.header("x-request-id")]
    judge.refused(answer, refusal(403, "denied"), path)
    assert refused["request"]["provider_side"] == named
    judge.mark()
    judge.served(ask(appliance, agent, path, body_of(path, **CLIENT[path])))


SEARCH = """
permit (principal, action == Action::"llm.responses", resource)
when { context.tools has hosted && ["web_search"].containsAll(context.tools.hosted) };
"""


def test_a_policy_permits_by_type(appliance: Appliance, agent: Identity, judge: Judge) -> None:
    search, other = {"type": "web_search"}, {"type": "code_interpreter", "container": {"type": "auto"}}
    with permit_provider_side(appliance, SEARCH):
        answer = judge.served(ask(appliance, agent, RESPONSES, body_of(RESPONSES, tools=[search])))
        intent = appliance.entries_of(str(answer.header("x-request-id")))[0]
        assert intent["request"]["provider_side"] == {"hosted": ["web_search"]}
        assert intent["decision"]["rule"] == "provider-side"
        judge.mark()
        for refused in (
            body_of(RESPONSES, tools=[search, other]),
            body_of(RESPONSES, tools=[search], previous_response_id="resp_1"),
        ):
            judge.refused(ask(appliance, agent, RESPONSES, refused), refusal(403, "denied"), RESPONSES)
            judge.mark()
        judge.served(ask(appliance, agent, RESPONSES, body_of(RESPONSES)))


@pytest.mark.parametrize("path", ["/v1/moderations", "/v1/embeddings"])
def test_addresses_within_are_refused_where_few_expect_one(
    appliance: Appliance, agent: Identity, judge: Judge, path: str
) -> None:
    for link in ({"image_url": {"url": "http://10.0.0.1/"}}, {"image": ["http://169.254.169.254/"]}):
        body = {"model": "acts-openai/m", "input": [{"type": "image_url", **link}]}
        judge.refused(ask(appliance, agent, path, body), refusal(422, "invalid_body"), path)
        judge.mark()
    judge.served(ask(appliance, agent, path, {"model": "acts-openai/m", "input": "see http://10.0.0.1/"}))
