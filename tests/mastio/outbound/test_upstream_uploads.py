"""Bodies that go out in pieces: as fast as they are taken, of the length that was said, once, and with an end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from mastio.exchange.errors import BadRequest, DispatchError, UpstreamTimeout
from mastio.outbound.upstream import Pool, Pools
from support.raw_upstream import OK, Link, Upstream

MIB = 1024 * 1024
TIMEOUTS = {"connect": 2.0, "read": 1.0, "total": 15.0}
PIECE = b"x" * 65536
Open = Callable[..., Pool]


class Pieces:
    """An iterator that says how far it was asked, and whether it was closed."""

    def __init__(self, *pieces: bytes, endless: bool = False, then: BaseException | None = None) -> None:
        self.pieces, self.endless, self.then = list(pieces), endless, then
        self.asked = 0
        self.closed = False
        self.pause = 0.0
        """Seconds before each piece that is not one of those given."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        assert not self.closed
        self.asked += 1
        if self.pieces:
            return self.pieces.pop(0)
        if self.pause:
            await asyncio.sleep(self.pause)
        if self.then is not None:
            raise self.then
        if self.endless:
            await asyncio.sleep(0)
            return PIECE
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.closed = True


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as upstream:
        yield upstream
        upstream.wait_closed()


@pytest.fixture
async def pool(upstream: Upstream) -> AsyncIterator[Pool]:
    pools = Pools()
    yield pools.open(upstream.url(), ("127.0.0.1",), TIMEOUTS)
    await settle(upstream, within=2.0, all_closed=False)
    await pools.close()
    await asyncio.sleep(0.01)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def settle(upstream: Upstream, within: float = 2.0, *, all_closed: bool = True) -> None:
    """No task of ours is left, and no connection."""
    end = time.monotonic() + within
    while asyncio.all_tasks() != {asyncio.current_task()} or (all_closed and upstream.open):
        assert time.monotonic() < end, (asyncio.all_tasks(), upstream.open)
        await asyncio.sleep(0.01)


async def send(pool: Pool, method: str, body: bytes | Pieces, length: int | None = None) -> tuple[int, bytes]:
    headers = [] if length is None else [("Content-Length", str(length))]
    async with pool.send(method, "/up", headers, body) as reply:
        return reply.status, await reply.read(50 * MIB)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET", "OPTIONS", "REPORT"])
@pytest.mark.parametrize("length", [None, 11])
async def test_a_body_in_pieces(pool: Pool, upstream: Upstream, method: str, length: int | None) -> None:
    pieces = Pieces(b"hello", b"", b" ", b"world")
    assert await send(pool, method, pieces, length) == (200, b"ok")
    (seen,) = upstream.seen
    assert (seen.method, seen.body, pieces.closed) == (method, b"hello world", True)
    assert seen.header("content-length") == (None if length is None else "11")
    assert seen.chunks == (None if length else [5, 1, 5])
    assert seen.header("content-type") is None
    assert await send(pool, "GET", b"") == (200, b"ok")
    assert upstream.connects == 1


@pytest.mark.parametrize("size", [0, 1, 65536, 65537, 3 * MIB + 1])
async def test_a_body_that_is_there_already(pool: Pool, upstream: Upstream, size: int) -> None:
    assert await send(pool, "POST", b"x" * size, size) == (200, b"ok")
    assert (upstream.seen[0].body, upstream.seen[0].header("content-length")) == (b"x" * size, str(size))


@pytest.mark.parametrize("length", [None, 0])
async def test_no_piece_at_all(pool: Pool, upstream: Upstream, length: int | None) -> None:
    assert await send(pool, "POST", Pieces(), length) == (200, b"ok")
    assert (upstream.seen[0].body, upstream.seen[0].chunks) == (b"", [] if length is None else None)


@pytest.mark.parametrize(
    ("length", "pieces"),
    [
        (5, [b"hell"]), (5, []), (5, [b"hello!"]), (5, [b"hello", b"!"]),
        (5, [b"hello", b"", b"GET /smuggled HTTP/1.1\r\n\r\n"]),
        (0, [b"x"]), (200_000, [PIECE, PIECE]), (65536, [PIECE, PIECE]),
    ],
    ids=str,
)  # fmt: skip
async def test_a_body_of_another_length(pool: Pool, upstream: Upstream, length: int, pieces: list[bytes]) -> None:
    """There never is a whole request, and nothing that follows could be taken for one."""
    body = Pieces(*pieces)
    with pytest.raises(DispatchError) as caught:
        await send(pool, "POST", body, length)
    assert "as long as its head says" in caught.value.message and body.closed
    await settle(upstream)
    assert not [seen for seen in upstream.seen if length]
    assert await send(pool, "GET", b"") == (200, b"ok")
    assert "/smuggled" not in {seen.path for seen in upstream.seen}


