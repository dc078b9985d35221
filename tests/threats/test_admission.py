"""Callers who hold on to what they are given: slow bodies without a credential, slow and large bodies of one agent.

Whatever they hold, other agents, admins and probes are served. The attacks are those that stopped an appliance once,
against one with fewer slots.
"""

from __future__ import annotations

import itertools
import json
import ssl
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from mastio_client import Identity
from support.appliance import NGINX, Appliance, Stub, wait_until
from support.threats.judge import connect

SLOTS, SHARE, OPEN, ADMINS = 40, 10, 6, 4
MEGABYTE = 1024 * 1024
ROOM = 8
"""Megabytes of bodies that one caller may have."""

NUMBERS = itertools.count()
CHAT = "/v1/chat/completions"
CALL = {"model": "stub/gpt-4o", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture(scope="module")
def appliance() -> Iterator[Appliance]:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with tempfile.TemporaryDirectory(prefix="mastio-") as folder, ExitStack() as stack:
        opened = Appliance(Path(folder) / "d")
        figures = {
            "MAX_IN_FLIGHT": SLOTS,
            "AGENT_SHARE": SHARE / SLOTS,
            "OPEN_IN_FLIGHT": OPEN,
            "ADMIN_IN_FLIGHT": ADMINS,
            "CALLER_BODY_MEGABYTES": ROOM,
        }
        opened.environment = {f"MASTIO_SERVER__{name}": str(value) for name, value in figures.items()}
        stub = Stub(Path(folder))
        stack.callback(stub.stop)
        stack.callback(opened.stop)
        opened.start()
        opened.add_provider(stub)
        yield opened


@pytest.fixture(scope="module")
def good(appliance: Appliance) -> Identity:
    return appliance.enroll("good")


@pytest.fixture(scope="module")
def mallory(appliance: Appliance) -> Identity:
    return appliance.enroll("mallory")


@contextmanager
def held(
    appliance: Appliance, count: int, head: str, identity: Identity | None = None
) -> Iterator[list[ssl.SSLSocket]]:
    """Connections that have sent the head and the first byte of a body, and send no more."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(connect(appliance, identity)) for _ in range(count)]
        for one in sockets:
            one.sendall(head.encode() + b"{")
        yield sockets


def drip(path: str, length: int) -> str:
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )


def is_served(appliance: Appliance, good: Identity) -> None:
    """An agent by each credential, a new token, an admin who revokes, an enrolment, a probe."""
    with appliance.by_certificate(good) as agent:
        assert agent.post(CHAT, json=CALL).status_code == 200
    with appliance.agent(good) as agent:  # asks for a token first, without a certificate
        assert agent.post(CHAT, json=CALL).status_code == 200
    name = f"condemned-{next(NUMBERS)}"
    appliance.enroll(name)
    with appliance.admin() as admin:
        assert admin.post(f"/v1/admin/agents/{name}/revoke").status_code == 200
        assert admin.get("/v1/admin/agents").status_code == 200
    with appliance.client() as stranger:
        assert stranger.get("/readyz").status_code == 200
        assert stranger.get("/pki/crl.pem").status_code == 200


@pytest.mark.parametrize("path", ["/oauth/token", "/v1/enrollments", "/.well-known/est/simpleenroll"])
def test_slow_bodies_without_a_credential_take_no_slot(appliance: Appliance, good: Identity, path: str) -> None:
    everything = SLOTS + OPEN + ADMINS + 20
    with held(appliance, everything, drip(path, 2000)):
        is_served(appliance, good)


def test_slow_bodies_where_a_credential_is_needed_are_answered_at_once(appliance: Appliance, good: Identity) -> None:
    with held(appliance, SLOTS + 20, drip(CHAT, 2000)) as sockets:
        assert all(b"401" in one.recv(100) for one in sockets)
        is_served(appliance, good)


def test_a_slow_body_without_a_credential_ends_at_the_edge(appliance: Appliance) -> None:
    """nginx gives up a body that pauses; the worker never saw the request."""
    with held(appliance, 1, drip("/oauth/token", 2000)) as (one,):
        one.settimeout(20)
        one.recv(100)
    wait_until(lambda: slow_ends(appliance), 5, "the edge says how it ended")
    assert all(line["id"] == "" for line in slow_ends(appliance)), "the worker gave it an id"


def slow_ends(appliance: Appliance) -> list[dict[str, object]]:
    """The edge's lines of requests for tokens that took too long."""
    text = (appliance.data / "logs" / "edge-access.log").read_bytes()
    lines = [json.loads(line) for line in text.splitlines()]
    return [line for line in lines if line["path"] == "/oauth/token" and line["status"] == 408]


def test_one_agent_has_its_share_of_slots_and_no_more(appliance: Appliance, good: Identity, mallory: Identity) -> None:
    with held(appliance, SHARE + 1, drip(CHAT, 2000), mallory) as sockets:
        wait_until(lambda: refused_of(sockets), 4, "the last of them has no slot")
        with appliance.by_certificate(mallory) as agent:
            refused = agent.post(CHAT, json=CALL)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert refused.json()["error"]["code"] == "rate_limited"
        is_served(appliance, good)
        (entry,) = appliance.entries_of(refused.headers["x-request-id"])
        assert (entry["agent"], entry["decision"]["rule"]) == ("mallory", "admission/share")
    with appliance.by_certificate(mallory) as agent:
        wait_until(lambda: agent.post(CHAT, json=CALL).status_code == 200, 5, "the slots are free again")


def refused_of(sockets: list[ssl.SSLSocket]) -> list[ssl.SSLSocket]:
    """Those that have been answered, all with 429."""
    answered = []
    for one in sockets:
        one.settimeout(0.01)
        with suppress(TimeoutError):
            assert b" 429 " in one.recv(100)
            answered.append(one)
    return answered


def test_many_agents_leave_slots_for_one_more(appliance: Appliance, good: Identity, mallory: Identity) -> None:
    with ExitStack() as stack:
        for number in range(6):
            greedy = appliance.enroll(f"greedy-{number}")
            stack.enter_context(held(appliance, SHARE, drip(CHAT, 2000), greedy))
        is_served(appliance, good)


def test_unfinished_bodies_of_one_agent_have_bounded_memory(
    appliance: Appliance, good: Identity, mallory: Identity
) -> None:
    size = 3 * MEGABYTE
    head = drip(CHAT, size)
    body = b"x" * (size - 10)
    with appliance.by_certificate(mallory) as agent:
        assert agent.post(CHAT, json=CALL).status_code == 200
    before = memory_of(appliance)
    with held(appliance, SHARE, head, mallory) as sockets, ThreadPoolExecutor(SHARE) as pool:
        for one in sockets:
            one.settimeout(1)
            pool.submit(sender(one, body))
        pool.shutdown()
        grown = settled_memory_of(appliance) - before
        print(f"{SHARE} unfinished bodies of {size} bytes: {grown / MEGABYTE:.1f} MB more")
        assert grown < (ROOM + 10) * MEGABYTE
        is_served(appliance, good)


def sender(one: ssl.SSLSocket, body: bytes) -> Callable[[], None]:
    def send() -> None:
        with suppress(TimeoutError):  # it is not read, as it should be
            one.sendall(body)

    return send


def settled_memory_of(appliance: Appliance) -> int:
    """As `memory_of`, once it grows no more: what was sent is still on its way for a moment."""
    seen = [memory_of(appliance)]

    def is_settled() -> bool:
        seen.append(memory_of(appliance))
        return len(seen) > 20 and seen[-1] - seen[-20] < MEGABYTE // 2

    wait_until(is_settled, 20, "memory grows no more")
    return seen[-1]


def memory_of(appliance: Appliance) -> int:
    """Bytes of the workers' resident memory."""
    return appliance.memory()


def test_large_bodies_of_one_agent_wait_for_room_and_are_served(appliance: Appliance, mallory: Identity) -> None:
    content = json.dumps({**CALL, "messages": [{"role": "user", "content": "lorem ipsum " * 250_000}]})

    def call(_: int) -> int:
        with appliance.by_certificate(mallory) as agent:
            return agent.post(CHAT, content=content, headers={"content-type": "application/json"}).status_code

    with ThreadPoolExecutor(SHARE - 2) as pool:
        assert set(pool.map(call, range(SHARE - 2))) == {200}
