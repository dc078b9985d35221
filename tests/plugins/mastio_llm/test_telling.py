"""What policies get to know of a call, the same in every dialect."""

from __future__ import annotations

from typing import Any

import pytest

from mastio.cedar.schema import FACTS
from mastio_llm.dialects import OPERATIONS
from mastio_llm.dialects.operation import CallRequest
from mastio_llm.facts.call_facts import TELL, CallSummary
from mastio_llm.facts.route_facts import CallFacts, Facts, find_destination
from mastio_llm.provider import ProviderRow

ARGUMENTS = '{"user": 7}'
SAID = CallSummary(3, 1, True, ("deleteUser", "search"), (("deleteUser", {"user": 7}),))

CHAT = {
    "messages": [
        {"role": "system", "content": "x"},
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "x"}}]},
        {
            "role": "assistant",
            "tool_calls": [{"type": "function", "function": {"name": "deleteUser", "arguments": ARGUMENTS}}],
        },
    ],
    "tools": [
        {"type": "function", "function": {"name": "deleteUser"}},
        {"type": "custom", "custom": {"name": "search"}},
    ],
}
RESPONSE = {
    "instructions": "x",
    "input": [
        {"role": "user", "content": [{"type": "input_image"}]},
        {"type": "function_call", "name": "deleteUser", "arguments": ARGUMENTS},
        {"type": "function_call_output", "output": "x"},
    ],
    "tools": [{"type": "function", "name": "deleteUser"}, {"type": "function", "name": "search"}],
}
MESSAGE = {
    "system": "x",
    "messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "tool_use", "name": "deleteUser", "input": {"user": 7}}]},
        {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "image"}]}]},
    ],
    "tools": [{"name": "deleteUser"}, {"name": "search"}],
}
CONTENT = {
    "systemInstruction": {"parts": [{"text": "x"}]},
    "contents": [
        {"parts": [{"inline_data": {}}]},
        {"parts": [{"functionCall": {"name": "deleteUser", "args": {"user": 7}}}]},
        {"parts": [{"text": "x"}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "deleteUser"}]}, {"function_declarations": [{"name": "search"}]}],
}


@pytest.mark.parametrize(
    ("name", "document"),
    [
        (("openai", "llm.chat"), CHAT),
        (("openai", "llm.responses"), RESPONSE),
        (("anthropic", "llm.chat"), MESSAGE),
        (("gemini", "llm.chat"), CONTENT),
    ],
)
def test_the_same_is_told_of_every_dialect(name: tuple[str, str], document: dict[str, Any]) -> None:
    assert TELL[name](document) == SAID


@pytest.mark.parametrize(
    ("name", "document", "told"),
    [
        (
            ("openai", "llm.chat"),
            {"messages": [], "tools": [{"type": "web_search"}]},
            CallSummary(0, tools=("web_search",)),
        ),
        (("openai", "llm.chat"), {"messages": [], "functions": [{"name": "f"}]}, CallSummary(0, tools=("f",))),
        (("openai", "llm.responses"), {"input": "x"}, CallSummary(1)),
        (("openai", "llm.embeddings"), {"input": ["a", "b"]}, CallSummary(2)),
        (("openai", "llm.moderations"), {}, CallSummary(0)),
        (
            ("anthropic", "llm.count_tokens"),
            {"messages": [], "mcp_servers": [{"name": "m"}]},
            CallSummary(0, tools=("m",)),
        ),
        (
            ("gemini", "llm.chat"),
            {"contents": {}, "tools": [{"googleSearch": {}}]},
            CallSummary(0, tools=("googleSearch",)),
        ),
    ],
)
def test_what_is_special(name: tuple[str, str], document: dict[str, Any], told: CallSummary) -> None:
    assert TELL[name](document) == told


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        ('{"user": 7}', {"user": 7}),
        ("rm -rf /", "rm -rf /"),
        ('{"user": 7', '{"user": 7'),
        ('{"user": 7, "user": 8}', '{"user": 7, "user": 8}'),
        ("", ""),
        (None, None),
    ],
)
def test_arguments_that_are_no_json_are_seen_as_they_are(arguments: str | None, seen: Any) -> None:
    call = {"type": "function_call", "name": "run", "arguments": arguments}
    assert TELL["openai", "llm.responses"]({"input": [call]}).calls == (("run", seen),)


ODD = [None, 1, "x", [1, None, [[]]], {"a": 1}, [{"type": 5, "name": 7, "function": "f", "parts": 3, "content": 9}]]


@pytest.mark.parametrize("name", TELL)
@pytest.mark.parametrize("odd", ODD, ids=str)
def test_nothing_odd_makes_it_fail(name: tuple[str, str], odd: Any) -> None:
    members = ("messages", "input", "contents", "tools", "functions", "mcp_servers", "system", "systemInstruction")
    TELL[name](dict.fromkeys(members, odd))


def test_every_operation_of_callers_is_told_of() -> None:
    assert {(operation.dialect, operation.kind) for operation in OPERATIONS.values()} <= TELL.keys()


def test_the_names_are_those_of_the_schema() -> None:
    operation = OPERATIONS["/v1/chat/completions"]
    provider = ProviderRow("p", "openai", "http://127.0.0.1:9/v1")
    facts = Facts(provider, CallFacts(operation, CallRequest("m", limit=7), CHAT, 99))
    assert set(facts) - {"tools.calls", "needs"} <= FACTS.keys()
    assert (facts["request.bytes"], facts["request.max_tokens"], facts["tools.names"]) == (99, 7, SAID.tools)
    assert (facts["destination.host"], facts["destination.local"]) == ("127.0.0.1", True)
    assert Facts(provider).get("request.bytes") is None and facts.get("nothing") is None


@pytest.mark.parametrize(
    ("url", "host", "local"),
    [
        ("https://api.openai.com/v1", "api.openai.com", False),
        ("http://localhost:1/v1", "localhost", True),
        ("http://ollama:11434", "ollama", True),
        ("https://llm.corp.internal/v1", "llm.corp.internal", True),
        ("http://10.0.0.5/v1", "10.0.0.5", True),
        ("http://8.8.8.8/v1", "8.8.8.8", False),
        ("http://[::1]:9/v1", "::1", True),
        ("http://[64:ff9b::a00:1]/v1", "64:ff9b::a00:1", False),
        ("https://internal.example.com", "internal.example.com", False),
    ],
)
def test_where_it_goes(url: str, host: str, local: bool) -> None:
    assert find_destination(url) == (host, local)
