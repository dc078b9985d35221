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
import os
import random
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from itertools import count, cycle
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from mastio_llm.stubs.anthropic import compile_messages
from mastio_llm.stubs.gemini import compile_gemini
from mastio_llm.stubs.openai import compile_chat, compile_responses
from mastio_llm.stubs.refusals import DRAWN_ERRORS, Refusal, error_shape
from mastio_llm.stubs.scripted import find_step, read_script, write_reply
from mastio_llm.stubs.small import embeddings_shape, model_lists, moderations_shape, openai_model
from mastio_llm.stubs.template import Dialect, Generation, Headers, Settings, compose_text

Values = dict[bytes, bytes]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

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
    """A reply to send. A plain reply is one chunk with a known length."""

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
SCRIPTED = frozenset({"/v1/messages", "/v1/chat/completions", "/v1/responses"})
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
    """The record of the requests that the stub got, for tests that compare it with the appliance's log.

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
    """The ASGI application. One instance serves one process; it holds no state of a conversation. `show` is told each
    request that arrives: method, path and body."""

    def __init__(self, settings: Settings, show: Callable[[str], object] | None = None) -> None:
        self.settings = settings
        self._show = show
        self.journal = Journal(settings.journal) if settings.journal else None
        self._script = read_script(settings.script) if settings.script else ()
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
        if self._show is not None:
            self._show(f"{scope['method']} {scope['path']} {body.decode('utf-8', 'replace')}")
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
            return self._follow_script(scope["path"], call) or endpoint.answer(call)
        except Refusal as refusal:
            return error_reply(refusal, endpoint.dialect, serial)

    def _follow_script(self, path: str, call: Call) -> Reply | None:
        """The next step of the script; None where the request asks for none."""
        if path not in SCRIPTED or (step := find_step(self._script, path, call.content)) is None:
            return None
        body = write_reply(step, path, call.model, call.serial.decode(), stream=call.stream)
        if not call.stream:
            return plain_reply(body, call.dialect, call.serial)
        return Reply(200, [EVENTS, NO_CACHE, (REQUEST_ID[call.dialect], b"req_" + call.serial)], (body,), stream=True)

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
