"""Changed settings are applied worker by worker, without a failed call; what cannot be used changes nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from mastio.bring_up.native import find_supervisor
from mastio_client import Identity
from support.appliance import NGINX, Appliance, Stub, open_appliance

BODY = {"model": "stub/m", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[Appliance, Stub]]:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance() as (appliance, stub):
        assert stub is not None
        yield appliance, stub


def deploy(appliance: Appliance, verb: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mastio.bring_up.native", verb, "--data", str(appliance.data), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def workers(appliance: Appliance) -> dict[str, int]:
    return {file.stem: int(file.read_text()) for file in (appliance.data / "run").glob("worker-*.pid")}


class Callers:
    """Busy ones and slow ones, whose connections idle between two calls, until `stop`."""

    def __init__(self, appliance: Appliance, agent: Identity) -> None:
        self.told = Counter[str]()
        self.receipts = list[str]()
        self._end = threading.Event()
        self._threads = [
            threading.Thread(target=self._call, args=(appliance, agent, pause)) for pause in (0.0, 0.0, 0.3, 0.9)
        ]
        self._threads.append(threading.Thread(target=self._administer, args=(appliance,)))
        self.administered = Counter[str]()
        for thread in self._threads:
            thread.start()

    def _administer(self, appliance: Appliance) -> None:
        with appliance.admin() as client:
            client.timeout = httpx.Timeout(60)
            while not self._end.is_set():
                try:
                    self.administered[str(client.get("/v1/admin/agents").status_code)] += 1
                except httpx.HTTPError as error:
                    self.administered[repr(error)] += 1
                time.sleep(0.02)

    def _call(self, appliance: Appliance, agent: Identity, pause: float) -> None:
        with appliance.by_certificate(agent) as client:
            client.timeout = httpx.Timeout(60)
            while not self._end.is_set():
                try:
                    reply = client.post("/v1/chat/completions", json=BODY)
                    self.told[str(reply.status_code) if reply.is_success else reply.text] += 1
                    self.receipts.append(reply.headers["mastio-receipt"])
                except (httpx.HTTPError, KeyError) as error:
                    self.told[repr(error)] += 1
                time.sleep(pause)

    def stop(self) -> Counter[str]:
        self._end.set()
        for thread in self._threads:
            thread.join()
        return self.told


def test_no_call_fails_while_settings_are_applied(world: tuple[Appliance, Stub]) -> None:
    appliance, stub = world
    agent = appliance.enroll("busy")
    before, supervisor, control = workers(appliance), find_supervisor(appliance.data), appliance.pid("control")
    callers = Callers(appliance, agent)
    try:
        done = deploy(appliance, "restart", "--workers", "2")
    finally:
        told = callers.stop()
    assert done.returncode == 0, done.stderr
    assert "server.workers: 1 → 2" in done.stdout
    assert set(told) == {"200"} and told["200"] > 20, told
    assert len(stub.arrivals()) == told["200"], "and none was made twice"
    assert set(callers.administered) == {"200"} and appliance.pid("control") != control, callers.administered
    assert len(set(callers.receipts)) == told["200"]
    after = workers(appliance)
    assert sorted(after) == ["worker-0", "worker-1", "worker-2", "worker-3"] and after["worker-0"] != before["worker-0"]
    assert find_supervisor(appliance.data) == supervisor
    done = deploy(appliance, "restart", "--workers", "1")
    assert done.returncode == 0 and sorted(workers(appliance)) == ["worker-0", "worker-1"], done.stderr
    assert appliance.verify() == 0
    assert deploy(appliance, "restart").stdout.endswith("No setting was different.\n")


def test_up_says_what_is_not_in_force_yet(world: tuple[Appliance, Stub]) -> None:
    appliance, _ = world
    before = workers(appliance)
    told = deploy(appliance, "up", "--workers", "3")
    assert told.returncode == 0 and "server.workers: 1 → 3" in told.stdout, told.stderr
    assert "./deploy.sh restart" in told.stdout and workers(appliance) == before
    told = deploy(appliance, "up", "--workers", "1")
    assert "differ" not in told.stdout and "already running" in told.stdout


@pytest.mark.parametrize("line", ["workers = 0", "nonsense = 1", 'listen = "127.0.0.1:1"'])
def test_settings_that_cannot_be_applied_change_nothing(world: tuple[Appliance, Stub], line: str) -> None:
    appliance, _ = world
    file: Path = appliance.data / "mastio.toml"
    kept, before = file.read_text(), workers(appliance)
    file.write_text(kept.replace("workers = 1", line))
    try:
        done = deploy(appliance, "restart")
        assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("mastio: "), done
        with appliance.admin() as admin:
            assert admin.get("/readyz").status_code == 200
        assert workers(appliance) == before
    finally:
        file.write_text(kept)
    assert Path(f"/proc/{before['worker-0']}").exists()


def test_what_was_started_by_other_code_is_not_touched(world: tuple[Appliance, Stub]) -> None:
    """New code on the disk would migrate the database, and the old code could not use it."""
    appliance, _ = world
    file = appliance.data / "run" / "in-force.json"
    kept, before = file.read_text(), workers(appliance)
    for member, value in (("code", "other"), ("supervisor", 1)):
        file.write_text(json.dumps({**json.loads(kept), member: value}))
        done = deploy(appliance, "restart")
        assert done.returncode == 2 and "./deploy.sh down" in done.stderr, done
    file.write_text(kept)
    assert workers(appliance) == before
    assert deploy(appliance, "restart").returncode == 0


def test_a_worker_that_does_not_start_is_said(world: tuple[Appliance, Stub]) -> None:
    """And once the file is right again, another restart heals it."""
    appliance, _ = world
    file: Path = appliance.data / "mastio.toml"
    kept = file.read_text()
    file.write_text(kept + '\n[[audit.sinks]]\nname = "s"\ntype = "file"\npath = "/proc/none/here"\n')
    try:
        done = deploy(appliance, "restart")
        assert done.returncode == 2 and "mastio: " in done.stderr, done
    finally:
        file.write_text(kept)
    done = deploy(appliance, "restart")
    assert done.returncode == 0, done.stderr
    with appliance.admin() as admin:
        assert admin.get("/readyz").status_code == 200


def test_what_does_not_run_is_not_restarted(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mastio.bring_up.native", "restart", "--data", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "./deploy.sh up" in done.stderr
    assert list(tmp_path.iterdir()) == []
