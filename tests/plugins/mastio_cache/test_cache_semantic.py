"""Questions that mean nearly the same: what is compared, with what, and what may come of it."""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from mastio.exchange.errors import DispatchError
from mastio_cache.nearness import Neighbours, Vector, cosine, find_text, make_vector, split_text
from mastio_cache.semantic import SemanticSettings
from mastio_llm.provider import ProviderRow
from support.cache_bench import ROUTE, Bench, header, read, streamed

ROW = ProviderRow("embedder", "openai", "https://e.example/v1", api_key="sk-e", allow_addresses=("10.0.0.0/8",))


def vector(*numbers: float) -> Vector:
    made = make_vector(list(numbers))
    assert made is not None
    return made


# --- what is compared -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}]}, "hi"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}, "hi"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url"}]}]}, "hi"),
        ({"input": "hi"}, "hi"),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]}, "hi"),
        ({"contents": [{"parts": [{"text": "hi"}]}]}, "hi"),
        ({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}, "hi"),
        # what was said last is not one text of the user's
        ({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}, None),
        ({"messages": [{"role": "user", "content": "hi"}, {"role": "tool", "content": "7"}]}, None),
        ({"messages": [{"role": "user", "content": [{"text": "a"}, {"text": "b"}]}]}, None),
        ({"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "7"}]}]}, None),
        ({"messages": [{"content": "hi"}]}, None),
        ({"contents": [{"role": "model", "parts": [{"text": "hi"}]}]}, None),
        ({"contents": [{"role": "user", "parts": [{"functionResponse": {}}]}]}, None),
        ({"messages": [{"role": "user", "content": [{"text": 7}]}]}, None),
        ({"messages": [{"role": "user", "content": None}]}, None),
        ({"messages": ["hi"]}, None),
        ({"messages": []}, None),
        ({"messages": [{"role": "user", "content": "a"}], "contents": [{"parts": [{"text": "b"}]}]}, None),
        ({}, None),
        ([], None),
        ("hi", None),
    ],
    ids=str,
)
def test_what_the_user_said_last(document: Any, text: str | None) -> None:
    assert find_text(document) == text
    split = split_text(json.dumps(document).encode())
    assert (split and split[0]) == text


def test_everything_else_stays_to_the_byte() -> None:
    said = b'{ "seed":18446744073709551617, "messages":[{"role":"user","content":"gr\\u00fc\\u00df"}],"x":1.0 }'
    assert split_text(said) == (
        "grüß", b'{ "seed":18446744073709551617, "messages":[{"role":"user","content":null}],"x":1.0 }'
    )  # fmt: skip
    raw = '{"messages":[{"role":"user","content":"grüß"}]}'.encode()
    assert split_text(raw) == ("grüß", b'{"messages":[{"role":"user","content":null}]}')


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages":[{"role":"user","content":"a\\/b"}]}',
        b'{"user":"hi","messages":[{"role":"user","content":"hi"}]}',
        b'{"messages":[{"role":"user","content":"hi"},{"role":"user","content":"hi"}]}',
        b"{",
    ],
)
def test_where_the_text_cannot_be_told_apart_nothing_is_compared(body: bytes) -> None:
    assert split_text(body) is None


# --- near and far -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "numbers",
    [
        [],
        None,
        "x",
        {},
        [0.0, 0.0],
        [math.nan, 1.0],
        [math.inf, 1.0],
        [True, 1.0],
        ["1"],
        [None],
        [1e300],
        [1.0] * 9000,
    ],
    ids=str,
)
def test_what_is_no_direction(numbers: object) -> None:
    assert make_vector(numbers) is None


def test_a_cosine_is_that_of_the_angle() -> None:
    assert cosine(vector(1, 0), vector(5, 0)) == 1
    assert cosine(vector(1, 0), vector(0, 1)) == pytest.approx(0)
    assert cosine(vector(1, 0), vector(-2, 0)) == pytest.approx(-1)
    assert cosine(vector(1, 0), vector(1, 1)) == pytest.approx(math.sqrt(0.5))
    assert cosine(vector(1, 0), vector(1, 0, 0)) == -1


