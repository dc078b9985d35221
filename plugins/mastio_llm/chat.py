"""Chat completions in the OpenAI dialect: the caller's bytes go up, the provider's bytes come back.

Only what must change does: the caller's credentials stay here, the provider's own is added, and the model's name is
replaced in place where the caller used another name for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import quote

import orjson

from mastio.errors import BadRequest, DispatchError
from mastio.exchange import Action, Message, Principal, Recorded, Reply, RequestHead, Window
from mastio.services import UpstreamReply
from mastio.strictjson import JsonError, parse_object, replace_member
from mastio_llm.registry import Choice, Registry, resolve
from mastio_llm.sse import EventTooLong, Splitter, read_usage

Close = Callable[[], Awaitable[None]]

MAX_REPLY = 32 * 1024 * 1024
MAX_ERROR = 256 * 1024
MAX_MODEL = 256

UP = (b"accept", b"idempotency-key", b"user-agent", b"traceparent", b"tracestate")
DOWN = (b"content-type", b"retry-after", b"request-id")
DIALECT = b"openai-"
LIMITS = b"x-ratelimit-"

PASSED_ON = frozenset({400, 404, 409, 413, 415, 422, 429})
"""Upstream statuses that are about the caller's request, so the caller gets them as they are."""


def read_chat(registry: Registry, head: RequestHead, body: bytes) -> tuple[Action, Message]:
    """The action `llm.chat` on `provider/model`. Raises `BadRequest`."""
    verify_json_type(head)
    try:
        document = parse_object(body)
    except JsonError as error:
        raise BadRequest(str(error), code="invalid_json") from error
    model, stream = document.get("model"), document.get("stream", False)
    if not isinstance(model, str) or not 1 <= len(model) <= MAX_MODEL:
        raise BadRequest("The member model must be a string.", code="invalid_body")
    if not isinstance(stream, bool | None):
        raise BadRequest("The member stream must be true or false.", code="invalid_body")
    if not isinstance(document.get("messages"), list):
        raise BadRequest("The member messages must be a list.", code="invalid_body")
    choice = resolve(model, registry.providers)
    if choice is None:
        raise BadRequest("No configured provider serves this model.", code="model_not_found")
    details = {"model": choice.model, "provider": choice.provider.name, "stream": bool(stream)}
    action = Action("llm.chat", "Model", choice.target, {"stream": bool(stream)}, alias=choice.alias)
    return action, Message(body, document, details, plan=(choice, model))


def verify_json_type(head: RequestHead) -> None:
    """Raises `BadRequest` (415) unless the body is declared as plain JSON."""
    content_type = (head.header(b"content-type") or b"").split(b";")[0].strip().lower()
    if content_type != b"application/json" or head.header(b"content-encoding") not in (None, b"identity"):
        raise BadRequest("The body must be application/json without encoding.", code="unsupported_media_type")


def request_headers(head: RequestHead, choice: Choice) -> list[tuple[str, str]]:
    """An allow list, so that no credential, cookie or identity header of the caller can go upstream."""
    headers = [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in head.headers
        if name in UP or name.startswith(DIALECT)
    ]
    headers += [("content-type", "application/json"), ("accept-encoding", "identity"), ("x-request-id", head.id)]
    if choice.provider.api_key:
        headers.append(("authorization", f"Bearer {choice.provider.api_key}"))
    return headers


def reply_headers(upstream: UpstreamReply, choice: Choice) -> list[tuple[bytes, bytes]]:
    headers = [
        (name, value)
        for name, value in upstream.headers
        if name in DOWN or name.startswith(DIALECT) or name.startswith(LIMITS)
    ]
    headers += [
        (b"x-provider", choice.provider.name.encode()),
        (b"x-model", quote(choice.model, safe="/:@+").encode("ascii")),
        (b"x-cache", b"BYPASS"),
    ]
    return headers


class Chat:
    """Dispatches `llm.chat`."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def read(self, head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
        return read_chat(self._registry, head, body)

    async def dispatch(self, recorded: Recorded) -> Reply:
        choice, asked = recorded.message.plan
        body = recorded.message.raw
        if choice.renamed and choice.model != asked:
            body = replace_member(body, "model", choice.model)
        pool = self._registry.pool(choice.provider.name)
        if pool is None:
            raise DispatchError("The provider is described wrongly.", code="upstream_unreachable")
        sending = pool.send("POST", "/chat/completions", request_headers(recorded.head, choice), body)
        upstream = await sending.__aenter__()

        async def close() -> None:
            await sending.__aexit__(None, None, None)

        try:
            return await _reply(upstream, choice, close)
        except BaseException:  # cancelled or failed: the upstream must not go on working for nobody
            await close()
            raise


async def _reply(upstream: UpstreamReply, choice: Choice, close: Close) -> Reply:
    if upstream.status != 200:
        reply = await _failure(upstream, choice)
        await close()
        return reply
    headers = reply_headers(upstream, choice)
    content_type = next((value for name, value in headers if name == b"content-type"), b"")
    if content_type.startswith(b"text/event-stream"):
        reply = Reply(200, headers, close=close)
        reply.body = _stream(upstream, reply)
        return reply
    body = await upstream.read(MAX_REPLY)
    await close()
    try:
        usage = read_usage(orjson.loads(body))
    except orjson.JSONDecodeError as error:
        raise DispatchError("The provider's reply is not valid JSON.") from error
    for name, key in ((b"x-tokens-input", "input_tokens"), (b"x-tokens-output", "output_tokens")):
        if usage and key in usage:
            headers.append((name, b"%d" % usage[key]))
    return Reply(200, headers, body, usage=usage)


async def _failure(upstream: UpstreamReply, choice: Choice) -> Reply:
    """What is about the caller's request passes as it is; a refusal of our credential or a failure does not."""
    body = await upstream.read(MAX_ERROR)
    facts = {"upstream_status": upstream.status}
    if upstream.status in PASSED_ON:
        return Reply(upstream.status, reply_headers(upstream, choice), body, facts=facts)
    if upstream.status in (401, 403):
        raise DispatchError("The provider refused the appliance's credential.", code="upstream_refused")
    retry = tuple(("Retry-After", v.decode("latin-1")) for n, v in upstream.headers if n == b"retry-after")
    raise DispatchError(f"The provider answered with status {upstream.status}.", headers=retry)


async def _stream(upstream: UpstreamReply, reply: Reply) -> AsyncIterator[Window]:
    splitter = Splitter()
    try:
        async for chunk in upstream.chunks():
            window = splitter.feed(chunk)
            reply.usage = splitter.usage
            if window is not None:
                yield window
            if splitter.done:
                return
    except EventTooLong as error:
        raise DispatchError("The provider sent an event without end.") from error
    raise DispatchError("The provider broke off the stream.")
