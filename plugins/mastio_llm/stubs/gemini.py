"""Gemini's replies: content, whole, as events and as a JSON array."""

from __future__ import annotations

from typing import Any

from mastio_llm.stubs.template import Generation, Text, compile_template, in_chunks


def gemini_shape(piece: str, text: Text, *, last: bool) -> dict[str, Any]:
    usage: dict[str, Any] = {"promptTokenCount": "<prompt>", "totalTokenCount": "<prompt>"}
    if last:
        usage |= {"candidatesTokenCount": text.tokens, "totalTokenCount": "<total>"}
    finish = {"finishReason": "STOP"} if last else {}
    return {
        "candidates": [{"content": {"parts": [{"text": piece}], "role": "model"}, "index": 0, **finish}],
        "usageMetadata": usage,
        "modelVersion": "<model>",
        "responseId": "<id>",
    }


def compile_gemini(text: Text) -> Generation:
    """With `alt=sse` the stream is events; without it, it is one JSON array that grows."""
    last = len(text.pieces) - 1
    shapes = [gemini_shape(piece, text, last=nth == last) for nth, piece in enumerate(text.pieces)]
    replies = [compile_template(shape) for shape in shapes]
    return Generation(
        compile_template(gemini_shape(text.whole, text, last=True)),
        in_chunks([], [b"data: " + reply + b"\r\n\r\n" for reply in replies], []),
        in_chunks([b"["], [replies[0], *(b",\r\n" + reply for reply in replies[1:])], [b"]"]),
    )
