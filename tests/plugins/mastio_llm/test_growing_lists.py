"""Every list of every dialect, grown: what is done with a call costs as much as the call is long, and no more.

CPU time of ten times the list is compared with that of the list: ten times as much is linear, a hundred times is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest

from mastio.exchange.errors import BadRequest
from mastio.exchange.values import RequestHead
from mastio_llm.calls import MAX_PARTS, Opened, open_body
from mastio_llm.dialects import OPERATIONS
from mastio_llm.plugin import plugin
from mastio_llm.texts import LAYOUTS
from mastio_llm.translate import TRANSLATIONS
from mastio_llm.translate.conversation import Text, Turn, gather
from support.cpu_cost import verify_linear

SMALL = 100
TIMES = 10

JSON_TEXT = '{"a": 1, "b": ["x"]}'
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
USER = {"role": "user", "content": "x"}


def chat(**members: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [USER], **members}


def responses(**members: Any) -> dict[str, Any]:
    return {"model": "m", "input": "x", **members}


def messages(**members: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": [USER], **members}


def gemini(**members: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": "x"}]}], **members}


def chat_call(n: int) -> dict[str, Any]:
    return {"id": f"call_{n}", "type": "function", "function": {"name": "f", "arguments": JSON_TEXT}}


def chat_calls(n: int) -> list[dict[str, Any]]:
    results = [{"role": "tool", "tool_call_id": f"call_{k}", "content": "x"} for k in range(n)]
    return [USER, {"role": "assistant", "tool_calls": [chat_call(k) for k in range(n)]}, *results]


def response_calls(n: int) -> list[dict[str, Any]]:
    calls = [{"type": "function_call", "call_id": f"c{k}", "name": "f", "arguments": JSON_TEXT} for k in range(n)]
    return [*calls, *({"type": "function_call_output", "call_id": f"c{k}", "output": "x"} for k in range(n))]


def message_calls(n: int) -> list[dict[str, Any]]:
    calls = [{"type": "tool_use", "id": f"c{k}", "name": "f", "input": {"a": 1}} for k in range(n)]
    results = [{"type": "tool_result", "tool_use_id": f"c{k}", "content": "x"} for k in range(n)]
    return [USER, {"role": "assistant", "content": calls}, {"role": "user", "content": results}]


def gemini_calls(n: int, *, with_ids: bool) -> list[dict[str, Any]]:
    def named(k: int) -> dict[str, Any]:
        return {"id": f"c{k}", "name": "f"} if with_ids else {"name": "f"}

    calls = [{"functionCall": {**named(k), "args": {"a": 1}}} for k in range(n)]
    # the last call is answered first: nothing may look through all calls for each result
    results = [{"functionResponse": {**named(k), "response": {"output": "x"}}} for k in reversed(range(n))]
    return [{"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": calls}, {"parts": results}]


CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
GEMINI = "/v1beta/models/{model...}:generateContent"

LISTS: Mapping[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "chat messages": (CHAT, lambda n: chat(messages=[USER] * n)),
    "chat turns": (CHAT, lambda n: chat(messages=[USER, {"role": "assistant", "content": "y"}] * n + [USER])),
    "chat system": (CHAT, lambda n: chat(messages=[{"role": "system", "content": "x"}] * n + [USER])),
    "chat parts": (CHAT, lambda n: chat(messages=[{"role": "user", "content": [{"type": "text", "text": "x"}] * n}])),
    "chat links": (
        CHAT,
        lambda n: chat(messages=[{
            "role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}] * n,
        }]),
    ),
    "chat calls": (CHAT, lambda n: chat(messages=chat_calls(n))),
    "chat tools": (
        CHAT,
        lambda n: chat(
            tools=[{"type": "function", "function": {"name": f"f{k}", "parameters": SCHEMA}} for k in range(n)]
        ),
    ),
    "chat stop": (CHAT, lambda n: chat(stop=["x"] * n)),
    "chat members": (CHAT, lambda n: chat(messages=[{**USER, "content": [{f"m{k}": 1 for k in range(n)}]}])),
    "chat texts in texts": (
        CHAT, lambda n: chat(messages=[{**USER, "content": orjson.dumps([JSON_TEXT] * n).decode()}])
    ),
    "responses items": (RESPONSES, lambda n: responses(input=[USER] * n)),
    "responses parts": (
        RESPONSES, lambda n: responses(input=[{"role": "user", "content": [{"type": "input_text", "text": "x"}] * n}])
    ),
    "responses calls": (RESPONSES, lambda n: responses(input=response_calls(n))),
    "responses tools": (
        RESPONSES,
        lambda n: responses(tools=[{"type": "function", "name": f"f{k}", "parameters": SCHEMA} for k in range(n)]),
    ),
    "responses include": (RESPONSES, lambda n: responses(include=["reasoning.encrypted_content"] * n)),
    "responses variables": (
        RESPONSES, lambda n: responses(prompt={"id": "p", "variables": {f"v{k}": "x" for k in range(n)}})
    ),
    "messages messages": (MESSAGES, lambda n: messages(messages=[USER] * n)),
    "messages blocks": (
        MESSAGES, lambda n: messages(messages=[{"role": "user", "content": [{"type": "text", "text": "x"}] * n}])
    ),
    "messages system": (MESSAGES, lambda n: messages(system=[{"type": "text", "text": "x"}] * n)),
    "messages calls": (MESSAGES, lambda n: messages(messages=message_calls(n))),
    "messages tools": (
        MESSAGES, lambda n: messages(tools=[{"name": f"f{k}", "input_schema": SCHEMA} for k in range(n)])
    ),
    "messages count": ("/v1/messages/count_tokens", lambda n: messages(messages=[USER] * n)),
    "gemini contents": (GEMINI, lambda n: gemini(contents=[{"role": "user", "parts": [{"text": "x"}]}] * n)),
    "gemini parts": (GEMINI, lambda n: gemini(contents=[{"role": "user", "parts": [{"text": "x"}] * n}])),
    "gemini calls by name": (GEMINI, lambda n: gemini(contents=gemini_calls(n, with_ids=False))),
    "gemini calls by id": (GEMINI, lambda n: gemini(contents=gemini_calls(n, with_ids=True))),
    "gemini tools": (
        GEMINI,
        lambda n: gemini(tools=[{"functionDeclarations": [{"name": f"f{k}", "parameters": SCHEMA} for k in range(n)]}]),
    ),
    "gemini settings": (
        GEMINI, lambda n: gemini(safetySettings=[{"category": "HARM_CATEGORY_X", "threshold": "OFF"}] * n)
    ),
    "embeddings inputs": ("/v1/embeddings", lambda n: {"model": "m", "input": ["x"] * n}),
    "moderations inputs": ("/v1/moderations", lambda n: {"model": "m", "input": ["x"] * n}),
}  # fmt: skip

ROUTES = {route.path: route for route in plugin.routes}


def open_list(path: str, raw: bytes) -> Opened:
    headers = [(b"content-type", b"application/json")]
    head = RequestHead("id", "POST", path, b"", {"model": "m"}, headers, ROUTES[path], None, "127.0.0.1")
    return open_body(OPERATIONS[path], head, raw, MAX_PARTS)


def do_all(path: str, raw: bytes) -> None:
    """What the appliance does with the call, besides looking into its texts."""
    opened = open_list(path, raw)
    opened.facts.tell()
    LAYOUTS[path][opened.asked.form].request(raw, opened.document).passages  # noqa: B018 it is worked out
    for (called, _), translation in TRANSLATIONS.items():
        if called == path:
            try:
                translation.request(opened.document, "m")
            except BadRequest:
                continue


@pytest.mark.parametrize("name", LISTS)
def test_a_list_ten_times_as_long_costs_about_ten_times_as_much(name: str) -> None:
    path, make = LISTS[name]
    small, large = orjson.dumps(make(SMALL)), orjson.dumps(make(TIMES * SMALL))
    do_all(path, small)
    verify_linear(lambda: do_all(path, small), lambda: do_all(path, large))


def test_turns_that_become_one_are_put_together_once() -> None:
    turn = Turn("user", (Text("x"),))
    verify_linear(lambda: gather([turn] * 4000), lambda: gather([turn] * 40_000))
    assert gather([turn, Turn("user", ()), turn]) == (Turn("user", (Text("x"), Text("x"))),)


BOUNDED = sorted(LISTS.keys() - {"chat members", "chat texts in texts", "responses variables"})


@pytest.mark.parametrize("name", BOUNDED)
def test_a_list_that_is_too_long_is_refused(name: str) -> None:
    path, make = LISTS[name]
    with pytest.raises(BadRequest) as refusal:
        open_list(path, orjson.dumps(make(MAX_PARTS + 1)))
    assert (refusal.value.code, refusal.value.status) == ("too_many_parts", 413)


@pytest.mark.parametrize(
    "document",
    [
        chat(**{f"m{n}": 1 for n in range(200_000)}),
        chat(messages=[{"role": "user", "content": [[]] * 300_000}]),
        {"model": "m", "input": [1] * 1_100_000},
        chat(messages=[{"role": "assistant", "tool_calls": [{
            "function": {"name": "f", "arguments": "[" + "{}," * 300_000 + "{}]"},
        }]}]),
    ],
    ids=["members", "lists", "numbers", "arguments"],
)  # fmt: skip
def test_too_many_values_are_refused(document: dict[str, Any]) -> None:
    path = "/v1/embeddings" if "input" in document else CHAT
    with pytest.raises(BadRequest) as refusal:
        open_list(path, orjson.dumps(document))
    assert refusal.value.code == "too_many_parts"


def test_a_long_conversation_is_read() -> None:
    """What agents send after days: thousands of turns, tools with large schemas, megabytes of code in JSON in texts."""
    code = 'if (a[0] == "x") { b = {c: [1, 2, 3]}; }\n' * 500
    turns = [USER, {"role": "assistant", "content": code}] * 200 + chat_calls(1000)
    tools = [
        {"type": "function", "function": {"name": f"f{n}", "parameters": {
            "type": "object", "properties": {f"p{k}": {"type": "string", "enum": ["a", "b"]} for k in range(15)}}}}
        for n in range(300)
    ]  # fmt: skip
    opened = open_list(CHAT, orjson.dumps(chat(messages=turns, tools=tools)))
    assert opened.facts.told.messages == len(turns) and len(opened.facts.told.tools) == 300


def test_inputs_of_tokens_are_read() -> None:
    """As many as one call of embeddings may have."""
    tokens = [[123] * 1000 for _ in range(300)]
    assert open_list("/v1/embeddings", orjson.dumps({"model": "m", "input": tokens})).asked.model == "m"
