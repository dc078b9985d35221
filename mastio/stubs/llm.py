"""A provider stand-in: OpenAI, Anthropic and Gemini on one port, with replies known to the byte.

Stands where a provider would: the appliance is its client, `mastio.cli.stub_llm` is the process around it. It
must be much cheaper than what is measured in front of it, so all reply bodies are compiled to templates at
start, and a request only fills in what varies: id, time, model and token counts.

    body read → path found → request parsed → journal line → (drawn error) → reply made → latency → reply sent

Time is in seconds. A plain reply waits for `latency` once, a stream before each of its `chunks`. Each chunk
is written by itself; the opening events come with the first one, the closing events with the last. The event
loop's timers have a resolution of one millisecond.
Prompt tokens are the bytes of the request body divided by four; completion tokens are the words of the reply.
Any credential is accepted, and none is written anywhere.
"""

from __future__ import annotations

import asyncio
import base64
import math
import os
import random
import re
import struct
import time
import zlib
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import count, cycle, islice, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

Dialect = Literal["openai", "anthropic", "gemini"]
Headers = list[tuple[bytes, bytes]]
Chunks = tuple[bytes, ...]
Values = dict[bytes, bytes]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

SENTENCE = "Hello from the stub provider. This text is the same in every reply, word for word."
PII = {
    "email": "jane.roe@example.com",
    "iban": "DE89 3704 0044 0532 0130 00",
    "phone": "+1 202-555-0143",
    "card": "4111 1111 1111 1111",
}
"""Valid by their checksums and nobody's: documentation domain, sample IBAN, fictional phone, test card."""
PII_SENTENCE = "Write to {email}, pay to IBAN {iban}, call {phone} or charge the card {card}."

MODELS = {
    "openai": ("gpt-4o-mini", "gpt-4o", "text-embedding-3-small", "omni-moderation-latest"),
    "anthropic": ("claude-sonnet-4-5", "claude-haiku-4-5"),
    "gemini": ("gemini-2.5-flash", "gemini-2.5-pro"),
}
EMBEDDING_DIMENSIONS = 1536
MODERATION_CATEGORIES = (
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "illicit",
    "illicit/violent",
    "self-harm",
    "self-harm/instructions",
    "self-harm/intent",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
)


def parse_duration(text: str) -> float:
    """`50ms`, `0.2s` or `0` to seconds. ValueError otherwise: a number without a unit could mean either."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s)|0", text, re.ASCII)
    if match is None:
        raise ValueError(f"not a duration: {text!r}; write 50ms, 0.2s or 0")
    if match[1] is None:
        return 0.0
    return float(match[1]) / (1000 if match[2] == "ms" else 1)


@dataclass(frozen=True, slots=True)
class Settings:
    """How the stub behaves. `latency` in seconds; `error_rate` is the share of requests that fail, 0 to 1."""

    latency: float = 0.05
    chunks: int = 3
    response_tokens: int = 10
    pii: bool = False
    error_rate: float = 0.0
    journal: Path | None = None

    def __post_init__(self) -> None:
        if self.chunks < 1 or self.response_tokens < 1 or self.latency < 0:
            raise ValueError("chunks and response tokens are at least 1, latency is not negative")
        if not 0 <= self.error_rate <= 1:
            raise ValueError("the error rate is a share between 0 and 1")


# ------------------------------------------------------------------------------------ the reply's text


@dataclass(frozen=True, slots=True)
class Text:
    """What every reply says: `whole` for a plain reply, the same in `pieces` for a stream."""

    whole: str
    pieces: tuple[str, ...]
    tokens: int


def compose_text(settings: Settings) -> Text:
    """The sentence repeated to the wanted number of words, and the fake personal data where it is wanted."""
    whole = " ".join(islice(cycle(SENTENCE.split()), settings.response_tokens))
    if settings.pii:
        whole = f"{whole} {PII_SENTENCE.format(**PII)}"
    borders = [0, *cut_points(whole, settings.chunks - 1), len(whole)]
    pieces = tuple(whole[start:end] for start, end in pairwise(borders))
    return Text(whole, pieces, tokens=len(whole.split()))


def cut_points(text: str, cuts: int) -> list[int]:
    """Where a stream breaks the text: first in the middle of each fake personal value, the rest evenly."""
    inside = [text.index(value) + len(value) // 2 for value in PII.values() if value in text][:cuts]
    even = cuts - len(inside)
    return sorted(inside + [len(text) * nth // (even + 1) for nth in range(1, even + 1)])


# ------------------------------------------------------------------------------------------- templates

SLOTS = ("created", "model", "prompt", "total")


def compile_template(shape: dict[str, Any]) -> bytes:
    """JSON of `shape` as a bytes format string.

    A string member `<created>`, `<model>`, `<prompt>` or `<total>` becomes a whole JSON value; `<id>` stands
    inside a string and becomes 24 hexadecimal digits.
    """
    template: bytes = orjson.dumps(shape).replace(b"%", b"%%").replace(b"<id>", b"%(id)b")
    for slot in SLOTS:
        template = template.replace(b'"<%b>"' % slot.encode(), b"%%(%b)b" % slot.encode())
    return template


def data_event(shape: dict[str, Any]) -> bytes:
    """An unnamed server-sent event, as OpenAI's chat completions use it."""
    return b"data: " + compile_template(shape) + b"\n\n"


