"""Calls to a provider: in the caller's own dialect its bytes go up and the provider's bytes come back.

Only what must change does: the caller's credentials stay here, the provider's own is added, and the model's name is
replaced in place where the caller used another name for it. Where the provider speaks another dialect, a translation
stands between the two. What a dialect is like is in `dialects/` and `translate/`; nothing here knows one.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import NamedTuple
from urllib.parse import quote

import orjson

from mastio.errors import BadRequest, DispatchError, MastioError
from mastio.exchange import Action, Message, Principal, Question, Recorded, Reply, RequestHead, Window
from mastio.services import UpstreamReply
from mastio.strictjson import JsonError, parse_object, replace_member
from mastio_llm.counting import bound_call, bound_output, complete, estimate
from mastio_llm.dialects import OPERATIONS, SPEAKERS
from mastio_llm.dialects.operation import Asked, Form, Operation, Speaker, Usage
from mastio_llm.jsonarray import ArraySplitter
from mastio_llm.links import verify_links
from mastio_llm.prices import Price, Prices, encode_usd
from mastio_llm.registry import Choice, Registry, resolve
from mastio_llm.sse import BrokenOff, EventTooLong, Splitter, Unreadable, read_events
from mastio_llm.translate import TRANSLATIONS
from mastio_llm.translate.checks import read_message
from mastio_llm.translate.translation import StreamTranslator, Translation

Close = Callable[[], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

MAX_REPLY = 32 * 1024 * 1024
MAX_ERROR = 256 * 1024

UP = (b"accept", b"idempotency-key", b"user-agent", b"traceparent", b"tracestate")
DOWN = (b"content-type", b"retry-after", b"request-id", b"x-should-retry")
LIMITS = b"x-ratelimit-"

JSON = b"application/json"
EVENTS = b"text/event-stream"

PASSED_ON = frozenset({400, 404, 409, 413, 415, 422, 429})
"""Upstream statuses that are about the caller's request, so the caller gets them as they are."""

_PLAIN_VALUE = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class Plan(NamedTuple):
    """What `read` worked out for `dispatch`."""

    operation: Operation
    asked: Asked
    choice: Choice
    price: Price | None
    query: str
    translation: Translation | None

    @property
    def upstream(self) -> Operation:
        """What the provider is asked for."""
        if self.translation is None:
            return self.operation
        return self.translation.whole if self.asked.form == "whole" else self.translation.streamed

    @property
    def form(self) -> Form:
        """How the provider is to answer: translations read streams of events alone."""
        return "events" if self.translation is not None and self.asked.form == "array" else self.asked.form

    def cost(self, usage: Usage) -> Usage:
        """`usage` with what it cost, where that is known."""
        return usage if self.price is None else {**usage, "cost_nano_usd": self.price.nano_usd(usage)}

    def count_used(self, usage: Usage | None, read: int, written: int) -> Usage | None:
        """What was used by this call, of which `usage` is the provider's own count, in bytes of text otherwise."""
        if self.operation.free:
            return None
        if not self.asked.writes:
            usage, written = {"output_tokens": 0, **(usage or {})}, 0
        return self.cost(complete(usage, read, written))

    def count_unseen(self, read: int) -> Usage | None:
        """What a call used that its caller left before anything came: nobody knows, so all that it may have."""
        if self.operation.free:
            return None
        written = bound_output(self.asked, self.price) if self.asked.form == "whole" else 0
        return self.cost({"input_tokens": estimate(read), "output_tokens": written, "estimated": 1})


def read_call(registry: Registry, prices: Prices, head: RequestHead, body: bytes) -> tuple[Action, Message]:
    """The action on `provider/model`. Raises `BadRequest`."""
    verify_json_type(head)
    operation = OPERATIONS[head.route.path]
    try:
        document = parse_object(body)
    except JsonError as error:
        raise BadRequest(str(error), code="invalid_json") from error
    asked = operation.find(head.params, head.query, document)
    if operation.links is not None and (operation.link_marker in body or b"\\u" in body):
        verify_links(operation.links(document))
    choice = resolve(asked.model, registry.providers, operation.dialect)
    if choice is None:
        raise BadRequest("No configured provider serves this model.", code="model_not_found")
    translation = None
    if SPEAKERS[choice.provider.kind].dialect != operation.dialect:
        translation = TRANSLATIONS.get((head.route.path, choice.provider.kind))
        if translation is None:
            raise BadRequest("This model's provider does not speak the API that was called.", code="not_translatable")
        translation.request(document, choice.model)  # what cannot be carried over is refused before it is an intent
    stream = asked.form != "whole"
    details = {"model": choice.model, "provider": choice.provider.name, "stream": stream}
    action = Action(operation.kind, "Model", choice.target, {"stream": stream}, alias=choice.alias)
    carried = operation.query if translation is None else frozenset()
    query = read_query(head.query, carried) if head.query and carried else ""
    price = prices.find(choice.provider.kind, choice.provider.name, choice.model)
    plan = Plan(operation, asked, choice, price, query, translation)
    bound = None if operation.free else bound_call(body, asked, price)
    context = (head.route.path.encode(), choice.target.encode(), asked.form.encode(), query.encode())
    question = Question(context + tuple(passed_on(head, choice)), asked.has_one_answer)
    return action, Message(body, document, details, plan, bound, question)


