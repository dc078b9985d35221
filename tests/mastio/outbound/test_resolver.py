"""Names to addresses, against a server of the tests' own: all answers, in time, not for long, one lookup for many."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from mastio.outbound.resolver import RESOLVE_EVERY, Resolver
from support.dns_server import AAAA, NO_NAME, REFUSED, SERVER_FAILURE, A, Answer, Names

PUBLIC = ("93.184.216.34", "2606:2800:21f:cb07:6820:80da:af6b:8b2c")


@pytest.fixture
def names() -> Iterator[Names]:
    with Names() as names:
        yield names


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def resolver(names: Names, clock: Clock) -> AsyncIterator[Resolver]:
    resolver = Resolver([names.server], seconds=1.0, clock=clock)
    yield resolver
    await resolver.close()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def ask(resolver: Resolver, name: str) -> set[str]:
    return {str(address) for address in await resolver.resolve(name)}


async def test_all_answers_are_given(names: Names, resolver: Resolver) -> None:
    names.say("both.example", *PUBLIC, "127.0.0.1", "::1")
    assert await ask(resolver, "both.example") == {*PUBLIC, "127.0.0.1", "::1"}
    names.say("six.example", "fd00:ec2::254")
    assert await ask(resolver, "six.example") == {"fd00:ec2::254"}


@pytest.mark.parametrize("more", [{"truncated": True}, {"through": ("b.example", "c.example", "d.example")}], ids=str)
async def test_answers_that_take_a_longer_way(names: Names, resolver: Resolver, more: dict[str, object]) -> None:
    names.say("a.example", *PUBLIC, **more)
    assert await ask(resolver, "a.example") == set(PUBLIC)
    assert bool(names.by_tcp) == ("truncated" in more)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(code=NO_NAME), Answer(code=SERVER_FAILURE), Answer(code=REFUSED), Answer(), Answer(silent=True),
        Answer(("8.8.8.8",), delay=3.0), Answer(through=("nowhere.example",)),
    ],
    ids=str,
)  # fmt: skip
async def test_a_name_without_an_answer(names: Names, resolver: Resolver, clock: Clock, answer: Answer) -> None:
    """Not found in time, and not asked again at once, but soon."""
    names.say_in_turn("bad.example", answer)
    began = time.monotonic()
    with pytest.raises(OSError):
        await resolver.resolve("bad.example")
    assert time.monotonic() - began < 1.5
    asked = len(names.asked)
    with pytest.raises(OSError):
        await resolver.resolve("bad.example")
    assert len(names.asked) == asked
    names.say("bad.example", "8.8.8.8")
    clock.now += 1.01
    assert await ask(resolver, "bad.example") == {"8.8.8.8"}


def count_open() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def count_foreign_threads() -> int:
    """Those of the library's channels."""
    return len(list(Path("/proc/self/task").iterdir())) - threading.active_count()


async def test_a_slow_name_holds_nobody_up(names: Names, resolver: Resolver) -> None:
    slow, before = [f"slow{number}.example" for number in range(200)], count_foreign_threads()
    for name in slow:
        names.say(name, silent=True)
    names.say("quick.example", "8.8.8.8")
    waiting = [asyncio.create_task(resolver.resolve(name)) for name in slow]
    await asyncio.sleep(0.05)
    began = time.monotonic()
    assert await ask(resolver, "quick.example") == {"8.8.8.8"}
    assert time.monotonic() - began < 0.8
    assert not any(task.done() for task in waiting)
    assert count_foreign_threads() < before + 5
    assert all(isinstance(error, OSError) for error in await asyncio.gather(*waiting, return_exceptions=True))


@pytest.mark.parametrize(("ttl", "kept"), [(0, 1.0), (7, 7.0), (86_400, RESOLVE_EVERY)])
async def test_how_long_an_answer_is_kept(
    names: Names, resolver: Resolver, clock: Clock, ttl: int, kept: float
) -> None:
    names.say_in_turn("a.example", Answer(("8.8.8.8",), ttl), Answer(("127.0.0.1",), ttl))
    assert await ask(resolver, "a.example") == {"8.8.8.8"}
    clock.now += kept - 0.01
    assert await ask(resolver, "a.example") == {"8.8.8.8"}
    assert names.count("a.example") == 1
    clock.now += 0.02
    assert await ask(resolver, "a.example") == {"127.0.0.1"}
    assert names.count("a.example") == names.count("a.example", AAAA) == 2


async def test_many_at_once_are_one_lookup(names: Names, resolver: Resolver) -> None:
    names.say("a.example", "8.8.8.8", delay=0.2)
    found = await asyncio.gather(*(ask(resolver, "a.example") for _ in range(200)))
    assert found == [{"8.8.8.8"}] * 200
    assert names.count("a.example", A) == 1


async def test_who_leaves_takes_nobody_along(names: Names, resolver: Resolver) -> None:
    names.say("a.example", "8.8.8.8", delay=0.2)
    first, second = (asyncio.create_task(ask(resolver, "a.example")) for _ in range(2))
    await asyncio.sleep(0.05)
    first.cancel()
    assert await second == {"8.8.8.8"}
    assert first.cancelled()


async def test_a_lookup_that_nobody_waits_for_ends(names: Names, resolver: Resolver) -> None:
    names.say("a.example", "8.8.8.8", delay=0.2)
    waiting = asyncio.create_task(ask(resolver, "a.example"))
    await asyncio.sleep(0.05)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await asyncio.sleep(0.01)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert await ask(resolver, "a.example") == {"8.8.8.8"}


async def test_closing_ends_who_waits(names: Names, resolver: Resolver) -> None:
    names.say("a.example", silent=True)
    waiting = asyncio.create_task(resolver.resolve("a.example"))
    await asyncio.sleep(0.05)
    await resolver.close()
    with pytest.raises(OSError):
        await waiting


async def test_lookups_one_after_the_other_leave_nothing(names: Names, resolver: Resolver, clock: Clock) -> None:
    for number in range(100):
        names.say(f"a{number}.example", "8.8.8.8", ttl=3600)
    before = None
    for number in range(100):
        assert await ask(resolver, f"a{number}.example") == {"8.8.8.8"}
        if number == 20:
            before = count_open()
    await asyncio.sleep(0.2)
    assert before is not None and count_open() <= before + 3


async def test_loopback_names_are_nobodys_to_answer(names: Names, resolver: Resolver) -> None:
    for name in ("localhost", "a.localhost"):
        names.say(name, "8.8.8.8")
        assert await ask(resolver, name) == {"127.0.0.1", "::1"}
    assert not names.asked


async def test_numbers_are_names_like_any_other(names: Names, resolver: Resolver) -> None:
    """What `getaddrinfo` of the C library would take for loopback."""
    for spelling in ("127.1", "0x7f000001", "2130706433", "0177.0.0.1"):
        with pytest.raises(OSError):
            await resolver.resolve(spelling)


async def test_the_system_is_asked_by_default() -> None:
    resolver = Resolver()
    assert "127.0.0.1" in await ask(resolver, "localhost")
    await resolver.close()
