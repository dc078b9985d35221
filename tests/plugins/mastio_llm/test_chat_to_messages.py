"""Chat completions as messages of Anthropic: golden files, and what is refused because it has no counterpart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mastio.exchange.errors import BadRequest, DispatchError
from mastio_llm.translate import TRANSLATIONS
from mastio_llm.translate.from_chat import FINISH as WRITTEN
from mastio_llm.translate.to_messages import FINISH

GOLDEN = Path(__file__).parent / "golden" / "chat_to_messages"
NOW = 1_700_000_000
TRANSLATION = TRANSLATIONS["/v1/chat/completions", "anthropic"]


def golden(kind: str) -> list[Any]:
    files = sorted(GOLDEN.glob(f"*.{kind}.json"))
    assert files
    return [pytest.param(json.loads(file.read_text()), id=file.stem) for file in files]


@pytest.mark.parametrize("case", golden("request"))
def test_requests(case: dict[str, Any]) -> None:
    assert TRANSLATION.request(case["given"], "real-model") == case["made"]


@pytest.mark.parametrize("case", golden("reply"))
def test_replies(case: dict[str, Any]) -> None:
    assert TRANSLATION.reply(case["given"], {}, NOW) == case["made"]


@pytest.mark.parametrize("case", golden("stream"))
def test_streams(case: dict[str, Any]) -> None:
    *chunks, usage, end = read(case["request"], case["given"])
    assert end == "[DONE]" and usage == {**case["head"], "choices": [], "usage": case["usage"]}
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == case["deltas"]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * (len(chunks) - 1) + [case["finish"]]
    assert all(case["head"].items() <= chunk.items() and chunk["usage"] is None for chunk in chunks)
    without = read({}, case["given"])
    assert len(without) == len(chunks) + 1 and all("usage" not in chunk for chunk in without[:-1])


def read(request: dict[str, Any], events: list[Any]) -> list[Any]:
    stream = TRANSLATION.open(request, NOW, "events")
    lines = b"".join(map(stream.feed, events)).decode().split("\n\n")
    assert lines.pop() == "" and all(line.startswith("data: ") for line in lines)
    return [line[6:] if line == "data: [DONE]" else json.loads(line[6:]) for line in lines]


def test_an_error_in_a_stream_is_an_error_of_the_callers_api() -> None:
    (said,) = read({}, [{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}])
    assert (said["error"]["message"], said["error"]["type"]) == ("Overloaded", "server_error")
    (odd,) = read({}, [{"type": "error"}])
    assert odd["error"]["message"]


@pytest.mark.parametrize("event", [{}, {"type": "ping"}, {"type": "new"}, {"type": ["new"]}])
def test_what_is_not_known_of_a_stream_is_passed_over(event: Any) -> None:
    assert TRANSLATION.open({}, NOW, "events").feed(event) == b""


@pytest.mark.parametrize("event", [None, [], "x", {"type": "message_start"}])
def test_what_is_no_event_of_the_api_fails(event: Any) -> None:
    with pytest.raises(DispatchError):
        TRANSLATION.open({}, NOW, "events").feed(event)


@pytest.mark.parametrize("reason", [*FINISH, "pause_turn", None])
def test_finish_reasons(reason: str | None) -> None:
    reply = TRANSLATION.reply({"id": "m", "content": [], "stop_reason": reason}, {}, NOW)
    assert reply["choices"][0]["finish_reason"] == WRITTEN[FINISH.get(reason or "", "stop")]
    assert reply["choices"][0]["message"]["content"] is None


HELLO: list[dict[str, Any]] = [{"role": "user", "content": "hello"}]
TOOL = {"type": "function", "function": {"name": "a"}}
REFUSED: dict[str, dict[str, Any]] = {
    "n": {"n": 2},
    "logprobs": {"logprobs": True},
    "seed": {"seed": 1},
    "penalty": {"frequency_penalty": 0.5},
    "unknown": {"x_unknown": 1},
    "audio": {"modalities": ["text", "audio"]},
    "effort": {"reasoning_effort": "minimal"},
    "hot": {"temperature": 1.5},
    "json": {"response_format": {"type": "json_object"}},
    "custom": {"tools": [{"type": "custom", "custom": {"name": "a"}}]},
    "choice": {"tools": [TOOL], "tool_choice": {"type": "allowed_tools"}},
    "role": {"messages": [{"role": "function", "content": "x"}]},
    "name": {"messages": [{"role": "user", "content": "x", "name": "jo"}]},
    "refusal": {"messages": [{"role": "assistant", "refusal": "x"}]},
    "part": {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]},
    "detail": {"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "https://a.example/", "detail": "low"}}]}]},
    "inline": {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,x"}}]}]},
    "systemimage": {"messages": [{"role": "system", "content": [
        {"type": "image_url", "image_url": {"url": "https://a.example/"}}]}]},
    "options": {"stream_options": {"x": 1}},
}  # fmt: skip
INVALID: dict[str, dict[str, Any]] = {
    "messages": {"messages": ["x"]},
    "content": {"messages": [{"role": "user", "content": 5}]},
    "arguments": {"messages": [{"role": "assistant", "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "a", "arguments": "[]"}}]}]},
    "broken": {"messages": [{"role": "assistant", "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{"}}]}]},
    "id": {"messages": [{"role": "tool", "content": "x"}]},
    "tools": {"tools": "x"},
    "toolless": {"tool_choice": "required"},
    "image": {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "https://a.example/"}]}]},
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_counterpart_is_refused(name: str) -> None:
    with pytest.raises(BadRequest) as refused:
        TRANSLATION.request({"model": "x", "messages": HELLO, **REFUSED[name]}, "m")
    assert (refused.value.code, refused.value.status) == ("not_translatable", 400)


def test_what_the_newer_api_has_too_is_carried() -> None:
    late = [*HELLO, {"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Well?"}]
    made = TRANSLATION.request({"model": "x", "messages": late, "reasoning_effort": "high"}, "m")
    assert made["output_config"] == {"effort": "high"} and "system" not in made
    assert made["messages"][1] == {"role": "system", "content": [{"type": "text", "text": "Be brief."}]}


@pytest.mark.parametrize("name", INVALID)
def test_what_is_wrong_is_invalid(name: str) -> None:
    with pytest.raises(BadRequest) as refused:
        TRANSLATION.request({"model": "x", "messages": HELLO, **INVALID[name]}, "m")
    assert refused.value.code == "invalid_body"


@pytest.mark.parametrize("choice", ["none", "auto", None, {"type": "function", "function": {"name": "a"}}])
def test_tool_choices(choice: Any) -> None:
    made = TRANSLATION.request({"model": "x", "messages": HELLO, "tools": [TOOL], "tool_choice": choice}, "m")
    expected = {"type": "tool", "name": "a"} if isinstance(choice, dict) else {"type": choice or "auto"}
    assert made["tool_choice"] == expected
