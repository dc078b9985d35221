"""Budgets under load: many agents, four workers, streams and hang-ups, and not one token or request too many."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from mastio_client import Identity
from support.appliance import Appliance, open_appliance, wait_until
from support.budgets import BUDGETS, make, read
from support.postgresql import create_database

ANSWER = 20
BODY = {"model": "stub/gpt-4o", "messages": [{"role": "user", "content": "hello"}], "max_tokens": ANSWER}
BOUND = len(json.dumps({**BODY, "stream": True}).encode()) + ANSWER
"""No token is shorter than a byte."""


class Crowd:
    """Agents that call at once, and what became of their calls."""

    def __init__(self, appliance: Appliance, identities: list[Identity]) -> None:
        self._appliance = appliance
        self._identities = identities
        self._chance = random.Random(7)
        self.seen: Counter[str] = Counter()
        self.refusals: list[httpx.Response] = []

    def call(self, requests: int, at_once: int) -> None:
        asyncio.run(self._call(requests, at_once))
        gc.collect()  # what the client library leaves of calls that were cut in their handshake is this test's own

    async def _call(self, requests: int, at_once: int) -> None:
        gate = asyncio.Semaphore(at_once)
        clients = [
            httpx.AsyncClient(
                base_url=self._appliance.base_url, verify=self._appliance.tls(identity), trust_env=False, timeout=30
            )
            for identity in self._identities
        ]
        try:
            await asyncio.gather(*(self._one(gate, clients[n % len(clients)], n) for n in range(requests)))
        finally:
            await asyncio.gather(*(client.aclose() for client in clients))

    async def _one(self, gate: asyncio.Semaphore, client: httpx.AsyncClient, number: int) -> None:
        stream, cut = number % 3 == 0, number % 10 == 0
        async with gate:
            try:
                async with asyncio.timeout(self._chance.uniform(0.001, 0.1) if cut else 30):
                    await self._ask(client, stream)
            except TimeoutError:
                self.seen["cut"] += 1
            except httpx.HTTPError:
                self.seen["broken"] += 1

    async def _ask(self, client: httpx.AsyncClient, stream: bool) -> None:
        async with client.stream("POST", "/v1/chat/completions", json={**BODY, "stream": stream}) as reply:
            await reply.aread()
        self.seen[str(reply.status_code)] += 1
        if reply.status_code == 429:
            self.refusals.append(reply)


def used(entries: list[dict[str, Any]], *names: str) -> int:
    """What the audit log says was used."""
    usages = [entry["usage"] for entry in entries if entry["phase"] == "outcome" and entry["usage"]]
    return sum(usage.get(name, 0) for usage in usages for name in names)


def outcomes(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in entries if entry["phase"] == "outcome" and entry["kind"] == "llm.chat"]


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_nothing_is_overspent(
    database: str, request: pytest.FixtureRequest, read_log: Callable[[Appliance, str], list[dict[str, Any]]]
) -> None:
    url = create_database(request.getfixturevalue("postgresql")) if database == "postgresql" else ""
    with open_appliance(stub=("--latency", "20ms"), workers=4, database=url) as (appliance, stub):
        assert stub is not None
        identities = [appliance.enroll(f"agent-{number}") for number in range(12)]
        limit = 40_000
        make(
            appliance,
            calls={"limit_requests": 1_000_000, "period": "day"},
            money={"limit_usd": 1_000, "period": "total", "model": "stub/*"},
            tokens={"limit_tokens": limit, "period": "total"},
        )
        crowd = Crowd(appliance, identities)
        crowd.call(2_000, 300)
        ended = time.monotonic()
        wait_until(lambda: read(appliance, "tokens")["reserved"] == 0, 2, "nothing is set aside any more")
        wait_until(lambda: read(appliance, "calls")["reserved"] == read(appliance, "money")["reserved"] == 0, 2, "")
        print(crowd.seen, f"reserved 0 after {time.monotonic() - ended:.2f} s")
        tokens, calls, money = (read(appliance, name) for name in ("tokens", "calls", "money"))
        entries = read_log(appliance, url)
    assert crowd.seen["200"] > 200 and crowd.seen["429"] > 200 and set(crowd.seen) <= {"200", "429", "cut", "broken"}
    assert tokens["spent"] == used(entries, "input_tokens", "output_tokens") <= limit
    assert 0 <= tokens["left"] < BOUND, "somebody was refused who would have had room"
    assert money["spent"] * 10**9 == pytest.approx(used(entries, "cost_nano_usd"), abs=0.1) and money["spent"] > 0
    assert calls["spent"] == len(outcomes(entries))
    assert set(stub.arrivals()) <= {entry["id"] for entry in outcomes(entries)}
    refused = crowd.refusals[-1]
    error = refused.json()["error"]
    assert (error["type"], error["code"]) == ("budget_exceeded", "budget_exceeded")
    assert "The budget tokens has" in error["message"] and int(refused.headers["retry-after"]) in (1, 3600)
    assert refused.headers["x-ratelimit-limit-tokens"] == str(limit)
    assert int(refused.headers["x-ratelimit-remaining-tokens"]) < BOUND
    [event] = [entry for entry in entries if entry["id"] == refused.headers["x-request-id"]]
    assert event["decision"] == {"effect": "deny", "rule": "budget/tokens"}
    assert event["outcome"] == {"status": "refused", "code": "budget_exceeded"}


def mastio(data: Any, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mastio", "budgets", *words, "--data", str(data)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_budgets_on_the_command_line(appliance: Appliance, agent: Identity) -> None:
    """Added, felt, seen, raised, removed."""
    data = appliance.data
    made = mastio(data, "add", "line", "--agent", "agent-one", "--requests", "1", "--period", "month", "--json")
    assert made.returncode == 0 and json.loads(made.stdout)["left"] == 1
    money = mastio(data, "add", "money", "--model", "stub/*", "--usd", "12.345678901", "--period", "total")
    assert money.returncode == 0 and "12.345678901" in money.stdout
    with appliance.by_certificate(agent) as client, appliance.admin() as admin:
        statuses = [client.post("/v1/chat/completions", json=BODY).status_code for _ in range(3)]
        assert statuses == [200, 429, 429]
        assert client.get("/v1/models").status_code == client.get("/v1/agents/self").status_code == 200
        wait_until(lambda: read(appliance, "line")["spent"] == 1, 2, "it is reported")
        assert [row["name"] for row in json.loads(mastio(data, "list", "--json").stdout)] == ["line", "money"]
        shown = mastio(data, "show", "line")
        assert "spent           1\n" in shown.stdout and "renews_at" in shown.stdout
        assert admin.patch(f"{BUDGETS}/line", json={"limit_requests": 2}).json()["left"] == 1
        statuses = [client.post("/v1/chat/completions", json=BODY).status_code for _ in range(2)]
        assert statuses == [200, 429]
        assert "agent-one" in mastio(data, "list").stdout
        expected = (
            'mastio_budget_spent{budget="line",unit="requests"} 2.0',
            'mastio_budget_limit{budget="money",unit="usd"} 12.345678901',
            'mastio_budget_refusals_total{budget="line"} 3.0',
        )
        wait_until(lambda: all(one in admin.get("/metrics").text for one in expected), 8, "the figures are shown")
        assert [mastio(data, "remove", name).returncode for name in ("line", "money")] == [0, 0]
        assert client.post("/v1/chat/completions", json=BODY).status_code == 200
    assert mastio(data, "show", "line").returncode == 1
    wrong = mastio(data, "add", "two", "--agent", "a", "--usd", "-1", "--period", "day")
    assert wrong.returncode in (1, 2)
    assert mastio(data, "add", "two", "--period", "day").returncode == 2


def test_a_slot_is_free_again_however_its_call_ends() -> None:
    more = "[limits]\nconcurrent_per_agent = 2\n"
    with open_appliance(stub=("--latency", "400ms"), more=more) as (appliance, stub):
        assert stub is not None
        one, other = appliance.enroll("one"), appliance.enroll("other")
        body = {**BODY, "stream": True}
        with appliance.by_certificate(one) as client, appliance.by_certificate(other) as second:
            with (
                client.stream("POST", "/v1/chat/completions", json=body) as first,
                client.stream("POST", "/v1/chat/completions", json=body),
            ):
                refused = client.post("/v1/chat/completions", json=BODY)
                assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
                assert refused.json()["error"]["code"] == "rate_limited"
                assert second.post("/v1/chat/completions", json=BODY).status_code == 200
                assert client.get("/v1/agents/self").status_code == 200
                first.read()
            statuses = []  # one has ended, the other hung up
            deadline = time.monotonic() + 5
            while statuses[-2:] != [200, 200] and time.monotonic() < deadline:
                statuses.append(client.post("/v1/chat/completions", json=BODY).status_code)
            assert statuses[-2:] == [200, 200]
            assert client.post("/v1/chat/completions", json={**BODY, "max_tokens": -1}).status_code == 422
            with client.stream("POST", "/v1/chat/completions", json=body) as third:
                assert third.status_code == 200
        [event] = appliance.entries_of(refused.headers["x-request-id"])
        assert event["decision"] == {"effect": "deny", "rule": "limits/concurrent_per_agent"}
