"""What upstreams answer: taken as it is where it is well-formed, a stated error where it is not, and nothing left."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from mastio.exchange.errors import DispatchError, UpstreamTimeout
from mastio.outbound.upstream import Pool, Pools
from support.raw_upstream import Link, Upstream

TIMEOUTS = {"connect": 1.0, "read": 0.5, "total": 2.0}
H = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"content-length: 2\r\n\r\nok"
CHUNKED = b"transfer-encoding: chunked\r\n\r\n"


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as upstream:
        yield upstream


@pytest.fixture
async def pool(upstream: Upstream) -> AsyncIterator[Pool]:
    pools = Pools()
    yield pools.open(upstream.url(), ("127.0.0.1",), TIMEOUTS)
    await pools.close()
    end = time.monotonic() + 3
    while asyncio.all_tasks() != {asyncio.current_task()} or upstream.open:
        assert time.monotonic() < end, (asyncio.all_tasks(), upstream.open)
        await asyncio.sleep(0.01)


def says(upstream: Upstream, data: bytes, then: float = 0.0) -> None:
    """`data` to each request, and after `then` seconds the end, which makes room for a next request where it is long
    enough; a reply that is not whole has no other end."""

    def act(link: Link) -> None:
        while link.read() is not None:
            link.send(data)
            if then:
                link.is_left(then)
                return

    upstream.act = act


async def ask(pool: Pool, method: str = "GET") -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    async with pool.send(method, "/", [], b"") as reply:
        return reply.status, reply.headers, await reply.read(10**6)


GOOD = {
    "plain": (H + LENGTH, b"ok"),
    "chunks": (H + CHUNKED + b"1\r\no\r\n1;a=b\r\nk\r\n0\r\n\r\n", b"ok"),
    "trailers": (H + CHUNKED + b"2\r\nok\r\n0\r\nx-t: 1\r\n\r\n", b"ok"),
    "folded": (H + b"x-a: b\r\n c\r\n" + LENGTH, b"ok"),
    "latin": (H + b"x-a: \xff\xe9\r\n" + LENGTH, b"ok"),
    "noReason": (b"HTTP/1.1 200\r\n" + LENGTH, b"ok"),
    "created": (b"HTTP/1.1 201 Created\r\n" + LENGTH, b"ok"),
    "oddStatus": (b"HTTP/1.1 599 Odd\r\n" + LENGTH, b"ok"),
    "continueFirst": (b"HTTP/1.1 100 Continue\r\n\r\n" + H + LENGTH, b"ok"),
    "hintsFirst": (b"HTTP/1.1 103 Early\r\nlink: a\r\n\r\n" * 5 + H + LENGTH, b"ok"),
    "nothing": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    "notModified": (b"HTTP/1.1 304 Not Modified\r\ncontent-length: 500\r\netag: x\r\n\r\n", b""),
    "redirect": (b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n", b""),
    "compressed": (
        H + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(gzip.compress(b"ok")) + gzip.compress(b"ok"),
        gzip.compress(b"ok"),
    ),
    "compressedWrongly": (H + b"content-encoding: gzip\r\n" + LENGTH, b"ok"),
}


@pytest.mark.parametrize("name", GOOD)
async def test_what_is_well_formed_is_taken_as_it_is(pool: Pool, upstream: Upstream, name: str) -> None:
    data, body = GOOD[name]
    says(upstream, data)
    for _ in range(3):
        assert (await ask(pool))[2] == body
    assert upstream.connects == 1 and len(upstream.seen) == 3


async def test_a_folded_line_is_one_line(pool: Pool, upstream: Upstream) -> None:
    says(upstream, GOOD["folded"][0])
    assert (b"x-a", b"b c") in (await ask(pool))[1]


@pytest.mark.parametrize("more", [b"content-length: 500\r\n", b"transfer-encoding: chunked\r\n", b""])
async def test_head_has_no_body(pool: Pool, upstream: Upstream, more: bytes) -> None:
    says(upstream, H + more + b"\r\n")
    for _ in range(2):
        assert await ask(pool, "HEAD") == (200, [tuple(more.strip().split(b": "))] if more else [], b"")
    assert upstream.connects == (1 if more else 2)


async def test_a_body_until_the_end(pool: Pool, upstream: Upstream) -> None:
    says(upstream, H + b"\r\nok", then=0.1)
    assert (await ask(pool))[2] == b"ok"


BAD = {
    "lengthAndChunks": H + b"content-length: 3\r\n" + CHUNKED + b"2\r\nok\r\n0\r\n\r\n",
    "chunksAndLength": H + b"transfer-encoding: chunked\r\n" + LENGTH,
    "twoLengths": H + b"content-length: 2\r\ncontent-length: 3\r\n\r\nok",
    "sameLengths": H + b"content-length: 2\r\n" + LENGTH,
    "listOfLengths": H + b"content-length: 2, 2\r\n\r\nok",
    "signedLength": H + b"content-length: +2\r\n\r\nok",
    "hugeLength": H + b"content-length: " + b"9" * 40 + b"\r\n\r\nok",
    "twoCodings": H + b"transfer-encoding: chunked\r\n" + CHUNKED + b"2\r\nok\r\n0\r\n\r\n",
    "codingBefore": H + b"transfer-encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "otherCoding": H + b"transfer-encoding: xchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "codingInDisguise": H + b"transfer-encoding:\x0bchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "spaceBeforeColon": H + b"content-length : 2\r\n\r\nok",
    "loneReturns": b"HTTP/1.1 200 OK\rcontent-length: 2\r\rok",
    "returnInValue": H + b"x-a: b\rc: d\r\n" + LENGTH,
    "nul": H + b"x-a: b\x00c\r\n" + LENGTH,
    "escape": H + b"x-a: b\x1b[31mc\r\n" + LENGTH,
    "delete": H + b"x-a: \x7f\r\n" + LENGTH,
    "oddName": H + b"x(a: b\r\n" + LENGTH,
    "noName": H + b": b\r\n" + LENGTH,
    "noColon": H + b"nonsense\r\n" + LENGTH,
    "hugeHeader": H + b"x-a: " + b"b" * 100_000 + b"\r\n" + LENGTH,
    "manyHeaders": H + b"x-a: b\r\n" * 500 + LENGTH,
    "status0": b"HTTP/1.1 000 Odd\r\n" + LENGTH,
    "status99": b"HTTP/1.1 99 Odd\r\n" + LENGTH,
    "status600": b"HTTP/1.1 600 Odd\r\n" + LENGTH,
    "status1000": b"HTTP/1.1 1000 Odd\r\n" + LENGTH,
    "switches": b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nhello",
    "otherVersion": b"HTTP/2 200 OK\r\n" + LENGTH,
    "noHttp": b"220 mail.example.com ESMTP\r\n",
    "half": (H + LENGTH)[:20],
    "nothing": b"",
    "shortBody": H + b"content-length: 3\r\n\r\nok",
    "shortChunks": H + CHUNKED + b"2\r\nok\r\n",
    "oddChunk": H + CHUNKED + b"zz\r\nok\r\n0\r\n\r\n",
    "prefixedChunk": H + CHUNKED + b"0x2\r\nok\r\n0\r\n\r\n",
    "negativeChunk": H + CHUNKED + b"-2\r\nok\r\n0\r\n\r\n",
    "hugeChunk": H + CHUNKED + b"f" * 20 + b"\r\nok\r\n0\r\n\r\n",
    "longerChunk": H + CHUNKED + b"2\r\nokay\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("name", BAD)
async def test_what_is_not_is_a_stated_error(pool: Pool, upstream: Upstream, name: str) -> None:
    """And the next one is asked anew, on another connection."""
    says(upstream, BAD[name], then=0.05)
    with pytest.raises(DispatchError) as caught:
        await ask(pool)
    assert caught.value.code == "upstream_error"
    says(upstream, H + LENGTH)
    assert (await ask(pool))[2] == b"ok"
    assert upstream.connects == 2


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 20", H, H + b"content-length: 5\r\n\r\no", H + CHUNKED + b"2\r\no"])
async def test_silence_is_a_timeout(pool: Pool, upstream: Upstream, data: bytes) -> None:
    says(upstream, data, then=5)
    began = time.monotonic()
    with pytest.raises(UpstreamTimeout):
        await ask(pool)
    assert 0.4 < time.monotonic() - began < 1.5


async def test_trickling_ends_with_the_total(pool: Pool, upstream: Upstream) -> None:
    def act(link: Link) -> None:
        link.read()
        link.send(H + CHUNKED)
        while True:
            link.send(b"1\r\nx\r\n")
            time.sleep(0.2)

    upstream.act = act
    with pytest.raises(UpstreamTimeout):
        await ask(pool)


async def test_more_than_was_asked_for_is_nobodys(pool: Pool, upstream: Upstream) -> None:
    """A second reply, at once or later, is not taken for the next request's."""

    def act(link: Link) -> None:
        while link.read() is not None:
            evil = H + b"content-length: 4\r\n\r\nevil"
            link.send(H + LENGTH + (evil if link.upstream.connects == 1 else b""))
            if link.upstream.connects == 2:
                time.sleep(0.1)
                link.send(evil)

    upstream.act = act
    for _ in range(4):
        assert (await ask(pool))[2] == b"ok"
        await asyncio.sleep(0.2)
    assert upstream.connects == 3


async def test_a_reply_that_is_too_large_ends(pool: Pool, upstream: Upstream) -> None:
    says(upstream, H + b"content-length: 2000000\r\n\r\n" + b"x" * 2_000_000)
    with pytest.raises(DispatchError, match="too large"):
        await ask(pool)


async def test_one_who_reads_slowly_holds_the_upstream_up(pool: Pool, upstream: Upstream) -> None:
    sent = 0

    def act(link: Link) -> None:
        nonlocal sent
        link.read()
        link.send(H + b"content-length: 104857600\r\n\r\n")
        for _ in range(1600):
            link.send(b"x" * 65536)
            sent += 1

    upstream.act = act
    async with pool.send("GET", "/", [], b"") as reply:
        chunks = reply.chunks()
        await anext(chunks)
        await asyncio.sleep(0.3)
        assert sent < 400
        assert sum([len(piece) async for piece in chunks]) > 90_000_000


async def test_refused_and_unreachable(pool: Pool, upstream: Upstream) -> None:
    upstream.__exit__(None, None, None)
    with pytest.raises(DispatchError) as caught:
        await ask(pool)
    assert caught.value.code == "upstream_unreachable"