def test_the_nearest_is_found_among_many_and_nothing_below_the_floor() -> None:
    chance, near = random.Random(5), Neighbours(1000, 10**9)

    def draw() -> list[float]:
        return [chance.gauss(0, 1) for _ in range(256)]

    directions = [draw() for _ in range(500)]
    for number, direction in enumerate(directions):
        near.add(b"t", b"s", b"%d" % number, vector(*direction))
    for number in range(0, 500, 25):
        close = vector(*(value + chance.gauss(0, 0.1) for value in directions[number]))
        found = near.nearest(b"t", b"s", close, 0.95)
        assert [key for _, key in found] == [b"%d" % number]
        assert found[0][0] == pytest.approx(cosine(close, vector(*directions[number])))
        assert near.nearest(b"t", b"s", close, found[0][0] + 1e-6) == []
    assert near.nearest(b"t", b"s", vector(*draw()), 0.95) == []
    assert near.nearest(b"t", b"other", vector(*directions[0]), 0.5) == []
    assert near.nearest(b"other", b"s", vector(*directions[0]), 0.5) == []


def test_the_oldest_of_a_tenant_go_and_the_bytes_of_all_are_bounded() -> None:
    near = Neighbours(3, 10 * vector(1, 0).size)
    for number in range(5):
        near.add(b"one", b"s", b"%d" % number, vector(1, 0))
    assert {key for _, key in near.nearest(b"one", b"s", vector(1, 0), 0.9)} == {b"2", b"3", b"4"}
    for number in range(50):
        near.add(b"tenant %d" % number, b"s", b"k", vector(1, 0))
        assert near.bytes <= 10 * vector(1, 0).size
    assert len(near) == 10
    for number in range(50):
        near.remove(b"tenant %d" % number, b"s", b"k")
    assert near.bytes == len(near) == 0


# --- around a dispatch ------------------------------------------------------------------------------------------------


class Embedder:
    """`services.Upstreams`, with a provider that embeds a text by looking it up."""

    def __init__(self) -> None:
        self.meaning: dict[str, Any] = {}
        self.asked: list[Any] = []
        self.status = 200
        self.before: Callable[[], Any] | None = None

    def open(self, base_url: str, allow_addresses: tuple[str, ...], timeouts: Any, tls: Any = None) -> Embedder:
        assert (base_url, allow_addresses) == (ROW.base_url, ROW.allow_addresses)
        return self

    @asynccontextmanager
    async def send(self, method: str, path: str, headers: list[tuple[str, str]], body: bytes) -> AsyncIterator[Any]:
        self.asked.append((method, path, dict(headers), json.loads(body)))
        if self.before is not None:
            await self.before()
        status, found = self.status, self.meaning.get(self.asked[-1][3]["input"], [0.0, 0.0, 1.0])

        class Reply:
            def __init__(self) -> None:
                self.status = status

            async def read(self, limit: int) -> bytes:
                return found if isinstance(found, bytes) else json.dumps({"data": [{"embedding": found}]}).encode()

        yield Reply()


def body(text: str, **more: Any) -> bytes:
    return json.dumps({"model": "stub/m", "messages": [{"role": "user", "content": text}], **more}).encode()


@pytest.fixture
def embedder() -> Embedder:
    made = Embedder()
    made.meaning = {"hello": [1.0, 0.0, 0.0], "hello!": [1.0, 0.1, 0.0], "bye": [0.0, 1.0, 0.0]}
    return made


@pytest.fixture
def bench(embedder: Embedder) -> Bench:
    return make(embedder)


def make(embedder: Embedder, **settings: Any) -> Bench:
    semantic = SemanticSettings(provider="embedder", model="e-1", **settings.pop("semantic", {}))
    bench = Bench(semantic=semantic, **settings)
    bench.services.upstreams = embedder
    bench.services.directory.change(providers={**bench.services.directory.providers, "embedder": ROW})
    return bench


