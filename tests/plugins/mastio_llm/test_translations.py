"""Every translation against files that were written by hand after the vendors' own documents: what is given, what is
made. One folder for each pair of a caller's API and a provider's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mastio_llm.sse import Splitter, read_events
from mastio_llm.translate import TRANSLATIONS
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
