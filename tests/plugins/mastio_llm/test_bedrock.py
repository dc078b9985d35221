"""Messages in Amazon's clothes: what goes up, and what comes back in frames."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from mastio.exchange.values import OPEN, RequestHead, Route
from mastio_llm.dialects import bedrock
from mastio_llm.dialects.bedrock import FrameError, Frames
from support.aws_frames import chunk, frame

ROUTE = Route("/v1/messages", ("POST",), OPEN, "llm.chat", "")
EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "häl\nlo"}},
    {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 1}},
]
STREAM = b"".join(map(chunk, EVENTS))
SSE = b"".join(b"event: %b\ndata: %b\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in EVENTS)


@pytest.mark.parametrize("size", [1, 2, 7, 11, 12, 13, 64, 10_000])
def test_frames_in_pieces_of_any_size_are_the_same_events(size: int) -> None:
    frames = Frames()
    assert b"".join(frames.feed(STREAM[at : at + size]) for at in range(0, len(STREAM), size)) == SSE


def test_one_flipped_bit_is_noticed_wherever_it_is() -> None:
    one = chunk(EVENTS[0])
    for at in range(len(one)):
        broken = bytearray(one)
        broken[at] ^= 1
        with pytest.raises(FrameError):
            Frames().feed(bytes(broken))


@pytest.mark.parametrize(
    "payload",
    [
        b"{",
        b"[]",
        {"bytes": "***"},
        {"bytes": base64.b64encode(b"[]").decode()},
        {"bytes": 5},
        {},
        {"bytes": base64.b64encode(b'{"type":"a\\nb"}').decode()},
        {"bytes": base64.b64encode(b'{"type":"a"}\n\ndata: x').decode()},
    ],
)
def test_frames_with_something_else_inside_are_refused(payload: Any) -> None:
    with pytest.raises(FrameError):
        Frames().feed(frame(payload))


def test_an_exception_is_the_error_event_of_the_api() -> None:
    said = Frames().feed(frame({"message": "Too many"}, message_type="exception", exception_type="throttlingException"))
    error = {"type": "error", "error": {"type": "rate_limit_error", "message": "Too many"}}
    assert said == b"event: error\ndata: " + json.dumps(error, separators=(",", ":")).encode() + b"\n\n"


def test_what_goes_up() -> None:
    body = {"model": "m", "stream": True, "max_tokens": 5, "messages": []}
    headers = [(b"anthropic-beta", b"a-1, b-2"), (b"anthropic-version", b"2023-06-01"), (b"anthropic-beta", b"c-3")]
    head = RequestHead("id", "POST", "/v1/messages", b"", {}, headers, ROUTE, None, "")
    assert json.loads(bedrock.encode_request(json.dumps(body).encode(), head)) == {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 5,
        "messages": [],
        "anthropic_beta": ["a-1", "b-2", "c-3"],
    }
    own = json.dumps({**body, "anthropic_version": "bedrock-2024-01-01"}).encode()
    assert json.loads(bedrock.encode_request(own, head))["anthropic_version"] == "bedrock-2024-01-01"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"message":"No."}', "No."),
        (b"<html>", "The provider refused the request."),
        (b"[]", "The provider refused the request."),
    ],
)
def test_an_error_is_said_as_anthropic_would(body: bytes, message: str) -> None:
    error = {"type": "invalid_request_error", "message": message}
    assert json.loads(bedrock.encode_error(body, 400)) == {"type": "error", "error": error}


def test_the_model_is_one_segment_of_the_path() -> None:
    assert bedrock.address("a/b:0", "whole") == "/model/a%2Fb%3A0/invoke"
    assert bedrock.address("m", "events") == "/model/m/invoke-with-response-stream"
