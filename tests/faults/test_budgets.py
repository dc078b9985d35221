"""Budgets while workers are killed and the database is away: what nobody knows counts as spent, and nothing sticks."""

from __future__ import annotations

import json
import random
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import httpx
import pytest

from mastio_client import Identity
from support.appliance import Appliance, open_appliance, wait_until
from support.postgresql import create_database
from support.replica import open_replica

BODY = {"model": "stub/gpt-4o", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 10}
BUDGETS = "/v1/admin/budgets"
CALLERS = 8
WRITTEN = 10


def make(appliance: Appliance, **members: Any) -> None:
    with appliance.admin() as admin:
        made = admin.post(BUDGETS, json={"name": "b", **members})
        assert made.status_code == 201, made.text
    appliance.settle()


def read(appliance: Appliance) -> dict[str, Any]:
    with appliance.admin() as admin:
        found: dict[str, Any] = admin.get(f"{BUDGETS}/b").json()
        return found


def call_until(appliance: Appliance, identity: Identity, stop: threading.Event, seen: Counter[int]) -> None:
    """Calls without pause, every third a stream; 0 is a call that broke off."""
    with appliance.by_certificate(identity) as client:
        while not stop.is_set():
            try:
                reply = client.post("/v1/chat/completions", json={**BODY, "stream": sum(seen.values()) % 3 == 0})
                seen[reply.status_code] += 1
            except httpx.HTTPError:
                seen[0] += 1


@pytest.fixture(params=["one", "replicas"])
def appliances(request: pytest.FixtureRequest) -> Iterator[tuple[list[Appliance], Any]]:
    with ExitStack() as stack:
        stub = ("--latency", "100ms")  # long enough that a worker is killed with exchanges under way
        if request.param == "one":
            first, provider = stack.enter_context(open_appliance(stub=stub, workers=4))
            yield [first], provider
            return
        url = create_database(request.getfixturevalue("postgresql"))
        first, provider = stack.enter_context(open_appliance(stub=stub, workers=2, database=url))
        yield [first, stack.enter_context(open_replica(first, url))], provider


def test_a_killed_workers_lease_overspends_nothing(appliances: tuple[list[Appliance], Any]) -> None:
    """The truth is the provider's: what reached it, and what each call costs there."""
    nodes, stub = appliances
    longest = len(json.dumps({**BODY, "stream": False}).encode())
    limit = 90 * (longest + WRITTEN)
    identities = [nodes[0].enroll(f"caller-{number}") for number in range(CALLERS)]
    make(nodes[0], limit_tokens=limit, period="total")
    stop, seen, chance = threading.Event(), [Counter[int]() for _ in identities], random.Random(3)
    callers = [
        threading.Thread(target=call_until, args=(nodes[n % len(nodes)], identity, stop, seen[n]), daemon=True)
        for n, identity in enumerate(identities)
    ]
    for caller in callers:
        caller.start()
    try:
        for _ in range(6):
            time.sleep(chance.uniform(0.1, 0.3))
            victim = chance.choice(nodes)
            with suppress(ProcessLookupError):
                victim.kill_worker(chance.randrange(victim.workers))
        wait_until(lambda: sum(one[429] for one in seen) > 50, 30, "the budget is spent")
    finally:
        stop.set()
        for caller in callers:
            caller.join(30)
    for node in nodes:
        node.wait_ready()
    wait_until(lambda: read(nodes[0])["reserved"] == 0, 5, "nothing is set aside any more")
    budget, calls = read(nodes[0]), len(stub.arrivals())
    least = calls * (longest // 4)  # each was read there, whether or not it was answered
    total = sum(seen, Counter[int]())
    print(f"\n{dict(total)}; {calls} calls upstream; spent {budget['spent']} of {limit}")
    assert least <= limit and budget["spent"] <= limit and budget["spent"] >= total[200] * (longest // 4 + WRITTEN)
    assert total[200] > 20 and calls > total[200], "the kills did cut exchanges"
    assert set(total) <= {0, 200, 429, 502, 503, 504}


def test_without_its_database_a_budget_refuses_and_comes_back_by_itself() -> None:
    with open_appliance() as (appliance, _):
        agent = appliance.enroll("caller")
        make(appliance, limit_requests=1000, period="day")
        with appliance.by_certificate(agent) as client:
            assert client.post("/v1/chat/completions", json=BODY).status_code == 200
            time.sleep(1.5)  # what it had spare is given back
            lock = sqlite3.connect(appliance.data / "db" / "control.sqlite", isolation_level=None)
            lock.execute("BEGIN EXCLUSIVE")
            try:
                refused = client.post("/v1/chat/completions", json=BODY)
            finally:
                lock.execute("ROLLBACK")
                lock.close()
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "store_unavailable")
            assert refused.headers["retry-after"] == "1"
            wait_until(lambda: client.post("/v1/chat/completions", json=BODY).status_code == 200, 10, "service again")
        wait_until(lambda: read(appliance)["reserved"] == 0, 2, "nothing is set aside any more")
        assert read(appliance)["spent"] == len(
            [e for e in appliance.entries() if e["phase"] == "outcome" and e["usage"]]
        )
