"""OpenAI's API: chat completions, responses, embeddings, moderations, models. Azure and many others speak it too.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from mastio.exchange.errors import BadRequest, MastioError
from mastio.http.problem import encode_openai
from mastio.http.strictjson import JsonError, parse, set_member
from mastio_llm.dialects.events import data_of, split_events
from mastio_llm.dialects.operation import (
    AsksUsage,
    CallRequest,
    Form,
    Listing,
    Operation,
    Sight,
    Speaker,
    Stream,
    Usage,
    is_drawn,
    member,
    names_of,
    parts_of,
    read_form,
    read_model,
    tally,
    tokens,
    verify_counts,
)

LIMITS = ("max_tokens", "max_completion_tokens")
CHAT_COUNTS = (*LIMITS, "n")


def find_chat(params: Mapping[str, str], query: bytes, document: dict[str, Any]) -> CallRequest:
    model, form = read_model(document), read_form(document)
    if not isinstance(document.get("messages"), list):
        raise BadRequest("The member messages must be a list.", code="invalid_body")
    verify_counts(document, CHAT_COUNTS)
    limits = [document[name] for name in LIMITS if document.get(name) is not None]
    return CallRequest(
        model,
        form,
        max(limits, default=None),  # not everybody knows the newer one
        answers=1 if document.get("n") is None else document["n"],
        has_one_answer=not is_drawn(document),
        usage=_asks_usage(document) if form == "events" else "always",
    )


def _asks_usage(document: dict[str, Any]) -> AsksUsage:
    """Options that are none go up as they are: they are the provider's to refuse."""
    if "stream_options" not in document:
        return "silent"
    options = document["stream_options"]
    if not isinstance(options, dict | None):
        return "yes"
    said = options.get("include_usage") if options else None
    return "no" if said is None or said is False else "yes"


def keep_chat(document: dict[str, Any], limit: int, kind: str) -> dict[str, Any]:
    """OpenAI's newer models take no `max_tokens`, Ollama takes nothing else."""
    kept = {name: value for name, value in document.items() if name not in LIMITS}  # there is none in them, or 0
    return {**kept, "max_tokens" if kind == "ollama" else "max_completion_tokens": limit}


def keep_response(document: dict[str, Any], limit: int, kind: str) -> dict[str, Any]:
    return {**document, "max_output_tokens": limit}


def find_responses(params: Mapping[str, str], query: bytes, document: dict[str, Any]) -> CallRequest:
    verify_counts(document, ("max_output_tokens", "max_tool_calls"))
    detached = bool(document.get("background"))
    return CallRequest(
        read_model(document),
        read_form(document),
        document.get("max_output_tokens"),
        has_one_answer=not is_drawn(document) and not detached,
        detached=detached,
    )


def find_plain(params: Mapping[str, str], query: bytes, document: dict[str, Any]) -> CallRequest:
    return CallRequest(read_model(document), writes=False, has_one_answer=True)


def read_usage(document: Any) -> Usage | None:
    """`usage` of a chat completion or of embeddings."""
    usage = member(document, "usage")
    return tally(
        input_tokens=tokens(usage.get("prompt_tokens")),
        output_tokens=tokens(usage.get("completion_tokens")),
        cached_tokens=tokens(member(usage, "prompt_tokens_details").get("cached_tokens")),
    )


def read_response_usage(document: Any) -> Usage | None:
    """`usage` of a response; of one that is still being written there is none yet."""
    if isinstance(document, dict) and document.get("status") in ("queued", "in_progress"):
        return None
    usage = member(document, "usage")
    return tally(
        input_tokens=tokens(usage.get("input_tokens")),
        output_tokens=tokens(usage.get("output_tokens")),
        cached_tokens=tokens(member(usage, "input_tokens_details").get("cached_tokens")),
    )


def no_usage(document: Any) -> Usage | None:
    """Moderations are free."""
    return None


def look_at_chat(data: bytes) -> Sight | None:
    if data.strip() == b"[DONE]":
        return Sight(end=True)
    document = _parse(data)
    if isinstance(document, dict) and document.get("error"):
        return Sight(end=True, failed=True)
    usage = read_usage(document)
    return Sight(usage, is_final=not document.get("choices") or _is_finished(document)) if usage else None