def named_event(shape: dict[str, Any]) -> bytes:
    """A server-sent event named by the `type` of its data: Anthropic, and OpenAI's responses."""
    return b"event: %b\n" % str(shape["type"]).encode() + data_event(shape)


def in_chunks(opening: Iterable[bytes], deltas: Iterable[bytes], closing: Iterable[bytes]) -> Chunks:
    """One template for each delta; the opening events join the first, the closing events the last."""
    chunks = list(deltas)
    chunks[0] = b"".join(opening) + chunks[0]
    chunks[-1] += b"".join(closing)
    return tuple(chunks)


@dataclass(frozen=True, slots=True)
class Generation:
    """The compiled replies of one text-generating endpoint.

    `stream_variant` is the stream's other form: with a usage chunk for OpenAI, one JSON array for Gemini.
    """

    plain: bytes
    stream: Chunks
    stream_variant: Chunks = ()


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


# ------------------------------------------------------------------------------------------- Anthropic


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


# ---------------------------------------------------------------------------------------------- Gemini


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


# ---------------------------------------------------------------------------------------------- errors


class Refusal(Exception):
    """The request cannot be answered as asked; becomes the dialect's error reply."""

    def __init__(self, status: int, message: str, headers: Headers | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or []


DRAWN_ERRORS: tuple[tuple[int, str, Headers], ...] = (
    (500, "The stub provider failed, as it was asked to.", []),
    (429, "The stub provider is rate limiting, as it was asked to.", [(b"retry-after", b"1")]),
    (503, "The stub provider is overloaded, as it was asked to.", []),
)
"""What `--error-rate` answers, in turn."""

# per status: OpenAI (type, code), Anthropic type, Gemini status
ERROR_WORDS: dict[int, tuple[tuple[str, str | None], str, str]] = {
    400: (("invalid_request_error", None), "invalid_request_error", "INVALID_ARGUMENT"),
    404: (("invalid_request_error", "unknown_url"), "not_found_error", "NOT_FOUND"),
    405: (("invalid_request_error", "method_not_supported"), "invalid_request_error", "INVALID_ARGUMENT"),
    429: (("rate_limit_error", "rate_limit_exceeded"), "rate_limit_error", "RESOURCE_EXHAUSTED"),
    500: (("server_error", "server_error"), "api_error", "INTERNAL"),
    503: (("server_error", "overloaded"), "overloaded_error", "UNAVAILABLE"),
}


def error_shape(dialect: Dialect, status: int, message: str, request_id: str) -> dict[str, Any]:
    """The error object of each vendor, as its documentation gives it."""
    (openai_type, openai_code), anthropic_type, gemini_status = ERROR_WORDS[status]
    if dialect == "anthropic":
        error = {"type": anthropic_type, "message": message}
        return {"type": "error", "error": error, "request_id": request_id}
    if dialect == "gemini":
        return {"error": {"code": status, "message": message, "status": gemini_status}}
    return {"error": {"message": message, "type": openai_type, "param": None, "code": openai_code}}


# ----------------------------------------------------------------------------------- smaller endpoints


def texts_of(value: object) -> list[str]:
    """The `input` of embeddings and moderations as one string for each wanted result."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not value:
        raise Refusal(400, "'input' must be a string or a non-empty array.")
    if isinstance(value[0], int):
        return [repr(value)]
    return [item if isinstance(item, str) else repr(item) for item in value]


def embed(text: str, dimensions: int) -> list[float]:
    """A bag of words hashed into a unit vector: same text, same vector; similar texts, similar vectors."""
    vector = [0.0] * dimensions
    for word in text.lower().split() or [""]:
        vector[zlib.crc32(word.encode()) % dimensions] += 1.0
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector]


def embeddings_shape(content: dict[str, Any], prompt: int) -> dict[str, Any]:
    dimensions = content.get("dimensions", EMBEDDING_DIMENSIONS)
    if not isinstance(dimensions, int) or not 1 <= dimensions <= 4096:
        raise Refusal(400, "'dimensions' must be between 1 and 4096.")
    data: list[dict[str, Any]] = []
    for index, text in enumerate(texts_of(content.get("input"))):
        vector: list[float] | str = embed(text, dimensions)
        if content.get("encoding_format") == "base64":
            vector = base64.b64encode(struct.pack(f"<{dimensions}f", *vector)).decode()
        data.append({"object": "embedding", "index": index, "embedding": vector})
    usage = {"prompt_tokens": prompt, "total_tokens": prompt}
    return {"object": "list", "data": data, "model": content["model"], "usage": usage}


def moderations_shape(content: dict[str, Any], serial: bytes) -> dict[str, Any]:
    result = {
        "flagged": False,
        "categories": dict.fromkeys(MODERATION_CATEGORIES, False),
        "category_scores": dict.fromkeys(MODERATION_CATEGORIES, 0.0001),
        "category_applied_input_types": {name: ["text"] for name in MODERATION_CATEGORIES},
    }
    results = [result] * len(texts_of(content.get("input")))
    return {"id": f"modr-{serial.decode()}", "model": content["model"], "results": results}


def model_lists() -> dict[Dialect, bytes]:
    """`GET /v1/models` in each dialect's shape."""
    openai = [openai_model(name) for names in MODELS.values() for name in names]
    anthropic = [
        {"type": "model", "id": name, "display_name": name, "created_at": "2025-01-01T00:00:00Z"}
        for name in MODELS["anthropic"]
    ]
    gemini = [
        {
            "name": f"models/{name}",
            "version": "001",
            "displayName": name,
            "inputTokenLimit": 1048576,
            "outputTokenLimit": 65536,
            "supportedGenerationMethods": ["generateContent"],
        }
        for name in MODELS["gemini"]
    ]
    ends = {"first_id": MODELS["anthropic"][0], "last_id": MODELS["anthropic"][-1]}
    return {
        "openai": orjson.dumps({"object": "list", "data": openai}),
        "anthropic": orjson.dumps({"data": anthropic, "has_more": False, **ends}),
        "gemini": orjson.dumps({"models": gemini}),
    }


def openai_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 1735689600, "owned_by": "stub"}


