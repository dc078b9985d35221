"""Nothing that may change an answer is left out of its key: pairs of calls that differ in one thing."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cache_bench import AGENT, ROUTE, Bench

from mastio.exchange import Question
from mastio_cache.key import digest, key_of, pack, tenant_of

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


def changed_bodies(chance: random.Random) -> Iterator[bytes]:
    """Bodies that differ from `BODY` in one place: a value, a missing member, an added one, the order, white space."""
    for place in places(BODY):
        *way, last = place
        value: Any = BODY
        for step in place:
            value = value[step]
        for other in others(value, chance):
            body = copy.deepcopy(BODY)
            inner: Any = body
            for step in way:
                inner = inner[step]
            inner[last] = other
            yield json.dumps(body).encode()
        body = copy.deepcopy(BODY)
        inner = body
        for step in way:
            inner = inner[step]
        del inner[last]
        yield json.dumps(body).encode()
    for number in range(400):
        yield json.dumps({**BODY, f"added_{number}": chance.random()}).encode()
    yield json.dumps(BODY, indent=1).encode()
    yield json.dumps(dict(reversed(BODY.items()))).encode()


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
    question = Question((b"c",), True)
    one, other = (key_of(secret, b"t", b"v", b"p", question, b"body") for secret in (b"1" * 32, b"2" * 32))
    assert one != other and len(one) == 32


def test_tenants_of_different_kinds_are_different() -> None:
    grouped = replace(AGENT, groups=frozenset({"alice"}))
    tenants = {tenant_of(grouped, "agent"), tenant_of(grouped, "group"), tenant_of(grouped, "all")}
    assert len(tenants) == 3
    assert tenant_of(replace(AGENT, groups=frozenset({"a", "b"})), "group") != tenant_of(
        replace(AGENT, groups=frozenset({"ab"})), "group"
    )