def _is_finished(chunk: dict[str, Any]) -> bool:
    return any(choice.get("finish_reason") for choice in parts_of(chunk.get("choices")))


def ask_chat_usage(body: bytes, asked: AsksUsage) -> bytes:
    """`stream_options.include_usage`, for a stream that would not say what it used."""
    if asked == "silent":
        return set_member(body, "stream_options", {"include_usage": True}, is_new=True)
    if asked == "no":
        options = {**(orjson.loads(body)["stream_options"] or {}), "include_usage": True}
        return set_member(body, "stream_options", options, is_new=False)
    return body


def hide_chat_usage(data: bytes) -> bytes:
    """Events without what `stream_options.include_usage` adds: a chunk more, and a null in all others. A count in a
    chunk with choices is one that the provider gives unasked. What stays is as it was, byte for byte."""
    if b'"usage"' not in data:
        return data
    shorter = _NO_USAGE.sub(b"", data)
    if b'"usage"' not in shorter:
        return shorter
    return b"".join(map(_without_usage, split_events(data)))


def _without_usage(event: bytes) -> bytes:
    shorter = _NO_USAGE.sub(b"", event)
    if b'"usage"' not in shorter:
        return shorter
    chunk = _parse(b"\n".join(data_of(event)))
    is_added = isinstance(chunk, dict) and isinstance(chunk.get("usage"), dict) and chunk.get("choices") == []
    return b"" if is_added else event


_NO_USAGE = re.compile(rb',\s*"usage"\s*:\s*null')

_ENDINGS = {"response.completed": False, "response.incomplete": False, "response.failed": True, "error": True}
"""The types of the events that end a response, and whether it failed."""


def look_at_response(data: bytes) -> Sight | None:
    document = _parse(data)
    kind = document.get("type") if isinstance(document, dict) else None
    failed = _ENDINGS.get(kind) if isinstance(kind, str) else None
    if failed is None:
        return None
    usage = read_response_usage(document.get("response"))
    return Sight(usage, end=True, failed=failed, is_final=usage is not None)


def _parse(data: bytes) -> Any:
    try:
        return parse(data)
    except JsonError:
        return None


def _at(path: str) -> Callable[[str, Form], str]:
    return lambda model, form: path


def break_chat(form: Form, error: MastioError, request_id: str) -> bytes:
    return b"data: " + encode_openai(error) + b"\n\n"


def break_response(form: Form, error: MastioError, request_id: str) -> bytes:
    """As documented for responses, and with the member `error`, by which the SDKs raise."""
    said = orjson.loads(encode_openai(error))
    event = {"type": "error", "code": error.code, "message": said["error"]["message"], "param": None, **said}
    return b"event: error\ndata: " + orjson.dumps(event) + b"\n\n"


OPERATIONS = {
    "/v1/chat/completions": Operation(
        "llm.chat",
        "openai",
        find_chat,
        _at("/chat/completions"),
        read_usage,
        break_chat,
        stream=Stream(
            (b"[DONE]", b'"usage"', b'"error"'),
            look_at_chat,
        ),
        keep=keep_chat,
        ask_usage=ask_chat_usage,
        hide_usage=hide_chat_usage,
    ),
    "/v1/responses": Operation(
        "llm.responses",
        "openai",
        find_responses,
        _at("/responses"),
        read_response_usage,
        break_response,
        stream=Stream(
            (*(name.encode() for name in _ENDINGS if "." in name), b'"error"'), look_at_response
        ),
        keep=keep_response,
    ),
    "/v1/embeddings": Operation(
        "llm.embeddings", "openai", find_plain, _at("/embeddings"), read_usage, break_chat
    ),
    "/v1/moderations": Operation(
        "llm.moderations", "openai", find_plain, _at("/moderations"), no_usage, break_chat, free=True
    ),
}  # fmt: skip

SPEAKER = Speaker("openai", "authorization", b"openai-", "Bearer ")
AZURE = Speaker("openai", "api-key", b"openai-")


def encode_models(models: list[tuple[str, str]]) -> bytes:
    data = [{"id": name, "object": "model", "created": 0, "owned_by": provider} for name, provider in models]
    return orjson.dumps({"object": "list", "data": data})


LISTING = Listing("/models", lambda document: names_of(document, "data", "id"), encode_models)
