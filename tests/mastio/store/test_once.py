"""What may be used once, on every database."""

from __future__ import annotations

import asyncio

import pytest

from mastio.store.once import SWEEP_EVERY, Once
from support.stores import NOW, Opened


@pytest.mark.parametrize(
    "name", ["plain", "a\0b", "\u2028 \U0001f511 é", "x" * 10_000], ids=["plain", "nul", "odd", "long"]
)
async def test_a_name_is_used_once_whatever_it_is(opened: Opened, name: str) -> None:
    workers = [Once(opened.database) for _ in range(4)]
    answers = await asyncio.gather(*(worker.use(name, NOW + 300, NOW) for worker in workers))
    assert sorted(answers) == [False, False, False, True]
    assert await workers[0].use(name + "!", NOW + 300, NOW)


async def test_what_expired_is_forgotten_only_when_no_clock_is_so_far_behind(opened: Opened) -> None:
    assert await Once(opened.database).use("assertion", NOW + 60, NOW)
    ahead, behind = Once(opened.database), Once(opened.database)
    assert await ahead.use("another", NOW + 400, NOW + 70)  # a replica ten seconds ahead sweeps
    assert not await behind.use("assertion", NOW + 60, NOW + 59)
    later = NOW + 61 + SWEEP_EVERY
    assert await Once(opened.database).use("third", later + 60, later)
    assert await behind.use("assertion", later + 60, later)
