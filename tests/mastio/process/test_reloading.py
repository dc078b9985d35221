"""The steps of a reload, against a process that stands for nginx: on SIGHUP it starts a new child and ends the old."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mastio.process.reloading import ASK_SECONDS, RELOADED_WITHIN, TELL_SECONDS, EdgeReload, _children
from support.appliance import wait_until

MASTER = """
import signal, subprocess, sys, time
workers = [subprocess.Popen(["sleep", "60"])]
def reload(*_):
    workers.append(subprocess.Popen(["sleep", "60"]))
def end(*_):
    for worker in workers:
        worker.kill()
        worker.wait()
    sys.exit(0)
signal.signal(signal.SIGHUP, reload if sys.argv[1] == "good" else lambda *_: None)
signal.signal(signal.SIGTERM, end)
print("up", flush=True)
while True:
    time.sleep(60)
"""


@pytest.fixture
def edge(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", MASTER, request.param], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"up\n"
        yield process
        process.terminate()
        process.wait(10)


def test_a_flag_of_an_earlier_life_is_removed(tmp_path: Path) -> None:
    flag = tmp_path / "closing"
    flag.touch()
    EdgeReload(flag)
    assert not flag.exists()


@pytest.mark.parametrize("edge", ["good"], indirect=True)
def test_clients_are_asked_until_the_old_workers_were_told(tmp_path: Path, edge: subprocess.Popen[bytes]) -> None:
    flag = tmp_path / "closing"
    reload = EdgeReload(flag)
    before = _children(edge.pid)
    reload.step(0.0, edge)
    assert not flag.exists(), "nothing was begun"
    reload.begin(0.0)
    reload.step(ASK_SECONDS - 0.1, edge)
    time.sleep(0.1)
    assert flag.exists() and _children(edge.pid) == before, "it is not reloaded yet"
    reload.step(ASK_SECONDS, edge)
    wait_until(lambda: _children(edge.pid) - before, 5, "it is reloaded")
    now = ASK_SECONDS + 5  # nginx took its time: the end is counted from the new workers on
    reload.step(now, edge)
    reload.step(now + TELL_SECONDS - 0.1, edge)
    assert flag.exists()
    reload.step(now + TELL_SECONDS, edge)
    assert not flag.exists()
    count = len(_children(edge.pid))
    reload.step(now + 60, edge)
    time.sleep(0.1)
    assert len(_children(edge.pid)) == count, "once is enough"


@pytest.mark.parametrize("edge", ["good"], indirect=True)
def test_changes_that_keep_coming_do_not_put_it_off(tmp_path: Path, edge: subprocess.Popen[bytes]) -> None:
    flag = tmp_path / "closing"
    reload = EdgeReload(flag)
    reload.begin(0.0)
    reload.begin(1.0)
    before = _children(edge.pid)
    reload.step(ASK_SECONDS, edge)
    wait_until(lambda: _children(edge.pid) - before, 5, "it is reloaded")
    reload.begin(4.0)
    reload.step(4.0 + TELL_SECONDS, edge)
    assert flag.exists(), "a second reload has begun to ask: what changed now may not be loaded yet"
    before, now = _children(edge.pid), 4.0 + ASK_SECONDS
    reload.step(now, edge)
    wait_until(lambda: _children(edge.pid) - before, 5, "it is reloaded again")
    reload.step(now + 1, edge)
    reload.step(now + 1 + TELL_SECONDS, edge)
    assert not flag.exists()


@pytest.mark.parametrize("edge", ["broken"], indirect=True)
def test_an_edge_that_refuses_goes_on_as_before(tmp_path: Path, edge: subprocess.Popen[bytes]) -> None:
    flag = tmp_path / "closing"
    reload = EdgeReload(flag)
    reload.begin(0.0)
    reload.step(ASK_SECONDS, edge)
    reload.step(ASK_SECONDS + RELOADED_WITHIN - 0.1, edge)
    assert flag.exists()
    reload.step(ASK_SECONDS + RELOADED_WITHIN, edge)
    assert not flag.exists()