def passed_on(head: RequestHead, choice: Choice) -> list[bytes]:
    """The headers of the provider's own kind, which may change the answer."""
    prefix = SPEAKERS[choice.provider.kind].prefix
    return sorted(name + b":" + value for name, value in head.headers if name.startswith(prefix))


def read_query(query: bytes, known: frozenset[bytes]) -> str:
    """The parameters that go along, as they came; no others do, since some APIs take keys and options there."""
    pairs = [pair.partition(b"=") for pair in query.split(b"&")]
    kept = [name + b"=" + value for name, _, value in pairs if name in known and _PLAIN_VALUE.fullmatch(value)]
    return "?" + b"&".join(kept).decode("ascii") if kept else ""


def verify_json_type(head: RequestHead) -> None:
    """Raises `BadRequest` (415) unless the body is declared as plain JSON."""
    content_type = (head.header(b"content-type") or b"").split(b";")[0].strip().lower()
    if content_type != b"application/json" or head.header(b"content-encoding") not in (None, b"identity"):
        raise BadRequest("The body must be application/json without encoding.", code="unsupported_media_type")


def key_headers(speaker: Speaker, key: str | None) -> list[tuple[str, str]]:
    return [(speaker.key_header, speaker.key_prefix + key)] if key else []


def request_headers(head: RequestHead, choice: Choice) -> list[tuple[str, str]]:
    """An allow list, so that no credential, cookie or identity header of the caller can go upstream."""
    speaker = SPEAKERS[choice.provider.kind]
    prefix = speaker.prefix
    headers = [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in head.headers
        if name in UP or name.startswith(prefix)
    ]
    for name, value in speaker.defaults:
        if not any(sent == name for sent, _ in headers):
            headers.append((name, value))
    headers += [("content-type", "application/json"), ("accept-encoding", "identity"), ("x-request-id", head.id)]
    headers += key_headers(speaker, choice.provider.api_key)
    return headers


def reply_headers(upstream: UpstreamReply, choice: Choice) -> Headers:
    prefix = SPEAKERS[choice.provider.kind].prefix
    headers = [
        (name, value)
        for name, value in upstream.headers
        if name in DOWN or name.startswith(prefix) or name.startswith(LIMITS)
    ]
    headers += [
        (b"x-provider", choice.provider.name.encode()),
        (b"x-model", quote(choice.model, safe="/:@+").encode("ascii")),
        (b"x-cache", b"BYPASS"),
    ]
    return headers


def declare(headers: Headers, content_type: bytes) -> Headers:
    """With this type of content instead of the provider's."""
    return [pair for pair in headers if pair[0] != b"content-type"] + [(b"content-type", content_type)]


def usage_headers(usage: Usage | None) -> Headers:
    if usage is None:
        return []
    pairs = ((b"x-tokens-input", usage.get("input_tokens")), (b"x-tokens-output", usage.get("output_tokens")))
    headers = [(name, b"%d" % count) for name, count in pairs if count is not None]
    if "cost_nano_usd" in usage:
        headers.append((b"x-cost-usd", encode_usd(usage["cost_nano_usd"]).encode("ascii")))
    return headers