# -------------------------------------------------------------------------------- requests and replies


class Call(NamedTuple):
    """One request, parsed. `content` is the JSON object of its body; `serial` numbers the requests."""

    dialect: Dialect
    content: dict[str, Any]
    model: str
    stream: bool
    variant: bool
    prompt: int
    serial: bytes


class Reply(NamedTuple):
    """What is to be sent. A plain reply is one chunk with a known length."""

    status: int
    headers: Headers
    chunks: Sequence[bytes]
    stream: bool = False


class Endpoint(NamedTuple):
    """One operation: how it is called and what answers it."""

    method: str
    dialect: Dialect
    answer: Callable[[Call], Reply]
    model: str | None = None
    stream: bool | None = None


JSON = (b"content-type", b"application/json")
EVENTS = (b"content-type", b"text/event-stream; charset=utf-8")
NO_CACHE = (b"cache-control", b"no-cache")
REQUEST_ID: dict[Dialect, bytes] = {
    "openai": b"x-request-id",
    "anthropic": b"request-id",
    "gemini": b"x-goog-request-id",
}


def plain_reply(body: bytes, dialect: Dialect, serial: bytes) -> Reply:
    length = (b"content-length", b"%d" % len(body))
    return Reply(200, [JSON, length, (REQUEST_ID[dialect], b"req_" + serial)], (body,))


