"""What is kept, how long, how much of it, and what it looks like as bytes."""

from __future__ import annotations

import random

import pytest

from mastio_cache.cache_entry import (
    CacheEntry,
    KeptError,
    decode,
    encode,
    is_failure,
)
from mastio_cache.memory import Memory


def kept(size: int = 100, at: float = 0.0, pieces: int = 1) -> CacheEntry:
    return CacheEntry(((b"x", b"y"),), tuple(bytes(size // pieces) for _ in range(pieces)), pieces > 1, None, at)


def test_an_answer_lives_as_long_as_it_may() -> None:
    memory = Memory(10_000, ttl=60)
    memory.put(b"k", kept(at=100.0))
    assert memory.get(b"k", 159.9) is not None
    assert memory.get(b"k", 160.0) is None
    assert len(memory) == memory.bytes == 0


def test_one_who_wants_a_younger_answer_leaves_it_to_others() -> None:
    memory = Memory(10_000, ttl=60)
    memory.put(b"k", kept(at=100.0))
    assert memory.get(b"k", 110.0, max_age=9) is None
    assert memory.get(b"k", 110.0, max_age=10) is not None
    assert memory.get(b"k", 110.0) is not None


def test_a_clock_that_went_back_makes_nothing_older_than_new() -> None:
    assert kept(at=100.0).age(90.0) == 0


def test_the_one_used_last_stays() -> None:
    size = kept().size
    memory = Memory(3 * size, ttl=60)
    for key in (b"a", b"b", b"c"):
        memory.put(key, kept())
    assert memory.get(b"a", 1.0) is not None
    memory.put(b"d", kept())
    assert [memory.get(key, 1.0) is not None for key in (b"a", b"b", b"c", b"d")] == [True, False, True, True]
    assert memory.bytes == 3 * size


def test_the_bytes_are_bounded_whatever_comes() -> None:
    memory, chance = Memory(50_000, ttl=60), random.Random(7)
    for step in range(5000):
        key = b"%d" % chance.randrange(200)
        if chance.random() < 0.1:
            memory.remove(key)
        else:
            memory.put(key, kept(chance.randrange(1, 70_000), at=step, pieces=chance.randrange(1, 9)))
        assert 0 <= memory.bytes <= 50_000
    assert len(memory) > 0
    for number in range(200):
        memory.remove(b"%d" % number)
    assert memory.bytes == len(memory) == 0


def test_what_is_larger_than_all_of_it_takes_nothing_away() -> None:
    memory = Memory(5000, ttl=60)
    memory.put(b"a", kept())
    memory.put(b"b", kept(6000))
    assert memory.get(b"a", 1.0) is not None and memory.get(b"b", 1.0) is None


def test_bytes_and_back() -> None:
    one = CacheEntry(
        ((b"content-type", b"text/event-stream"), (b"x-model", b"a%2Fb")),
        (b"data: \xff\x00\n\n", b"", b"data: [DONE]\n\n"), True, {"input_tokens": 3}, 12.25,
    )  # fmt: skip
    assert decode(encode(one)) == one
    assert decode(encode(kept())) == kept()


def test_damaged_bytes_are_no_answer() -> None:
    good = encode(kept(50))
    for length in range(len(good)):
        with pytest.raises(KeptError):
            decode(good[:length])
    for bad in (b"", b"\x02" + good[1:], good + b"x", b"\x01\x00\x00\x00\x02[]", b"\x01\x00\x00\x00\x02{}", good[:5]):
        with pytest.raises(KeptError):
            decode(bad)


@pytest.mark.parametrize(
    ("body", "failed"),
    [
        (b'{"id":"x","choices":[]}', False),
        (b'{"status":"completed","error":null}', False),
        (b'{"status":"incomplete"}', False),
        (b'{"status":"failed","error":{"code":"x"}}', True),
        (b'{"status":"queued"}', True),
        (b'{"error":{"message":"no"}}', True),
        (b"[1]", False),
        (b"", True),
        (b"<html>", True),
    ],
)
def test_a_body_may_say_that_it_is_no_answer(body: bytes, failed: bool) -> None:
    assert is_failure(body) is failed