class Calls:
    """Dispatches every operation of `dialects.OPERATIONS`."""

    def __init__(self, registry: Registry, prices: Prices) -> None:
        self._registry = registry
        self._prices = prices

    def read(self, head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
        return read_call(self._registry, self._prices, head, body)

    async def dispatch(self, recorded: Recorded) -> Reply:
        plan: Plan = recorded.message.plan
        operation, asked, choice, _, query, translation = plan
        body = recorded.message.raw
        recorded.meter.usage = plan.count_unseen(len(body))
        if translation is not None:  # of what the inspectors let through
            body = orjson.dumps(translation.request(orjson.loads(body), choice.model))
        elif choice.renamed and operation.in_body and choice.model != asked.model:
            body = replace_member(body, "model", choice.model)
        pool = self._registry.pool(choice.provider.name)
        if pool is None:
            raise DispatchError("The provider is described wrongly.", code="upstream_unreachable")
        address = plan.upstream.address(choice.model, plan.form) + query
        sending = pool.send("POST", address, request_headers(recorded.head, choice), body)
        try:
            upstream = await sending.__aenter__()
        except MastioError:
            recorded.meter.usage = None
            raise

        async def close() -> None:
            await sending.__aexit__(None, None, None)

        try:
            return await _reply(upstream, plan, recorded, close)
        except BaseException:  # cancelled or failed: the upstream must not go on working for nobody
            await close()
            raise


async def _reply(upstream: UpstreamReply, plan: Plan, recorded: Recorded, close: Close) -> Reply:
    if upstream.status != 200:
        recorded.meter.usage = None
        reply = await _failure(upstream, plan)
        await close()
        return reply
    if any(name == b"content-encoding" and value.lower() != b"identity" for name, value in upstream.headers):
        raise DispatchError("The provider sent an encoding that it was not asked for.")
    operation, form = plan.operation, plan.asked.form
    headers = reply_headers(upstream, plan.choice)
    if splitter := _splitter(headers, plan):
        reply = Reply(200, headers, close=close, encode_break=partial(_break, operation, form, recorded.head.id))
        read = len(recorded.message.raw)
        recorded.meter.follow(lambda: plan.count_used(splitter.usage, read, splitter.written))
        windows = _stream(upstream, splitter, reply, plan)
        if plan.translation is not None:
            translator = plan.translation.open(orjson.loads(recorded.message.raw), int(time.time()), form)
            reply.headers = declare(headers, EVENTS if form == "events" else JSON)
            windows = _translate(windows, translator)
        reply.body = windows
        return reply
    if plan.translation is not None and form != "whole":
        raise DispatchError("The provider did not stream its answer.")
    body = await upstream.read(MAX_REPLY)
    await close()
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise DispatchError("The provider's reply is not valid JSON.") from error
    usage = plan.upstream.usage(document)
    recorded.meter.usage = plan.count_used(usage, len(recorded.message.raw), len(body))
    if plan.translation is not None:
        if not isinstance(document, dict):
            raise DispatchError("The provider's reply is not one of its API.")
        asked = orjson.loads(recorded.message.raw)
        headers, body = declare(headers, JSON), orjson.dumps(plan.translation.reply(document, asked, int(time.time())))
    return Reply(200, headers + usage_headers(plan.cost(usage) if usage else None), body)


def _splitter(headers: Headers, plan: Plan) -> Splitter | ArraySplitter | None:
    """What reads the reply, when it comes as a stream; None for a whole one."""
    content_type = next((value for name, value in headers if name == b"content-type"), b"")
    if content_type.startswith(b"text/event-stream") and plan.upstream.stream.markers:
        return Splitter(plan.upstream.stream) if plan.translation is None or plan.form == "events" else None
    return ArraySplitter(plan.operation.stream) if plan.form == "array" else None


def _break(operation: Operation, form: Form, request_id: str, error: MastioError) -> bytes:
    return operation.encode_break(form, error, request_id)


async def _failure(upstream: UpstreamReply, plan: Plan) -> Reply:
    """What is about the caller's request passes as it is; a refusal of our credential or a failure does not."""
    body = await upstream.read(MAX_ERROR)
    choice, facts = plan.choice, {"upstream_status": upstream.status}
    key = choice.provider.api_key
    refused = upstream.status in (401, 403) or SPEAKERS[choice.provider.kind].refuses_key(body)
    if refused or _tells(body, key):
        raise DispatchError("The provider refused the appliance's credential.", code="upstream_refused")
    if upstream.status in PASSED_ON:
        headers = reply_headers(upstream, choice)
        if plan.translation is not None:
            body = orjson.dumps(plan.translation.error(read_message(body), upstream.status))
            headers = declare(headers, JSON)
        return Reply(upstream.status, headers, body, facts=facts)
    retry = tuple(("Retry-After", v.decode("latin-1")) for n, v in upstream.headers if n == b"retry-after")
    raise DispatchError(f"The provider answered with status {upstream.status}.", headers=retry)


def _tells(data: bytes, key: str | None) -> bool:
    """Whether an error repeats our key to its reader."""
    return key is not None and key.encode() in data


async def _stream(
    upstream: UpstreamReply, splitter: Splitter | ArraySplitter, reply: Reply, plan: Plan
) -> AsyncIterator[Window]:
    begun = False
    key = plan.choice.provider.api_key
    try:
        async for chunk in upstream.chunks():
            window = splitter.feed(chunk)
            if window is None:
                continue
            if window.failure and _tells(window.data, key):
                raise DispatchError("The provider ended the stream with an error.")
            if not begun:  # the head has not gone out yet
                begun = True
                reply.headers += usage_headers(_known_at_start(splitter.usage, window, plan))
            yield window
            if splitter.done:
                return
        splitter.close()
    except EventTooLong as error:
        raise DispatchError("The provider sent an event without end.") from error
    except BrokenOff as error:
        raise DispatchError("The provider broke off the stream.") from error


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


def _known_at_start(usage: Usage | None, window: Window, plan: Plan) -> Usage | None:
    """What was read is known at once in some dialects; what was written is not before the end."""
    if usage is None:
        return None
    if window.last:
        return plan.cost(usage)
    return {name: count for name, count in usage.items() if name == "input_tokens"}
