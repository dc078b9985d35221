"""One call of one provider, from the request that goes up to the reply that comes back.

In the caller's own dialect its bytes go up and the provider's bytes come back. Only what must change does: the
caller's credentials stay here, the provider's own is added, and the model's name is replaced in place where the caller
used another name for it. Where the provider speaks another dialect, a translation stands between the two. What a
dialect is like is in `dialects/` and `translate/`; nothing here knows one.

A reply that is a stream is given out with its first window in hand, so that a provider that fails before it may be
tried again, or another in its place.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson

from mastio.exchange.errors import DispatchError, MastioError, UpstreamTimeout
from mastio.exchange.values import MOST_USED, Recorded, Reply, RequestHead, Window
from mastio.host import aside
from mastio.http.strictjson import JsonError, parse, replace_member
from mastio.plugin.services import Upstream, UpstreamReply
from mastio_llm.credentials import Credential
from mastio_llm.dialects import SPEAKERS
from mastio_llm.dialects.jsonarray import ArraySplitter
from mastio_llm.dialects.operation import Adaptation, CallRequest, Form, Operation, Usage
from mastio_llm.dialects.sse import BrokenOff, EventTooLong, Splitter, Unreadable, read_events
from mastio_llm.header_policy import Headers, declare, reply_headers, request_headers, usage_headers
from mastio_llm.routing.candidates import Choice
from mastio_llm.routing.estimates import complete, find_limit
from mastio_llm.routing.prices import Price
from mastio_llm.translate.checks import CallOnlyError, read_message
from mastio_llm.translate.translation import StreamTranslator, Translation

MAX_REPLY = 32 * 1024 * 1024
MAX_ERROR = 256 * 1024

JSON = b"application/json"
EVENTS = b"text/event-stream"

TRANSIENT = frozenset({"upstream_error", "upstream_unreachable"})
"""Error codes that may be over by the next try, before there is a reply. Timeouts are none: they took their time
already."""

OF_ERRORS = frozenset({"error", "type", "request_id", "id", "code", "message", "status", "user_id"})
"""Members of a body that is an error and nothing else, whatever its status says."""

PASSED_ON = frozenset({400, 404, 409, 413, 415, 422, 429})
"""Upstream statuses that are about the caller's request, so the caller gets them as they are."""


class Transient(DispatchError):
    """The provider gave no answer and has written nothing that counts: the next try may do better."""


class UsageRefused(DispatchError):
    """The provider does not take `stream_options`, which the caller did not send: without them it may do."""


