"""What a dialect reads of replies and streams, case by case; whole exchanges are in tests/stories/test_dialects.py."""

from __future__ import annotations

from typing import Any

import pytest

from mastio.exchange.errors import BadRequest
from mastio_llm.calls import read_query
from mastio_llm.dialects import OPERATIONS, anthropic, gemini, openai
from mastio_llm.dialects.jsonarray import ArraySplitter
from mastio_llm.dialects.operation import Sight
from mastio_llm.dialects.sse import MAX_EVENT, BrokenOff, EventTooLong, Splitter, find_end
from mastio_llm.facts.links import read_link
from mastio_llm.provider import ProviderRow
from mastio_llm.routing.candidates import resolve

GENERATE = OPERATIONS["/v1/models/{model...}:streamGenerateContent"].stream
ARRAY = b'[ {"a":"]}\\"\\\\"} ,\r\n{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3}}\n]\n'


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_an_array_is_cut_behind_whole_elements(size: int) -> None:
    splitter = ArraySplitter(GENERATE)
    windows = [splitter.feed(ARRAY[at : at + size]) for at in range(0, len(ARRAY), size) if not splitter.done]
    released = [window for window in windows if window is not None]
    assert b"".join(window.data for window in released) == ARRAY.rstrip()
    assert released[-1].last and [window.last for window in released].count(True) == 1
    assert splitter.usage == {"input_tokens": 3}
    if size == 1:
        assert [window.data[-1:] for window in released] == [b"}", b"}", b"]"]


@pytest.mark.parametrize("text", [b'{"error":1}', b"[]", b"[1,2]", b'[{"a":1}]', b"}", b"]"])
def test_an_array_without_an_answer_is_broken_off(text: bytes) -> None:
    splitter = ArraySplitter(GENERATE)
    with pytest.raises(BrokenOff):
        splitter.feed(text)
        splitter.close()


def test_an_error_in_an_array_is_its_end() -> None:
    window = ArraySplitter(GENERATE).feed(b'[{"error":{"code":503}},{"more":1}')
    assert window is not None
    assert (window.data, window.last, window.failure) == (b'[{"error":{"code":503}}]', True, "upstream_error")


def test_an_element_without_end_is_refused() -> None:
    splitter = ArraySplitter(GENERATE)
    splitter.feed(b"[{")
    with pytest.raises(EventTooLong):
        for _ in range(MAX_EVENT // 65536 + 2):
            splitter.feed(b'"a":' + b"1" * 65536)


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b"", 0), (b"data: a", 0), (b"data: a\n", 0), (b"data: a\n\n", 9), (b"data: a\n\nx", 9), (b"a\r\n\r\nb", 5),
        (b"a\r\n\r", 0), (b"a\r\rb", 3), (b"a\n\r\nb", 4), (b"a\n\nb\r\n\r\nc", 8), (b"a\r\n\nb", 4),
    ],
)  # fmt: skip
def test_every_blank_line_is_found(data: bytes, end: int) -> None:
    assert find_end(data, 0) == end


def test_a_stream_that_closes_needs_its_finish() -> None:
    splitter = Splitter(GENERATE)
    splitter.feed(b'data: {"candidates":[{"content":{"parts":[{"text":"finishReason"}]}}]}\n\n')
    with pytest.raises(BrokenOff):
        splitter.close()
    window = splitter.feed(b'data: {"candidates":[{"finishReason":"STOP"}]}\n\n')
    assert window is not None and not window.last
    splitter.close()
    blocked = Splitter(GENERATE)
    blocked.feed(b'data: {"promptFeedback":{"blockReason":"SAFETY"}}\n\n')
    blocked.close()


def test_what_a_message_begins_with_is_not_its_length() -> None:
    """A stream that ends without saying what was written has said nothing of it."""
    splitter = Splitter(OPERATIONS["/v1/messages"].stream)
    splitter.feed(
        b'data: {"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}\n\n'
        b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\ndata: {"type":"message_stop"}\n\n'
    )
    assert splitter.done and splitter.usage == {"input_tokens": 9}


