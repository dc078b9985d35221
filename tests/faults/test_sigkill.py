"""Strikes under load, again and again: nothing lost, nothing twice, nothing unexplained.

A worker or control is killed; the database server goes away at once, or stands still for a while.
"""

import asyncio
import json
import os
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import asyncpg
import httpx
import pytest

from mastio_audit.log.postgres import dsn
from mastio_client import Identity
from support.appliance import Appliance, Stub, open_appliance, wait_until
from support.journals import ClientJournal, judge
from support.postgresql import create_database, run_server
from support.replica import open_replica
from support.tier import repeat

BODY = {"model": "stub/gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
CALLERS = 8
OF_CONTROL = 0.2
"""The part of the strikes that is for control."""

ROUNDS = int(os.environ.get("MASTIO_KILL_ROUNDS", "0")) or repeat(10, 200)
"""Strikes of each kind."""


def call_until(
    appliance: Appliance, identity: Identity, stop: threading.Event, journal: ClientJournal, *, stream: bool
) -> None:
    """One caller: calls without pause, by certificate, and notes what it saw."""
    with appliance.by_certificate(identity) as client:
        while not stop.is_set():
            try:
                reply = client.post("/v1/chat/completions", json={**BODY, "stream": stream})
            except httpx.HTTPError:
                journal.broken += 1
                continue
            complete = reply.status_code == 200 and (not stream or reply.text.rstrip().endswith("data: [DONE]"))
            if complete:
                journal.answered.append(reply.headers["x-request-id"])
            elif reply.status_code == 200:
                journal.broken += 1
            else:
                journal.refused[reply.status_code] += 1
                time.sleep(0.02)


@pytest.mark.alone
@pytest.mark.parametrize("workers", [1, 4])
def test_sigkill_under_load(workers: int) -> None:
    with open_appliance(stub=("--latency", "5ms"), workers=workers) as (appliance, stub):
        assert stub is not None
        kill_and_judge([appliance], stub, ROUNDS, appliance.entries)


@pytest.mark.alone
def test_sigkill_of_replicas_under_load(postgresql: str) -> None:
    """Two appliances, two workers each, on one log and one authority."""
    url = create_database(postgresql)
    with open_appliance(stub=("--latency", "5ms"), workers=2, database=url) as (first, stub):
        assert stub is not None
        with open_replica(first, url) as second:
            kill_and_judge([first, second], stub, ROUNDS, lambda: asyncio.run(read_entries(url)))


@pytest.mark.alone
def test_postgresql_restarts_and_pauses_under_load() -> None:
    with run_server() as server:
        url = create_database(server.url)
        with open_appliance(stub=("--latency", "5ms"), workers=2, database=url) as (appliance, stub):
            assert stub is not None

            def strike(draw: random.Random) -> None:
                away, back = draw.choice([(server.stop, server.start), (server.pause, server.resume)])
                away()
                time.sleep(draw.uniform(0.5, 5))  # longer than a commit may take, now and then
                back()

            strike_and_judge(strike, [appliance], stub, 6, lambda: asyncio.run(read_entries(url)))


async def read_entries(url: str) -> list[dict[str, Any]]:
    connection = await asyncpg.connect(dsn(url))
    try:
        rows = await connection.fetch("SELECT entry FROM audit_entries ORDER BY seq")
        return [json.loads(row["entry"]) for row in rows]
    finally:
        await connection.close()


def kill_and_judge(
    appliances: list[Appliance], stub: Stub, rounds: int, entries: Callable[[], list[dict[str, Any]]]
) -> None:
    """Kill one worker after the other, and control now and then."""

    def kill(draw: random.Random) -> None:
        victim = draw.choice(appliances)
        with suppress(ProcessLookupError):  # the last one is not replaced yet
            if draw.random() < OF_CONTROL:
                victim.kill_control()
            else:
                victim.kill_worker(draw.randrange(victim.workers))

    strike_and_judge(kill, appliances, stub, rounds, entries)


def strike_and_judge(
    strike: Callable[[random.Random], None],
    appliances: list[Appliance],
    stub: Stub,
    rounds: int,
    entries: Callable[[], list[dict[str, Any]]],
) -> None:
    """Strike again and again while everybody is called; then compare what three parties know. Recovery is counted
    from the moment that `strike` returns."""
    draw = random.Random(20_261_121)
    identity = appliances[0].enroll("caller")
    stop = threading.Event()
    journals = [ClientJournal() for _ in range(CALLERS)]
    callers = [
        threading.Thread(
            target=call_until,
            args=(appliances[number % len(appliances)], identity, stop, journal),
            kwargs={"stream": number % 3 == 0},
            daemon=True,
        )
        for number, journal in enumerate(journals)
    ]
    appliances[0].settle(*appliances[1:])
    for caller in callers:
        caller.start()
    recoveries = []
    try:
        for _ in range(rounds):
            time.sleep(draw.uniform(0.05, 0.4))
            strike(draw)
            answered, struck = sum(len(journal.answered) for journal in journals), time.monotonic()
            wait_until(
                lambda seen=answered: sum(len(j.answered) for j in journals) > seen + 20, 20, "calls succeed again"
            )
            recoveries.append(time.monotonic() - struck)
    finally:
        stop.set()
        for caller in callers:
            caller.join(30)
    for appliance in appliances:
        appliance.stop()
        appliance.start()  # closes what the last kill may have left
    client = ClientJournal([name for journal in journals for name in journal.answered])
    verdict = judge(client, stub.arrivals(), entries())
    unknown = sum(1 for e in entries() if e["phase"] == "outcome" and e["outcome"]["status"] == "unknown")
    print(
        f"\n{rounds} strikes: {len(client.answered)} answered, {sum(j.broken for j in journals)} broken off, "
        f"{sum(sum(j.refused.values()) for j in journals)} refused, {unknown} closed as unknown; "
        f"lost {len(verdict.lost)}, duplicated {len(verdict.duplicated)}, unexplained {len(verdict.unexplained)}; "
        f"slowest recovery {max(recoveries):.1f} s"
    )
    assert verdict.clean, verdict
    assert set().union(*(j.refused for j in journals)) <= {502, 503, 504}
    assert max(recoveries) < 10
    assert unknown > 0  # the rounds did cut exchanges
    assert all(appliance.verify() == 0 for appliance in appliances)
