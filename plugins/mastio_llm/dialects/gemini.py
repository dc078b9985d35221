"""Google's Gemini API: generateContent and streamGenerateContent, models. The model is in the path. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

import orjson

from mastio.exchange.errors import BadRequest, MastioError
from mastio.http.problem import encode_gemini
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
    is_drawn,
    member,
    parts_of,
    tally,
    tokens,
    verify_counts,
    verify_model,
    verify_plain,
)

CONFIGS = ("generationConfig", "generation_config")
LIMIT = ("maxOutputTokens", "max_output_tokens")
ANSWERS = ("candidateCount", "candidate_count")
_ALT = re.compile(rb"(?:^|&)(?:alt|\$alt|%24alt)=([^&]*)")


def find_content(params: Mapping[str, str], query: bytes, document: dict[str, Any]) -> CallRequest:
    _verify_alt(query, (b"", b"json"))
    return _find(params, document, "whole")


def find_stream(params: Mapping[str, str], query: bytes, document: dict[str, Any]) -> CallRequest:
    """Events where the query says `alt=sse`, else one JSON array."""
    return _find(params, document, "events" if _verify_alt(query, (b"", b"json", b"sse")) == b"sse" else "array")


def _verify_alt(query: bytes, known: tuple[bytes, ...]) -> bytes:
    found: list[bytes] = _ALT.findall(query)
    alt = found[0] if found else b""
    if len(found) > 1 or alt not in known:
        raise BadRequest("The query's alt is not one that is known here.")
    return alt


def _find(params: Mapping[str, str], document: dict[str, Any], form: Form) -> CallRequest:
    model = verify_model(params["model"])
    verify_plain(model)
    if "model" in document:
        raise BadRequest("The model is named in the path, not in the body.", code="invalid_body")
    if not isinstance(document.get("contents"), list | dict):
        raise BadRequest("The member contents must be a list.", code="invalid_body")
    configs = [member(document, name) for name in CONFIGS]
    for config in configs:
        verify_counts(config, (*LIMIT, *ANSWERS))
    return CallRequest(
        model,
        form,
        _largest(configs, LIMIT),
        answers=_largest(configs, ANSWERS) or 1,
        has_one_answer=not is_drawn({**configs[0], **configs[1]}),
    )


def _largest(configs: Iterable[Mapping[str, Any]], names: tuple[str, str]) -> int | None:
    """Of all spellings, since it is not ours to say which one counts."""
    found = (config.get(name) for config in configs for name in names)
    return max((count for count in found if count is not None), default=None)


def keep_content(document: dict[str, Any], limit: int, kind: str) -> dict[str, Any]:
    """In every spelling that is there, since it is not ours to say which one counts."""
    made = dict(document)
    for name in [name for name in CONFIGS if name in document] or CONFIGS[:1]:
        kept = {key: value for key, value in member(document, name).items() if key not in LIMIT}  # none, or 0
        made[name] = {**kept, LIMIT[0]: limit}
    return made


def read_usage(document: Any) -> Usage | None:
    """`usageMetadata`: thoughts are written, and what tools gave back is read."""
    usage = member(document, "usageMetadata")
    prompt, answer = tokens(usage.get("promptTokenCount")), tokens(usage.get("candidatesTokenCount"))
    thoughts, tools = tokens(usage.get("thoughtsTokenCount")), tokens(usage.get("toolUsePromptTokenCount"))
    return tally(
        input_tokens=None if prompt is None else prompt + (tools or 0),
        output_tokens=None if answer is None and thoughts is None else (answer or 0) + (thoughts or 0),
        cached_tokens=tokens(usage.get("cachedContentTokenCount")),
    )


def look(data: bytes) -> Sight | None:
    try:
        document = parse(data)
    except JsonError:
        return None
    if not isinstance(document, dict):
        return None
    if document.get("error"):
        return Sight(end=True, failed=True)
    candidates = document.get("candidates")
    items = candidates if isinstance(candidates, list) else []
    finished = any(isinstance(item, dict) and item.get("finishReason") for item in items)
    ended = finished or bool(member(document, "promptFeedback").get("blockReason"))
    return Sight(read_usage(document), end=ended, is_final=ended)


def break_content(form: Form, error: MastioError, request_id: str) -> bytes:
    """An event, or the last element of the array."""
    if form == "array":
        return b",\r\n" + encode_gemini(error) + b"]"
    return b"data: " + encode_gemini(error) + b"\r\n\r\n"


def _content(model: str, form: Form) -> str:
    return f"/models/{quote(model, safe='/:@+')}:generateContent"


def _stream(model: str, form: Form) -> str:
    address = f"/models/{quote(model, safe='/:@+')}:streamGenerateContent"
    return f"{address}?alt=sse" if form == "events" else address


_GENERATE = Operation(
    "llm.chat",
    "gemini",
    find_content,
    _content,
    read_usage,
    break_content,
    in_body=False,
    keep=keep_content,
)
_STREAM = Operation(
    "llm.chat",
    "gemini",
    find_stream,
    _stream,
    read_usage,
    break_content,
    in_body=False,
    keep=keep_content,
    stream=Stream((b"usageMetadata", b"finishReason", b"blockReason", b'"error"'), look, closes=True),
)

OPERATIONS = {
    f"{prefix}/models/{{model...}}:{verb}": operation
    for prefix in ("/v1beta", "/v1")
    for verb, operation in (("generateContent", _GENERATE), ("streamGenerateContent", _STREAM))
}


def _verb(verb: str) -> Callable[[str, Form], str]:
    return lambda model, form: f"/models/{quote(model, safe='/:@+')}:{verb}"


COUNT = Operation(
    "llm.count_tokens",
    "gemini",
    find_content,
    _verb("countTokens"),
    read_usage,
    break_content,
    in_body=False,
    free=True,
)
EMBED = Operation(
    "llm.embeddings", "gemini", find_content, _verb("batchEmbedContents"), read_usage, break_content, in_body=False
)
"""What translations ask of providers; callers have no route to them."""


def refuses_key(body: bytes) -> bool:
    """A bad key is a bad request to Google. What the caller wrote may be in the message, but not in the reason."""
    if b"API_KEY_INVALID" not in body:
        return False
    try:
        document = parse(body)
    except JsonError:
        return True
    errors = [member(one, "error") for one in parts_of(document)]
    return any(detail.get("reason") == "API_KEY_INVALID" for e in errors for detail in parts_of(e.get("details")))


SPEAKER = Speaker(
    "gemini",
    "x-goog-api-key",
    prefix=b"x-goog-api-client",
    refuses_key=refuses_key,
)


def read_models(document: dict[str, Any]) -> list[str]:
    """Those that can generate."""
    items = document.get("models")
    found = []
    for item in items if isinstance(items, list) else []:
        name = item.get("name") if isinstance(item, dict) else None
        methods = item.get("supportedGenerationMethods") if isinstance(item, dict) else None
        if isinstance(name, str) and isinstance(methods, list) and "generateContent" in methods:
            found.append(name.removeprefix("models/"))
    return found


def encode_models(models: list[tuple[str, str]]) -> bytes:
    methods = ["generateContent", "streamGenerateContent"]
    listed = [
        {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods} for name, _ in models
    ]
    return orjson.dumps({"models": listed})


LISTING = Listing("/models?pageSize=1000", read_models, encode_models)