@pytest.mark.parametrize(
    ("look", "data", "sight"),
    [
        (openai.look_at_chat, b"[DONE]", Sight(end=True)),
        (openai.look_at_chat, b'{"usage":null}', None),
        (openai.look_at_chat, b'{"error":{}}', None),
        (openai.look_at_chat, b'{"error":{"message":"x"}}', Sight(end=True, failed=True)),
        (openai.look_at_chat, b"not json", None),
        (openai.look_at_response, b'{"type":"response.incomplete","response":{}}', Sight(end=True)),
        (openai.look_at_response, b'{"type":"error"}', Sight(end=True, failed=True)),
        (openai.look_at_response, b'{"type":["error"]}', None),
        (anthropic.look, b'{"type":"message_delta","usage":{"output_tokens":5}}',
         Sight({"output_tokens": 5}, is_final=True)),
        (anthropic.look, b'{"type":"message_delta","usage":{"input_tokens":1,"output_tokens":5}}',
         Sight({"output_tokens": 5}, is_final=True)),
        (anthropic.look, b'{"type":"message_delta","usage":{"input_tokens":1,"cache_read_input_tokens":2,'
         b'"output_tokens":5}}', Sight({"input_tokens": 3, "output_tokens": 5, "cached_tokens": 2}, is_final=True)),
        (anthropic.look, b'"message_stop"', None),
        (gemini.look, b'{"candidates":"finishReason"}', Sight()),
        (gemini.look, b"[]", None),
    ],
)  # fmt: skip
def test_what_an_event_tells(look: Any, data: bytes, sight: Sight | None) -> None:
    assert look(data) == sight


@pytest.mark.parametrize(
    ("read", "document", "usage"),
    [
        (openai.read_usage, {"usage": {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}},
         {"input_tokens": 5, "cached_tokens": 4}),
        (openai.read_response_usage, {"usage": {"input_tokens": 5, "output_tokens": 0,
         "input_tokens_details": {"cached_tokens": 0}}}, {"input_tokens": 5, "output_tokens": 0}),
        (anthropic.read_usage, {"usage": {"input_tokens": 1, "cache_creation_input_tokens": 10, "output_tokens": 2}},
         {"input_tokens": 11, "output_tokens": 2, "cache_write_tokens": 10}),
        (gemini.read_usage, {"usageMetadata": {"promptTokenCount": 1, "toolUsePromptTokenCount": 2,
         "candidatesTokenCount": 3, "thoughtsTokenCount": 4}}, {"input_tokens": 3, "output_tokens": 7}),
        (gemini.read_usage, {"usageMetadata": {"promptTokenCount": -1, "candidatesTokenCount": "3"}}, None),
        (anthropic.read_usage, {"usage": [1]}, None),
    ],
)  # fmt: skip
def test_all_that_was_read_and_written_is_counted(read: Any, document: Any, usage: dict[str, int] | None) -> None:
    assert read(document) == usage


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        (b"beta=true", "?beta=true"),
        (b"key=secret&beta=true&x=1", "?beta=true"),
        (b"beta=a%0d%0a", ""),
        (b"beta", ""),
        (b"", ""),
    ],
)
def test_only_known_parameters_of_a_query_go_along(query: bytes, kept: str) -> None:
    assert read_query(query, frozenset({b"beta"})) == kept


@pytest.mark.parametrize(
    ("url", "good"),
    [
        ("https://example.com/a?b=c#d", True), ("HTTPS://EXAMPLE.COM:8443/", True), ("gs://bucket_1/a", True),
        ("https://intranet/", False), ("https://db.corp/", False), ("http://2130706433/", False), ("gs://", False),
        ("https://a@example.com/", False), ("//example.com/a", False), ("https://xn--a/", False), ("", False),
        ("http://93.184.216.34/", True), ("http://[2606:2800:220:1::1]/", True), ("http://[fe80::1%25eth0]/", False),
        ("http://10.0.0.1/", False), ("http://[::1]/", False), ("http://[::1/", False), ("https://", False),
        ("ftp://example.com/", False), ("example.com", False), ("https://intranet.lan/", False),
    ],
)  # fmt: skip
def test_links(url: str, good: bool) -> None:
    try:
        assert read_link(url)[0] is None and good
    except BadRequest:
        assert not good