async def test_the_last_piece_waits_until_nothing_follows(pool: Pool, upstream: Upstream) -> None:
    """However late the rest comes, the upstream has no whole request before."""

    async def slowly() -> AsyncIterator[bytes]:
        yield b"hello"
        await asyncio.sleep(0.1)
        assert not upstream.seen
        yield b"!"

    with pytest.raises(DispatchError):
        await send(pool, "POST", slowly(), 5)
    await settle(upstream)
    assert not upstream.seen


@pytest.mark.parametrize("length", ["-1", "+5", "5 ", "0x5", "", "5, 5", "9" * 30, "٥"])
async def test_a_length_that_is_none(pool: Pool, upstream: Upstream, length: str) -> None:
    body = Pieces(b"hello")
    with pytest.raises(DispatchError):
        async with pool.send("POST", "/", [("content-length", length)], body):
            pass
    assert body.closed and upstream.connects == 0


async def test_headers_that_are_ours_to_make(pool: Pool, upstream: Upstream) -> None:
    headers = [("Host", "other.example"), ("Transfer-Encoding", "gzip"), ("Expect", "100-continue"), ("X-A", "b")]
    async with pool.send("POST", "/", headers, Pieces(b"a")) as reply:
        await reply.read(10)
    seen = upstream.seen[0]
    assert seen.header("host") == f"127.0.0.1:{upstream.port}" and seen.header("transfer-encoding") == "chunked"
    assert seen.header("expect") is None and seen.header("x-a") == "b"
    with pytest.raises(DispatchError):
        async with pool.send("POST", "/", [("content-length", "1"), ("Content-Length", "1")], Pieces(b"a")):
            pass


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "@evil.example/", []), ("GET", ".evil.example/", []), ("GET", ":1/", []), ("GET", "x", []),
        ("GET", "/a b", []), ("GET", "/a\r\nx: y", []), ("GET", "/a#b", []), ("GET", "/a\\b", []), ("GET", "/é", []),
        ("GET", "/\x00", []), ("GET /evil HTTP/1.1\r\nx:", "/", []), ("", "/", []), ("CONNECT", "/", []),
        ("GET", "/", [("x-a", "b\r\nx-c: d")]), ("GET", "/", [("x-a\r\nx-c", "d")]), ("GET", "/", [("x-a", "b\x00")]),
        ("GET", "/", [("x-a", "b\nc")]),
    ],
    ids=repr,
)  # fmt: skip
async def test_nothing_breaks_out_of_its_place(
    pool: Pool, upstream: Upstream, method: str, path: str, headers: list[tuple[str, str]]
) -> None:
    body = Pieces(b"a")
    with pytest.raises(DispatchError):
        async with pool.send(method, path, headers, body):
            pass
    assert body.closed
    await settle(upstream)
    assert upstream.heads == 0


@pytest.mark.parametrize(
    "path", ["/a/../b", "/a/./b", "/%2e%2e/b", "/a%2Fb", "/a//b", "/?a=b&c=%20+", "?q", "", "/a;b=c"]
)
async def test_a_path_arrives_as_it_is(pool: Pool, upstream: Upstream, path: str) -> None:
    async with pool.send("GET", path, [], b"") as reply:
        await reply.read(10)
    assert upstream.seen[0].path == (path if path.startswith("/") else "/" + path)


async def test_pieces_wait_until_the_last_was_taken(pool: Pool, upstream: Upstream) -> None:
    """What is asked for is what the kernel's buffers hold, until the upstream reads on."""
    go = asyncio.Event()
    loop = asyncio.get_running_loop()

    def act(link: Link) -> None:
        seen = link.read_head()
        assert seen is not None
        asyncio.run_coroutine_threadsafe(go.wait(), loop).result()
        total = sum(len(piece) for piece in link.read_pieces(seen))
        link.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%d" % (len(str(total)), total))

    upstream.act = act
    body = Pieces(*[PIECE] * 1600)
    sending = asyncio.create_task(send(pool, "PUT", body))
    await asyncio.sleep(0.4)
    held = body.asked
    await asyncio.sleep(0.2)
    assert body.asked == held < 400
    go.set()
    assert await sending == (200, b"104857600")
    assert body.asked == 1601


