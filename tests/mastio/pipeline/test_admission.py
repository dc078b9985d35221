"""Slots and room for bodies: what one caller may have, and what is left for the others."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from mastio.exchange.errors import BadRequest, Denied, MastioError, Unavailable
from mastio.exchange.values import Action, Message, Principal, Route
from mastio.host.metrics import Telemetry
from mastio.pipeline.admission import DESK_BYTES, MOST_WAITING, Admission, Room, Shares, Slots
from mastio.pipeline.asgi_io import SMALL, STEP, read_body
from mastio.pipeline.order import Pipeline
from support.pipeline_world import CHAT, CHUNKED, SERVICES, World, arriving

DOCUMENT = Route("/pki/ca.crt", ("GET",), frozenset(), "pki", "", recorded="none")
ENROL = Route("/v1/enrollments", ("POST",), frozenset(), "enrollment.request", "")


def make(total: int, most: int) -> Slots:
    return Slots(total, most, Room(100))


def fill(slots: Slots, caller: str) -> int:
    """Take slots until one is refused; returns how many there were."""
    count = 0
    while slots.take(caller) is None:
        count += 1
    return count


def agent(name: str) -> Principal:
    return Principal(name, frozenset({"agent"}))


class TestSlots:
    def test_one_caller_has_its_share(self) -> None:
        slots = make(100, 25)
        assert fill(slots, "greedy") == 25
        error = slots.take("greedy")
        assert isinstance(error, Denied) and (error.status, error.code) == (429, "rate_limited")
        assert dict(error.headers)["Retry-After"] == "1"
        assert slots.take("another") is None

    def test_many_greedy_callers_leave_some_for_a_new_one(self) -> None:
        slots = make(100, 25)
        taken = [fill(slots, f"greedy-{number}") for number in range(6)]
        assert sum(taken) < 100 and min(taken) >= 1, taken
        assert slots.take("new") is None

    def test_a_slot_that_was_given_back_is_free(self) -> None:
        slots = make(4, 4)
        assert fill(slots, "one") == 2, "as many as are left for others"
        slots.give("one")
        slots.give("one")
        assert (slots.held("one"), slots.free) == (0, 4)
        assert fill(slots, "one") == 2

    def test_without_any_slot_nobody_is_admitted(self) -> None:
        assert isinstance(make(0, 1).take("one"), Unavailable)


class TestRoom:
    async def test_a_body_waits_until_there_is_room(self) -> None:
        room = Room(100)
        await room.take("one", 60)
        waiting = [asyncio.ensure_future(room.take("one", size)) for size in (60, 10)]
        await asyncio.sleep(0)
        assert not any(one.done() for one in waiting), "in the order in which they came"
        await asyncio.wait_for(room.take("another", 60), 1)
        room.give("one", 60)
        await asyncio.gather(*waiting)
        assert room.used("one") == 70

    async def test_a_single_body_always_has_room(self) -> None:
        room = Room(10)
        await asyncio.wait_for(room.take("one", 1000), 1)
        with pytest.raises(Denied):
            room.grow("one", 1)
        room.give("one", 1000)
        room.grow("one", 1000)

    async def test_whoever_stops_waiting_keeps_nobody_waiting(self) -> None:
        room = Room(100)
        await room.take("one", 60)
        first, second = (asyncio.ensure_future(room.take("one", size)) for size in (90, 20))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait_for(second, 1)
        assert room.used("one") == 80
        room.give("one", 60)
        room.give("one", 20)
        assert room.used("one") == 0

    async def test_room_that_is_given_to_who_has_gone_comes_back(self) -> None:
        room = Room(100)
        await room.take("one", 60)
        waiting = asyncio.ensure_future(room.take("one", 60))
        await asyncio.sleep(0)
        room.give("one", 60)
        waiting.cancel()
        await asyncio.wait((waiting,))
        assert room.used("one") == 0

    async def test_so_many_wait_and_no_more(self) -> None:
        room = Room(10)
        await room.take("one", 10)
        waiting = [asyncio.ensure_future(room.take("one", 1)) for _ in range(MOST_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(Denied):
            await room.take("one", 1)
        for one in waiting:
            one.cancel()
        await asyncio.wait(waiting)


class TestAdmission:
    def test_each_kind_of_caller_has_slots_of_its_own(self) -> None:
        admission = Admission(Shares(agents=4, admins=2, strangers=2, agent_share=1.0))
        refusals = 0
        for number in range(10):
            try:
                admission.admit(agent(f"a-{number}"))
            except MastioError:
                refusals += 1
        assert refusals
        for number in range(10):
            with suppress(MastioError):
                admission.admit(Principal(f"auditor-{number}", frozenset({"auditor"})))
        admission.admit(Principal("root", frozenset({"admin", "operator", "auditor"})))
        admission.admit(Principal("operator", frozenset({"operator"})))
        assert admission.admit_stranger(ENROL, "192.0.2.1") is not None
        with pytest.raises(Unavailable):
            for number in range(10):
                admission.admit_stranger(ENROL, f"192.0.2.{number}")
        assert admission.admit_stranger(DOCUMENT, "192.0.2.1") is None, "a probe needs none"


async def read(pieces: list[dict[str, Any]], admission: Admission, headers: Any = ()) -> bytes:
    """A body as the pipeline reads it."""
    world = World()
    ticket = admission.admit(agent("alice"))
    try:
        head = world.head_of(headers)
        return await read_body(head, receiver(pieces), 10 * 1024 * 1024, ticket)
    finally:
        ticket.end()


def receiver(pieces: list[dict[str, Any]]) -> Any:
    left = list(pieces)

    async def receive() -> dict[str, Any]:
        return left.pop(0)

    return receive


class TestBodies:
    """The room of a body is what it holds in memory."""

    async def test_a_body_of_unknown_length_takes_room_as_it_grows(self) -> None:
        admission = Admission(Shares(body_bytes=2 * STEP))
        pieces = arriving(*[b"x" * SMALL] * 8)
        assert len(await read(pieces, admission, CHUNKED)) == 8 * SMALL
        other = admission.admit(agent("alice"))
        other.grow(2 * STEP)
        with pytest.raises(Denied):
            await read(pieces, admission, CHUNKED)
        other.end()
        assert await read(pieces, admission, CHUNKED)

    async def test_a_small_body_needs_no_room(self) -> None:
        admission = Admission(Shares(body_bytes=1))
        other = admission.admit(agent("alice"))
        other.grow(100)
        assert await read(arriving(b"x" * 100, b"y" * 100), admission, CHUNKED)
        assert await read(arriving(b"x" * 100, b"y"), admission, [(b"content-length", b"101")])

    async def test_room_is_given_back_with_the_slot(self) -> None:
        admission = Admission(Shares(body_bytes=SMALL * 4))
        pieces = arriving(b"x" * SMALL, b"x" * SMALL, b"x" * SMALL)
        for _ in range(5):
            await asyncio.wait_for(read(pieces, admission, [(b"content-length", b"%d" % (3 * SMALL))]), 1)

    async def test_a_stranger_has_little_time(self) -> None:
        world = World()
        head = world.head_of([(b"content-length", b"10")])

        async def receive() -> dict[str, Any]:
            if not pieces:
                await asyncio.Event().wait()
            return pieces.pop()

        pieces = [{"type": "http.request", "body": b"x", "more_body": True}]
        with pytest.raises(BadRequest) as refused:
            await read_body(head, receive, 100, None, 0.01)
        assert refused.value.code == "request_timeout"


async def test_an_agent_beyond_its_share_is_refused_and_recorded() -> None:
    inside = asyncio.Event()
    release = asyncio.Event()
    world = World()

    async def wait(recorded: Any) -> Any:
        inside.set()
        await release.wait()
        return world.reply

    world.hooks = World(dispatch={"llm.chat": wait}, record=world.record).hooks
    admission = Admission(Shares(agents=4, agent_share=0.25))
    world.pipeline = Pipeline([CHAT], [("test", world.hooks)], SERVICES, Telemetry(), 4, admission=admission)
    first = asyncio.create_task(world.run())
    await inside.wait()
    await world.run()
    assert world.code == "rate_limited"
    assert world.entries[-1].agent == "alice" and world.entries[-1].decision["rule"] == "admission/share"
    release.set()
    await first
    await world.run()
    assert world.events[-1] == b"{}" or 200 in world.events[-3:]


async def test_long_bodies_of_one_caller_are_looked_into_one_after_the_other() -> None:
    looking, most = 0, 0
    body = b"x" * (DESK_BYTES // 2 + 1)

    async def look(head: Any, principal: Any, raw: bytes) -> Any:
        nonlocal looking, most
        looking, most = looking + 1, max(most, looking + 1)
        await asyncio.sleep(0.005)
        looking -= 1
        return Action("llm.chat", "Model", "m"), Message(raw)

    route = replace(CHAT, limit=10 * 1024 * 1024)
    worlds = [World() for _ in range(4)]
    shared = Pipeline([route], [("test", replace(worlds[0].hooks, read={"llm.chat": look}))], SERVICES, Telemetry(), 9)
    for world in worlds:
        world.pipeline = shared
    await asyncio.gather(*(world.run(body, route=route) for world in worlds))
    assert most == 1
    short = b"x" * (DESK_BYTES // 4)
    await asyncio.gather(*(world.run(short, route=route) for world in worlds))
    assert most == 4


async def test_room_at_the_desk_is_given_back_however_the_look_ends() -> None:
    async def fail(*_: Any) -> Any:
        raise BadRequest("No.")

    world, route = World(), replace(CHAT, limit=10 * 1024 * 1024)
    admission = Admission(Shares())
    hooks = replace(world.hooks, read={"llm.chat": fail})
    world.pipeline = Pipeline([route], [("test", hooks)], SERVICES, Telemetry(), 9, admission=admission)
    for _ in range(3):
        await asyncio.wait_for(world.run(b"x" * DESK_BYTES, route=route), 5)
    assert admission.admit(agent("alice"))._slots.desk.used("alice") == 0
