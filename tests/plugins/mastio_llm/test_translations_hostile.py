"""What is wrong anywhere in a request is the caller's mistake, anywhere in an answer the provider's; and a member that
nobody knows is refused wherever it stands. Tried at every place of every golden file."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mastio.exchange.errors import BadRequest, DispatchError
from mastio_llm.dialects.sse import Splitter, Unreadable, read_events
from mastio_llm.translate import TRANSLATIONS
from mastio_llm.translate.translation import Translation

GOLDEN = Path(__file__).parent / "golden"
CALLED = {
    "chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages",
    "gemini": "/v1beta/models/{model...}:streamGenerateContent", "embeddings": "/v1/embeddings",
    "count": "/v1/messages/count_tokens",
}  # fmt: skip
KINDS = {"chat": "openai", "messages": "anthropic", "gemini": "gemini"}
LEAST: dict[str, dict[str, Any]] = {
    "chat": {"model": "x", "messages": []}, "responses": {"model": "x", "input": "Hello"},
    "messages": {"model": "x", "max_tokens": 9, "messages": []}, "gemini": {"contents": []},
}  # fmt: skip
ODD: list[Any] = [None, True, 0, -1, 1.5, "", "x", [], [0], ["x"], {}, {"x": 1}, [{}], [[{}]]]
Path_ = tuple[str | int, ...]

FREE = frozenset({
    "parameters", "input_schema", "schema", "parametersJsonSchema", "responseJsonSchema", "args", "input", "response",
    "metadata", "client_metadata", "cache_control", "keep", "annotations", "logprobs", "responseSchema",
})  # fmt: skip
"""Members whose own members are the caller's: schemas, arguments, labels. `input` only where it is an object."""
BESIDE = frozenset({"edits"})
"""Known by their type alone."""


def cases(kind: str) -> list[Any]:
    files = sorted(GOLDEN.glob(f"*/*.{kind}.json"))
    assert files
    return [pytest.param(f.parent.name, json.loads(f.read_text()), id=f"{f.parent.name}-{f.name}") for f in files]


def used(pair: str) -> Translation:
    caller, _, provider = pair.partition("_to_")
    return TRANSLATIONS[CALLED[caller], KINDS[provider]]


def asked_by(pair: str, case: dict[str, Any]) -> dict[str, Any]:
    """A request that is whole: what an answer is translated for has been read before."""
    least = LEAST.get(pair.split("_")[0], {})
    return {**least, **case.get("request", {})}


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    yield path
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(document: Any, path: Path_, value: Any) -> Any:
    if not path:
        return value
    made = copy.deepcopy(document)
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return made


def without(document: Any, path: Path_) -> Any:
    made = copy.deepcopy(document)
    at = made
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return made


def variants(document: Any) -> Iterator[Any]:
    """The document with each of its values replaced by each of the odd ones, or taken away."""
    for path in places(document):
        if path:
            yield without(document, path)
            for odd in ODD:
                yield changed(document, path, odd)


WEATHER = {"functionDeclarations": [{"name": "weather", "parameters": {"type": "object"}}]}
ASKING = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "tools": [WEATHER]}


@pytest.mark.parametrize(
    "more",
    [
        {"toolConfig": {}, "tool_config": {}},
        {"toolConfig": {"functionCallingConfig": {"allowedFunctionNames": [], "allowed_function_names": ["weather"]}}},
        {"generationConfig": {"topP": 1, "top_p": 0}},
    ],
    ids=str,
)
def test_a_member_in_two_spellings_is_refused(more: dict[str, Any]) -> None:
    """Whoever judges the one must not be passed by with the other."""
    with pytest.raises(BadRequest, match="two spellings") as caught:
        used("gemini_to_chat").request({**ASKING, **more}, "real-model")
    assert caught.value.code == "invalid_body"


@pytest.mark.parametrize(
    ("mode", "choice"),
    [("NONE", "none"), ("none", "none"), ("ANY", "required"), ("AUTO", "auto"), ("MODE_UNSPECIFIED", "auto")],
)
def test_whether_a_tool_is_called_is_said_to_the_provider(mode: str, choice: str) -> None:
    given = {**ASKING, "toolConfig": {"functionCallingConfig": {"mode": mode}}}
    made = used("gemini_to_chat").request(given, "real-model")
    assert made["tool_choice"] == choice and [tool["function"]["name"] for tool in made["tools"]] == ["weather"]


@pytest.mark.parametrize(("pair", "case"), cases("request"))
def test_a_wrong_request_is_the_callers_mistake(pair: str, case: dict[str, Any]) -> None:
    tried = refused = 0
    for given in variants(case["given"]):
        tried += 1
        try:
            made = used(pair).request(given, "real-model")
        except BadRequest as error:
            refused += 1
            assert error.code in ("not_translatable", "invalid_body")
        else:
            json.dumps(made)
    assert 0 < refused < tried


@pytest.mark.parametrize(("pair", "case"), cases("reply"))
def test_a_wrong_answer_is_the_providers_failure(pair: str, case: dict[str, Any]) -> None:
    asked, refused = asked_by(pair, case), 0
    for given in variants(case["given"]):
        try:
            json.dumps(used(pair).reply(given, asked, 1))
        except DispatchError as error:
            refused += 1
            assert (error.status, error.code) == (502, "upstream_error")
    assert refused


