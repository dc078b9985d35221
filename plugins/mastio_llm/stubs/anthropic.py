"""Anthropic's replies: messages, whole and as a stream."""

from __future__ import annotations

from typing import Any

from mastio_llm.stubs.template import Chunks, Generation, Text, compile_template, in_chunks, named_event


def anthropic_message(content: list[dict[str, Any]], stop: str | None, output_tokens: int) -> dict[str, Any]:
    usage = {
        "input_tokens": "<prompt>",
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output_tokens,
        "service_tier": "standard",
    }
    return {
        "id": "msg_<id>",
        "type": "message",
        "role": "assistant",
        "model": "<model>",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def messages_stream(text: Text) -> Chunks:
    opening: list[dict[str, Any]] = [
        {"type": "message_start", "message": anthropic_message([], None, 1)},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
    ]
    deltas: list[dict[str, Any]] = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
        for piece in text.pieces
    ]
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    closing: list[dict[str, Any]] = [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": text.tokens}},
        {"type": "message_stop"},
    ]
    return in_chunks(map(named_event, opening), map(named_event, deltas), map(named_event, closing))


def compile_messages(text: Text) -> Generation:
    message = anthropic_message([{"type": "text", "text": text.whole}], "end_turn", text.tokens)
    return Generation(compile_template(message), messages_stream(text))