@pytest.mark.parametrize("there", [False, True], ids=["pieces", "whole"])
async def test_an_upstream_that_stops_reading(pool: Pool, upstream: Upstream, there: bool) -> None:
    def act(link: Link) -> None:
        link.read_head()
        assert link.upstream.open  # and reads no more
        time.sleep(4)

    upstream.act = act
    body = Pieces(endless=True)
    began = time.monotonic()
    with pytest.raises(UpstreamTimeout):
        await send(pool, "POST", b"x" * (30 * MIB) if there else body)
    assert 0.9 < time.monotonic() - began < 2.5
    assert there or body.closed
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_no_patience_with_replies_is_patience_with_bodies(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An admin allows a model ten minutes to think; nobody allows it ten minutes to take a byte."""
    monkeypatch.setattr("mastio.outbound.upstream.UPLOAD_IDLE", 0.5)

    def act(link: Link) -> None:
        link.read_head()
        time.sleep(4)

    upstream.act = act
    pools = Pools()
    patient = pools.open(upstream.url(), ("127.0.0.1",), {**TIMEOUTS, "read": 600.0, "total": 600.0})
    began = time.monotonic()
    with pytest.raises(UpstreamTimeout):
        await send(patient, "POST", Pieces(endless=True))
    assert 0.4 < time.monotonic() - began < 2.5
    await pools.close()


async def test_an_upstream_that_reads_slowly_is_no_silent_one(pool: Pool, upstream: Upstream) -> None:
    """Longer than `read` in all, never that long without a piece."""

    def act(link: Link) -> None:
        seen = link.read_head()
        assert seen is not None
        for number, _ in enumerate(link.read_pieces(seen)):
            if number % 25 == 0:
                time.sleep(0.2)
        link.send(OK)

    upstream.act = act
    began = time.monotonic()
    assert await send(pool, "POST", Pieces(*[PIECE] * 250)) == (200, b"ok")
    assert time.monotonic() - began > 1.5


async def test_a_slow_sender_is_nobodys_timeout(pool: Pool, upstream: Upstream) -> None:
    body = Pieces(b"hello")
    body.pause = 1.5
    assert await send(pool, "POST", body) == (200, b"ok")


@pytest.mark.parametrize("status", [b"413 Too Large", b"401 No", b"302 Found", b"500 Broken"])
@pytest.mark.parametrize("then", ["waits", "reads", "closes"])
@pytest.mark.parametrize("length", [None, 10 * MIB])
async def test_an_early_refusal_ends_the_upload(
    pool: Pool, upstream: Upstream, status: bytes, then: str, length: int | None
) -> None:
    def act(link: Link) -> None:
        seen = link.read_head()
        assert seen is not None
        pieces = link.read_pieces(seen)
        next(pieces)
        link.send(b"HTTP/1.1 " + status + b"\r\ncontent-length: 2\r\n\r\nno")
        if then == "waits":
            assert link.is_left(5)
        elif then == "reads":
            for _ in pieces:
                pass

    upstream.act = act
    body = Pieces(b"x", endless=True)
    for _ in range(5):
        body = Pieces(b"x", endless=True)
        body.pause = 0.0 if then == "reads" else 0.05
        assert await send(pool, "POST", body, length) == (int(status[:3]), b"no")
        assert body.closed
        await settle(upstream)
    assert upstream.seen == [] and upstream.connects == 5


async def test_an_answer_that_comes_while_the_body_goes(pool: Pool, upstream: Upstream) -> None:
    """An upstream that likes what it gets goes on getting it: both ways at once."""

    def act(link: Link) -> None:
        seen = link.read_head()
        assert seen is not None
        link.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for piece in link.read_pieces(seen):
            link.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        link.send(b"0\r\n\r\n")

    upstream.act = act
    body = Pieces(*[bytes((number,)) * 50_000 for number in range(200)])
    status, echo = await send(pool, "POST", body)
    assert (status, echo) == (200, b"".join(bytes((number,)) * 50_000 for number in range(200)))
    assert body.closed and body.asked == 201


async def test_an_answer_that_is_whole_before_the_body(pool: Pool, upstream: Upstream) -> None:
    def act(link: Link) -> None:
        seen = link.read_head()
        assert seen is not None
        next(link.read_pieces(seen))
        link.send(OK)
        assert link.is_left(5)

    upstream.act = act
    body = Pieces(b"x", endless=True)
    assert await send(pool, "POST", body) == (200, b"ok")
    assert body.closed
    await settle(upstream)


@pytest.mark.parametrize("where", ["waitingForAPiece", "waitingForTheUpstream", "waitingForTheAnswer", "connecting"])
async def test_who_goes_takes_everything_along(pool: Pool, upstream: Upstream, where: str) -> None:
    def act(link: Link) -> None:
        seen = link.read_head()
        if where == "waitingForTheUpstream":
            time.sleep(0.6)
        elif seen is not None and where == "waitingForTheAnswer":
            list(link.read_pieces(seen))
        assert link.is_left(5)

    upstream.act = act
    body = Pieces(b"x", endless=where == "waitingForTheUpstream")
    if where == "waitingForAPiece":
        body.pause = 30
    sending = asyncio.create_task(send(pool, "POST", body))
    await asyncio.sleep(0 if where == "connecting" else 0.3)
    sending.cancel()
    began = time.monotonic()
    await asyncio.gather(sending, return_exceptions=True)
    assert time.monotonic() - began < 0.2 and sending.cancelled()
    assert body.closed
    await settle(upstream)
    assert upstream.seen == []


async def test_who_leaves_early_leaves_nothing(pool: Pool, upstream: Upstream) -> None:
    """The head is there, the body still goes and nobody reads the reply."""

    def act(link: Link) -> None:
        link.read_head()
        link.send(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n")
        assert link.is_left(5)

    upstream.act = act
    body = Pieces(b"x", endless=True)
    async with pool.send("POST", "/", [], body) as reply:
        assert reply.status == 200
    assert body.closed
    await settle(upstream)


@pytest.mark.parametrize(
    "error", [BadRequest("It is too large.", code="payload_too_large"), KeyError("defect")], ids=repr
)
@pytest.mark.parametrize("begun", [False, True], ids=["before the head", "after the head"])
@pytest.mark.parametrize("length", [None, 100])
async def test_what_goes_wrong_with_the_body_is_told_as_it_is(
    pool: Pool, upstream: Upstream, error: Exception, begun: bool, length: int | None
) -> None:
    def act(link: Link) -> None:
        seen = link.read_head()
        assert seen is not None
        if begun:
            link.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n")
        list(link.read_pieces(seen))

    upstream.act = act
    body = Pieces(b"hello", then=error)
    body.pause = 0.2
    with pytest.raises(type(error)) as caught:
        await send(pool, "POST", body, length)
    assert caught.value is error and body.closed
    await settle(upstream)
    assert upstream.seen == [] and upstream.cuts == 1


@pytest.mark.parametrize("url", ["http://10.0.0.1", "http://127.0.0.1:1", "http://nowhere.invalid"])
async def test_a_body_that_goes_nowhere_is_closed(url: str) -> None:
    pools, body = Pools(), Pieces(b"hello")
    with pytest.raises(DispatchError):
        async with pools.open(url, ("127.0.0.1",), TIMEOUTS).send("POST", "/", [], body):
            pass
    assert body.closed and body.asked == 0
    await pools.close()


async def test_a_thousand_hang_ups(pool: Pool, upstream: Upstream) -> None:
    def act(link: Link) -> None:
        link.read_head()
        link.is_left(10)

    async def hang_up(number: int) -> None:
        body = Pieces(b"x")
        body.pause = 30
        sending = asyncio.create_task(send(pool, "POST", body))
        await asyncio.sleep(0.005 * (number % 7))
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        assert body.closed

    upstream.act = act
    for start in range(0, 1000, 50):
        await asyncio.gather(*(hang_up(start + number) for number in range(50)))
    await settle(upstream, 10.0)
    assert upstream.seen == []


# --- sent once ----------------------------------------------------------------------------------------------------


def end_at_once(link: Link) -> None:
    link.read()


def end_under_the_second(link: Link, end: str) -> None:
    """The first connection is kept and ends under the next request; all others are good."""
    good = link.upstream.connects > 1
    while (seen := link.read()) is not None:
        if not good and len(link.upstream.seen) > 1:
            if end == "resets":
                link.reset()
            return
        link.send(OK[:-2] if seen.method == "HEAD" else OK)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("end", ["closes", "resets"])
async def test_what_changes_nothing_is_sent_again(pool: Pool, upstream: Upstream, method: str, end: str) -> None:
    upstream.act = lambda link: end_under_the_second(link, end)
    await send(pool, "GET", b"")
    assert await send(pool, method, b"") == (200, b"" if method == "HEAD" else b"ok")
    assert [seen.method for seen in upstream.seen] == ["GET", method, method]
    assert upstream.connects == 2


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST", "PATCH", "GET in pieces", "POST in pieces"])
@pytest.mark.parametrize("end", ["closes", "resets"])
async def test_all_else_is_sent_once(pool: Pool, upstream: Upstream, method: str, end: str) -> None:
    upstream.act = lambda link: end_under_the_second(link, end)
    await send(pool, "GET", b"")
    verb = method.partition(" ")[0]
    with pytest.raises(DispatchError):
        await send(pool, verb, Pieces(b"x") if "pieces" in method else b"x")
    assert [seen.method for seen in upstream.seen] == ["GET", verb]
    assert await send(pool, verb, b"x") == (200, b"ok")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
async def test_a_new_connection_that_ends_is_the_answer(pool: Pool, upstream: Upstream, method: str) -> None:
    upstream.act = end_at_once
    with pytest.raises(DispatchError):
        await send(pool, method, b"")
    assert len(upstream.seen) == upstream.connects == 1