@dataclass(frozen=True, slots=True)
class RouteCandidate:
    """A candidate provider for a call. `query` is sent with it. `headers`: names of caller headers that the settings
    let through.
    """

    operation: Operation
    asked: CallRequest
    choice: Choice
    price: Price | None
    query: str
    translation: Translation | None
    headers: frozenset[bytes] = frozenset()

    @property
    def adaptation(self) -> Adaptation | None:
        return SPEAKERS[self.choice.provider.kind].adaptation

    @property
    def address(self) -> str:
        """The path of the provider's operation, after its base URL."""
        adaptation, model = self.adaptation, self.choice.model
        if adaptation is not None:
            return adaptation.addresses[self.upstream.kind](model, self.form)
        return self.upstream.address(model, self.form) + self.query

    @property
    def upstream(self) -> Operation:
        """The operation that the provider is asked for."""
        if self.translation is None:
            return self.operation
        return self.translation.whole if self.asked.form == "whole" else self.translation.streamed

    @property
    def form(self) -> Form:
        """The form of the provider's answer: translations read streams of events alone."""
        return "events" if self.translation is not None and self.asked.form == "array" else self.asked.form

    def encode_request(self, body: bytes, head: RequestHead, limit: int | None) -> bytes:
        """The body for the provider, each answer limited to `limit` tokens. Raises `BadRequest` if it cannot be
        translated."""
        if limit is not None:
            body = orjson.dumps(self.operation.keep(orjson.loads(body), limit, self.choice.provider.kind))
        body = self._translate(body)
        if self.translation is None:
            body = self.operation.ask_usage(body, self.asked.usage)
        return body if self.adaptation is None else self.adaptation.request(body, head)

    @property
    def hides_usage(self) -> bool:
        """True if the stream says what it used to nobody but us."""
        return self.translation is None and self.asked.usage in ("no", "silent")

    @property
    def unasked(self) -> RouteCandidate:
        """The same way, without asking what a stream used."""
        return replace(self, asked=self.asked._replace(usage="always"))

    def rewrites(self, limit: int | None) -> bool:
        """True if the body that goes upstream differs from the caller's."""
        renamed = self.choice.renamed and self.operation.in_body
        asks = self.asked.usage == "no"  # in the place of what the caller said; to a silent one's it is only added
        return renamed or asks or limit is not None or self.translation is not None or self.adaptation is not None

    def _translate(self, body: bytes) -> bytes:
        if self.translation is not None:
            return orjson.dumps(self.translation.request(orjson.loads(body), self.choice.model))
        if self.choice.renamed and self.operation.in_body and self.choice.model != self.asked.model:
            return replace_member(body, "model", self.choice.model)
        return body

    def cost(self, usage: Usage) -> Usage:
        """`usage` with what it cost, where that is known."""
        if self.price is None:
            return usage
        return {**usage, "cost_nano_usd": min(self.price.nano_usd(usage), MOST_USED)}

    def count_used(self, usage: Usage | None, body: bytes, limit: int | None) -> Usage | None:
        """The usage of this call: the provider's own count `usage`, and the reserved amounts where it did not count.
        None if nothing is counted."""
        if self.operation.free:
            return None
        used = complete(usage, body, self.asked, self.price, limit)
        if usage or self.price is None:
            return self.cost(used)
        most = self.price.most_nano_usd(used["input_tokens"], used["output_tokens"])
        return {**used, "cost_nano_usd": min(most, MOST_USED)}


async def attempt(way: RouteCandidate, pool: Upstream, credential: Credential, recorded: Recorded) -> Reply:
    """Call the provider once, as whom `credential` proves. The exchange's meter is true at every moment.

    Raises `DispatchError`. Then nothing was used where the provider did not begin to answer, and else what it counted
    or what was set aside: a provider that keeps its caller waiting may be at work.
    """
    raw = recorded.message.raw
    recorded.meter.begin()
    granted, is_short = recorded.reserved.granted, aside.is_short(raw)
    limit = await aside.run(is_short or not granted, find_limit, raw, way.asked, way.price, granted)
    is_brief = is_short or not way.rewrites(limit)
    body = await aside.run(is_brief, way.encode_request, raw, recorded.head, limit)
    headers = request_headers(recorded.head, way.choice, way.headers)
    headers += await credential.headers("POST", way.address, headers, body)
    recorded.meter.follow(lambda: way.count_used(None, raw, limit))
    sending = pool.send("POST", way.address, headers, body)

    async def close() -> None:
        await sending.__aexit__(None, None, None)

    is_stream = is_answering = False
    try:
        upstream = await _send(sending, way.choice.provider.timeouts.get("first"))
        is_answering = upstream.status == 200
        reply = await _reply(upstream, way, credential, recorded, limit)
        is_stream = not isinstance(reply.body, bytes)
    except DispatchError as error:
        was_sent = isinstance(error, UpstreamTimeout) and error.was_sent
        if recorded.meter.follows and not is_answering and not was_sent:
            recorded.meter.usage = None
        raise
    finally:
        if not is_stream:  # whatever happened: the upstream must not go on working for nobody
            await close()
    if is_stream:
        reply.close = close
    return reply


async def _send(sending: AbstractAsyncContextManager[UpstreamReply], first: float | None) -> UpstreamReply:
    """The reply's head, within `first` seconds."""
    try:
        if first is None:
            return await sending.__aenter__()
        async with asyncio.timeout(first):
            return await sending.__aenter__()
    except TimeoutError as error:
        raise UpstreamTimeout("The provider did not begin to answer in time.") from error
    except DispatchError as error:
        if error.code in TRANSIENT:
            raise Transient(error.message, code=error.code) from error
        raise


