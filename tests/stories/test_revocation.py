"""Revoked at t: at t + 1 s nobody is served any more, and what was being served has ended (promise 5)."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from mastio_client.identity import Identity
from support.appliance import Appliance, Stub, open_appliance, wait_until

CHAT = "/v1/chat/completions"
STREAM = {"model": "stub/m", "messages": [{"role": "user", "content": "go on"}], "stream": True}
JSON = {"Content-Type": "application/json"}
WORKERS = 4


@pytest.fixture(scope="module")
def opened() -> Iterator[tuple[Appliance, Stub]]:
    """A provider whose streams last 30 s."""
    with open_appliance(workers=WORKERS, stub=("--latency", "100ms", "--chunks", "300")) as (appliance, stub):
        assert stub is not None
        yield appliance, stub


@dataclass
class Open:
    """A stream as its client sees it."""

    lines: list[str] = field(default_factory=list)
    ended_at: float | None = None
    broken: str | None = None
    request_id: str = ""
    begun: threading.Event = field(default_factory=threading.Event)

    def read(self, client: httpx.Client, **more: Any) -> None:
        try:
            with client, client.stream("POST", CHAT, json=STREAM, **more) as response:
                self.request_id = response.headers["x-request-id"]
                for line in response.iter_lines():
                    self.lines.append(line)
                    if line.startswith("data:"):
                        self.begun.set()
        except httpx.HTTPError as error:
            self.broken = repr(error)
        self.ended_at = time.monotonic()

    @property
    def last(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads([line for line in self.lines if line][-1].removeprefix("data:"))
        return said


class Streams:
    """Streams that are open at once."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(32)
        self._running: list[Future[None]] = []

    def open(self, make: Callable[[], httpx.Client], count: int, **more: Any) -> list[Open]:
        made = [Open() for _ in range(count)]
        self._running += [self._pool.submit(one.read, make(), **more) for one in made]
        for one in made:
            assert one.begun.wait(20), one.broken
        return made

    def finish(self) -> None:
        for one in self._running:
            one.result(40)
        self._pool.shutdown()


def cut_within(streams: list[Open], at: float, code: str) -> float:
    """Every one ended within a second after `at`, whole, with the dialect's error event. How long the slowest took."""
    wait_until(lambda: all(one.ended_at is not None for one in streams), 10, "the streams end")
    for one in streams:
        assert one.broken is None
        assert one.last["error"]["code"] == code
        assert "data: [DONE]" not in one.lines
    took = max((one.ended_at or 0) - at for one in streams)
    assert took <= 1.0, took
    return took


def test_open_streams_of_a_revoked_agent_end_and_those_of_others_do_not(opened: tuple[Appliance, Stub]) -> None:
    appliance, _ = opened
    revoked, other = appliance.enroll("revoked"), appliance.enroll("other")
    streams = Streams()
    mine = streams.open(lambda: appliance.by_certificate(revoked), 4)
    mine += streams.open(lambda: appliance.agent(revoked), 8)  # each client has a token of its own: on every worker
    theirs = streams.open(lambda: appliance.by_certificate(other), 2)
    with appliance.admin() as admin:
        at = time.monotonic()
        assert admin.post("/v1/admin/agents/revoked/revoke", json={"reason": "stolen"}).status_code == 200
    cut_within(mine, at, "agent_inactive")
    seen = [len(one.lines) for one in theirs]
    time.sleep(0.5)
    assert all(one.ended_at is None and len(one.lines) > before for one, before in zip(theirs, seen, strict=True))
    for one in mine:
        entries = appliance.entries_of(one.request_id)
        assert [entry["phase"] for entry in entries] == ["intent", "outcome"]
        assert entries[1]["outcome"] == {"code": "agent_inactive", "status": "failed"}
    with appliance.admin() as admin:
        at = time.monotonic()
        assert admin.patch("/v1/admin/agents/other", json={"status": "suspended"}).status_code == 200
    cut_within(theirs, at, "agent_inactive")
    streams.finish()
    assert appliance.verify() == 0


def test_the_provider_is_let_go(opened: tuple[Appliance, Stub]) -> None:
    """A stream that was cut is closed towards the provider too: nothing goes on being paid for."""
    appliance, stub = opened
    identity = appliance.enroll("costly")
    streams = Streams()
    mine = streams.open(lambda: appliance.by_certificate(identity), 1)
    with appliance.admin() as admin:
        at = time.monotonic()
        assert admin.post("/v1/admin/agents/costly/revoke", json={}).status_code == 200
    cut_within(mine, at, "agent_inactive")
    streams.finish()
    wait_until(
        lambda: any(line.get("event") == "hangup" for line in stub.journal()), 5, "the provider sees the hang-up"
    )


