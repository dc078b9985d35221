"""`GET /v1/models` asks the providers for their models: one that does wrong has none, and the others' are listed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from mastio_client import Identity
from support.appliance import Appliance, Stub, wait_until
from support.threats.faulty_provider import FAULTS, HOLD, Faulty, says
from support.threats.faulty_scene import describe, described, tcp_sockets

GOOD = b'{"object":"list","data":[{"id":"listed"}]}'
ODD = (
    b'{"data":{}}',
    b'{"data":[1,null,{"id":7},{"id":""},{"name":"x"}]}',
    b'{"data":"listed"}',
    b"[]",
    b'{"data":null}',
)


@pytest.fixture
def client(appliance: Appliance, agent: Identity) -> Iterator[httpx.Client]:
    with appliance.by_certificate(agent) as opened:
        yield opened


def listed(client: httpx.Client) -> set[str]:
    reply = client.get("/v1/models")
    assert reply.status_code == 200, reply.text
    return {item["id"] for item in reply.json()["data"]}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault(appliance: Appliance, client: httpx.Client, stub: Stub, name: str) -> None:
    provider = Faulty("openai", fault=FAULTS[name].act, reads=FAULTS[name].reads)
    with described(appliance, **describe("lists", "openai", provider.port)):
        names = listed(client)
        assert "stub/gpt-4o" in names and not any(one.startswith("lists/") for one in names)
        wait_until(lambda: provider.open == 0, 5, "the provider's connections ended")
        wait_until(lambda: tcp_sockets(appliance, provider.port) == 0, 2, "the worker's descriptors are closed")
    provider.close()


@pytest.mark.parametrize("body", [GOOD, *ODD])
def test_what_it_lists(appliance: Appliance, client: httpx.Client, body: bytes) -> None:
    provider = Faulty("openai", fault=says(lambda right: right.whole(body)))
    with described(appliance, **describe("lists", "openai", provider.port)):
        assert ("lists/listed" in listed(client)) == (body == GOOD)
    provider.close()


def test_silent_ones_are_not_waited_for_one_after_the_other(appliance: Appliance, client: httpx.Client) -> None:
    """Without timeouts of their own."""
    silent = [Faulty("openai", fault=says(lambda right: (HOLD,))) for _ in range(3)]
    with ExitStack() as stack:
        for number, provider in enumerate(silent):
            stack.callback(provider.close)
            stack.enter_context(
                described(appliance, **describe(f"silent-{number}", "openai", provider.port, connect=9))
            )
        started = time.monotonic()
        assert "stub/gpt-4o" in listed(client)
        assert time.monotonic() - started < 8
        assert all(provider.arrived for provider in silent)
