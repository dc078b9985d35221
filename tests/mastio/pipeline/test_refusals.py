"""Entries for refused callers without a credential: bounded for each address and for all, the rest counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from mastio.exchange.errors import AuditError
from mastio.host.metrics import Telemetry
from mastio.pipeline import refusal_log
from mastio.pipeline.order import MOST_PATH, Pipeline
from mastio.pipeline.refusal_rate import ALL_TIMES, KIND, MOST_ADDRESSES, MOST_TOLD, Refusals, describe, network_of
from support.pipeline_world import CHAT, SERVICES, World


def test_so_many_at_once_and_so_many_a_second() -> None:
    refusals = Refusals(10, 2)
    assert sum(refusals.takes("192.0.2.1", 100.0) for _ in range(50)) == 10
    assert sum(refusals.takes("192.0.2.1", 101.0) for _ in range(50)) == 2
    assert refusals.takes("192.0.2.2", 101.0), "another address has its own"
    assert refusals.take_counted() == {"192.0.2.1": 88}
    assert not refusals.pending


def test_all_addresses_together_have_a_bound() -> None:
    refusals = Refusals(10, 1)
    taken = sum(refusals.takes(f"192.0.{n // 250}.{n % 250}", 100.0) for n in range(1000))
    assert taken == 10 * ALL_TIMES
    assert refusals.take_counted().total() == 1000 - taken


def test_the_table_of_addresses_is_bounded() -> None:
    refusals = Refusals(1, 0.001)
    for n in range(3 * MOST_ADDRESSES):
        refusals.takes(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}", 100.0)
    assert len(refusals._buckets) <= MOST_ADDRESSES + 1
    assert len(refusals.take_counted()) <= MOST_ADDRESSES + 1


def test_an_address_that_was_quiet_is_forgotten_for_a_new_one() -> None:
    refusals = Refusals(1, 1)
    for n in range(MOST_ADDRESSES):
        refusals.takes(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}", float(n))
    assert refusals.takes("192.0.2.1", 1e6)
    assert "192.0.2.1" in refusals._buckets


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:ffff:ffff:ffff", "2001:db8::/64"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
        ("", "others"),
    ],
)
def test_what_counts_as_one_address(address: str, network: str) -> None:
    assert network_of(address) == network


def test_the_counted_entry_names_the_busiest_addresses() -> None:
    entry = describe(Counter({f"192.0.2.{n}": n + 1 for n in range(20)}), "name")
    assert entry.kind == KIND and entry.request is not None
    assert entry.request["refused"] == sum(range(1, 21))
    assert len(entry.request["addresses"]) == MOST_TOLD and entry.request["more_addresses"] == 4
    assert entry.request["addresses"][0] == {"address": "192.0.2.19", "refused": 20}


def stranger(refusals: Refusals) -> World:
    world = World(authenticate=lambda head: None)
    world.pipeline = Pipeline([CHAT], [("test", world.hooks)], SERVICES, Telemetry(), 10, refusals=refusals)
    return world


async def test_the_pipeline_counts_beyond_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusal_log, "EVERY", 0.01)
    world = stranger(Refusals(3, 0.001))
    for _ in range(10):
        await world.run()
        assert world.code == "missing_credential", "the answer is the same"
    assert [entry.kind for entry in world.entries] == ["llm.chat"] * 3
    await asyncio.sleep(0.05)
    assert [entry.kind for entry in world.entries] == ["llm.chat"] * 3 + [KIND]
    assert world.entries[-1].request["refused"] == 7


async def test_what_is_counted_is_recorded_at_the_end() -> None:
    world = stranger(Refusals(1, 0.001))
    for _ in range(3):
        await world.run()
    assert world.pipeline is not None
    await world.pipeline.close()
    assert world.entries[-1].request["refused"] == 2


async def test_a_count_that_cannot_be_recorded_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusal_log, "EVERY", 0.01)
    closed = [True]
    told: list[Any] = []

    async def record(entry: Any) -> int:
        if closed[0]:
            raise AuditError("The log is closed.")
        told.append(entry)
        return 0

    log = refusal_log.RefusalLog(Refusals(1, 0.001), record, lambda: 1.0)
    assert log.takes("192.0.2.1")
    assert not log.takes("192.0.2.1")
    await asyncio.sleep(0.03)
    closed[0] = False
    await asyncio.sleep(0.03)
    assert [entry.request["refused"] for entry in told] == [1]


async def test_a_count_that_is_being_recorded_at_the_end_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusal_log, "EVERY", 0.001)
    begun, going_on = asyncio.Event(), asyncio.Event()
    told: list[Any] = []

    async def record(entry: Any) -> int:
        begun.set()
        await going_on.wait()
        told.append(entry)
        return 0

    log = refusal_log.RefusalLog(Refusals(1, 0.001), record, lambda: 1.0)
    assert log.takes("192.0.2.1") and not log.takes("192.0.2.1")
    await begun.wait()
    assert not log.takes("192.0.2.1"), "one more, while the first is being recorded"
    closing = asyncio.create_task(log.close())
    await asyncio.sleep(0)
    going_on.set()
    await closing
    assert [entry.request["refused"] for entry in told] == [1, 1]


async def test_a_count_waits_for_no_clock_at_the_end() -> None:
    told: list[Any] = []

    async def record(entry: Any) -> int:
        told.append(entry)
        return 0

    log = refusal_log.RefusalLog(Refusals(1, 0.001), record, lambda: 1.0)
    assert log.takes("192.0.2.1") and not log.takes("192.0.2.1")
    await asyncio.sleep(0)
    async with asyncio.timeout(refusal_log.EVERY / 2):
        await log.close()
    assert [entry.request["refused"] for entry in told] == [1]


@pytest.mark.parametrize("error", [asyncio.CancelledError, ZeroDivisionError])
async def test_a_count_is_kept_whatever_happens(error: type[BaseException]) -> None:
    async def record(entry: Any) -> int:
        raise error

    refusals = Refusals(1, 0.001)
    log = refusal_log.RefusalLog(refusals, record, lambda: 1.0)
    assert refusals.takes("192.0.2.1", 1.0) and not refusals.takes("192.0.2.1", 1.0)
    with pytest.raises(error):
        await log.close()
    assert refusals.take_counted() == {"192.0.2.1": 1}


async def test_an_agent_is_always_recorded() -> None:
    world = World(authorize=None)
    world.hooks = World(authorize=deny, record=world.record).hooks
    world.pipeline = Pipeline([CHAT], [("test", world.hooks)], SERVICES, Telemetry(), 10, refusals=Refusals(1, 0.001))
    for _ in range(5):
        await world.run()
    assert len(world.entries) == 5


async def deny(*_: Any) -> None:
    return None


async def test_a_long_path_is_cut_to_its_beginning_and_a_digest() -> None:
    world = World(authenticate=lambda head: None)
    path = "/chat/" + "x" * 7000
    head = replace(world.head_of(), path=path)
    world.head_of = lambda headers, route: head  # type: ignore[method-assign,assignment]
    await world.run()
    said = world.entries[-1].request["path"]
    assert said.startswith(path[: MOST_PATH // 2] + "... (7006 characters, digest ")
    assert len(said) < 400


def test_challenges_keep_nobody_from_enrolling() -> None:
    async def record(entry: Any) -> int:
        return 0

    log = refusal_log.RefusalLog(Refusals(5, 0.001), record, lambda: 1.0)
    while log._refusals.takes("192.0.2.1", 1.0):
        pass
    assert log.has_left("192.0.2.1")
    for _ in range(5):
        log.spend("192.0.2.1")
    assert not log.has_left("192.0.2.1") and log.has_left("192.0.2.2")