def test_a_file_that_the_provider_keeps_is_no_address() -> None:
    found, _ = read_link("https://generativelanguage.googleapis.com/v1beta/files/abc-1")
    assert found == "files/abc-1"


@pytest.mark.parametrize("model", ["a/../b", "../x", "a//b", "a b", "a?b", "a%2fb", "", "a/", "/a", "a/.b"])
def test_a_model_in_a_path_is_a_plain_name(model: str) -> None:
    with pytest.raises(BadRequest):
        gemini.find_content({"model": model}, b"", {"contents": []})
    assert gemini.find_content({"model": "a/b.c-1@x:y"}, b"", {"contents": []}).model == "a/b.c-1@x:y"


OPENAI = ProviderRow("heavy", "openai", "https://a.example", weight=9, aliases={"fast": "gpt"})
CLAUDE = ProviderRow("claude", "anthropic", "https://b.example", aliases={"fast": "haiku"})


@pytest.mark.parametrize(
    ("model", "dialect", "target"),
    [
        ("m", "openai", "heavy/m"), ("m", "anthropic", "claude/m"), ("fast", "openai", "heavy/gpt"),
        ("fast", "anthropic", "claude/haiku"), ("heavy/m", "anthropic", "heavy/m"), ("m", "gemini", "heavy/m"),
    ],
)  # fmt: skip
def test_a_name_that_several_have_goes_to_who_speaks_the_dialect(model: str, dialect: Any, target: str) -> None:
    assert resolve(model, {"heavy": OPENAI, "claude": CLAUDE}, dialect)[0].target == target


@pytest.mark.parametrize(
    ("more", "one"),
    [
        ({}, True),
        ({"temperature": 1}, False),
        ({"background": True}, False),
    ],
)
def test_which_responses_have_one_answer(more: dict[str, Any], one: bool) -> None:
    asked = OPERATIONS["/v1/responses"].find({}, b"", {"model": "m", "input": "hi", "temperature": 0, **more})
    assert asked.has_one_answer is one


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        (b'{"error":{"details":[{"reason":"API_KEY_INVALID"}]}}', True),
        (b'[{"error":{"details":[{"reason":"API_KEY_INVALID"}]}}]', True),
        (b"API_KEY_INVALID", True),
        (b'{"error":{"message":"Unknown name \\"API_KEY_INVALID\\" at contents","details":[{"reason":"x"}]}}', False),
        (b'{"error":"API_KEY_INVALID"}', False),
        (b"{}", False),
    ],
)
def test_only_google_says_that_the_key_is_bad(body: bytes, refused: bool) -> None:
    """Callers who could make it look so would shut the provider to all."""
    assert gemini.SPEAKER.refuses_key(body) is refused


WHOLE_CONTENT = "/v1beta/models/{model...}:generateContent"


@pytest.mark.parametrize(
    ("path", "kind", "more", "kept"),
    [
        ("/v1/chat/completions", "openai", {}, {"max_completion_tokens": 9}),
        ("/v1/chat/completions", "openai", {"max_tokens": 0}, {"max_completion_tokens": 9}),
        ("/v1/chat/completions", "ollama", {"max_completion_tokens": None}, {"max_tokens": 9}),
        ("/v1/responses", "openai", {"max_output_tokens": 0}, {"max_output_tokens": 9}),
        ("/v1/messages", "anthropic", {}, {"max_tokens": 9}),
        (WHOLE_CONTENT, "gemini", {}, {"generationConfig": {"maxOutputTokens": 9}}),
        (
            WHOLE_CONTENT, "gemini",
            {"generation_config": {"max_output_tokens": 0, "seed": 1}, "generationConfig": {}},
            {"generation_config": {"maxOutputTokens": 9, "seed": 1}, "generationConfig": {"maxOutputTokens": 9}},
        ),
    ],
)  # fmt: skip
def test_a_limit_is_written_so_that_no_other_counts(path: str, kind: str, more: Any, kept: Any) -> None:
    """A limit of nothing is none to some: it must not stand beside ours."""
    assert OPERATIONS[path].keep({"x": 1, **more}, 9, kind) == {"x": 1, **kept}
