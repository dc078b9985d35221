"""The cache around a dispatch: what comes from memory, what is kept, and who is asked how often."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from mastio.exchange.errors import DispatchError
from mastio.exchange.values import Bound, Recorded, Reply, Window
from mastio_cache.answering import encode_usd, hit_headers
from mastio_cache.cache_entry import CacheEntry
from mastio_llm.provider import ProviderRow
from mastio_policy.collection import PolicyRow
from support.cache_bench import AGENT, USAGE, Bench, ask, header, plain, read, streamed

PIECES = [b"data: 1\n\n", b"data: 2\n\ndata: 3\n\n", b"data: [DONE]\n\n"]


async def test_the_second_time_it_comes_from_memory() -> None:
    bench = Bench()
    assert (await bench.get())[0] == b"MISS"
    bench.services.time += 7.9
    recorded = ask()
    reply = await bench.dispatch(recorded)
    assert reply.body == b'{"answer":1}' and bench.upstream.asked == 1
    assert dict(reply.headers) == {
        b"content-type": b"application/json", b"x-provider": b"stub", b"x-model": b"m", b"x-cache": b"HIT",
        b"age": b"7", b"x-cost-usd": b"0", b"x-tokens-input": b"9", b"x-tokens-output": b"4", b"x-saved-tokens": b"13",
        b"x-saved-cost-usd": b"0.000012500",
    }  # fmt: skip
    assert reply.facts == {"cache": "hit"}
    assert recorded.meter.usage == {
        "input_tokens": 0, "output_tokens": 0, "cost_nano_usd": 0,
        "saved_input_tokens": 9, "saved_output_tokens": 4, "saved_cost_nano_usd": 12_500,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("nano", "text"),
    [(0, b"0.000000000"), (1, b"0.000000001"), (2_500_000_000, b"2.500000000"), (10**12, b"1000.000000000")],
)
def test_dollars_are_exact(nano: int, text: bytes) -> None:
    assert encode_usd(nano) == text


def test_what_a_hit_saved_is_said_as_far_as_it_is_known() -> None:
    """An estimate is no count of the provider's, and a model without a price has saved no known sum."""
    used = {"input_tokens": 9, "output_tokens": 4}
    of = lambda usage: dict(hit_headers(CacheEntry((), (b"x",), False, usage, 100.0), 107.9))  # noqa: E731
    least = {b"x-cache": b"HIT", b"age": b"7", b"x-cost-usd": b"0"}
    assert of(None) == least
    assert of({**used, "estimated": 1}) == {**least, b"x-saved-tokens": b"13"}
    assert of(used) == {**least, b"x-saved-tokens": b"13", b"x-tokens-input": b"9", b"x-tokens-output": b"4"}


@pytest.mark.parametrize("marks_end", [True, False])
async def test_a_stream_comes_again_in_the_same_pieces(marks_end: bool) -> None:
    bench = Bench()
    bench.upstream.answer = lambda _: streamed(bench.upstream, PIECES, marks_end=marks_end)
    word, reply = await bench.get()
    assert word == b"MISS" and [window.data for window in await read(reply)] == PIECES
    assert bench.upstream.closed == 1
    word, again = await bench.get()
    assert word == b"HIT" and header(again, b"content-type") == b"text/event-stream"
    windows = await read(again)
    assert [window.data for window in windows] == PIECES
    assert [window.last for window in windows] == [False, False, True]
    assert bench.upstream.asked == 1 and bench.cache.room == 1_000_000


async def test_what_the_inner_stream_learns_late_is_on_its_head() -> None:
    bench = Bench()

    def answer(_: Recorded) -> Reply:
        reply = streamed(bench.upstream, PIECES)
        inner = reply.body
        assert not isinstance(inner, bytes)

        async def windows() -> AsyncIterator[Window]:
            async for window in inner:
                reply.headers += [(b"x-tokens-input", b"9")] if window.data == PIECES[0] else []
                yield window

        reply.body = windows()
        return reply

    bench.upstream.answer = answer
    _, reply = await bench.get()
    await read(reply)
    assert header(reply, b"x-tokens-input") == b"9" and header(reply, b"x-cache") == b"MISS"


