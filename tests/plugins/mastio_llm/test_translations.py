"""Every translation against files that were written by hand after the vendors' own documents: what is given, what is
made. One folder for each pair of a caller's API and a provider's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mastio.exchange.errors import BadRequest
from mastio_llm.dialects.sse import Splitter, read_events
from mastio_llm.translate import TRANSLATIONS
from mastio_llm.translate.hints import HINTS, names
from mastio_llm.translate.translation import Translation

GOLDEN = Path(__file__).parent / "golden"
NOW = 1_700_000_000
CALLED = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/{model...}:generateContent",
    "embeddings": "/v1/embeddings",
    "count": "/v1/messages/count_tokens",
}
STREAMED = CALLED | {"gemini": "/v1beta/models/{model...}:streamGenerateContent"}
LEAST: dict[str, dict[str, Any]] = {
    "chat": {"model": "x", "messages": []},
    "responses": {"model": "x", "input": "Hello"},
    "messages": {"model": "x", "max_tokens": 9, "messages": []},
    "gemini": {"contents": []},
}
KINDS = {"chat": "openai", "messages": "anthropic", "gemini": "gemini"}


def translation(pair: str, *, stream: bool = False) -> Translation:
    caller, _, provider = pair.partition("_to_")
    return TRANSLATIONS[(STREAMED if stream else CALLED)[caller], KINDS[provider]]


def golden(kind: str) -> list[Any]:
    files = sorted(GOLDEN.glob(f"*/*.{kind}.json"))
    assert files
    return [
        pytest.param(file.parent.name, json.loads(file.read_text()), id=f"{file.parent.name}-{file.name.split('.')[0]}")
        for file in files
    ]


@pytest.mark.parametrize(("pair", "case"), golden("request"))
def test_requests(pair: str, case: dict[str, Any]) -> None:
    made = translation(pair, stream=case.get("stream", False)).request(case["given"], "real-model")
    assert made == case["made"]


@pytest.mark.parametrize(("pair", "case"), golden("reply"))
def test_replies(pair: str, case: dict[str, Any]) -> None:
    asked = case.get("request") or LEAST[pair.split("_")[0]]
    assert translation(pair).reply(case["given"], asked, NOW) == case["made"]


def expected(case: dict[str, Any], *, numbered: bool) -> list[Any]:
    """The events of a case: those of responses are numbered, and `@` stands for what their response has anyway."""
    events = [event for event in case["made"] if event != "[DONE]"]
    for number, event in enumerate(events):
        response = event.get("response", {})
        if "@" in response:
            event = {**event, "response": case[response["@"]] | {k: v for k, v in response.items() if k != "@"}}
        events[number] = {**event, "sequence_number": number} if numbered else event
    return events


STREAMS = [param for param in golden("stream") if "made" in param.values[1]]  # type: ignore[operator]


@pytest.mark.parametrize("size", [1, 7, 100, 1_000_000])
@pytest.mark.parametrize(("pair", "case"), STREAMS)
def test_streams_wherever_they_are_cut(pair: str, case: dict[str, Any], size: int) -> None:
    """The provider's bytes in pieces of this size, through what cuts them into windows."""
    used = translation(pair, stream=True)
    said = b"".join(f"data: {json.dumps(event)}\r\n\r\n".encode() for event in case["given"])
    if pair.endswith("_to_chat") and "failed" not in case:
        said += b"data: [DONE]\n\n"
    splitter, translator = Splitter(used.streamed.stream), used.open(case["request"], NOW, "events")
    made = b""
    for at in range(0, len(said), size):
        window = splitter.feed(said[at : at + size])
        if window is not None:
            made += b"".join(map(translator.feed, read_events(window.data)))
    made += translator.end()
    assert list(read_events(made)) == expected(case, numbered=pair.startswith("responses"))
    assert made.endswith(b"data: [DONE]\n\n") == ("[DONE]" in case["made"])


def test_every_pair_has_its_files() -> None:
    pairs = {f"{caller}_to_{provider}" for caller in CALLED for provider in KINDS
             if (CALLED[caller], KINDS[provider]) in TRANSLATIONS}  # fmt: skip
    for pair in pairs - {"embeddings_to_gemini", "count_to_gemini"}:
        for kind in ("request", "reply", "stream"):
            assert list((GOLDEN / pair).glob(f"*.{kind}.json")), f"{pair} has no {kind}"
    assert {folder.name for folder in GOLDEN.iterdir()} == pairs


HELLO = {"role": "user", "content": "Hello"}
BEGUN = {"role": "assistant", "content": "The answer is ("}


