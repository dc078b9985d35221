"""The headers of a reply are inspected where its body is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from mastio.exchange.inspection import Block, Pass, Redact
from mastio.exchange.values import Reply, Window
from support.pipeline_world import World
from support.replacing_inspector import Replacing, read_body

SECRET = "s3cret-4012-8888"
JSON = (b"content-type", b"application/json")


def open_world(watch: Any = None) -> World:
    inspector = Replacing("my", "my")
    inspector.look = (watch or Replacing(SECRET, "<X>")).look  # type: ignore[method-assign]
    return World(inspect=inspector.inspect, read={"llm.chat": read_body})


async def windows() -> AsyncIterator[Window]:
    yield Window(b'data: {"a":1}\n\n', last=True)


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_value_in_a_header_is_replaced_or_the_header_goes(is_stream: bool) -> None:
    world = open_world()
    headers = [
        JSON, (b"x-note", f"is {SECRET}!".encode()), (b"location", SECRET.replace("-", "%2D").encode()),
        (b"x-latin", SECRET.encode() + b"\xe9"), (b"set-cookie", SECRET.encode()), (b"x-clean", b"caf\xe9 #1%20a"),
        (b"date", b"Sun, 22 Nov 2026 18:00:00 GMT"),
    ]  # fmt: skip
    world.reply = Reply(200, headers, windows() if is_stream else b"{}")
    await world.run()
    assert world.headers[b"x-note"] == b"is <X>!" and b"x-latin" not in world.headers
    assert world.headers[b"location"] == b"%3CX%3E"
    for name in (b"content-type", b"set-cookie", b"x-clean", b"date"):
        assert world.headers[name] == dict(headers)[name]


class Refusing:
    async def look(self, passages: Any) -> Any:
        found = {n: "" for n, one in enumerate(passages) if SECRET in one.text}
        return Block("No.") if found else Pass()


class Breaking:
    """What is put back may have lines."""

    async def look(self, passages: Any) -> Any:
        found = {n: "a\r\nx-evil: b" for n, one in enumerate(passages) if SECRET in one.text}
        return Redact(found) if found else Pass()


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_header_may_refuse_a_reply(is_stream: bool) -> None:
    closed = []

    async def close() -> None:
        closed.append(True)

    world = open_world(Refusing())
    world.reply = Reply(200, [JSON, (b"x-note", SECRET.encode())], windows() if is_stream else b"{}", close=close)
    await world.run()
    assert 422 in world.events and world.code == "blocked" and closed == [True] * is_stream
    world = open_world(Refusing())
    world.reply = Reply(200, [JSON, (b"x-note", b"#1: nothing")], windows() if is_stream else b"{}")
    await world.run()
    assert 200 in world.events


async def test_no_header_is_written_by_a_value() -> None:
    world = open_world(Breaking())
    world.reply = Reply(200, [JSON, (b"x-note", SECRET.encode())], b"{}")
    await world.run()
    assert world.headers.keys().isdisjoint({b"x-note", b"x-evil"})