def test_a_key_that_is_removed_ends_its_streams_alone(opened: tuple[Appliance, Stub]) -> None:
    appliance, _ = opened
    identity = appliance.enroll("keyed")
    with appliance.admin() as admin:
        assert admin.patch("/v1/admin/agents/keyed", json={"api_keys": True}).status_code == 200
        made = admin.post("/v1/admin/agents/keyed/api-keys", json={}).json()
    appliance.settle()
    streams = Streams()
    by_key = streams.open(appliance.client, 2, headers={"Authorization": f"Bearer {made['key']}"})
    by_certificate = streams.open(lambda: appliance.by_certificate(identity), 1)
    with appliance.admin() as admin:
        at = time.monotonic()
        assert admin.delete(f"/v1/admin/agents/keyed/api-keys/{made['id']}").status_code == 204
    cut_within(by_key, at, "invalid_api_key")
    assert by_certificate[0].ended_at is None
    with appliance.admin() as admin:
        admin.post("/v1/admin/agents/keyed/revoke", json={})
    streams.finish()


# --- a body that takes its time ---------------------------------------------------------------------------------------


def in_two_parts(body: bytes, between: Callable[[], Any]) -> Iterator[bytes]:
    """The body; between its parts something happens and has a second to be known, or `nothing` does."""
    yield body[:20]
    if between is not nothing:
        time.sleep(0.3)  # the first part is there
        between()
        time.sleep(1)
    yield body[20:]


def nothing() -> None:
    """What happens in the good case."""


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("how", ["certificate", "proof", "key"])
def test_a_body_that_is_complete_after_the_revocation_is_too_late(
    opened: tuple[Appliance, Stub], how: str, stream: bool
) -> None:
    appliance, stub = opened
    name = f"late-{how}-{stream}".lower()
    identity, path = appliance.enroll(name), f"/v1/admin/agents/{name}"
    body = json.dumps({**STREAM, "stream": stream}).encode()
    with appliance.admin() as admin:
        assert admin.patch(path, json={"api_keys": True}).status_code == 200
        key = admin.post(f"{path}/api-keys", json={}).json()
        appliance.settle()
        clients = {
            "certificate": lambda: appliance.by_certificate(identity),
            "proof": lambda: appliance.agent(identity),
            "key": lambda: appliance.client(headers={"Authorization": f"Bearer {key['key']}"}),
        }
        ends = {
            "certificate": lambda: admin.post(f"{path}/revoke", json={}),
            "proof": lambda: admin.patch(path, json={"status": "suspended"}),
            "key": lambda: admin.delete(f"{path}/api-keys/{key['id']}"),
        }
        with clients[how]() as client:
            assert client.get("/v1/agents/self").status_code == 200  # from here on it has token and nonce
            plain = json.dumps({**STREAM, "stream": False}).encode()
            assert client.post(CHAT, content=in_two_parts(plain, nothing), headers=JSON).status_code == 200
            arrived = stub.arrivals()
            late = client.post(CHAT, content=in_two_parts(body, ends[how]), headers=JSON)
    assert late.status_code == 401
    assert late.json()["error"]["code"] == ("invalid_api_key" if how == "key" else "agent_inactive")
    assert stub.arrivals() == arrived
    assert [entry["phase"] for entry in appliance.entries_of(late.headers["x-request-id"])] == ["event"]


def test_an_admin_who_was_removed_finishes_nothing(opened: tuple[Appliance, Stub]) -> None:
    appliance, _ = opened
    policies = "/v1/admin/policies"
    with appliance.admin() as admin:
        made = admin.post("/v1/admin/admins", json={"name": "leaving", "role": "admin"}).json()
        appliance.settle()
        with appliance.client(headers={"Authorization": f"Bearer {made['token']}"}) as leaving:

            def post(name: str, between: Callable[[], Any]) -> int:
                body = json.dumps({"name": name, "cedar": "permit (principal, action, resource);"}).encode()
                return leaving.post(policies, content=in_two_parts(body, between), headers=JSON).status_code

            assert post("in-time", nothing) == 201
            assert admin.delete(f"{policies}/in-time").status_code == 204
            assert post("too-late", lambda: admin.delete("/v1/admin/admins/leaving")) == 401
        assert admin.get(f"{policies}/too-late").status_code == 404


def served(appliance: Appliance, identity: Identity) -> list[int]:
    """What each of some new connections is answered, by certificate and by proof."""
    statuses = []
    for make in (appliance.by_certificate, appliance.agent):
        for _ in range(3):
            with make(identity) as client:
                try:
                    statuses.append(client.get("/v1/agents/self").status_code)
                except httpx.HTTPError:
                    statuses.append(0)  # no token is given to it
    return statuses


def test_whoever_is_reactivated_is_served_again(opened: tuple[Appliance, Stub]) -> None:
    appliance, _ = opened
    identity = appliance.enroll("back")
    assert served(appliance, identity) == [200] * 6
    with appliance.admin() as admin:
        admin.post("/v1/admin/agents/back/revoke", json={})
        appliance.settle()
        assert set(served(appliance, identity)) <= {0, 401}
        admin.post("/v1/admin/agents/back/reactivate", json={})
    appliance.settle()
    assert served(appliance, identity) == [200] * 6
