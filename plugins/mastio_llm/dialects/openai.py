"""OpenAI's API: chat completions, responses, embeddings, moderations, models. Azure and many others speak it too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from mastio.errors import BadRequest, MastioError
from mastio.problem import encode_openai
from mastio.strictjson import JsonError, parse
from mastio_llm.dialects.operation import (
    Asked,
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
    texts_of,
    tokens,
    verify_counts,
)

LIMITS = ("max_tokens", "max_completion_tokens")
CHAT_COUNTS = (*LIMITS, "n")
OWN_TOOLS = ("function", "custom")
"""The types of tools that the caller runs itself."""


def find_chat(params: Mapping[str, str], query: bytes, document: dict[str, Any]) -> Asked:
    model, form = read_model(document), read_form(document)
    if not isinstance(document.get("messages"), list):
        raise BadRequest("The member messages must be a list.", code="invalid_body")
    verify_counts(document, CHAT_COUNTS)
    looks_up = _looks_up(document) or "web_search_options" in document
    limits = [document[name] for name in LIMITS if document.get(name) is not None]
    return Asked(
        model,
        form,
        max(limits, default=None),  # not everybody knows the newer one
        answers=1 if document.get("n") is None else document["n"],
        has_one_answer=not is_drawn(document) and not looks_up,
        looks_up=looks_up,
    )


def keep_chat(document: dict[str, Any], limit: int, kind: str) -> dict[str, Any]:
    """OpenAI's newer models take no `max_tokens`, Ollama takes nothing else."""
    kept = {name: value for name, value in document.items() if name not in LIMITS}  # there is none in them, or 0
    return {**kept, "max_tokens" if kind == "ollama" else "max_completion_tokens": limit}


def keep_response(document: dict[str, Any], limit: int, kind: str) -> dict[str, Any]:
    return {**document, "max_output_tokens": limit}


def find_responses(params: Mapping[str, str], query: bytes, document: dict[str, Any]) -> Asked:
    verify_counts(document, ("max_output_tokens", "max_tool_calls"))
    detached = bool(document.get("background"))
    # a conversation has grown by the next time, and a prompt that is kept may have changed
    depends = detached or bool(document.get("conversation") or document.get("prompt"))
    return Asked(
        read_model(document),
        read_form(document),
        document.get("max_output_tokens"),
        has_one_answer=not is_drawn(document) and not depends and not _looks_up(document),
        detached=detached,
        looks_up=_looks_up(document),
    )


def _looks_up(document: dict[str, Any]) -> bool:
    """Whether there is a tool that the provider runs."""
    return any(tool.get("type") not in OWN_TOOLS for tool in parts_of(document.get("tools")))


def find_plain(params: Mapping[str, str], query: bytes, document: dict[str, Any]) -> Asked:
    return Asked(read_model(document), writes=False, has_one_answer=True)


def links_of_chat(document: dict[str, Any]) -> Iterator[object]:
    for message in parts_of(document.get("messages")):
        for part in parts_of(message.get("content")):
            yield from _links_of_part(part)


def _links_of_part(part: dict[str, Any]) -> Iterator[object]:
    """Images and files, and what others who speak this API fetch: videos, sounds."""
    for name, link in part.items():
        if name.endswith("_url"):
            yield link.get("url") if isinstance(link, dict) else link


def links_of_response(document: dict[str, Any]) -> Iterator[object]:
    for item in parts_of(document.get("input")):
        for part in (item, *parts_of(item.get("content")), *parts_of(item.get("output"))):
            yield from _links_of_part(part)
    for part in parts_of(list(member(member(document, "prompt"), "variables").values())):
        yield from _links_of_part(part)
    for tool in parts_of(document.get("tools")):
        yield tool.get("server_url")


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
    return Sight(usage) if usage else None


_ENDINGS = {"response.completed": False, "response.incomplete": False, "response.failed": True, "error": True}
"""The types of the events that end a response, and whether it failed."""


def look_at_response(data: bytes) -> Sight | None:
    document = _parse(data)
    kind = document.get("type") if isinstance(document, dict) else None
    failed = _ENDINGS.get(kind) if isinstance(kind, str) else None
    if failed is None:
        return None
    return Sight(read_response_usage(document.get("response")), end=True, failed=failed)


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
            text=texts_of("content", "arguments", "refusal", "reasoning_content"),
        ),
        keep=keep_chat,
        link_marker=b"_url",
        links=links_of_chat,
    ),
    "/v1/responses": Operation(
        "llm.responses",
        "openai",
        find_responses,
        _at("/responses"),
        read_response_usage,
        break_response,
        stream=Stream(
            (*(name.encode() for name in _ENDINGS if "." in name), b'"error"'), look_at_response, text=texts_of("delta")
        ),
        keep=keep_response,
        link_marker=b"_url",
        links=links_of_response,
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
