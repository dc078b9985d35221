"""What is under way when its agent is revoked or its connection deleted: over within a second, wherever it stands."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count

import httpx
import pytest

from support.appliance import wait_until
from support.egress_scene import PIECE, Scene, open_scene
from support.raw_upstream import Cut, Link, Upstream

WITHIN = 1.0
"""Seconds (promise 5)."""

SLACK = 0.5
AGAIN = count()


class Watched:
    """An upstream that says when a connection to it ended; what it does first stands in the path."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.ended_at = 0.0
        self.whole = False

    def act(self, link: Link) -> None:
        seen = link.read_head()
        if seen is None:
            return
        with suppress(Cut, OSError):
            getattr(self, seen.path.strip("/"))(link)
        self.ended_at = time.monotonic()

    def silent(self, link: Link) -> None:
        """Never answers."""
        self.begun.set()
        link.is_left()

    def trickles(self, link: Link) -> None:
        link.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            link.send(b"1\r\n.\r\n")
            self.begun.set()
            time.sleep(0.02)

    def reads(self, link: Link) -> None:
        """A body that does not end."""
        self.begun.set()
        while link.connection.recv(65536):
            pass

    def stuffed(self, link: Link) -> None:
        """Takes nothing of the body, so that who sends it waits."""
        time.sleep(0.5)
        self.begun.set()
        link.connection.settimeout(0.05)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with suppress(TimeoutError):
                link.send(b"HTTP/1.1 100 Continue\r\n\r\n")  # fails once the other side is gone
            time.sleep(0.02)


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with open_scene(workers=2) as opened:
        yield opened


def endless(watched: Watched, is_slow: bool) -> Iterator[bytes]:
    """The library looks for a reply only when it has sent all."""
    end = time.monotonic() + 20
    while not watched.ended_at and time.monotonic() < end:
        yield PIECE
        time.sleep(0.05 if is_slow else 0)


def ask(client: httpx.Client, name: str, way: str, watched: Watched, said: list[str]) -> None:
    """Keep what it ended with: a code, or that it broke off."""
    body = endless(watched, way == "reads") if way in ("reads", "stuffed") else None
    try:
        reply = client.request("GET" if body is None else "POST", f"/v1/egress/{name}/{way}", content=body, timeout=20)
        said.append(reply.json()["code"])
    except httpx.HTTPError:
        said.append("broken off")


@pytest.mark.parametrize("cause", ["deleted", "revoked"])
@pytest.mark.parametrize("way", ["silent", "trickles", "reads", "stuffed"])
def test_it_ends(scene: Scene, way: str, cause: str) -> None:
    name, watched, said = f"{way}-{cause}-{next(AGAIN)}", Watched(), list[str]()
    identity = scene.appliance.enroll(name)
    with Upstream(act=watched.act) as upstream, scene.appliance.agent(identity) as agent:
        scene.connect(name, base_url=upstream.url(), paths=[f"/{way}"])
        wait_until(lambda: agent.get(f"/v1/egress/{name}/").status_code == 403, 5, "the connection is known")
        asking = threading.Thread(target=ask, args=(agent, name, way, watched, said))
        asking.start()
        assert watched.begun.wait(10)
        at = time.monotonic()
        if cause == "deleted":
            assert scene.admin.delete(f"/v1/admin/connections/{name}").status_code == 204
        else:
            assert scene.admin.post(f"/v1/admin/agents/{name}/revoke", json={"reason": "x"}).status_code == 200
        asking.join(10)
        wait_until(lambda: watched.ended_at > 0, 10, "the upstream is left")
        assert watched.ended_at - at < WITHIN + SLACK
        code = "not_found" if cause == "deleted" else "agent_inactive"
        assert said in ([code], ["broken off"])
        outcomes = [e["outcome"] for e in scene.appliance.entries() if e["target"] == name and e["phase"] == "outcome"]
        assert outcomes[-1] == {"code": code, "status": "failed"}


def test_the_twin_goes_on(scene: Scene) -> None:
    """Another connection is deleted, another agent revoked, and its own connection changed."""
    watched, said = Watched(), list[str]()
    with Upstream(act=watched.act) as upstream:
        scene.connect("goes-on", base_url=upstream.url(), paths=["/trickles"])
        scene.connect("other", base_url=upstream.url())
        wait_until(lambda: scene.call("GET", "/", "goes-on").status_code == 403, 5, "the connection is known")
        scene.appliance.enroll("other")
        asking = threading.Thread(target=ask, args=(scene.agent, "goes-on", "trickles", watched, said))
        asking.start()
        assert watched.begun.wait(10)
        assert scene.admin.delete("/v1/admin/connections/other").status_code == 204
        assert scene.admin.post("/v1/admin/agents/other/revoke", json={}).status_code == 200
        assert scene.admin.patch("/v1/admin/connections/goes-on", json={"paths": ["/x"]}).status_code == 200
        time.sleep(WITHIN + SLACK)
        assert watched.ended_at == 0 and not said
        assert scene.admin.delete("/v1/admin/connections/goes-on").status_code == 204
        asking.join(10)