def broken(bench: Bench) -> Reply:
    reply = streamed(bench.upstream, PIECES)

    async def windows() -> AsyncIterator[Window]:
        yield Window(PIECES[0])
        raise DispatchError("The provider broke off the stream.")

    reply.body = windows()
    return reply


def raising(bench: Bench) -> Reply:
    raise DispatchError("The provider failed.")


NEVER_KEPT = {
    "an error": lambda bench: plain(b'{"error":{}}', 429),
    "an error that is raised": raising,
    "a failure in the body": lambda bench: plain(b'{"status":"failed","error":{"code":"x"}}'),
    "another status": lambda bench: plain(b"{}", 202),
    "no-store": lambda bench: plain(b"{}", more=[(b"cache-control", b"private, no-store")]),
    "too large": lambda bench: plain(b"1" * 100_001),
    "another's": lambda bench: Reply(200, [(b"x-provider", b"fallback"), (b"x-model", b"m")], b"{}"),
    "a stream that says it failed": lambda bench: streamed(bench.upstream, PIECES, failure="upstream_error"),
    "a stream that breaks off": broken,
    "a stream of nothing": lambda bench: streamed(bench.upstream, []),
    "a stream that is too large": lambda bench: streamed(bench.upstream, [bytes(60_000), bytes(60_000)]),
}


@pytest.mark.parametrize("name", NEVER_KEPT)
async def test_only_whole_answers_are_kept(name: str) -> None:
    bench = Bench()
    bench.upstream.answer = lambda _: NEVER_KEPT[name](bench)
    for _ in range(2):
        with suppress(DispatchError):
            word, reply = await bench.get()
            assert word == b"MISS" or name == "another's"
            if not isinstance(reply.body, bytes):
                await read(reply)
    assert bench.upstream.asked == 2 and len(bench.memory) == 0
    assert len(bench.cache.flights) == 0 and bench.cache.room == 1_000_000
    bench.upstream.answer = None
    assert (await bench.get())[0] == b"MISS"
    assert (await bench.get())[0] == b"HIT"


async def test_a_stream_that_is_left_early_is_not_kept() -> None:
    bench = Bench()
    bench.upstream.answer = lambda _: streamed(bench.upstream, PIECES)
    _, reply = await bench.get()
    assert not isinstance(reply.body, bytes)
    async for _ in reply.body:
        break
    await reply.close()
    assert len(bench.memory) == len(bench.cache.flights) == 0
    assert bench.upstream.closed == 1 and bench.cache.room == 1_000_000


@pytest.mark.parametrize(
    ("first", "second", "words", "asked"),
    [
        ([], [b"no-store"], (b"MISS", b"BYPASS"), 2),
        ([b"no-store"], [], (b"BYPASS", b"MISS"), 2),
        ([], [b"no-cache"], (b"MISS", b"MISS"), 2),
        ([b"no-cache"], [], (b"MISS", b"HIT"), 1),
        ([b"max-age=0"], [], (b"MISS", b"HIT"), 1),
        ([], [b"max-age=60"], (b"MISS", b"HIT"), 1),
        ([], [b"only-if-cached"], (b"MISS", b"HIT"), 1),
    ],
)
async def test_what_a_caller_may_ask_for(
    first: list[bytes], second: list[bytes], words: tuple[bytes, bytes], asked: int
) -> None:
    bench = Bench()
    assert ((await bench.get(control=first))[0], (await bench.get(control=second))[0]) == words
    assert bench.upstream.asked == asked


async def test_an_answer_may_be_too_old_for_one_and_not_for_another() -> None:
    bench = Bench()
    await bench.get()
    bench.services.time += 30
    assert (await bench.get(control=[b"max-age=30"]))[0] == b"HIT"
    assert (await bench.get(control=[b"max-age=29"]))[0] == b"MISS"
    assert (await bench.get(control=[b"max-age=29"]))[0] == b"HIT", "the younger one took its place"
    bench.services.time += 3600
    assert (await bench.get())[0] == b"MISS"