async def test_a_question_that_means_the_same_gets_the_answer(bench: Bench, embedder: Embedder) -> None:
    assert (await bench.get(body=body("hello")))[0] == b"MISS"
    word, reply = await bench.get(body=body("hello!"))
    assert word == b"HIT" and reply.body == b'{"answer":1}' and reply.facts == {"cache": "near"}
    assert header(reply, b"x-cache-similarity") == b"%.4f" % (1 / math.sqrt(1.01))
    assert header(reply, b"x-saved-tokens") == b"13"
    assert (await bench.get(body=body("bye")))[0] == b"MISS"
    word, reply = await bench.get(body=body("hello"))
    assert word == b"HIT" and header(reply, b"x-cache-similarity") is None
    assert len(embedder.asked) == 3, "the same question needs no comparing"
    assert embedder.asked[0] == (
        "POST", "/embeddings",
        {"content-type": "application/json", "accept-encoding": "identity", "authorization": "Bearer sk-e"},
        {"model": "e-1", "input": "hello", "encoding_format": "float"},
    )  # fmt: skip
    assert len(bench.cache.flights) == 0


async def test_the_floor_is_kept(embedder: Embedder) -> None:
    bench = make(embedder, semantic={"floor": 0.996})
    await bench.get(body=body("hello"))
    assert (await bench.get(body=body("hello!")))[0] == b"MISS"


@pytest.mark.parametrize(
    "other",
    [
        {"body": body("hello!", temperature=0)},
        {"body": body("hello!").replace(b'"model": ', b'"model":')},
        {"body": body("hello!"), "context": (b"other",)},
        {"body": body("hello!"), "target": "stub/other"},
        {"body": body("hello!"), "agent": "bob"},
        {"body": body("hello!"), "route": replace(ROUTE, path="/v1/messages")},
        {"body": body("hello!"), "route": replace(ROUTE, kind="llm.embeddings")},
        {"body": body("hello!"), "route": replace(ROUTE, kind="llm.moderations")},
        {"body": body("hello!"), "control": [b"no-cache"]},
        {"body": body("hello!"), "control": [b"no-store"]},
        {"body": body("hello!"), "has_one_answer": False},
        {"body": body("hello!"), "came": body("hello, anna!")},
    ],
    ids=str,
)
async def test_everything_but_the_text_has_to_be_the_same(bench: Bench, other: dict[str, Any]) -> None:
    await bench.get(body=body("hello"))
    if "agent" in other:
        other = {**other, "agent": bench.services.directory.agents[other["agent"]]}
    assert (await bench.get(**other))[0] in (b"MISS", b"BYPASS") and bench.upstream.asked == 2


async def test_what_is_no_generation_is_never_compared(bench: Bench, embedder: Embedder) -> None:
    for kind in ("llm.embeddings", "llm.moderations", "llm.count_tokens"):
        for text in ("hello", "hello!"):
            said = json.dumps({"input": text}).encode()
            assert (await bench.get(body=said, route=replace(ROUTE, kind=kind)))[0] == b"MISS"
    assert embedder.asked == []


async def test_a_policy_that_changes_leaves_no_neighbours(bench: Bench) -> None:
    await bench.get(body=body("hello"))
    bench.services.directory.change(policies={})
    assert (await bench.get(body=body("hello!")))[0] == b"MISS"


async def test_an_answer_that_is_gone_or_too_old_is_none(bench: Bench) -> None:
    await bench.get(body=body("hello"))
    bench.services.time += 60
    assert (await bench.get(body=body("hello!"), control=[b"max-age=59"]))[0] == b"MISS"
    assert bench.semantic is not None and len(bench.semantic.neighbours) == 2
    bench.services.time += 3600
    assert (await bench.get(body=body("hello")))[0] == b"MISS"