def error_reply(refusal: Refusal, dialect: Dialect, serial: bytes) -> Reply:
    shape = error_shape(dialect, refusal.status, refusal.message, f"req_{serial.decode()}")
    reply = plain_reply(orjson.dumps(shape), dialect, serial)
    return reply._replace(status=refusal.status, headers=reply.headers + refusal.headers)


def generate(generation: Generation, completion: int) -> Callable[[Call], Reply]:
    """The answer of a text-generating endpoint: its templates filled for this call."""

    def answer(call: Call) -> Reply:
        values: Values = {
            b"id": call.serial,
            b"created": b"%d" % time.time(),
            b"model": orjson.dumps(call.model),
            b"prompt": b"%d" % call.prompt,
            b"total": b"%d" % (call.prompt + completion),
        }
        if not call.stream:
            return plain_reply(generation.plain % values, call.dialect, call.serial)
        array = call.dialect == "gemini" and call.variant
        head = [JSON if array else EVENTS, NO_CACHE, (REQUEST_ID[call.dialect], b"req_" + call.serial)]
        templates = generation.stream_variant if call.variant else generation.stream
        return Reply(200, head, [template % values for template in templates], stream=True)

    return answer


def answer_embeddings(call: Call) -> Reply:
    return plain_reply(orjson.dumps(embeddings_shape(call.content, call.prompt)), call.dialect, call.serial)


def answer_moderations(call: Call) -> Reply:
    return plain_reply(orjson.dumps(moderations_shape(call.content, call.serial)), call.dialect, call.serial)


def answer_token_count(call: Call) -> Reply:
    return plain_reply(b'{"input_tokens":%d}' % call.prompt, call.dialect, call.serial)


def answer_with(body: bytes) -> Callable[[Call], Reply]:
    return lambda call: plain_reply(body, call.dialect, call.serial)


def answer_model(call: Call) -> Reply:
    return plain_reply(orjson.dumps(openai_model(call.model)), call.dialect, call.serial)


# ----------------------------------------------------------------------------------------- the journal