async def test_a_call_that_may_come_out_otherwise_is_kept_for_who_asks_for_that() -> None:
    bench = Bench()
    open_ended = {"has_one_answer": False}
    assert (await bench.get(**open_ended))[0] == b"BYPASS"
    assert (await bench.get(control=[b"max-age=60"], **open_ended))[0] == b"MISS"
    assert (await bench.get(control=[b"max-age=60"], **open_ended))[0] == b"HIT"
    assert (await bench.get(control=[b"only-if-cached"], **open_ended))[0] == b"HIT"
    assert (await bench.get(**open_ended))[0] == b"BYPASS"
    everything = Bench(answers="all")
    assert [(await everything.get(**open_ended))[0] for _ in range(2)] == [b"MISS", b"HIT"]


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, {}),
        ({}, {"question": False}),
        ({}, {"control": [b"no-store"]}),
        ({}, {"control": [b"no-cache"]}),
        ({"answers": "off"}, {}),
    ],
)
async def test_where_only_a_kept_answer_is_wanted_nobody_is_asked(
    settings: dict[str, Any], wanted: dict[str, Any]
) -> None:
    bench = Bench(**settings)
    wanted = {**wanted, "control": [*wanted.get("control", []), b"only-if-cached"]}
    with pytest.raises(DispatchError) as refused:
        await bench.get(**wanted)
    assert (refused.value.code, refused.value.status) == ("not_cached", 504)
    assert refused.value.headers == (("X-Cache", "MISS"),) and bench.upstream.asked == 0


async def test_what_is_no_question_is_passed_on() -> None:
    bench = Bench(answers="all")
    assert [(await bench.get(question=False))[0] for _ in range(2)] == [b"BYPASS", b"BYPASS"]
    assert bench.upstream.asked == 2


async def test_a_stranger_to_the_directory_gets_nothing_from_memory() -> None:
    bench = Bench()
    gone = replace(AGENT, name="gone")
    assert [(await bench.get(agent=gone))[0] for _ in range(2)] == [b"BYPASS", b"BYPASS"]


# --- who shares -------------------------------------------------------------------------------------------------------

RED, BLUE = frozenset({"red"}), frozenset({"blue", "red"})


@pytest.mark.parametrize(
    ("share", "one", "other", "shared"),
    [
        ("agent", {}, {}, False),
        ("agent", {"groups": RED}, {"groups": RED}, False),
        ("group", {"groups": RED}, {"groups": RED}, True),
        ("group", {"groups": RED}, {"groups": BLUE}, False),
        ("group", {}, {}, False),
        ("group", {"groups": RED}, {}, False),
        ("all", {"groups": RED}, {}, True),
    ],
)
async def test_who_gets_an_answer_of_another(
    share: str, one: dict[str, Any], other: dict[str, Any], shared: bool
) -> None:
    bench = Bench(share=share)
    first, second = replace(AGENT, **one), replace(AGENT, name="bob", created_at=2.5, **other)
    bench.services.directory.change(agents={"alice": first, "bob": second})
    await bench.get(agent=first)
    assert (await bench.get(agent=second))[0] == (b"HIT" if shared else b"MISS")
    assert (await bench.get(agent=first))[0] == b"HIT"


async def test_who_has_the_name_later_is_another() -> None:
    bench = Bench()
    await bench.get()
    later = replace(AGENT, created_at=99.0)
    bench.services.directory.change(agents={"alice": later})
    assert (await bench.get(agent=later))[0] == b"MISS"


async def test_a_renewed_agent_is_the_same() -> None:
    bench = Bench()
    await bench.get()
    renewed = replace(AGENT, cert_sha256="another", version=9, not_after=9e10)
    bench.services.directory.change(agents={"alice": renewed})
    assert (await bench.get(agent=renewed))[0] == b"HIT"