@pytest.mark.parametrize(
    ("pair", "asked"),
    [
        ("messages_to_chat", {"model": "x", "max_tokens": 9, "messages": [HELLO, BEGUN]}),
        ("messages_to_gemini", {"model": "x", "max_tokens": 9, "messages": [HELLO, BEGUN]}),
        ("chat_to_messages", {"model": "x", "messages": [HELLO, BEGUN]}),
        ("responses_to_gemini", {"model": "x", "input": [HELLO, BEGUN]}),
        ("gemini_to_messages", {"contents": [{"parts": [{"text": "a"}]}, {"role": "model", "parts": [{"text": "b"}]}]}),
    ],
)
def test_an_answer_that_is_begun_is_refused(pair: str, asked: dict[str, Any]) -> None:
    """One API goes on with it, the others answer it."""
    with pytest.raises(BadRequest) as refused:
        translation(pair).request(asked, "m")
    assert refused.value.code == "not_translatable"


SCHEMA = {"type": "object"}
PLACES: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "chat": ("chat_to_messages", lambda more: {"model": "x", "messages": [HELLO], **more}),
    "responses": ("responses_to_messages", lambda more: {"model": "x", "input": [HELLO], **more}),
    "responses reasoning": ("responses_to_gemini", lambda more: {"model": "x", "input": [HELLO], "reasoning": more}),
    "responses text": ("responses_to_gemini", lambda more: {"model": "x", "input": [HELLO], "text": more}),
    "responses tool": ("responses_to_gemini", lambda more: {"model": "x", "input": [HELLO], "tools": [
        {"type": "function", "name": "a", **more}]}),
    "responses item": ("responses_to_messages", lambda more: {"model": "x", "input": [{**HELLO, **more}]}),
    "messages": ("messages_to_chat", lambda more: {"model": "x", "messages": [HELLO], **more}),
    "messages block": ("messages_to_chat", lambda more: {"model": "x", "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Hello", **more}]}]}),
    "messages tool": ("messages_to_gemini", lambda more: {"model": "x", "messages": [HELLO], "tools": [
        {"name": "a", "input_schema": SCHEMA, **more}]}),
    "messages thinking": ("messages_to_gemini", lambda more: {"model": "x", "messages": [HELLO], "thinking": {
        "type": "enabled", "budget_tokens": 2000, **more}}),
    "gemini": ("gemini_to_chat", lambda more: {"contents": [{"parts": [{"text": "a"}]}], **more}),
    "gemini part": ("gemini_to_chat", lambda more: {"contents": [{"parts": [{"text": "a", **more}]}]}),
    "gemini function": ("gemini_to_chat", lambda more: {"contents": [{"parts": [{"text": "a"}]}], "tools": [
        {"functionDeclarations": [{"name": "a", **more}]}]}),
    "gemini schema": ("gemini_to_chat", lambda more: {"contents": [{"parts": [{"text": "a"}]}], "tools": [
        {"functionDeclarations": [{"name": "a", "parameters": {"type": "OBJECT", **more}}]}]}),
    "embeddings": ("embeddings_to_gemini", lambda more: {"model": "x", "input": "a", **more}),
}  # fmt: skip


def test_what_may_be_left_out_is_left_out_and_changes_nothing() -> None:
    """Every line of the table in docs/llm.md."""
    assert PLACES.keys() == HINTS.keys()
    for place, (pair, ask) in PLACES.items():
        without = translation(pair).request(ask({}), "m")
        for name in names(place):  # type: ignore[arg-type]
            assert translation(pair).request(ask({name: "some"}), "m") == without, (place, name)