async def test_streams_too(bench: Bench) -> None:
    pieces = [b"data: 1\n\n", b"data: [DONE]\n\n"]
    bench.upstream.answer = lambda _: streamed(bench.upstream, pieces)
    _, reply = await bench.get(body=body("hello", stream=True))
    await read(reply)
    word, reply = await bench.get(body=body("hello!", stream=True))
    assert word == b"HIT" and [window.data for window in await read(reply)] == pieces


BAD = {
    "an error": lambda embedder: setattr(embedder, "status", 500),
    "no JSON": lambda embedder: embedder.meaning.update({"hello!": b"<html>"}),
    "nothing": lambda embedder: embedder.meaning.update({"hello!": b'{"data":[]}'}),
    "a list": lambda embedder: embedder.meaning.update({"hello!": b"[1]"}),
    "no numbers": lambda embedder: embedder.meaning.update({"hello!": ["x"]}),
    "zero": lambda embedder: embedder.meaning.update({"hello!": [0.0, 0.0, 0.0]}),
    "another length": lambda embedder: embedder.meaning.update({"hello!": [1.0, 0.0]}),
    "hangs": lambda embedder: setattr(embedder, "before", lambda: asyncio.sleep(60)),
    "unreachable": lambda embedder: setattr(embedder, "before", refuse),
}


async def refuse() -> None:
    raise DispatchError("The upstream cannot be reached.", code="upstream_unreachable")


@pytest.mark.parametrize("name", BAD)
async def test_what_cannot_be_compared_is_asked(embedder: Embedder, name: str) -> None:
    bench = make(embedder, semantic={"deadline": 0.05})
    await bench.get(body=body("hello"))
    BAD[name](embedder)
    async with asyncio.timeout(2):
        assert (await bench.get(body=body("hello!")))[0] == b"MISS"
    assert (await bench.get(body=body("hello!")))[0] == b"HIT", "it is kept all the same"


async def test_a_provider_of_embeddings_that_fails_is_left_alone_for_a_while(bench: Bench, embedder: Embedder) -> None:
    embedder.status = 503
    for number in range(20):
        assert (await bench.get(body=body(f"hello {number}")))[0] == b"MISS"
    assert len(embedder.asked) == 1


@pytest.mark.parametrize("row", [None, replace(ROW, kind="anthropic")])
async def test_a_provider_that_is_not_there_compares_nothing(
    bench: Bench, embedder: Embedder, row: ProviderRow | None
) -> None:
    bench.services.directory.change(providers={} if row is None else {"embedder": row})
    assert [(await bench.get(body=body(text)))[0] for text in ("hello", "hello!")] == [b"MISS", b"MISS"]
    assert embedder.asked == []


async def test_those_who_wait_compare_for_themselves(bench: Bench, embedder: Embedder) -> None:
    await bench.get(body=body("hello"))
    results = await asyncio.gather(*(bench.get(body=body("hello!")) for _ in range(5)))
    assert [header(reply, b"x-cache-similarity") is not None for _, reply in results] == [True] * 5
    assert bench.upstream.asked == 1 and len(bench.cache.flights) == 0


async def test_a_caller_who_leaves_while_it_is_compared_leaves_nothing(bench: Bench, embedder: Embedder) -> None:
    embedder.before = lambda: asyncio.sleep(60)
    task = asyncio.create_task(bench.get(body=body("hello")))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(bench.cache.flights) == 0 and bench.upstream.asked == 0


async def test_a_secret_that_is_no_key_is_not_sent_as_one(embedder: Embedder) -> None:
    """That of an application of Entra is for the place of tokens alone."""
    secret = json.dumps({"tenant_id": "t", "client_id": "c", "client_secret": "s3cret"})
    for kind, key, asked in (("azure", secret, 0), ("azure", "k", 1)):
        bench = make(embedder)
        row = replace(ROW, kind=kind, api_key=key)
        bench.services.directory.change(providers={**bench.services.directory.providers, "embedder": row})
        assert (await bench.get(body=body("hello")))[0] == b"MISS"
        assert len(embedder.asked) == asked
    assert embedder.asked[0][2]["api-key"] == "k"
