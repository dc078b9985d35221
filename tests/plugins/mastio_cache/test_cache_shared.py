"""The table behind the memories: sealed, bounded, and never in the way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from mastio_cache.cache_entry import CacheEntry, KeptError
from mastio_cache.shared import Table, dsn, open_table, seal, unseal
from support.cache_bench import BODY, Bench
from support.postgresql import Server, create_database, run_server

SECRET = b"s" * 32
KEPT = CacheEntry(
    ((b"content-type", b"application/json"),), (b'{"secret":"text"}',), False, {"input_tokens": 3}, 1000.0
)


def test_what_is_sealed_opens_at_its_own_place_only() -> None:
    sealed = seal(SECRET, b"k", KEPT)
    assert unseal(SECRET, b"k", sealed) == KEPT and b"text" not in sealed
    assert seal(SECRET, b"k", KEPT) != sealed
    for secret, key, data in (
        (SECRET, b"other", sealed),
        (b"o" * 32, b"k", sealed),
        (SECRET, b"k", sealed[:-1]),
        (SECRET, b"k", sealed[:-1] + bytes([sealed[-1] ^ 1])),
        (SECRET, b"k", b""),
    ):
        with pytest.raises(KeptError):
            unseal(secret, key, data)


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("postgresql+asyncpg://u@h:1/n", "postgresql://u@h:1/n"),
        (
            "postgresql+asyncpg://u@/n?host=/tmp&ssl=require&async_fallback=1",
            "postgresql://u@/n?host=%2Ftmp&sslmode=require",
        ),
    ],
)
def test_urls(url: str, meant: str) -> None:
    assert dsn(url) == meant


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with run_server() as running:
        yield running


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


@asynccontextmanager
async def opened(url: str, clock: Clock, **settings: Any) -> AsyncIterator[Table]:
    chosen = {"ttl": 60.0, "max_bytes": 100_000, "sweeps": False, **settings}
    async with open_table(url, SECRET, clock, **chosen) as table:
        yield table


async def find(table: Table, key: bytes) -> CacheEntry | None:
    """Writing is not waited for; looking again is."""
    for _ in range(100):
        found = await table.find(key)
        if found is not None:
            return found
        await asyncio.sleep(0.01)
    return None


async def count(url: str) -> int:
    connection = await asyncpg.connect(dsn(url))
    try:
        found: int = await connection.fetchval("SELECT count(*) FROM cache_answers")
        return found
    finally:
        await connection.close()


async def test_one_worker_finds_what_another_kept_until_it_expires(server: Server) -> None:
    url, clock = create_database(server.url), Clock()
    async with opened(url, clock) as one, opened(url, clock) as other:
        assert await other.find(b"k") is None
        one.put(b"k", KEPT)
        assert await find(other, b"k") == KEPT
        newer = replace(KEPT, at=1010.0, pieces=(b"newer",))
        other.put(b"k", newer)
        other.put(b"behind it", KEPT)
        assert await find(one, b"behind it") == KEPT and await one.find(b"k") == newer
        one.put(b"k", KEPT)  # one that comes late
        one.put(b"other", KEPT)
        assert await find(other, b"other") == KEPT and await other.find(b"k") == newer
        clock.time = 1060.0
        assert await other.find(b"other") is None and await other.find(b"k") == newer
        clock.time = 1070.0
        assert await other.find(b"k") is None
        await one.remove_surplus()
        assert await count(url) == 0


async def test_workers_with_another_key_find_nothing(server: Server) -> None:
    url, clock = create_database(server.url), Clock()
    async with opened(url, clock) as one, open_table(
        url, b"x" * 32, clock, ttl=60.0, max_bytes=1, sweeps=False
    ) as other:  # fmt: skip
        one.put(b"k", KEPT)
        assert await find(one, b"k") == KEPT
        assert await other.find(b"k") is None


async def test_the_oldest_make_room(server: Server) -> None:
    url, clock = create_database(server.url), Clock()
    async with opened(url, clock, max_bytes=20_000) as table:
        for number in range(40):
            table.put(b"%d" % number, replace(KEPT, pieces=(bytes(1000),), at=1000.0 + number))
        assert await find(table, b"39") is not None
        await table.remove_surplus()
        assert 10 < await count(url) < 20
        assert await table.find(b"39") is not None and await table.find(b"0") is None


async def test_the_first_worker_sweeps(server: Server) -> None:
    url, clock = create_database(server.url), Clock()
    async with opened(url, clock) as table:
        table.put(b"k", KEPT)
        assert await find(table, b"k") is not None
    clock.time = 5000.0
    async with opened(url, clock, sweeps=True):
        for _ in range(200):
            if await count(url) == 0:
                break
            await asyncio.sleep(0.01)
    assert await count(url) == 0


async def test_a_server_that_stands_still_is_a_miss_in_time_and_then_left_alone(server: Server) -> None:
    url, clock = create_database(server.url), Clock()
    async with opened(url, clock) as table:
        table.put(b"k", KEPT)
        assert await find(table, b"k") == KEPT
        server.pause()
        try:
            bench = Bench(second=table)
            started = time.monotonic()
            assert (await bench.get())[0] == b"MISS"
            assert time.monotonic() - started < 1
            started = time.monotonic()
            for number in range(100):
                assert (await bench.get(body=BODY + b"%d" % number))[0] == b"MISS"
            assert time.monotonic() - started < 0.5, "nobody else waits for it"
        finally:
            server.resume()
        started = time.monotonic()
    assert time.monotonic() - started < 6, "closing does not wait for it for ever"


async def test_a_server_that_is_gone_is_a_miss_and_found_again_when_it_is_back(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mastio_cache.shared.REST", 0.05)
    url, clock = create_database(server.url), Clock()
    async with opened(url, clock) as table:
        table.put(b"k", KEPT)
        assert await find(table, b"k") == KEPT
        server.stop()
        try:
            assert await table.find(b"k") is None
            table.put(b"lost", KEPT)
            await asyncio.sleep(0.1)
            assert await table.find(b"k") is None
        finally:
            server.start()
        await asyncio.sleep(0.1)
        await table.create()
        table.put(b"again", KEPT)
        assert await find(table, b"again") == KEPT


async def test_without_its_table_it_is_a_miss(server: Server) -> None:
    url, clock = create_database(server.url), Clock()
    async with opened(url, clock) as table:
        connection = await asyncpg.connect(dsn(url))
        await connection.execute("DROP TABLE cache_answers")
        await connection.close()
        assert await table.find(b"k") is None


async def test_what_waits_to_be_written_is_bounded(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mastio_cache.shared.QUEUE_BYTES", 5 * KEPT.size)
    url, clock = create_database(server.url), Clock()
    async with opened(url, clock) as table:
        for number in range(50):  # without letting the writer run
            table.put(b"%d" % number, KEPT)
        assert await find(table, b"4") == KEPT
        assert await table.find(b"5") is None and await count(url) == 5
        table.put(b"later", KEPT)
        assert await find(table, b"later") == KEPT