@pytest.mark.parametrize(
    ("pair", "asked", "said"),
    [
        ("gemini_to_chat", {"contents": [], "tools": [{"googleSearch": {}}]}, "googleSearch"),
        ("gemini_to_chat", {"contents": [], "generationConfig": {"topK": 4}}, "top_k"),
        ("gemini_to_chat", {"contents": [], "cachedContent": "x"}, "cachedContent"),
        ("gemini_to_chat", {"contents": [], "generationConfig": {"candidateCount": 2}}, "candidateCount"),
        ("gemini_to_chat", {"contents": [], "generationConfig": {"responseModalities": ["AUDIO"]}}, "Modalities"),
        ("gemini_to_chat", {"contents": [], "generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
         "includeThoughts"),
        ("gemini_to_chat", {"contents": [], "safetySettings": [{"threshold": "BLOCK_LOW_AND_ABOVE"}]}, "threshold"),
        ("gemini_to_chat", {"contents": [{"parts": [{"inlineData": {"mimeType": "audio/wav", "data": ""}}]}]},
         "audio/wav"),
        ("gemini_to_chat", {"contents": [{"parts": [{"fileData": {"fileUri": "gs://a/b.png"}}]}]},
         "kept by the vendor"),
        ("gemini_to_messages", {"contents": [], "generationConfig": {"responseMimeType": "application/json"}}, "JSON"),
        ("gemini_to_messages", {"contents": [], "generationConfig": {"seed": 4}}, "seed"),
        ("messages_to_chat", {"messages": [], "top_k": 4}, "top_k"),
        ("messages_to_chat", {"messages": [], "tools": [{"type": "web_search_20250305", "name": "web_search"}]},
         "web_search"),
        ("messages_to_chat", {"messages": [], "mcp_servers": [{"url": "https://a.example"}]}, "mcp_servers"),
        ("messages_to_chat", {"messages": [{"role": "user", "content": [{"type": "document"}]}]}, "type of a block"),
        ("messages_to_chat", {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a",
         "content": [{"type": "image", "source": {"type": "url", "url": "https://a.example/a.png"}}]}]}]}, "image"),
        ("messages_to_chat", {"messages": [], "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}},
         "context_management"),
        ("messages_to_gemini", {"messages": [], "output_config": {"effort": "max"}}, "max"),
        ("messages_to_gemini", {"messages": [HELLO, {"role": "system", "content": "x"}, HELLO]}, "system message"),
        ("responses_to_messages", {"input": "a", "previous_response_id": "resp_1"}, "previous_response_id"),
        ("responses_to_messages", {"input": "a", "store": True}, "store"),
        ("responses_to_messages", {"input": "a", "background": True}, "background"),
        ("responses_to_messages", {"input": "a", "include": ["message.output_text.logprobs"]}, "include"),
        ("responses_to_messages", {"input": "a", "tools": [{"type": "web_search"}]}, "web_search"),
        ("responses_to_messages", {"input": "a", "tools": [{"type": "custom", "name": "apply_patch", "format": {
            "type": "grammar", "syntax": "lark", "definition": "x"}}]}, "format"),
        ("responses_to_messages", {"input": [{"type": "item_reference", "id": "a"}]}, "item_reference"),
        ("responses_to_messages", {"input": "a", "reasoning": {"effort": "minimal"}}, "minimal"),
        ("chat_to_gemini", {"messages": [HELLO, {"role": "system", "content": "x"}, HELLO]}, "system message"),
        ("chat_to_gemini", {"messages": [], "logit_bias": {"1": 2}}, "logit_bias"),
        ("chat_to_gemini", {"messages": [], "n": 2}, "'n'"),
        ("embeddings_to_gemini", {"input": "a", "encoding_format": "int8"}, "encoding_format"),
    ],
)  # fmt: skip
def test_what_has_no_counterpart_is_refused_by_name(pair: str, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRequest) as refused:
        translation(pair).request(asked, "m")
    assert (refused.value.status, refused.value.code) == (400, "not_translatable") and said in refused.value.message


def test_ids_and_notes_survive_the_way_there_and_back() -> None:
    """Of a Gemini call through each caller's API: the note comes back; another provider gets a short id for it."""
    note = "A" * 4000 + "+/=="
    part = {"functionCall": {"name": "look", "args": {"at": 1}}, "thoughtSignature": note}
    reply = {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}], "responseId": "r"}
    chat = translation("chat_to_gemini").reply(reply, LEAST["chat"], NOW)["choices"][0]["message"]
    again = {"model": "x", "messages": [HELLO, chat, {"role": "tool", "tool_call_id": chat["tool_calls"][0]["id"],
             "content": "a cat"}]}  # fmt: skip
    made = translation("chat_to_gemini").request({**again}, "m")
    assert made["contents"][1]["parts"][0]["thoughtSignature"].rstrip("=") == note.rstrip("=")
    for index, name in ((1, "functionCall"), (2, "functionResponse")):
        assert made["contents"][index]["parts"][0][name]["id"].startswith("call_")
    moved = translation("chat_to_messages").request({**again}, "m")
    call, result = moved["messages"][1]["content"][0], moved["messages"][2]["content"][0]
    assert call["id"] == result["tool_use_id"] and len(call["id"]) <= 64


def test_ollama_is_told_the_limit_by_the_older_name() -> None:
    asked = {"model": "x", "max_tokens": 9, "messages": [HELLO]}
    assert TRANSLATIONS["/v1/messages", "ollama"].request(asked, "m")["max_tokens"] == 9
    assert TRANSLATIONS["/v1/messages", "azure"].request(asked, "m")["max_completion_tokens"] == 9