async def _reply(
    upstream: UpstreamReply, way: RouteCandidate, credential: Credential, recorded: Recorded, limit: int | None
) -> Reply:
    if upstream.status != 200:
        recorded.meter.usage = None
        return await _failure(upstream, way, credential)
    if any(name == b"content-encoding" and value.lower() != b"identity" for name, value in upstream.headers):
        raise DispatchError("The provider sent an encoding that it was not asked for.")
    headers = reply_headers(upstream, way.choice, credential.secrets)
    if splitter := _splitter(headers, way):
        if way.asked.form == "whole":
            raise DispatchError("The provider streamed an answer that was to be whole.")
        return await _begin(upstream, splitter, headers, way, credential, recorded, limit)
    if way.translation is not None and way.form != "whole":
        raise DispatchError("The provider did not stream its answer.")
    body = await upstream.read(MAX_REPLY)
    try:  # what is passed on as it is need be no more than JSON
        document = orjson.loads(body) if way.translation is None else parse(body)
    except (orjson.JSONDecodeError, JsonError) as error:
        raise DispatchError("The provider's reply is not valid JSON.") from error
    if not isinstance(document, dict):
        raise DispatchError("The provider's reply is not one of its API.")
    if document.get("error") and document.keys() <= OF_ERRORS:
        recorded.meter.usage = None
        raise DispatchError("The provider answered with an error.")
    usage = way.upstream.usage(document)
    recorded.meter.usage = used = way.count_used(usage, recorded.message.raw, limit)
    if way.translation is not None:
        is_brief = aside.is_short(recorded.message.raw) and aside.is_short(body)
        body = await aside.run(is_brief, _translate_reply, way.translation, document, recorded.message.raw)
        headers = declare(headers, JSON)
    return Reply(200, headers + usage_headers(used if usage else None), body)


async def _begin(
    upstream: UpstreamReply,
    splitter: Splitter | ArraySplitter,
    headers: Headers,
    way: RouteCandidate,
    credential: Credential,
    recorded: Recorded,
    limit: int | None,
) -> Reply:
    """A stream, begun: its first window is in hand."""
    operation, form, raw = way.operation, way.asked.form, recorded.message.raw
    recorded.meter.follow(lambda: way.count_used(splitter.usage, raw, limit))
    windows = _stream(_unwrap(upstream, way.adaptation), splitter, credential)
    if way.adaptation is not None:
        headers = declare(headers, EVENTS)
    if way.hides_usage:
        windows = _hide(windows, operation)
    if way.translation is not None:
        translator = await aside.run(aside.is_short(raw), _open_translator, way.translation, raw, form)
        headers = declare(headers, EVENTS if form == "events" else JSON)
        windows = _translate(windows, translator)
    # the head goes out with it, and nobody can be tried in this one's place any more
    first = await anext(windows, None)
    if first is None:
        raise DispatchError("The provider's stream is empty.")
    headers += usage_headers(_known_at_start(splitter.usage, first, way))
    encode_break = partial(_break, operation, form, recorded.head.id)
    return Reply(200, headers, _chain(first, windows), encode_break=encode_break)


def _translate_reply(translation: Translation, document: dict[str, Any], asked: bytes) -> bytes:
    return orjson.dumps(translation.reply(document, orjson.loads(asked), int(time.time())))


def _open_translator(translation: Translation, asked: bytes, form: Form) -> StreamTranslator:
    return translation.open(orjson.loads(asked), int(time.time()), form)


def _splitter(headers: Headers, way: RouteCandidate) -> Splitter | ArraySplitter | None:
    """The splitter that reads a streamed reply; None for a whole one."""
    content_type = next((value for name, value in headers if name == b"content-type"), b"")
    if way.adaptation is not None and content_type == way.adaptation.content_type:
        content_type = EVENTS
    if content_type.startswith(EVENTS) and way.upstream.stream.markers:
        return Splitter(way.upstream.stream) if way.translation is None or way.form == "events" else None
    return ArraySplitter(way.operation.stream) if way.form == "array" else None


def _break(operation: Operation, form: Form, request_id: str, error: MastioError) -> bytes:
    return operation.encode_break(form, error, request_id)


