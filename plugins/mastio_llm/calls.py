"""Dispatches LLM calls: who may carry one out, in which order, how often it is tried.

Nothing is tried again once anything has reached the caller. What is tried again is the same exchange: its intent names
the provider that was authorized, its outcome the one that answered, where that is another, and how many tries it took.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from time import monotonic
from typing import Any

from mastio.exchange.errors import BadRequest, DispatchError
from mastio.exchange.values import Action, AnswerInputs, Bound, Message, Principal, Recorded, Reply, RequestHead, Window
from mastio.host import aside
from mastio.http.strictjson import Allowance, JsonError, TooManyValues, parse_object
from mastio.plugin.services import Services
from mastio_llm.acts import find_acts, openai
from mastio_llm.attempt import RouteCandidate, Transient, UsageRefused, attempt
from mastio_llm.dialects import OPERATIONS, SPEAKERS
from mastio_llm.dialects.operation import CallRequest, Operation, count_parts, verify_plain
from mastio_llm.facts.route_facts import CallFacts, Facts
from mastio_llm.header_policy import parse_retry_after, passed_on, read_query, verify_json_type
from mastio_llm.routing.breaker import Health
from mastio_llm.routing.candidates import Balance, Choice, arrange, resolve
from mastio_llm.routing.estimates import bound_call
from mastio_llm.routing.prices import Price, Prices
from mastio_llm.routing.registry import OpenProvider, ProviderRegistry
from mastio_llm.texts import Above, open_layout
from mastio_llm.translate import TRANSLATIONS
from mastio_llm.translate.checks import CallOnlyError

LONGEST_WAIT = 2.0
"""Seconds between two tries, at most: a provider that wants more is not tried again."""

FIRST_WAIT = 0.1

WRITTEN = frozenset({"model", "targets", "provider_side"})
"""Details of an entry that the caller wrote."""

MAX_PARTS = 50_000
"""Messages, parts, tools and other items of lists in one call, all together."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A body, read: its value, what it asks for, and what policies may look at."""

    document: dict[str, Any]
    asked: CallRequest
    facts: CallFacts


@dataclass(frozen=True, slots=True)
class Resilience:
    """The reaction to failures. `retries`: of one provider, after the first try. `fallbacks`: other targets for a
    model."""

    retries: int
    balance: Balance
    fallbacks: Mapping[str, Sequence[str]]


