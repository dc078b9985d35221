"""Anthropic's API: messages, the count of their tokens, models. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from mastio.exchange.errors import BadRequest, MastioError
from mastio.http.problem import encode_anthropic
from mastio.http.strictjson import JsonError, parse
from mastio_llm.dialects.operation import (
    CallRequest,
    Form,
    Listing,
    Operation,
    Sight,
    Speaker,
    Stream,
    Usage,
    member,
    names_of,
    read_form,
    read_model,
    tally,
    tokens,
    verify_counts,
)

VERSION = "2023-06-01"
"""`anthropic-version` for callers who name none: the API takes no call without."""


def find_messages(params: Mapping[str, str], query: bytes, document: dict[str, Any]) -> CallRequest:
    model, form = read_model(document), read_form(document)
    _verify_messages(document)
    verify_counts(document, ("max_tokens",))
    return CallRequest(model, form, document.get("max_tokens"), has_one_answer=document.get("temperature") == 0)


def keep_message(document: dict[str, Any], limit: int, kind: str) -> dict[str, Any]:
    return {**document, "max_tokens": limit}


def find_count(params: Mapping[str, str], query: bytes, document: dict[str, Any]) -> CallRequest:
    asked = CallRequest(read_model(document), writes=False, has_one_answer=True)
    _verify_messages(document)
    return asked


def _verify_messages(document: dict[str, Any]) -> None:
    if not isinstance(document.get("messages"), list):
        raise BadRequest("The member messages must be a list.", code="invalid_body")


def read_usage(document: Any) -> Usage | None:
    """`usage` of a message. What the provider's cache gave and took is not in its own `input_tokens`."""
    usage = member(document, "usage")
    cached, written = tokens(usage.get("cache_read_input_tokens")), tokens(usage.get("cache_creation_input_tokens"))
    plain = tokens(usage.get("input_tokens"))
    return tally(
        input_tokens=None if plain is None else plain + (cached or 0) + (written or 0),
        output_tokens=tokens(usage.get("output_tokens")),
        cached_tokens=cached,
        cache_write_tokens=written,
        cache_write_1h_tokens=tokens(member(usage, "cache_creation").get("ephemeral_1h_input_tokens")),
    )


def read_first_usage(document: Any) -> Usage | None:
    """`usage` of a message that begins. What it says of its length is no count of it."""
    usage = read_usage(document)
    return None if usage is None else {name: count for name, count in usage.items() if name != "output_tokens"} or None


def read_last_usage(document: Any) -> Usage | None:
    """`usage` of a `message_delta`, which says again what was read, or says it in part, or does not."""
    usage = member(document, "usage")
    said_whole = "input_tokens" in usage and "cache_read_input_tokens" in usage
    return read_usage(document) if said_whole else tally(output_tokens=tokens(usage.get("output_tokens")))


def no_usage(document: Any) -> Usage | None:
    """Counting is free: what it counted has not been read by any model."""
    return None


def look(data: bytes) -> Sight | None:
    try:
        document = parse(data)
    except JsonError:
        return None
    match document.get("type") if isinstance(document, dict) else None:
        case "message_start":
            return Sight(read_first_usage(document.get("message")))
        case "message_delta":
            return Sight(read_last_usage(document), is_final=True)
        case "message_stop":
            return Sight(end=True)
        case "error":
            return Sight(end=True, failed=True)
    return None


def break_message(form: Form, error: MastioError, request_id: str) -> bytes:
    return b"event: error\ndata: " + encode_anthropic(error, request_id) + b"\n\n"


def _messages(model: str, form: Form) -> str:
    return "/messages"


def _count(model: str, form: Form) -> str:
    return "/messages/count_tokens"


OPERATIONS = {
    "/v1/messages": Operation(
        "llm.chat",
        "anthropic",
        find_messages,
        _messages,
        read_usage,
        break_message,
        query=frozenset({b"beta"}),
        stream=Stream(
            (b"message_start", b"message_delta", b"message_stop", b'"error"'),
            look,
        ),
        keep=keep_message,
    ),
    "/v1/messages/count_tokens": Operation(
        "llm.count_tokens",
        "anthropic",
        find_count,
        _count,
        no_usage,
        break_message,
        query=frozenset({b"beta"}),
        free=True,
    ),
}

SPEAKER = Speaker("anthropic", "x-api-key", prefix=b"anthropic-", defaults=(("anthropic-version", VERSION),))


def encode_models(models: list[tuple[str, str]]) -> bytes:
    """The list of models in Anthropic's form. Release dates are unknown here; the API allows the first second of
    1970."""
    data = [
        {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"} for name, _ in models
    ]
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return orjson.dumps({"data": data, "has_more": False, "first_id": first, "last_id": last})


LISTING = Listing("/models?limit=1000", lambda document: names_of(document, "data", "id"), encode_models)
