"""A connection's secret is rotated while agents call, on two workers: seen within a second, and no call fails.

The upstream is strict: it knows the keys that its owner made, and answers 401 to every other.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from mastio_client import Identity
from support.appliance import Appliance, plain_transport
from support.egress_scene import Arrived, Handler, Scene, open_scene

WITHIN = 1.0
CALLERS = 6


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    vault = tmp_path_factory.mktemp("vault") / "key"
    vault.write_text(secrets.token_hex(32))
    more = f'[secrets]\nkey_command = ["/bin/cat", "{vault}"]\n'
    with open_scene(workers=2, more=more) as opened:
        yield opened


class Owner:
    """Of the upstream: the keys that it takes."""

    def __init__(self, scene: Scene) -> None:
        self.keys: set[str] = set()
        scene.upstream.ways["strict"] = self._answer

    def make(self) -> str:
        key = f"key-{secrets.token_urlsafe(12)}"
        self.keys.add(key)
        return key

    def _answer(self, handler: Handler, arrived: Arrived) -> None:
        shown = arrived.all("x-api-key")
        handler.send(200 if shown and shown[0] in self.keys else 401, b"{}")


@contextmanager
def open_worker(appliance: Appliance, slot: int) -> Iterator[httpx.Client]:
    """One worker, as the edge calls it for the agent of the scene."""
    identity = Identity.load(appliance.data / "agents" / "alice")
    said = {
        "X-Edge-Secret": (appliance.data / "secrets" / "edge.key").read_text().strip(),
        "X-Edge-Address": "127.0.0.1",
        "X-Edge-Certificate": quote((identity.folder / "agent.crt").read_text()),
    }
    transport = plain_transport(appliance.data / "run" / f"app-{slot}.sock")
    with httpx.Client(transport=transport, base_url="http://mastio", headers=said, timeout=10) as client:
        yield client


def key_seen(scene: Scene, worker: httpx.Client, name: str) -> str | None:
    """The key that this worker sends now."""
    mark = secrets.token_hex(4)
    worker.get(f"/v1/egress/{name}/echo/{mark}")
    shown = [arrived.all("x-api-key") for arrived in scene.upstream.arrived if mark in arrived.path]
    return shown[0][0] if shown and shown[0] else None


def seconds_until_all(scene: Scene, name: str, key: str | None) -> float:
    began = time.monotonic()
    with open_worker(scene.appliance, 0) as first, open_worker(scene.appliance, 1) as second:
        while not all(key_seen(scene, worker, name) == key for worker in (first, second)):
            assert time.monotonic() - began < 5, "the workers never saw it"
            time.sleep(0.02)
    return time.monotonic() - began


def by_api(scene: Scene, name: str, key: str, folder: Path) -> None:
    reply = scene.admin.patch(f"/v1/admin/connections/{name}", json={"credential": {"secret": key}})
    assert reply.status_code == 200, reply.text


def by_command(scene: Scene, name: str, key: str, folder: Path) -> None:
    command = [sys.executable, "-m", "mastio", "connections", "rotate", name, "--secret-file", "-"]
    command += ["--data", str(scene.appliance.data)]
    done = subprocess.run(command, input=f"{key}\n", capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert key not in done.stdout + done.stderr


def by_file(scene: Scene, name: str, key: str, folder: Path) -> None:
    draft = folder / f".{name}-new"
    draft.write_text(f"{key}\n")
    draft.replace(folder / name)


WAYS: dict[str, Callable[[Scene, str, str, Path], None]] = {"api": by_api, "command": by_command, "file": by_file}


def connect(scene: Scene, name: str, key: str, way: str) -> Path:
    folder = scene.appliance.data / "secrets" / "connections"
    assert folder.is_dir()  # made at the start
    credential: dict[str, Any] = {"kind": "header", "header": "X-Api-Key", "secret": key}
    if way == "file":
        by_file(scene, name, key, folder)
        credential = {"kind": "header", "header": "X-Api-Key", "secret_file": str(folder / name)}
    scene.connect(name, credential=credential)
    assert seconds_until_all(scene, name, key) < WITHIN
    return folder


@pytest.mark.parametrize("way", WAYS)
def test_every_worker_sends_the_new_secret_within_a_second(scene: Scene, way: str) -> None:
    owner = Owner(scene)
    name = f"seen-{way}"
    folder = connect(scene, name, owner.make(), way)
    for _ in range(3):
        key = owner.make()
        WAYS[way](scene, name, key, folder)
        assert seconds_until_all(scene, name, key) < WITHIN


@pytest.mark.parametrize("way", WAYS)
def test_no_call_fails_while_it_is_rotated(scene: Scene, way: str) -> None:
    """Each rotation as operate/rotate-upstream-secret.md tells it: a second key, given, seen, the first one removed."""
    owner = Owner(scene)
    name, key = f"busy-{way}", owner.make()
    folder = connect(scene, name, key, way)
    ended: list[tuple[float, int]] = []
    stop = threading.Event()

    def call(number: int) -> None:
        with open_worker(scene.appliance, number % 2) as client:
            while not stop.is_set():
                status = client.get(f"/v1/egress/{name}/strict").status_code
                ended.append((time.monotonic(), status))

    callers = [threading.Thread(target=call, args=(number,)) for number in range(CALLERS)]
    for caller in callers:
        caller.start()
    try:
        for _ in range(3):
            fresh = owner.make()
            WAYS[way](scene, name, fresh, folder)
            time.sleep(WITHIN + 0.3)
            owner.keys.discard(key)
            key = fresh
            time.sleep(0.2)
        removed = time.monotonic()
        owner.keys.clear()
        time.sleep(0.3)
    finally:
        stop.set()
        for caller in callers:
            caller.join()
    before = [status for at, status in ended if at < removed]
    assert len(before) > 100 and set(before) == {200}
    assert 200 not in {status for at, status in ended[-CALLERS:]}, "the upstream does refuse a key that was removed"


def test_a_file_that_is_gone_sends_nothing(scene: Scene) -> None:
    owner = Owner(scene)
    folder = connect(scene, "gone", owner.make(), "file")
    (folder / "gone").unlink()
    deadline = time.monotonic() + WITHIN
    while scene.call("GET", "/strict", name="gone").status_code == 200:
        assert time.monotonic() < deadline
    before = len(scene.upstream.arrived)
    reply = scene.call("GET", "/strict", name="gone")
    assert (reply.status_code, reply.json()["code"]) == (502, "upstream_refused")
    assert len(scene.upstream.arrived) == before
    shown = scene.admin.get("/v1/admin/connections/gone").json()["credential"]
    assert shown == {"kind": "header", "header": "X-Api-Key", "prefix": "", "secret_set": False}
    by_file(scene, "gone", owner.make(), folder)
    deadline = time.monotonic() + WITHIN
    while scene.call("GET", "/strict", name="gone").status_code != 200:
        assert time.monotonic() < deadline
    assert not [key for key in owner.keys if key in scene.appliance.log()]
