"""The dialects as a test speaks them: a question with a text, an answer with a text, whole or cut into a stream."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from support.scripted_provider import Script

DIALECTS = ("openai", "responses", "anthropic", "gemini")


@dataclass(frozen=True)
class Talk:
    """How one dialect says it. `path` of a question; `body` of one."""

    dialect: str

    def path(self, model: str, stream: bool) -> str:
        if self.dialect == "gemini":
            return f"/v1beta/models/{model}:" + ("streamGenerateContent?alt=sse" if stream else "generateContent")
        return {"openai": "/v1/chat/completions", "responses": "/v1/responses", "anthropic": "/v1/messages"}[
            self.dialect
        ]

    def body(self, model: str, text: str, stream: bool = False) -> dict[str, Any]:
        match self.dialect:
            case "gemini":
                return {"contents": [{"role": "user", "parts": [{"text": text}]}]}
            case "responses":
                return {"model": model, "input": text, "stream": stream}
        more = {"max_tokens": 99} if self.dialect == "anthropic" else {}
        return {"model": model, "messages": [{"role": "user", "content": text}], "stream": stream, **more}

    def asked(self, document: Any) -> str:
        """The text of a question as it reached the provider."""
        match self.dialect:
            case "gemini":
                text = document["contents"][0]["parts"][0]["text"]
            case "responses":
                text = document["input"]
            case _:
                text = document["messages"][0]["content"]
        assert isinstance(text, str)
        return text

    def whole(self, text: str) -> Script:
        match self.dialect:
            case "openai":
                said: Any = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
            case "responses":
                said = {"id": "r", "status": "completed", "output": [_item(text)]}
            case "anthropic":
                said = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": text}]}
            case _:
                said = {"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}}]}
        return Script(pieces=[json.dumps(said).encode()])

    def stream(self, pieces: Sequence[str]) -> Script:
        made = getattr(self, f"_{self.dialect}")(pieces)
        return Script(content_type="text/event-stream", pieces=made)

    def _openai(self, pieces: Sequence[str]) -> list[bytes]:
        chunks = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
        return [*map(_event, chunks), _event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
                b"data: [DONE]\n\n"]  # fmt: skip

    def _responses(self, pieces: Sequence[str]) -> list[bytes]:
        place = {"item_id": "i", "output_index": 0, "content_index": 0}
        deltas = [{"type": "response.output_text.delta", **place, "delta": piece} for piece in pieces]
        text = "".join(pieces)
        ends = [
            {"type": "response.output_text.done", **place, "text": text},
            {"type": "response.completed", "response": {"status": "completed", "output": [_item(text)]}},
        ]
        return [_event({**event, "sequence_number": n}) for n, event in enumerate([*deltas, *ends])]

    def _anthropic(self, pieces: Sequence[str]) -> list[bytes]:
        deltas = [
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
            for piece in pieces
        ]
        start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        return [
            _event(e) for e in (start, *deltas, {"type": "content_block_stop", "index": 0}, {"type": "message_stop"})
        ]

    def _gemini(self, pieces: Sequence[str]) -> list[bytes]:
        made: list[Any] = [{"candidates": [{"content": {"parts": [{"text": piece}]}, "index": 0}]} for piece in pieces]
        made.append({"candidates": [{"content": {"parts": []}, "finishReason": "STOP", "index": 0}]})
        return [_event(event) for event in made]

    def said(self, raw: bytes) -> str:
        """The text of an answer, whole or streamed."""
        if not raw.startswith((b"data:", b"event:")):
            return self._text(orjson.loads(raw))
        return "".join(self._piece(event) for event in events_of(raw))

    def _text(self, document: Any) -> str:
        match self.dialect:
            case "openai":
                text = document["choices"][0]["message"]["content"]
            case "responses":
                text = document["output"][0]["content"][0]["text"]
            case "anthropic":
                text = document["content"][0]["text"]
            case _:
                text = document["candidates"][0]["content"]["parts"][0]["text"]
        assert isinstance(text, str)
        return text

    def _piece(self, event: Any) -> str:
        match self.dialect:
            case "openai":
                return str(event["choices"][0]["delta"].get("content", "")) if event.get("choices") else ""
            case "responses":
                return str(event["delta"]) if str(event["type"]).endswith(".delta") else ""
            case "anthropic":
                return str(event["delta"].get("text", "")) if event["type"] == "content_block_delta" else ""
        parts = event["candidates"][0].get("content", {}).get("parts", []) if "candidates" in event else []
        return "".join(str(part.get("text", "")) for part in parts)


def events_of(raw: bytes) -> list[Any]:
    events = []
    for event in raw.replace(b"\r\n", b"\n").split(b"\n\n"):
        data = b"".join(line[6:] for line in event.split(b"\n") if line.startswith(b"data: "))
        if data and data != b"[DONE]":
            events.append(orjson.loads(data))
    return events


def _item(text: str) -> dict[str, Any]:
    return {"id": "i", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _event(document: Any) -> bytes:
    named = f"event: {document['type']}\n".encode() if "type" in document else b""
    return named + b"data: " + json.dumps(document).encode() + b"\n\n"
