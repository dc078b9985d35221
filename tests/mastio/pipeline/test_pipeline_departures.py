"""A caller who hangs up while a long body is looked into: the work ends, nothing is recorded, nothing goes upstream."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace
from typing import Any

import pytest

from mastio.exchange.values import Action, Allow, Message
from mastio.host import aside
from mastio.host.metrics import Telemetry
from mastio.pipeline.asgi_io import SMALL
from mastio.pipeline.order import Pipeline
from support.pipeline_world import CHAT, SERVICES, World

LONG = replace(CHAT, limit=10 * SMALL)
BODY = b"x" * (SMALL + 1)


class Waiting:
    """A hook that waits for what never comes, and notes that it was told to stop."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.was_cancelled = False

    async def wait(self, *_: Any) -> Any:
        self.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise


def world_of(**hooks: Any) -> World:
    world = World(**hooks)
    world.pipeline = Pipeline([LONG], [("test", world.hooks)], SERVICES, Telemetry(), 1)
    return world


def hang_up_after(body: bytes) -> list[dict[str, Any]]:
    return [{"type": "http.request", "body": body, "more_body": False}, {"type": "http.disconnect"}]


@pytest.mark.parametrize("hook", ["read", "authorize"])
async def test_a_hang_up_ends_the_work_on_a_long_body(hook: str) -> None:
    waiting = Waiting()
    world = world_of(**{hook: {"llm.chat": waiting.wait} if hook == "read" else waiting.wait})
    for _ in range(2):  # the slot, of which there is one, is free again
        world.arriving = hang_up_after(BODY)
        await asyncio.wait_for(asyncio.create_task(world.run(route=LONG)), 10)
    assert waiting.was_cancelled and world.events == [] and world.entries == []


async def test_work_that_waits_for_its_turn_is_not_begun() -> None:
    done: list[str] = []

    async def look(head: Any, principal: Any, body: bytes) -> Any:
        await aside.run(False, done.append, "read")
        return Action("llm.chat", "Model", "m"), Message(body)

    gate = asyncio.Event()
    world = world_of(read={"llm.chat": look})
    world.arriving = hang_up_after(BODY)
    blocking = asyncio.create_task(aside.run(False, blocked, loop := asyncio.get_running_loop(), gate))
    await asyncio.sleep(0.01)
    await asyncio.wait_for(asyncio.create_task(world.run(route=LONG)), 10)
    loop.call_soon(gate.set)
    await blocking
    await asyncio.sleep(0.01)
    assert not done


def blocked(loop: asyncio.AbstractEventLoop, gate: asyncio.Event) -> None:
    asyncio.run_coroutine_threadsafe(gate.wait(), loop).result(30)


async def test_a_caller_who_stays_is_served() -> None:
    world = world_of()
    await world.run(BODY, route=LONG)
    assert ("dispatch", BODY) in world.events and 200 in world.events


async def test_an_exchange_that_is_stopped_otherwise_is_not_taken_for_a_hang_up() -> None:
    waiting = Waiting()
    world = world_of(authorize=waiting.wait)
    running = asyncio.create_task(world.run(BODY, route=LONG))
    await waiting.began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_from_the_intent_on_a_hang_up_has_an_outcome() -> None:
    async def allow(*_: Any) -> Allow:
        await asyncio.sleep(0)
        return Allow("rule")

    world = world_of(authorize=allow)
    await world.run(BODY, route=LONG)
    assert world.events[0] == "intent" and world.events[-1] == b"{}"


async def test_listening_leaves_no_cyclic_garbage() -> None:
    world = world_of()

    async def repeat(times: int) -> int:
        gc.collect()
        for _ in range(times):
            world.events.clear()
            world.entries.clear()
            await asyncio.create_task(world.run(BODY, route=LONG))
        await asyncio.sleep(0.001)
        return gc.collect()

    await repeat(1)
    gc.disable()
    try:
        few, many = await repeat(10), await repeat(30)
    finally:
        gc.enable()
    assert many - few < 10, f"{(many - few) / 20} objects for each exchange"
