"""Whatever an upstream does, nothing of a request to it is left: no task, no connection, no reader who waits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from mastio.exchange.errors import DispatchError, UpstreamTimeout
from mastio.outbound.upstream import Pools
from support.appliance import wait_until
from support.threats.faulty_provider import FAULTS, HOLD, Faulty, Right, Step

TIMEOUTS = {"connect": 1.0, "read": 0.4, "total": 0.8}
LIMIT = 1024 * 1024
QUESTION = b'{"stream":true}'
SLOW = {"silent", "halfHeadSilent", "dripsHead", "continueOnly", "silentInBody", "dripsBody", "longerAndSilent"}


@pytest.fixture
def provider() -> Iterator[Faulty]:
    provider = Faulty("openai")
    yield provider
    provider.close()


async def settle(provider: Faulty) -> None:
    """Closing takes a turn of the loop, and the other side a moment to notice."""
    for _ in range(100):
        if provider.open == 0 and asyncio.all_tasks() == {asyncio.current_task()}:
            return
        await asyncio.sleep(0.02)
    raise AssertionError((provider.open, asyncio.all_tasks()))


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("name", FAULTS)
async def test_nothing_is_left_of_a_fault(provider: Faulty, name: str, stream: bool) -> None:
    """Read to its end, or to the error that says why there is none."""
    pools, body = Pools(), QUESTION if stream else b"{}"
    pool = pools.open(f"http://127.0.0.1:{provider.port}/v1", ("127.0.0.1/32",), TIMEOUTS)
    provider.fault, provider.reads = FAULTS[name].act, FAULTS[name].reads
    loop, failure = asyncio.get_running_loop(), None
    began = loop.time()
    try:
        async with pool.send("POST", "/chat/completions", [], body) as reply:
            await reply.read(LIMIT)
    except DispatchError as error:
        failure = error
    assert loop.time() - began < TIMEOUTS["total"] + 0.7
    assert isinstance(failure, UpstreamTimeout) == (name in SLOW), failure
    await settle(provider)
    provider.fault = None
    async with pool.send("POST", "/chat/completions", [], body) as reply:
        assert await reply.read(LIMIT) == Right("openai", stream).body
    await pools.close()
    await settle(provider)


@pytest.mark.parametrize("when", ["beforeTheHead", "inTheBody", "unread"])
async def test_nothing_is_left_of_a_caller_who_goes(provider: Faulty, when: str) -> None:
    def act(right: Right) -> Iterator[Step]:
        if when != "beforeTheHead":
            yield right.begun()
        yield HOLD

    async def ask() -> None:
        async with pool.send("POST", "/chat/completions", [], QUESTION) as reply:
            if when == "unread":
                return
            async for _ in reply.chunks():
                begun.set()

    pools, begun = Pools(), asyncio.Event()
    pool = pools.open(f"http://127.0.0.1:{provider.port}/v1", ("127.0.0.1/32",), {})
    provider.fault = act
    asking = asyncio.create_task(ask())
    if when == "inTheBody":
        await begun.wait()
    elif when == "beforeTheHead":
        await asyncio.to_thread(wait_until, lambda: provider.arrived, 5, "the provider was asked")
    else:
        await asking
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await settle(provider)
    assert provider.left == [True]
    await pools.close()