async def _unwrap(upstream: UpstreamReply, adaptation: Adaptation | None) -> AsyncIterator[bytes]:
    if adaptation is None:
        async for chunk in upstream.chunks():
            yield chunk
        return
    unwrapper = adaptation.open()
    try:
        async for chunk in upstream.chunks():
            if events := unwrapper.feed(chunk):
                yield events
    except ValueError as error:
        raise DispatchError("The provider's stream is not one of its kind.") from error


async def _failure(upstream: UpstreamReply, way: RouteCandidate, credential: Credential) -> Reply:
    """What is about the caller's request passes as it is; a refusal of our credential or a failure does not."""
    body = await upstream.read(MAX_ERROR)
    choice, facts = way.choice, {"upstream_status": upstream.status}
    refused = upstream.status in (401, 403) or SPEAKERS[choice.provider.kind].refuses_key(body)
    if refused or _tells(body, credential):
        kind = CallOnlyError if upstream.status == 403 else DispatchError  # which may be about the model
        kind = Transient if upstream.status == 401 and credential.forget() else kind
        raise kind("The provider refused the appliance's credential.", code="upstream_refused")
    if way.hides_usage and upstream.status in (400, 422) and b"stream_options" in body:
        raise UsageRefused("The provider takes no stream_options.")
    if upstream.status in PASSED_ON:
        if way.adaptation is not None:
            body = way.adaptation.error(body, upstream.status)
        headers = reply_headers(upstream, choice, credential.secrets)
        if way.translation is not None:
            body = orjson.dumps(way.translation.error(read_message(body), upstream.status))
            headers = declare(headers, JSON)
        return Reply(upstream.status, headers, body, facts=facts)
    retry = tuple(("Retry-After", v.decode("latin-1")) for n, v in upstream.headers if n == b"retry-after")
    kind = Transient if upstream.status >= 500 else DispatchError
    raise kind(f"The provider answered with status {upstream.status}.", headers=retry)


def _tells(data: bytes, credential: Credential) -> bool:
    """True if an error repeats one of our secrets."""
    return any(secret in data for secret in credential.secrets)


async def _stream(
    chunks: AsyncIterator[bytes], splitter: Splitter | ArraySplitter, credential: Credential
) -> AsyncIterator[Window]:
    try:
        async for chunk in chunks:
            window = splitter.feed(chunk)
            if window is None:
                continue
            if window.failure and _tells(window.data, credential):
                raise DispatchError("The provider ended the stream with an error.")
            yield window
            if splitter.done:
                return
        splitter.close()
    except EventTooLong as error:
        raise DispatchError("The provider sent an event without end.") from error
    except BrokenOff as error:
        raise DispatchError("The provider broke off the stream.") from error


async def _hide(windows: AsyncIterator[Window], operation: Operation) -> AsyncIterator[Window]:
    """Without what the caller did not ask for."""
    async for window in windows:
        data = operation.hide_usage(window.data)
        if data or window.last:
            yield window if data is window.data else Window(data, window.last, window.failure)


async def _translate(windows: AsyncIterator[Window], translator: StreamTranslator) -> AsyncIterator[Window]:
    """Their windows in the caller's API. The last one has what its stream ends with."""
    try:
        async for window in windows:
            data = b"".join(map(translator.feed, read_events(window.data)))
            if window.last:
                data += translator.end()
            if data or window.last:
                yield Window(data, window.last, window.failure)
            if window.last:
                return
    except Unreadable as error:
        raise DispatchError("The provider sent an event that is not valid JSON.") from error
    yield Window(translator.end(), last=True)


async def _chain(first: Window, windows: AsyncIterator[Window]) -> AsyncIterator[Window]:
    yield first
    async for window in windows:
        yield window


def _known_at_start(usage: Usage | None, window: Window, way: RouteCandidate) -> Usage | None:
    """The usage that is known at the start: some dialects count the input at once, none the output."""
    if usage is None:
        return None
    if window.last:
        return way.cost(usage)
    return {name: count for name, count in usage.items() if name == "input_tokens"}
