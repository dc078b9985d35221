"""Nothing that may change an answer is left out of its key: pairs of calls that differ in one thing."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from mastio.exchange.errors import BadRequest
from mastio.exchange.values import Action, AnswerInputs, Message, Principal, RequestHead
from mastio_cache.key import digest, key_of, pack, tenant_of
from mastio_llm.calls import Calls, Resilience
from mastio_llm.header_policy import request_headers
from mastio_llm.plugin import plugin
from mastio_llm.provider import ProviderRow
from mastio_llm.routing.prices import Prices, PriceTable
from mastio_llm.routing.registry import ProviderRegistry
from support.cache_bench import AGENT, ROUTE, Bench, header, record

BODY: dict[str, Any] = {
    "model": "stub/gpt-4o",
    "messages": [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": [{"type": "text", "text": "What is this?"},
                                     {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function",
                                              "function": {"name": "f", "arguments": "{\"a\":1}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "7"},
    ],
    "temperature": 0, "top_p": 1.0, "n": 1, "seed": 7, "stream": False, "max_tokens": 100, "stop": ["\n", "END"],
    "logit_bias": {"50256": -100}, "user": "u-1", "presence_penalty": 0.5, "frequency_penalty": 0,
    "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}},
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "required": ["a"]}}}],
    "tool_choice": "auto", "parallel_tool_calls": True, "metadata": {"k": None}, "unknown_member": [[], {}, ""],
}  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a JSON value: every member and element, however deep."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield (*at, name)
        yield from places(inner, (*at, name))


def others(value: Any, chance: random.Random) -> list[Any]:
    """Values that are not `value`, some of them nearly."""
    near: list[Any] = [None, True, False, 0, 1, 0.0, "", "0", [], {}, [value], {"": value}, str(value) + " "]
    if isinstance(value, str):
        near += [value + "\u0000", value.upper() + "x", " " + value, value[:-1] if value else "y"]
    if isinstance(value, int | float) and not isinstance(value, bool):
        near += [value + 1, value + 0.5, -value - 1, str(value)]
    as_text = json.dumps(value)
    near.append(chance.randbytes(6).hex())
    return [other for other in near if json.dumps(other) != as_text]


def changed_bodies(chance: random.Random, document: dict[str, Any] = BODY) -> Iterator[bytes]:
    """Bodies that differ in one place: a value, a missing member, an added one, the order, white space."""
    for place in places(document):
        *way, last = place
        value: Any = document
        for step in place:
            value = value[step]
        for other in others(value, chance):
            body = copy.deepcopy(document)
            inner: Any = body
            for step in way:
                inner = inner[step]
            inner[last] = other
            yield json.dumps(body).encode()
        body = copy.deepcopy(document)
        inner = body
        for step in way:
            inner = inner[step]
        del inner[last]
        yield json.dumps(body).encode()
    for number in range(400):
        yield json.dumps({**document, f"added_{number}": chance.random()}).encode()
    yield json.dumps(document, indent=1).encode()
    yield json.dumps(dict(reversed(document.items()))).encode()


def changed_contexts(context: tuple[bytes, ...], chance: random.Random) -> Iterator[tuple[bytes, ...]]:
    """Other operations, targets, queries and headers; and the same bytes cut at other places."""
    for number, part in enumerate(context):
        for other in (part + b"x", part[:-1], b"", part.upper() + b"1", chance.randbytes(8)):
            yield (*context[:number], other, *context[number + 1 :])
        yield (*context[:number], *context[number + 1 :])
        yield (*context[:number], part, part, *context[number + 1 :])
        for cut in range(1, len(part)):
            yield (*context[:number], part[:cut], part[cut:], *context[number + 1 :])
        if number:
            joined = context[number - 1] + part
            yield (*context[: number - 1], joined, *context[number + 1 :])
            for cut in range(len(joined) + 1):
                if cut != len(context[number - 1]):
                    yield (*context[: number - 1], joined[:cut], joined[cut:], *context[number + 1 :])
    for _ in range(300):
        yield (*context, chance.choice(context), chance.randbytes(4))
    yield tuple(reversed(context))
    yield ()


CONTEXT = (
    b"/chat/completions", b"openai", b"https://one.example/v1", b"stub/gpt-4o", b"?alt=sse", b"anthropic-beta",
    b"tools-2025", b"openai-organization", b"org-1",
)  # fmt: skip


async def test_no_pair_that_differs_in_one_thing_shares_an_answer() -> None:
    """Through the cache itself: the first is kept, the second must be asked for, and both are found again."""
    bench, chance = Bench(), random.Random(11)
    bench.upstream.answer = None
    body = json.dumps(BODY).encode()
    variants: list[dict[str, Any]] = [{"body": changed} for changed in changed_bodies(chance)]
    variants += [{"context": changed} for changed in changed_contexts(CONTEXT, chance)]
    variants += [
        {"target": f"{provider}/{model}"} for provider in ("a", "stub", "stu") for model in ("x", "b/gpt-4o", "gpt")
    ]
    variants += [{"agent": bench.services.directory.agents["bob"]}]
    paths = ("/v1/messages", "/v1/responses", "/v1/embeddings", "/v1beta/models/{model...}:generateContent")
    variants += [{"route": replace(ROUTE, path=path)} for path in paths]
    variants += [{"route": replace(ROUTE, kind=kind)} for kind in ("llm.responses", "llm.embeddings")]
    assert len(variants) > 2000, len(variants)
    seen, wrong = set(), 0
    base = {"body": body, "context": CONTEXT, "target": "stub/gpt-4o"}
    assert (await bench.get(**base))[0] == b"MISS"
    answered: dict[str, bytes] = {}
    for variant in variants:
        name = repr(variant)
        if name in seen:
            continue
        seen.add(name)
        word, reply = await bench.get(**{**base, **variant})
        wrong += word != b"MISS"
        assert isinstance(reply.body, bytes)
        answered[name] = reply.body
    assert len(seen) > 2000 and wrong == 0
    assert len(set(answered.values())) == len(answered) == bench.upstream.asked - 1
    for variant in variants:  # the keys of equal calls are equal
        word, reply = await bench.get(**{**base, **copy.deepcopy(variant)})
        assert word == b"HIT" and reply.body == answered[repr(variant)]
    assert (await bench.get(**base))[0] == b"HIT"


def test_no_two_sequences_of_fields_are_the_same() -> None:
    """Every way to cut a few bytes into fields."""

    def cuts(data: bytes) -> Iterator[tuple[bytes, ...]]:
        if not data:
            yield ()
            return
        for end in range(1, len(data) + 1):
            for rest in cuts(data[end:]):
                yield (data[:end], *rest)

    ways = list(cuts(b"\x00" * 9)) + list(cuts(b"ab\x00\x00\x00\x00\x00\x00\x00"))
    ways += [(*way, b"") for way in ways] + [(b"", *way) for way in ways]
    assert len({pack(*way) for way in ways}) == len({digest(b"k", way) for way in ways}) == len(set(ways)) == len(ways)


def test_a_key_tells_nothing_without_the_secret() -> None:
    question = AnswerInputs((b"c",), True)
    one, other = (key_of(secret, b"t", b"v", b"p", question, b"body") for secret in (b"1" * 32, b"2" * 32))
    assert one != other and len(one) == 32


def test_tenants_of_different_kinds_are_different() -> None:
    grouped = replace(AGENT, groups=frozenset({"alice"}))
    tenants = {tenant_of(grouped, "agent"), tenant_of(grouped, "group"), tenant_of(grouped, "all")}
    assert len(tenants) == 3
    assert tenant_of(replace(AGENT, groups=frozenset({"a", "b"})), "group") != tenant_of(
        replace(AGENT, groups=frozenset({"ab"})), "group"
    )


# --- the same through the real reading of calls -----------------------------------------------------------------------

TEXT = [{"role": "user", "content": "hi"}]
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
READ: dict[str, tuple[str, dict[str, Any]]] = {
    "/v1/chat/completions": ("", BODY),
    "/v1/responses": ("", {"model": "stub/m", "input": [{"role": "user", "content": "hi"}], "temperature": 0,
                           "instructions": "x", "text": {"format": {"type": "text"}}, "max_output_tokens": 5}),
    "/v1/embeddings": ("", {"model": "stub/m", "input": ["a", "b"], "dimensions": 3, "encoding_format": "float"}),
    "/v1/moderations": ("", {"model": "stub/m", "input": "a"}),
    "/v1/messages": ("", {"model": "claude/m", "max_tokens": 5, "temperature": 0, "system": "s", "messages": TEXT,
                          "stop_sequences": ["x"], "metadata": {"user_id": "u"}}),
    "/v1/messages/count_tokens": ("", {"model": "claude/m", "messages": TEXT, "system": "s"}),
    "/v1beta/models/{model...}:generateContent": (
        "google/m", {**CONTENTS, "generationConfig": {"temperature": 0, "topK": 3}, "safetySettings": []}),
    "/v1beta/models/{model...}:streamGenerateContent": ("google/m", {**CONTENTS, "generationConfig": {"seed": 1}}),
}  # fmt: skip
PROVIDERS = {
    name: ProviderRow(name, kind, f"https://{name}.example/v1", models=("*",), aliases={f"{name}-alias": "m"})
    for name, kind in (("stub", "openai"), ("claude", "anthropic"), ("google", "gemini"), ("other", "openai"))
}  # type: ignore[arg-type]


class NoUpstreams:
    def open(self, *_: Any) -> None:
        return None


def reader(bench: Bench) -> Calls:
    bench.services.directory.change(providers=PROVIDERS)
    services: Any = SimpleNamespace(directory=bench.services.directory, upstreams=NoUpstreams())
    prices = Prices((), PriceTable(date="2026-01-01", unit="x", prices=()))
    return Calls(services, ProviderRegistry(services, ()), prices, Resilience(0, "weight", {}), lambda: 0.0)


def variations(path: str, model: str, document: dict[str, Any], chance: random.Random) -> Iterator[dict[str, Any]]:
    """One thing of a request is different: a place of its body, the model in its path, its query, a header."""
    for body in changed_bodies(chance, document):
        yield {"body": body}
    for name in ("other/m", "stub/x", "claude/m2", "google/m2", "stub-alias", "google-alias"):
        yield {"model": name} if model else {"body": json.dumps({**document, "model": name}).encode()}
    for query in (b"alt=sse", b"alt=json", b"beta=true", b"beta=1"):
        yield {"query": query}
    for prefix in ("openai", "anthropic"):
        for value in ("a", "b", "a,b", "a, b"):
            yield {"headers": [(f"{prefix}-beta".encode(), value.encode())]}
            yield {"headers": [(f"{prefix}-organization".encode(), value.encode())]}
    for first, second in (("a", "b"), ("b", "a")):
        yield {"headers": [(b"openai-beta", first.encode()), (b"openai-organization", second.encode())]}
    yield {"headers": [(b"x-goog-api-client", b"one")]}


async def read_call(calls: Calls, head: RequestHead, body: bytes) -> tuple[Action, Message]:
    """As the pipeline does for who may make the call. Raises `BadRequest`."""
    found = await calls.read(head, PRINCIPAL, body)
    narrowed = None if found[1].narrow is None else await found[1].narrow()
    return narrowed or found


def goes_up(action: Action, message: Message, head: RequestHead, body: bytes) -> tuple[Any, ...]:
    """What the provider would be sent, by the plugin itself, besides what is new in every exchange."""
    way = message.plan[action.target]
    own = ("x-request-id", "accept", "user-agent", "idempotency-key", "traceparent", "tracestate")
    headers = sorted(pair for pair in request_headers(head, way.choice) if pair[0] not in own)
    address = way.upstream.address(way.choice.model, way.asked.form) + way.query
    return (way.choice.provider.name, way.choice.model, address, tuple(headers), body)


PRINCIPAL = Principal("alice", frozenset({"agent"}))
ROUTES = {route.path: route for route in plugin.routes}


@pytest.mark.parametrize("path", READ)
async def test_what_goes_up_differently_never_shares_an_answer(path: str) -> None:
    """As the plugin `llm` reads calls and sends them: of each pair the second is asked for, unless it is the same call
    to the provider, to the byte. `goes_up` is not derived from the key: it is what is sent.
    """
    bench, chance = Bench(answers="all"), random.Random(5)
    calls = reader(bench)
    model, document = READ[path]

    async def get(body: bytes, model: str, query: bytes = b"", headers: Any = ()) -> tuple[Any, bytes | None]:
        said = [(b"content-type", b"application/json"), *headers]
        head = RequestHead("id", "POST", path, query, {"model": model}, said, ROUTES[path], None, "127.0.0.1")
        try:
            action, message = await read_call(calls, head, body)
        except BadRequest:
            return None, None
        reply = await bench.dispatch(record(head, PRINCIPAL, action, message))
        return goes_up(action, message, head, body), header(reply, b"x-cache")

    base = {"body": json.dumps(document).encode(), "model": model}
    first, word = await get(**base)
    assert first is not None and word == b"MISS"
    answered, wrong, pairs = {first}, [], 0
    for variation in variations(path, model, document, chance):
        sent, word = await get(**{**base, **variation})
        if sent is None or sent in answered:
            continue
        answered.add(sent)
        pairs += 1
        if word != b"MISS":
            wrong.append(variation)
    assert wrong == [] and pairs > 100, pairs
    assert await get(**base) == (first, b"HIT")