@pytest.mark.parametrize("form", ["events", "array"])
@pytest.mark.parametrize(("pair", "case"), cases("stream"))
def test_a_wrong_event_is_the_providers_failure(pair: str, case: dict[str, Any], form: Any) -> None:
    if form == "array" and not pair.startswith("gemini"):
        return
    translation, asked, refused = used(pair), asked_by(pair, case), 0
    for events in variants(case["given"]):
        if not isinstance(events, list):
            continue
        translator = translation.open(asked, 1, form)
        try:
            made = b"".join(map(translator.feed, events)) + translator.end()
        except DispatchError:
            refused += 1
        else:
            assert made == b"" or made.endswith((b"\n\n", b"\r\n\r\n", b"]"))
    assert refused


@pytest.mark.parametrize(("pair", "case"), cases("stream"))
def test_a_stream_that_stops_short_is_a_failure(pair: str, case: dict[str, Any]) -> None:
    """After any number of events but all, unless the provider said that it failed."""
    for count in range(len(case["given"])):
        translator = used(pair).open(asked_by(pair, case), 1, "events")
        for event in case["given"][:count]:
            translator.feed(event)
        if "usage" in case["given"][count] and not case["given"][count].get("choices", True):
            continue  # OpenAI's last event has the usage alone
        with pytest.raises(DispatchError):
            translator.end()


@pytest.mark.parametrize(("pair", "case"), cases("stream"))
def test_nothing_comes_behind_the_end(pair: str, case: dict[str, Any]) -> None:
    translator = used(pair).open(asked_by(pair, case), 1, "events")
    for event in case["given"]:
        translator.feed(event)
    translator.end()
    assert translator.end() == b""
    said = [event for event in case["given"] if "choices" in event or "candidates" in event or "delta" in event]
    for event in said:
        try:
            assert translator.feed(event) == b""  # one that tells nothing
        except DispatchError:
            continue


def is_free(path: Path_, document: Any) -> bool:
    """Whether the object there is the caller's own, so that it may have any member."""
    at = document
    for key in path:
        if key in BESIDE or (key in FREE and isinstance(at[key], dict)):
            return True
        at = at[key]
    return False


@pytest.mark.parametrize(("pair", "case"), cases("request"))
def test_a_member_that_nobody_knows_is_refused_wherever_it_stands(pair: str, case: dict[str, Any]) -> None:
    tried = 0
    for path in places(case["given"]):
        at = case["given"]
        for key in path:
            at = at[key]
        if not isinstance(at, dict) or is_free(path, case["given"]) or is_left_out(at):
            continue
        tried += 1
        with pytest.raises(BadRequest) as refused:
            used(pair).request(changed(case["given"], path, {**at, "x_unknown": 1}), "real-model")
        named = any(name in refused.value.message for name in ("'x_unknown'", "'xUnknown'", f"'{path and path[-1]}'"))
        assert refused.value.code == "not_translatable" and named, path
    assert tried


def is_left_out(at: dict[str, Any]) -> bool:
    """Thoughts of earlier answers."""
    return at.get("type") in ("thinking", "redacted_thinking", "reasoning") or at.get("thought") is True


@pytest.mark.parametrize("data", [b"data: {\n\n", b"data: {} {}\n\n", b'data: {"a":1,"a":2}\n\n', b"data: nothing\n\n"])
def test_an_event_that_is_no_json_is_not_passed_over(data: bytes) -> None:
    with pytest.raises(Unreadable):
        list(read_events(data))
    assert list(read_events(b": comment\n\ndata: [DONE]\n\nevent: x\n\n")) == []


def test_a_gemini_stream_as_an_array() -> None:
    """In whatever pieces it comes, it is one array of what the events would be."""
    for name in ("gemini_to_chat/tools", "gemini_to_messages/tools"):
        case = json.loads((GOLDEN / f"{name}.stream.json").read_text())
        translator = used(name.split("/")[0]).open({"contents": []}, 1, "array")
        made = b"".join(map(translator.feed, case["given"])) + translator.end()
        assert json.loads(made) == case["made"]
    translator = used("gemini_to_chat").open({"contents": []}, 1, "array")
    failed = json.loads(translator.feed({"error": {"message": "Overloaded."}}))
    assert failed == [{"error": {"code": 502, "message": "Overloaded.", "status": "UNAVAILABLE"}}]
    assert translator.end() == b""


def test_windows_of_a_translated_stream_are_the_splitters() -> None:
    """An end that comes in the same piece as the beginning loses nothing."""
    case = json.loads((GOLDEN / "messages_to_chat" / "tools.stream.json").read_text())
    said = b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in case["given"]) + b"data: [DONE]\n\nrest"
    window = Splitter(used("messages_to_chat").streamed.stream).feed(said)
    assert window is not None and window.last and len(list(read_events(window.data))) == len(case["given"])


@pytest.mark.parametrize("pair", ["responses_to_gemini", "messages_to_chat"])
def test_an_answer_without_end_is_a_failure(pair: str) -> None:
    """What is kept of a stream until its end is bounded."""
    translator = used(pair).open(asked_by(pair, {}), 1, "events")
    more = "a" * (4 * 1024 * 1024)
    said = {"candidates": [{"content": {"parts": [{"text": more}]}}], "choices": [{"delta": {"content": more}}]}
    for _ in range(8):
        translator.feed(said)
    with pytest.raises(DispatchError):
        translator.feed(said)