@pytest.mark.parametrize(
    "change",
    [
        {"policies": {}},
        {"policies": {"starter": PolicyRow("starter", "permit(principal, action, resource); ")}},
        {"policies": {"starter": PolicyRow("starter", "permit(principal, action, resource);", enabled=False)}},
        {"policies": {"starter": PolicyRow("starter", "permit(principal, action, resource);", mode="observe")}},
        {"policies": {"other": PolicyRow("other", "permit(principal, action, resource);")}},
        {"providers": {"stub": ProviderRow("stub", "openai", "https://two.example/v1")}},
        {"providers": {"stub": ProviderRow("stub", "ollama", "https://one.example/v1")}},
    ],
    ids=str,
)
async def test_nothing_from_before_a_change_of_policies_or_providers_is_an_answer(change: dict[str, Any]) -> None:
    bench = Bench()
    await bench.get()
    bench.services.directory.change(**change)
    assert (await bench.get())[0] == b"MISS"
    bench.services.directory.change()
    assert (await bench.get())[0] == b"HIT"


# --- many at once -----------------------------------------------------------------------------------------------------


class Slow:
    """An upstream that answers when it is let."""

    def __init__(self, bench: Bench) -> None:
        self.gate = asyncio.Event()
        self.error: DispatchError | None = None
        self._bench = bench
        bench.dispatch = bench.cache.around(self.dispatch)

    async def dispatch(self, recorded: Recorded) -> Reply:
        self._bench.upstream.asked += 1
        await self.gate.wait()
        recorded.meter.usage = dict(USAGE)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return plain(b'{"answer":"slow"}')


async def start(bench: Bench, count: int) -> list[asyncio.Task[tuple[bytes | None, Reply]]]:
    tasks = [asyncio.create_task(bench.get()) for _ in range(count)]
    await asyncio.sleep(0.01)
    return tasks


async def test_fifty_at_once_ask_once() -> None:
    bench = Bench()
    slow = Slow(bench)
    tasks = await start(bench, 50)
    slow.gate.set()
    words = [word for word, _ in await asyncio.gather(*tasks)]
    assert bench.upstream.asked == 1
    assert (words.count(b"MISS"), words.count(b"HIT")) == (1, 49)
    assert len(bench.cache.flights) == 0


async def test_other_questions_do_not_wait() -> None:
    bench = Bench()
    slow = Slow(bench)
    tasks = await start(bench, 2)
    other = asyncio.create_task(bench.get(body=b"other"))
    await asyncio.sleep(0.01)
    assert bench.upstream.asked == 2
    slow.gate.set()
    await asyncio.gather(*tasks, other)


async def test_when_the_one_who_asks_hangs_up_another_asks() -> None:
    bench = Bench()
    slow = Slow(bench)
    tasks = await start(bench, 10)
    for number in range(3):
        tasks[number].cancel()
        await asyncio.sleep(0.01)
        assert bench.upstream.asked == number + 2
    slow.gate.set()
    words = [word for word, _ in await asyncio.gather(*tasks[3:])]
    assert (words.count(b"MISS"), words.count(b"HIT")) == (1, 6) and bench.upstream.asked == 4
    assert len(bench.cache.flights) == 0


async def test_when_the_one_who_asks_fails_the_error_is_its_own() -> None:
    bench = Bench()
    slow = Slow(bench)
    slow.error = DispatchError("The provider failed.")
    tasks = await start(bench, 5)
    slow.gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results].count(DispatchError) == 1
    assert bench.upstream.asked == 2 and len(bench.cache.flights) == 0


async def test_a_stream_that_is_left_lets_the_next_one_ask() -> None:
    bench = Bench()
    bench.upstream.answer = lambda _: streamed(bench.upstream, PIECES)
    _, reply = await bench.get()
    waiting = asyncio.create_task(bench.get())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    await reply.close()
    word, again = await asyncio.wait_for(waiting, 1)
    assert word == b"MISS" and bench.upstream.asked == 2
    await read(again)
    assert (await bench.get())[0] == b"HIT"


