"""The fork server: processes run as programs do, their ends are told, and nothing outlives the server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mastio.process.forking import ForkError, ForkServer
from support.appliance import wait_until

PROGRAM = """
import os, signal, sys, time
word = sys.argv[1]
if word == "say":
    print(" ".join(sys.argv), len(os.listdir("/proc/self/fd")), flush=True)
elif word == "status":
    sys.exit(int(sys.argv[2]))
elif word == "engines":
    from mastio_detectors.plugin import build_engine
    print(build_engine.cache_info().currsize, flush=True)
elif word == "fail":
    raise ValueError("on purpose")
elif word == "descriptor":
    os.write(int(sys.argv[2]), b"through the descriptor")
else:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    open(sys.argv[2], "w").close()
    while True:
        time.sleep(1)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("programs")
    (made / "forked_program.py").write_text(PROGRAM)
    return made


def start(folder: Path) -> ForkServer:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}
    return ForkServer([sys.executable, "-m", "mastio.process.forked", str(folder), ""], environment, lambda: None)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[ForkServer]:
    made = start(folder)
    yield made
    made.close()


def run_reading(server: ForkServer, *arguments: str, name: str = "stdout") -> tuple[bytes, int]:
    """What the program wrote into a pipe that it was given, and its exit status."""
    reading, writing = os.pipe()
    process = server.fork("forked_program", arguments, {name: writing})
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read(), process.wait(10)


def test_a_module_runs_as_a_program(server: ForkServer) -> None:
    written, status = run_reading(server, "say", "a b", "c")
    assert written.startswith(b"forked_program say a b c ") or b"forked_program.py say a b c " in written
    assert status == 0


def test_descriptors_are_given_by_name(server: ForkServer) -> None:
    assert run_reading(server, "descriptor", "{pipe}", name="pipe") == (b"through the descriptor", 0)


def test_no_descriptor_is_left_open_from_one_process_to_the_next(server: ForkServer, folder: Path) -> None:
    before = run_reading(server, "say")[0].split()[-1]
    others = [server.fork("forked_program", ["stay", str(folder / f"stays-{n}")], {}) for n in range(3)]
    assert run_reading(server, "say")[0].split()[-1] == before
    for one in others:
        one.kill()
        assert one.wait(10) == -signal.SIGKILL


def test_each_end_is_told(server: ForkServer, folder: Path) -> None:
    quick = [server.fork("forked_program", ["status", str(status)], {}) for status in (0, 3, 5)]
    assert [process.wait(10) for process in reversed(quick)] == [5, 3, 0]
    assert server.fork("forked_program", ["fail"], {}).wait(10) == 1
    staying = server.fork("forked_program", ["stay", str(folder / "stays")], {})
    wait_until((folder / "stays").exists, 10, "it runs")
    assert staying.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        staying.wait(0.01)
    staying.send_signal(signal.SIGTERM)
    assert staying.wait(10) == staying.poll() == 7
    staying.kill()  # it has ended: nothing is sent to whoever has its number now


def test_what_plugins_preload_is_there_in_each_process_after_the_first(folder: Path) -> None:
    made = start(folder)
    assert [run_reading(made, "engines") for _ in range(3)] == [(b"0\n", 0), (b"1\n", 0), (b"1\n", 0)]
    made.close()


def test_a_server_that_dies_is_noticed(folder: Path) -> None:
    made = start(folder)
    running = made.fork("forked_program", ["stay", str(folder / "orphan")], {})
    wait_until((folder / "orphan").exists, 10, "it runs")
    made.process.kill()
    wait_until(lambda: not made.is_running, 10, "the server has ended")
    with pytest.raises(ForkError):
        made.fork("forked_program", ["say"], {})
    running.kill()
    assert running.wait(10) == 0, "nobody is left who could tell its status"
    made.close()


def test_a_server_that_cannot_load_is_an_error(tmp_path: Path) -> None:
    made = ForkServer([sys.executable, "-c", "raise SystemExit(3)"], os.environ, lambda: None)
    with pytest.raises(ForkError):
        made.fork("forked_program", ["say"], {})
    made.close()
