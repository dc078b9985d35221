"""OpenAI's replies: chat completions and responses, whole and as streams."""

from __future__ import annotations

from itertools import count
from typing import Any, Literal

from mastio_llm.stubs.template import Chunks, Generation, Text, compile_template, data_event, in_chunks, named_event

# ---------------------------------------------------------------------------------------- OpenAI: chat


def chat_usage(text: Text) -> dict[str, Any]:
    return {
        "prompt_tokens": "<prompt>",
        "completion_tokens": text.tokens,
        "total_tokens": "<total>",
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def chat_completion(text: Text) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text.whole, "refusal": None, "annotations": []}
    return {
        "id": "chatcmpl-<id>",
        "object": "chat.completion",
        "created": "<created>",
        "model": "<model>",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": chat_usage(text),
        "service_tier": "default",
        "system_fingerprint": "fp_stub",
    }


def chat_stream(text: Text, *, with_usage: bool) -> Chunks:
    """With `include_usage`, `usage` is null in every chunk but an extra last one without choices."""

    def chunk(choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
        shape = {
            "id": "chatcmpl-<id>",
            "object": "chat.completion.chunk",
            "created": "<created>",
            "model": "<model>",
            "service_tier": "default",
            "system_fingerprint": "fp_stub",
            "choices": choices,
        }
        return data_event({**shape, "usage": usage} if with_usage else shape)

    def choice(delta: dict[str, Any], finish: str | None = None) -> list[dict[str, Any]]:
        return [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]

    opening = [chunk(choice({"role": "assistant", "content": "", "refusal": None}))]
    deltas = [chunk(choice({"content": piece})) for piece in text.pieces]
    closing = [chunk(choice({}, "stop"))]
    if with_usage:
        closing.append(chunk([], chat_usage(text)))
    return in_chunks(opening, deltas, [*closing, b"data: [DONE]\n\n"])


def compile_chat(text: Text) -> Generation:
    return Generation(
        compile_template(chat_completion(text)),
        chat_stream(text, with_usage=False),
        chat_stream(text, with_usage=True),
    )


# ----------------------------------------------------------------------------------- OpenAI: responses


def response_message(content: list[dict[str, Any]], status: str) -> dict[str, Any]:
    return {"id": "msg_<id>", "type": "message", "status": status, "role": "assistant", "content": content}


def output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def response_shape(text: Text, status: Literal["in_progress", "completed"]) -> dict[str, Any]:
    done = status == "completed"
    usage = {
        "input_tokens": "<prompt>",
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": text.tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": "<total>",
    }
    return {
        "id": "resp_<id>",
        "object": "response",
        "created_at": "<created>",
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "model": "<model>",
        "output": [response_message([output_text(text.whole)], "completed")] if done else [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage if done else None,
        "user": None,
        "metadata": {},
    }


def responses_stream(text: Text) -> Chunks:
    numbers = count()
    part = {"item_id": "msg_<id>", "output_index": 0, "content_index": 0}

    def event(kind: str, **members: object) -> bytes:
        return named_event({"type": f"response.{kind}", "sequence_number": next(numbers), **members})

    opening = [
        event("created", response=response_shape(text, "in_progress")),
        event("in_progress", response=response_shape(text, "in_progress")),
        event("output_item.added", output_index=0, item=response_message([], "in_progress")),
        event("content_part.added", **part, part=output_text("")),
    ]
    deltas = [event("output_text.delta", **part, delta=piece, logprobs=[]) for piece in text.pieces]
    whole = output_text(text.whole)
    closing = [
        event("output_text.done", **part, text=text.whole, logprobs=[]),
        event("content_part.done", **part, part=whole),
        event("output_item.done", output_index=0, item=response_message([whole], "completed")),
        event("completed", response=response_shape(text, "completed")),
    ]
    return in_chunks(opening, deltas, closing)


def compile_responses(text: Text) -> Generation:
    return Generation(compile_template(response_shape(text, "completed")), responses_stream(text))