async def test_a_stream_that_grows_too_large_keeps_nobody_waiting() -> None:
    bench = Bench()
    bench.upstream.answer = lambda _: streamed(bench.upstream, [bytes(60_000), bytes(60_000), b"end"])
    _, reply = await bench.get()
    waiting = [asyncio.create_task(bench.get()) for _ in range(3)]
    assert not isinstance(reply.body, bytes)
    taken = 0
    async for _ in reply.body:
        taken += 1
        await asyncio.sleep(0.01)
        if taken == 2:
            assert all(task.done() for task in waiting), "as soon as it is known that there will be nothing"
            break
    await reply.close()
    for task in waiting:
        await task.result()[1].close()


async def test_nobody_waits_longer_than_they_may() -> None:
    bench = Bench(patience=0.02)
    slow = Slow(bench)
    tasks = await start(bench, 2)
    await asyncio.sleep(0.05)
    assert bench.upstream.asked == 2
    slow.gate.set()
    assert [word for word, _ in await asyncio.gather(*tasks)] == [b"MISS", b"MISS"]


async def test_streams_under_way_take_no_more_memory_than_they_may() -> None:
    bench = Bench(max_gathering_bytes=200)  # each piece takes 64 bytes beside its content
    bench.upstream.answer = lambda _: streamed(bench.upstream, [bytes(60), b"end"])
    opened = [(await bench.get(body=b"%d" % number))[1] for number in range(3)]
    readers = [reply.body.__aiter__() for reply in opened if not isinstance(reply.body, bytes)]
    for reader in readers:
        await reader.__anext__()
    assert bench.cache.room == 76
    for reader in readers:
        await reader.__anext__()
    assert len(bench.memory) == 1 and bench.cache.room == 200


# --- the second level -------------------------------------------------------------------------------------------------


class Second:
    """A second level that counts."""

    def __init__(self) -> None:
        self.kept: dict[bytes, CacheEntry] = {}
        self.looked = 0

    async def find(self, key: bytes) -> CacheEntry | None:
        self.looked += 1
        await asyncio.sleep(0)
        return self.kept.get(key)

    def put(self, key: bytes, kept: CacheEntry) -> None:
        self.kept[key] = kept


async def test_another_workers_answer_is_found_once_and_then_in_memory() -> None:
    second = Second()
    one, other = Bench(second=second), Bench(second=second)
    assert (await one.get())[0] == b"MISS"
    results = await asyncio.gather(*(other.get() for _ in range(5)))
    assert [word for word, _ in results] == [b"HIT"] * 5
    assert other.upstream.asked == 0 and second.looked == 2
    assert (await other.get())[0] == b"HIT" and second.looked == 2


async def test_an_old_answer_of_another_worker_is_asked_for_again() -> None:
    second = Second()
    one, other = Bench(second=second), Bench(second=second)
    await one.get()
    other.services.time += 100
    with pytest.raises(DispatchError):
        await other.get(control=[b"only-if-cached, max-age=99"])
    assert (await other.get(control=[b"only-if-cached, max-age=100"]))[0] == b"HIT"
    other.services.time += 3600
    assert (await other.get())[0] == b"MISS"
    third = Bench(second=second)
    third.services.time += 3700
    assert (await third.get(control=[b"no-cache"]))[0] == b"MISS" and second.looked == 4


async def test_many_small_pieces_take_room_for_what_they_take_of_memory() -> None:
    """A provider that trickles must not make a worker hold many times `max_bytes`."""
    bench = Bench(max_gathering_bytes=100 * 1024)
    bench.upstream.answer = lambda _: streamed(bench.upstream, [b"\n\n"] * 5000)
    for _ in range(2):
        word, reply = await bench.get()
        assert word == b"MISS"
        await read(reply)
    assert len(bench.memory) == 0 and bench.cache.room == 100 * 1024 and len(bench.cache.flights) == 0


async def test_an_answer_that_a_budget_cut_short_is_for_its_own_call_alone() -> None:
    bench = Bench()
    assert (await bench.get(granted=Bound(9, None)))[0] == b"MISS"
    assert len(bench.memory) == len(bench.cache.flights) == 0
    assert [(await bench.get())[0], (await bench.get())[0]] == [b"MISS", b"HIT"]
    word, reply = await bench.get(granted=Bound(9, None))
    assert word == b"HIT" and reply.body == b'{"answer":2}'
