"""An exchange leaves nothing that only a search through all garbage would find: such a search stops every exchange."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple

import pytest

from mastio.exchange.errors import BadRequest, Denied, DispatchError
from mastio.exchange.values import Intake, Recorded, Reply, Window
from mastio.host.metrics import Telemetry
from mastio.pipeline.order import Pipeline
from support.pipeline_world import CHAT, CHUNKED, SERVICES, World, arriving

SSE = [(b"content-type", b"text/event-stream")]
ROUNDS = 20


async def two_windows() -> AsyncIterator[Window]:
    yield Window(b"data: 1\n\n")
    await asyncio.sleep(0)
    yield Window(b"data: 2\n\n", last=True)


async def broken() -> AsyncIterator[Window]:
    yield Window(b"data: 1\n\n")
    raise DispatchError("Broken off.")


async def endless() -> AsyncIterator[Window]:
    yield Window(b"data: 1\n\n")
    await asyncio.Event().wait()


def take_in(limit: int) -> Mapping[str, Any]:
    """A body that goes on as it arrives."""
    return {"llm.chat": lambda head, principal: Intake(limit, streams=True)}


async def gather(recorded: Recorded) -> Reply:
    assert recorded.message.stream is not None
    return Reply(200, [], b"".join([piece async for piece in recorded.message.stream]))


async def deny(*_: Any) -> Any:
    raise Denied("No.")


def refuse(*_: Any) -> Any:
    raise BadRequest("No.")


class Kind(NamedTuple):
    """A kind of exchange, and how it ends."""

    end: Any
    reply: Callable[[], Any] = lambda: Reply(200, [], b"{}")
    hooks: Mapping[str, Any] = {}
    arriving: Callable[[], list[dict[str, Any]]] = list
    headers: Any = ()


def hang_up() -> list[dict[str, Any]]:
    return [{"type": "http.request", "body": b"body", "more_body": False}, {"type": "http.disconnect"}]


PIECES = {"intake": take_in(100), "dispatch": {"llm.chat": gather}}
FEW = {"intake": take_in(3), "dispatch": {"llm.chat": gather}}
KINDS = {
    "plain": Kind(("outcome", "ok")),
    "stream": Kind(("outcome", "ok"), lambda: Reply(200, SSE, two_windows())),
    "broken stream": Kind(("outcome", "failed"), lambda: Reply(200, SSE, broken())),
    "failure": Kind(("outcome", "failed"), lambda: DispatchError("It failed.")),
    "refusal": Kind(("event", "refused"), hooks={"authorize": deny}),
    "malformed": Kind(("event", "refused"), hooks={"read": {"llm.chat": refuse}}),
    "hang-up": Kind(("outcome", "cancelled"), lambda: Reply(200, SSE, endless()), arriving=hang_up),
    "pieces": Kind(("outcome", "ok"), hooks=PIECES, arriving=lambda: arriving(b"a", b"b"), headers=CHUNKED),
    "too large": Kind(
        ("outcome", "failed"), hooks=FEW, arriving=lambda: arriving(b"ab", b"cd", ends=False), headers=CHUNKED
    ),
}


@pytest.mark.parametrize("name", KINDS)
async def test_an_exchange_leaves_no_cyclic_garbage(name: str) -> None:
    kind = KINDS[name]
    world = World(**kind.hooks)
    world.pipeline = Pipeline([CHAT], [("test", world.hooks)], SERVICES, Telemetry(), 10)

    async def exchange() -> None:
        world.events.clear()
        world.entries.clear()
        world.reply, world.arriving = kind.reply(), kind.arriving()
        await world.run(headers=kind.headers)
        assert kind.end in world.events

    async def repeat(times: int) -> int:
        """The objects that only the collector finds afterwards."""
        gc.collect()
        for _ in range(times):
            await asyncio.create_task(exchange())
        await asyncio.sleep(0.001)  # whatever was cancelled ends
        return gc.collect()

    await repeat(1)
    gc.disable()
    gc.freeze()  # what the whole run has in memory is not searched again
    try:
        few, many = await repeat(ROUNDS), await repeat(3 * ROUNDS)
    finally:
        gc.unfreeze()
        gc.enable()
    assert many - few < ROUNDS, f"{(many - few) / (2 * ROUNDS)} objects for each exchange"