class Calls:
    """Dispatches every operation of `dialects.OPERATIONS`."""

    def __init__(
        self,
        services: Services,
        registry: ProviderRegistry,
        prices: Prices,
        resilience: Resilience,
        draw: Callable[[], float] = random.random,
        max_parts: int = MAX_PARTS,
        headers: frozenset[bytes] = frozenset(),
    ) -> None:
        self._headers = headers
        self._max_parts = max_parts
        self._services = services
        self._registry = registry
        self._prices = prices
        self._resilience = resilience
        self._draw = draw

    async def read(self, head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
        """The action on `provider/model`, with the others that may stand for it. Raises `BadRequest`.

        Nothing is translated yet: whether that is possible is found out for those who may make the call.
        """
        verify_json_type(head)
        operation = OPERATIONS[head.route.path]
        opened = await aside.run(aside.is_short(body), open_body, operation, head, body, self._max_parts)
        asked, resilience, registry = opened.asked, self._resilience, self._registry
        found = resolve(asked.model, registry.providers, operation.dialect, resilience.fallbacks)
        if not found:
            raise BadRequest("No configured provider serves this model.", code="model_not_found")
        for choice in found:
            verify_one(choice)
        names = [choice.model for choice in found]
        if any(map(openai.SEARCHING.fullmatch, names)):
            opened = add_acts(opened, "hosted", "web_search")
        if any(openai.PRESET in name for name in names):
            opened = add_acts(opened, "stored", "preset")
        asked = opened.asked
        found = arrange(found, operation.dialect, resilience.balance, registry.latency, self._draw)
        ways, refusal = [], None
        for choice in found:
            try:
                ways.append(find_way(head, choice, asked))
            except BadRequest as error:
                refusal = refusal or error
        if not ways:
            raise refusal or BadRequest("No configured provider serves this model.", code="model_not_found")
        ways = [replace(way, price=self._price(way.choice), headers=self._headers) for way in ways]
        action, message = describe_call(head, body, opened, ways)
        if any(way.translation is not None for way in ways):
            message = replace(message, narrow=partial(narrow, head, body, opened, ways))
        return action, message

    def _price(self, choice: Choice) -> Price | None:
        return self._prices.find(choice.provider.kind, choice.provider.name, choice.model)

    async def dispatch(self, recorded: Recorded) -> Reply:
        """The first good answer; where there is none, what was said last. Raises `DispatchError`."""
        tries = 0
        failure: DispatchError | Reply | None = None
        ways = await self._permitted(recorded)
        failed = ways[0]
        for way in ways:
            health = self._registry.health(way.choice.provider.name)
            for n in range(1 + self._resilience.retries):
                if not health.take(monotonic(), is_last=way is ways[-1]):
                    failure = failure or left_alone(health.wait(monotonic()))
                    break
                tries += 1
                failure, failed = await self._try(way, health, recorded), way
                if isinstance(failure, Reply) and failure.status != 429:
                    return describe(failure, way, recorded, tries)
                wait = find_wait(failure, n, self._draw())
                if wait is None or n == self._resilience.retries:
                    break
                await asyncio.sleep(wait)
        if isinstance(failure, Reply):
            return describe(failure, failed, recorded, tries)
        raise failure or DispatchError("No provider may carry this out.", code="upstream_unreachable")

    async def _permitted(self, recorded: Recorded) -> list[RouteCandidate]:
        """The way that was authorized, then those of its alternatives that are permitted too."""
        action, ways, found = recorded.action, recorded.message.plan, recorded.inspected.findings
        permits = self._services.permits
        others = [other for other in action.alternatives if await permits(recorded.principal, other, found)]
        return [ways[way.target] for way in (action, *others)]

    async def _try(self, way: RouteCandidate, health: Health, recorded: Recorded) -> Reply | DispatchError:
        """One try. The provider's health learns what came of it."""
        provider = self._registry.find(way.choice.provider.name)
        started, learned = monotonic(), False
        try:
            if provider is None:
                raise DispatchError("The provider is described wrongly.", code="upstream_unreachable")
            reply = await _ask(way, provider, health, recorded)
            health.succeed(monotonic(), monotonic() - started if reply.status == 200 else None)
            learned = True
        except CallOnlyError as error:
            return error
        except DispatchError as error:
            health.fail(monotonic(), monotonic() - started)
            learned = True
            return error
        finally:
            if not learned:
                health.release()
        if not isinstance(reply.body, bytes):
            reply.body = _watch(reply.body, health)
        return reply


async def _ask(way: RouteCandidate, provider: OpenProvider, health: Health, recorded: Recorded) -> Reply:
    """Send the call. A provider that refuses the question for a stream's usage is not asked again. The refusal is known
    where the same call is answered without the question, of a caller who said nothing of it: else the caller's own
    options were refused."""
    if health.refuses_options:
        way = way.unasked
    try:
        return await attempt(way, provider.pool, provider.credential, recorded)
    except UsageRefused:
        reply = await attempt(way.unasked, provider.pool, provider.credential, recorded)
        health.refuses_options = health.refuses_options or (reply.status == 200 and way.asked.usage == "silent")
        return reply


async def _watch(windows: AsyncIterator[Window], health: Health) -> AsyncIterator[Window]:
    """A stream that breaks is a failure of its provider too."""
    started = monotonic()
    try:
        async for window in windows:
            yield window
    except CallOnlyError:
        raise
    except DispatchError:
        health.fail(monotonic(), monotonic() - started)
        raise


def open_body(operation: Operation, head: RequestHead, body: bytes, max_parts: int) -> Opened:
    """Raises `BadRequest`: for what is too much before anything is done with it."""
    try:
        document = parse_object(body, Allowance())
    except TooManyValues as error:
        raise BadRequest(str(error), code="too_many_parts") from error
    except JsonError as error:
        raise BadRequest(str(error), code="invalid_json") from error
    if count_parts(body, document, max_parts) > max_parts:
        raise BadRequest(f"There are more than {max_parts} messages, parts and tools.", code="too_many_parts")
    asked = operation.find(head.params, head.query, document)
    acts = find_acts(operation.dialect, document)
    if acts.reads_beyond:
        asked = asked._replace(looks_up=True, has_one_answer=asked.has_one_answer and not acts.may_change)
    facts = CallFacts(operation, asked, document, len(body), acts)
    if not aside.is_short(body):
        try:
            facts.tell()
        except TooManyValues as error:
            raise BadRequest(
                "A call's arguments have more values than are taken apart.", code="too_many_parts"
            ) from error
    return Opened(document, asked, facts)


def verify_one(choice: Choice) -> None:
    """Routers read a list in a name with commas, and take whichever of the models they like. Raises `BadRequest`."""
    if "," in choice.model and choice.alias is None and not choice.spare:
        raise BadRequest("The model's name has a comma: one model is called at a time.", code="model_not_found")


def add_acts(opened: Opened, fact: str, value: str) -> Opened:
    """For a model whose name says what is done besides, by whichever name and API it was called."""
    facts = opened.facts
    facts.acts = facts.acts._replace(**{fact: getattr(facts.acts, fact) | {value}})
    facts.asked = asked = opened.asked._replace(looks_up=True, has_one_answer=False)
    return replace(opened, asked=asked)


def find_way(head: RequestHead, choice: Choice, asked: CallRequest) -> RouteCandidate:
    """Without its price. Raises `BadRequest` (not_translatable) where nothing that is asked there could be."""
    operation, translation = OPERATIONS[head.route.path], None
    speaker = SPEAKERS[choice.provider.kind]
    if speaker.dialect != operation.dialect:
        translation = TRANSLATIONS.get((head.route.path, choice.provider.kind))
        if translation is None:
            raise BadRequest("This model's provider does not speak the API that was called.", code="not_translatable")
    carried = operation.query if translation is None else frozenset()
    way = RouteCandidate(operation, asked, choice, None, read_query(head.query, carried), translation)
    if speaker.adaptation is not None and way.upstream.kind not in speaker.adaptation.addresses:
        raise BadRequest("This model's provider has nothing like what was called.", code="not_translatable")
    if speaker.adaptation is not None or not way.upstream.in_body:
        verify_plain(choice.model)
    return way


async def narrow(
    head: RequestHead, body: bytes, opened: Opened, ways: Sequence[RouteCandidate]
) -> tuple[Action, Message] | None:
    """`exchange.Narrow`: without the ways whose provider has no counterpart of something in the call. What cannot be
    carried over is refused before it is an intent. Raises `BadRequest` (not_translatable)."""
    left, refusal = await aside.run(aside.is_short(body), find_translatable, opened.document, ways)
    if not left:
        raise refusal or BadRequest("No configured provider serves this model.", code="model_not_found")
    return None if len(left) == len(ways) else describe_call(head, body, opened, left)


def find_translatable(
    document: dict[str, Any], ways: Sequence[RouteCandidate]
) -> tuple[list[RouteCandidate], BadRequest | None]:
    """The routes whose provider can be spoken to, and the error of the first other one. Each kind of translation is
    tried once, whatever the model is called."""
    tried: dict[int, BadRequest | None] = {}
    for way in ways:
        if way.translation is None or id(way.translation) in tried:
            continue
        tried[id(way.translation)] = None
        try:
            way.translation.request(document, way.choice.model)
        except BadRequest as error:
            tried[id(way.translation)] = error
    left = [way for way in ways if tried.get(id(way.translation)) is None]
    return left, next((error for error in tried.values() if error is not None), None)


def describe_call(
    head: RequestHead, body: bytes, opened: Opened, ways: Sequence[RouteCandidate]
) -> tuple[Action, Message]:
    first = ways[0]
    choice, stream, kind = first.choice, first.asked.form != "whole", first.operation.kind
    actions = [
        Action(kind, "Model", way.choice.target, Facts(way.choice.provider, opened.facts), alias=way.choice.alias)
        for way in ways
    ]
    details: dict[str, Any] = {"model": choice.model, "provider": choice.provider.name, "stream": stream}
    if opened.facts.acts.reads_beyond:
        details["provider_side"] = opened.facts.acts.describe()
    if len(ways) > 1:
        actions[0] = replace(actions[0], alternatives=tuple(actions[1:]))
        del details["model"], details["provider"]
        details["targets"] = [way.choice.target for way in ways]
    context = [head.route.path.encode(), first.asked.form.encode()]
    for way in ways:
        where = f"{way.choice.target} {way.choice.provider.kind} {way.choice.provider.base_url}{way.query}"
        context += (where.encode(), *passed_on(head, way.choice, way.headers))
    kinds = frozenset(way.choice.provider.kind for way in ways)
    return actions[0], Message(
        body,
        opened.document,
        details,
        {way.choice.target: way for way in ways},
        None if first.operation.free else partial(bound_ways, ways=ways),
        AnswerInputs(tuple(context), first.asked.has_one_answer),
        open_layout(Above(head, first.asked.model, kinds, first.headers, first.query), first.asked.form),
        written=WRITTEN,
    )


def describe(reply: Reply, way: RouteCandidate, recorded: Recorded, tries: int) -> Reply:
    """Add to the outcome the number of tries, and the target where it is not the recorded one."""
    if tries > 1:
        reply.facts["tries"] = tries
    if way.choice.target != recorded.action.target:
        reply.facts["target"] = way.choice.target
    return reply


def bound_ways(body: bytes, ways: Sequence[RouteCandidate]) -> Bound:
    """The most that any of them may use."""
    bounds = [bound_call(body, way.asked, way.price) for way in ways]
    if len(bounds) == 1:
        return bounds[0]
    enough = [bound.enough for bound in bounds if bound.enough is not None]
    least = [bound.least for bound in bounds if bound.least is not None]
    if len(enough) < len(bounds) or len(least) < len(bounds):
        return _most(bounds)
    return replace(_most(bounds), enough=_most(enough), least=_most(least))


def _most(bounds: Sequence[Bound]) -> Bound:
    prices = [bound.nano_usd for bound in bounds]
    known = [price for price in prices if price is not None]
    return Bound(max(bound.tokens for bound in bounds), max(known) if len(known) == len(prices) else None)


def find_wait(failure: DispatchError | Reply, n: int, drawn: float) -> float | None:
    """Seconds until the same provider may be tried again after try `n`; None: not at all. `drawn` from 0 up to 1."""
    if isinstance(failure, Reply):
        named = (value for name, value in failure.headers if name == b"retry-after")
        wanted = parse_retry_after(next(named, b""))
        return wanted if wanted <= LONGEST_WAIT else None
    if not isinstance(failure, Transient):
        return None
    wanted = parse_retry_after(dict(failure.headers).get("Retry-After", "0").encode())
    own = FIRST_WAIT * 2**n * (0.5 + drawn)
    return max(own, wanted) if wanted <= LONGEST_WAIT else None


def left_alone(wait: float) -> DispatchError:
    return DispatchError(
        "The provider failed again and again.",
        code="upstream_paused",
        headers=(("Retry-After", str(max(ceil(wait), 1))),),
    )
