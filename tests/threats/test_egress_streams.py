"""Large, slow and broken-off bodies through a connection: nothing is kept in memory, and nothing is left behind."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from support.appliance import wait_until
from support.egress_scene import PIECE, Scene, open_scene

MIB = 1024 * 1024
LARGE = 100 * MIB
MOST_GROWTH = 16 * MIB
SECRET = "canary-of-the-streams-0001"
HANG_UPS = 1000
AT_ONCE = 50


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with open_scene() as opened:
        opened.connect(credential={"kind": "bearer", "secret": SECRET})
        for _ in range(50):  # a worker that was idle has given back pages of its code
            assert opened.call("GET", "/bytes/100000").status_code == 200
            assert opened.call("POST", "/echo", content=PIECE * 4).status_code == 200
        yield opened


def rss(scene: Scene) -> int:
    return scene.appliance.memory()


def descriptors(scene: Scene) -> int:
    return sum(1 for folder in scene.appliance.worker_folders() for _ in (folder / "fd").iterdir())


class Growth:
    """The most memory that the worker took meanwhile, beyond what it had."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.most = 0

    def __enter__(self) -> Growth:
        self._before = rss(self._scene)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._ending.wait(0.02):
            self.most = max(self.most, rss(self._scene) - self._before)

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()


def pieces(size: int = LARGE) -> Iterator[bytes]:
    for _ in range(size // len(PIECE)):
        yield PIECE


DIGEST = hashlib.sha256(PIECE * (LARGE // len(PIECE))).hexdigest()


@pytest.mark.parametrize("with_length", [True, False])
def test_a_large_body_goes_up(scene: Scene, with_length: bool) -> None:
    headers = {"content-length": str(LARGE)} if with_length else {}
    with Growth(scene) as growth:
        reply = scene.call("POST", "/echo", content=pieces(), headers=headers, timeout=120)
    assert (reply.status_code, scene.upstream.last.digest) == (200, DIGEST)
    assert growth.most <= MOST_GROWTH, growth.most / MIB
    assert scene.entries(reply)[1]["request"]["bytes"] == LARGE


@pytest.mark.parametrize("way", ["bytes", "chunks"])
def test_a_large_body_comes_down(scene: Scene, way: str) -> None:
    digest, size = hashlib.sha256(), 0
    with Growth(scene) as growth, scene.agent.stream("GET", f"/v1/egress/api/{way}/{LARGE}", timeout=120) as reply:
        for piece in reply.iter_raw():
            digest.update(piece)
            size += len(piece)
    assert (size, digest.hexdigest()) == (LARGE, DIGEST)
    assert growth.most <= MOST_GROWTH, growth.most / MIB


def test_who_reads_slowly_holds_the_upstream_up(scene: Scene) -> None:
    with Growth(scene) as growth, scene.agent.stream("GET", f"/v1/egress/api/bytes/{LARGE}") as reply:
        came = reply.iter_raw(65536)
        next(came)
        time.sleep(2)
        assert len(next(came)) > 0
    assert growth.most <= MOST_GROWTH
    assert scene.call("GET", "/echo").status_code == 200


def test_an_upstream_that_reads_slowly_holds_the_agent_up(scene: Scene) -> None:
    given = 0

    def counted() -> Iterator[bytes]:
        nonlocal given
        for piece in pieces():
            given += len(piece)
            yield piece

    scene.upstream.reads_slowly = 0.5
    sending = threading.Thread(target=lambda: _quietly(scene, counted()), daemon=True)
    try:
        with Growth(scene) as growth:
            sending.start()
            time.sleep(4)
            held = given
            time.sleep(1)
        assert held < 32 * MIB and given - held < 4 * MIB
        assert growth.most <= MOST_GROWTH
        assert scene.call("GET", "/status/200").status_code == 200
    finally:
        scene.upstream.reads_slowly = 0.0
    sending.join(60)


def _quietly(scene: Scene, body: Iterator[bytes]) -> None:
    with httpx.Client(base_url=scene.appliance.base_url, verify=scene.appliance.tls(), auth=scene.agent.auth) as client:
        client.post("/v1/egress/api/echo", content=body, timeout=60)


def test_hang_ups_leave_nothing(scene: Scene) -> None:
    """While the reply is on its way."""
    scene.upstream.broken.clear()
    before = descriptors(scene)

    def hang_up(_: int) -> None:
        with scene.agent.stream("GET", "/v1/egress/api/slow") as reply:
            assert reply.status_code == 200
            assert next(reply.iter_raw()).startswith(b".")

    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(hang_up, range(HANG_UPS)))
    wait_until(lambda: len(scene.upstream.broken) == HANG_UPS, 30, "the upstream is left alone")
    wait_until(lambda: descriptors(scene) <= before + 8, 75, "no descriptor is left")
    assert scene.call("GET", "/echo").status_code == 200
    entries = scene.appliance.entries()[-2 * HANG_UPS :]
    outcomes = [entry["outcome"]["status"] for entry in entries if entry["phase"] == "outcome"]
    assert outcomes.count("cancelled") >= HANG_UPS - AT_ONCE


def test_who_hangs_up_while_sending_sends_no_whole_body(scene: Scene) -> None:
    before = len(scene.upstream.arrived)

    def cut() -> Iterator[bytes]:
        yield PIECE
        yield PIECE
        raise ConnectionAbortedError

    for headers in ({}, {"content-length": str(MIB)}):
        for _ in range(20):
            with pytest.raises(ConnectionAbortedError):
                scene.call("POST", "/echo", content=cut(), headers=headers)
    wait_until(lambda: len(scene.upstream.broken) > 0, 10, "the upstream sees them broken off")
    assert not any(arrived.whole for arrived in scene.upstream.arrived[before:])
    assert scene.call("POST", "/echo", content=b"x").status_code == 200