class Journal:
    """What the provider itself saw, for tests that compare it with the appliance's log.

    One JSON object a line, written with a single unbuffered append before the request is answered. `path` is
    without the query, where Gemini clients put their key.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, scope: Scope, **members: object) -> None:
        sent_ids = [value for name, value in scope["headers"] if name == b"x-request-id"]
        line = {
            "time": time.time(),
            "method": scope["method"],
            "path": scope["path"],
            "request_id": sent_ids[0].decode("latin-1") if sent_ids else None,
            **members,
        }
        os.write(self._file, orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


# ------------------------------------------------------------------------------------- the application


class StubProvider:
    """The ASGI application. One instance serves one process; it holds no state of a conversation."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.journal = Journal(settings.journal) if settings.journal else None
        self._serials = count(1)
        self._draw = random.Random(0).random  # noqa: S311 (seeded: a run can be repeated)
        self._errors = cycle(DRAWN_ERRORS)
        text = compose_text(settings)
        self._gemini = generate(compile_gemini(text), text.tokens)
        models = model_lists()
        self._anthropic_models = Endpoint("GET", "anthropic", answer_with(models["anthropic"]))
        self._endpoints = {
            "/v1/chat/completions": Endpoint("POST", "openai", generate(compile_chat(text), text.tokens)),
            "/v1/responses": Endpoint("POST", "openai", generate(compile_responses(text), text.tokens)),
            "/v1/embeddings": Endpoint("POST", "openai", answer_embeddings, stream=False),
            "/v1/moderations": Endpoint("POST", "openai", answer_moderations, stream=False),
            "/v1/models": Endpoint("GET", "openai", answer_with(models["openai"])),
            "/v1beta/models": Endpoint("GET", "gemini", answer_with(models["gemini"])),
            "/v1/messages": Endpoint("POST", "anthropic", generate(compile_messages(text), text.tokens)),
            "/v1/messages/count_tokens": Endpoint("POST", "anthropic", answer_token_count, stream=False),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(receive)
        if body is None:
            self._record(scope, event="hangup", sent=0)
            return
        reply = self._answer(scope, body, serial=b"%024x" % next(self._serials))
        if reply.stream or self.settings.latency:
            await self._send_slowly(scope, reply, receive, send)
            return
        await send({"type": "http.response.start", "status": reply.status, "headers": reply.headers})
        await send({"type": "http.response.body", "body": reply.chunks[0]})

    def _answer(self, scope: Scope, body: bytes, serial: bytes) -> Reply:
        endpoint = self._find(scope)
        if endpoint is None:
            self._record(scope, model=None, stream=False)
            unknown = Refusal(404, f"Unknown request URL: {scope['method']} {scope['path']}")
            return error_reply(unknown, "openai", serial)
        try:
            call = read_call(endpoint, scope, body, serial)
        except Refusal as refusal:
            self._record(scope, model=None, stream=False)
            return error_reply(refusal, endpoint.dialect, serial)
        self._record(scope, model=call.model or None, stream=call.stream)
        try:
            if self.settings.error_rate and self._draw() < self.settings.error_rate:
                raise Refusal(*next(self._errors))
            return endpoint.answer(call)
        except Refusal as refusal:
            return error_reply(refusal, endpoint.dialect, serial)

    def _record(self, scope: Scope, **members: object) -> None:
        if self.journal:
            self.journal.write(scope, **members)

    def _find(self, scope: Scope) -> Endpoint | None:
        path, method = scope["path"], scope["method"]
        if path == "/v1/models" and any(name == b"anthropic-version" for name, _ in scope["headers"]):
            return self._anthropic_models
        return self._endpoints.get(path) or self._find_model_path(path, method)

    def _find_model_path(self, path: str, method: str) -> Endpoint | None:
        """Paths with a model in them: Gemini's `models/{model}:{verb}`, OpenAI's `GET /v1/models/{model}`."""
        for prefix in ("/v1beta/models/", "/v1/models/"):
            if not path.startswith(prefix):
                continue
            model, _, verb = path[len(prefix) :].rpartition(":")
            if model and verb in ("generateContent", "streamGenerateContent"):
                return Endpoint("POST", "gemini", self._gemini, model, stream=verb == "streamGenerateContent")
        if method == "GET" and path.startswith("/v1/models/") and len(path) > len("/v1/models/"):
            return Endpoint("GET", "openai", answer_model, path[len("/v1/models/") :])
        return None

    async def _send_slowly(self, scope: Scope, reply: Reply, receive: Receive, send: Send) -> None:
        """Send chunk by chunk, each after its own latency; stop as soon as the client has gone."""
        gone = asyncio.ensure_future(receive())
        start = {"type": "http.response.start", "status": reply.status, "headers": reply.headers}
        try:
            for sent, chunk in enumerate(reply.chunks):
                await asyncio.wait((gone,), timeout=self.settings.latency)
                if gone.done():
                    self._record(scope, event="hangup", sent=sent)
                    return
                if sent == 0:
                    await send(start)
                await send({"type": "http.response.body", "body": chunk, "more_body": reply.stream})
            if reply.stream:
                await send({"type": "http.response.body"})
        finally:
            gone.cancel()


async def read_body(receive: Receive) -> bytes | None:
    """The whole body of the request; None when the client left before its end."""
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    return None if message["type"] == "http.disconnect" else body


def read_call(endpoint: Endpoint, scope: Scope, body: bytes, serial: bytes) -> Call:
    """Parse what the reply depends on: the model, whether to stream, in which form; or raise Refusal."""
    prompt = len(body) // 4 or 1
    if scope["method"] != endpoint.method:
        message = f"Not allowed to {scope['method']} on {scope['path']}"
        raise Refusal(405, message, [(b"allow", endpoint.method.encode())])
    if endpoint.method == "GET":
        return Call(endpoint.dialect, {}, endpoint.model or "", False, False, prompt, serial)
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, "The body of the request could not be parsed as JSON.") from error
    if not isinstance(content, dict):
        raise Refusal(400, "The body of the request must be a JSON object.")
    model = endpoint.model or content.get("model")
    if not isinstance(model, str) or not model:
        raise Refusal(400, "You must provide a 'model' parameter.")
    stream = content.get("stream") is True if endpoint.stream is None else endpoint.stream
    variant = stream and wants_variant(endpoint.dialect, scope, content)
    return Call(endpoint.dialect, content, model, stream, variant, prompt, serial)


def wants_variant(dialect: Dialect, scope: Scope, content: dict[str, Any]) -> bool:
    if dialect == "gemini":
        return b"alt=sse" not in scope["query_string"].split(b"&")
    options = content.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True
