"""Replies that go out window by window, and bodies that go on piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import orjson

from mastio.exchange.errors import DispatchError
from mastio.exchange.values import Intake, Recorded, Reply, Window
from support.pipeline_world import CHUNKED, SERVICES, World, arriving, pending
from support.replacing_inspector import Replacing, read_body


def stream(*windows: Window | Exception) -> AsyncIterator[Window]:
    async def go() -> AsyncIterator[Window]:
        for window in windows:
            if isinstance(window, Exception):
                raise window
            yield window

    return go()


SSE = [(b"content-type", b"text/event-stream")]


async def test_a_stream_releases_its_last_window_after_the_outcome() -> None:
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    world = World()
    world.reply = Reply(200, SSE, stream(Window(b"a"), Window(b"b"), Window(b"end", last=True)), close=close)
    await world.run()
    assert world.events == ["intent", ("dispatch", b"body"), 200, b"a", b"b", ("outcome", "ok"), b"end"]
    assert closed == [True]


async def test_a_stream_whose_outcome_is_not_durable_never_ends_well() -> None:
    world = World()
    world.log_fails_at = "outcome"
    world.reply = Reply(200, SSE, stream(Window(b"a"), Window(b"end", last=True)))
    await world.run()
    assert b"end" not in world.events
    assert b"audit_unavailable" in world.events[-1]


async def test_a_stream_that_breaks_ends_with_the_dialects_event() -> None:
    world = World()
    world.reply = Reply(200, SSE, stream(Window(b"a"), DispatchError("Broken off.")))
    await world.run()
    assert world.events[3:5] == [b"a", ("outcome", "failed")]
    assert orjson.loads(world.events[-1].removeprefix(b"data: "))["error"]["code"] == "upstream_error"


def chunk(text: str) -> bytes:
    return b"data: " + orjson.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}) + b"\n\n"


async def test_a_window_that_is_blocked_ends_the_stream() -> None:
    world = World(inspect=Replacing("x", "y").inspect, read={"llm.chat": read_body})
    end = Window(b"data: [DONE]\n\n", last=True)
    world.reply = Reply(200, SSE, stream(Window(chunk("ax")), Window(chunk("bad")), end))
    await world.run()
    sent = b"".join(event for event in world.events if isinstance(event, bytes))
    assert b'"ay"' in sent and b'"blocked"' in sent
    assert b"bad" not in sent and b"DONE" not in sent
    assert ("outcome", "failed") in world.events
    assert world.entries[-1].response["findings"] == [{"label": "reply.seen", "confidence": 50, "times": 1}]


class Sink:
    """Dispatches by reading the body piece by piece, `most` of them."""

    def __init__(self, world: World, most: int = 100) -> None:
        self.world, self.most, self.got = world, most, list[bytes]()

    async def dispatch(self, recorded: Recorded) -> Reply:
        assert recorded.message.stream is not None and recorded.message.raw == b""
        self.world.events.append("dispatch")
        pieces = aiter(recorded.message.stream)
        async for piece in pieces:
            self.got.append(piece)
            if len(self.got) == self.most:
                await pieces.aclose()  # type: ignore[attr-defined]
                break
        return Reply(200, [], b"ok")


def streaming(limit: int = 100, most: int = 100, **hooks: Any) -> tuple[World, Sink]:
    world = World(intake={"llm.chat": lambda head, principal: Intake(limit, streams=True)}, **hooks)
    sink = Sink(world, most)
    world.hooks = replace(world.hooks, dispatch={"llm.chat": sink.dispatch})
    return world, sink


async def test_what_is_small_is_read_all_the_same() -> None:
    world = World(intake={"llm.chat": lambda head, principal: Intake(5, streams=True)})
    await world.run(b"small", headers=[(b"content-length", b"5")])
    assert world.events[:2] == ["intent", ("dispatch", b"small")]
    assert world.entries[0].request["digest"] == SERVICES.digest(b"small")
    await world.run(b"larger", headers=[(b"content-length", b"6")])
    assert world.code == "payload_too_large"


async def test_what_has_no_body_is_watched_from_the_beginning() -> None:
    """There is no reader of a body that would notice who hangs up."""
    world, _ = streaming()

    async def dispatch(recorded: Recorded) -> Reply:
        assert recorded.message.stream is None
        world.events.append("dispatch")
        await pending()
        return Reply(200, [])

    world.hooks = replace(world.hooks, dispatch={"llm.chat": dispatch})
    world.arriving = [{"type": "http.request"}, {"type": "http.disconnect"}]
    await asyncio.wait_for(world.run(), 5)
    assert world.events == ["intent", "dispatch", ("outcome", "cancelled")]


async def test_a_body_goes_on_as_it_arrives_once_its_intent_is_durable() -> None:
    world, sink = streaming()
    world.arriving = arriving(b"one", b"", b"two")
    await world.run(headers=CHUNKED)
    assert sink.got == [b"one", b"two"]
    assert world.events == ["intent", "dispatch", ("outcome", "ok"), 200, b"ok"]
    assert "bytes" not in world.entries[0].request
    assert world.entries[1].request == {"bytes": 6, "digest": SERVICES.digest(b"onetwo")}
    world.arriving = arriving(b"x" * 70_000)
    world.hooks = replace(world.hooks, intake={"llm.chat": lambda head, principal: Intake(70_000, streams=True)})
    await world.run(headers=[(b"content-length", b"70000")])
    assert world.entries[2].request["bytes"] == 70_000


async def test_a_body_that_goes_on_is_bounded() -> None:
    world, sink = streaming(limit=70_000)
    await world.run(headers=[(b"content-length", b"70001")])
    assert (world.events[:2], world.code) == ([("event", "refused"), 413], "payload_too_large")
    world, sink = streaming(limit=5)
    world.arriving = arriving(b"one", b"two", b"three")
    await world.run(headers=CHUNKED)
    assert sink.got == [b"one"]
    assert world.events[:4] == ["intent", "dispatch", ("outcome", "failed"), 413]
    assert world.entries[1].outcome["code"] == "payload_too_large"


async def test_a_body_whose_sender_goes_away_never_ends() -> None:
    world, sink = streaming()
    world.arriving = arriving(b"one", ends=False)
    await world.run(headers=CHUNKED)
    assert sink.got == [b"one"]
    assert world.events == ["intent", "dispatch", ("outcome", "cancelled")]


async def test_a_body_that_nobody_wants_any_more_is_thrown_away() -> None:
    world, sink = streaming(most=1)
    world.arriving = arriving(b"one", b"two", b"three", ends=False)

    async def slow() -> AsyncIterator[Window]:
        yield Window(b"a")
        await pending()

    async def dispatch(recorded: Recorded) -> Reply:
        await sink.dispatch(recorded)
        return Reply(200, SSE, slow())

    world.hooks = replace(world.hooks, dispatch={"llm.chat": dispatch})
    await world.run(headers=CHUNKED)
    assert sink.got == [b"one"]
    assert world.events == ["intent", "dispatch", 200, b"a", ("outcome", "cancelled")]


class Waiting(Replacing):
    """Lets nothing go before the end."""

    def open(self, carrier: str) -> Any:
        held: list[str] = []

        class Filter:
            def feed(self, text: str) -> str:
                held.append(text)
                return ""

            def close(self) -> str:
                return "".join(held)

        return Filter()


async def test_what_was_held_back_of_a_stream_without_a_last_window_still_comes() -> None:
    world = World(inspect=Waiting("x", "y").inspect, read={"llm.chat": read_body})
    world.reply = Reply(200, SSE, stream(Window(chunk("one")), Window(chunk("two"))))
    await world.run()
    sent = b"".join(event for event in world.events if isinstance(event, bytes))
    assert sent.count(b"onetwo") == 1
    assert world.events.index(("outcome", "ok")) < len(world.events) - 1
