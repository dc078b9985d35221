"""Checkpoints of a real appliance before a witness of public Go modules, which has nothing of ours in it.

It must sign a log that grows, whose proofs its own library verifies, and refuse a copy that went its own way.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mastio_audit.anchors.cosignatures import find_cosigners
from mastio_primitives.transparency import notes
from support.appliance import NGINX, Appliance, open_appliance, wait_until

HERE = Path(__file__).parent / "witness"
GO = shutil.which("go")
WITHIN = 30.0


class Foreign:
    """A running witness; `refusals` are the statuses that it answered with."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        assert process.stdout is not None
        self._process = process
        self._log = log
        self.url, self.vkey = (process.stdout.readline().strip() for _ in range(2))

    def trust(self, vkey: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(vkey + "\n")
        self._process.stdin.flush()

    @property
    def refusals(self) -> list[int]:
        return [int(line.split()[-1]) for line in self._log.read_text().splitlines() if " refused " in line]


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Foreign]:
    """Built from the sources beside this file and the modules that go.sum names."""
    if GO is None or NGINX is None:
        pytest.skip("Go or nginx is not installed")
    program, log = tmp_path / "witness", tmp_path / "witness.log"
    environment = {**os.environ, "GOFLAGS": "-mod=readonly", "GOWORK": "off", "CGO_ENABLED": "0"}
    command = [GO, "build", "-o", str(program), "."]
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with log.open("w") as errors:
        running = subprocess.Popen(
            [str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
    try:
        yield Foreign(running, log)
    finally:
        running.terminate()
        running.communicate(timeout=10)


def settings(witness: Foreign) -> str:
    return (
        "[audit]\nwitness_quorum = 1\nwitness_every = 1\n[[audit.anchors]]\n"
        f'name = "foreign"\nkind = "witness"\nurl = "{witness.url}"\nvkey = "{witness.vkey}"\n'
        'allow_addresses = ["127.0.0.1"]\n'
    )


def grow(appliance: Appliance, times: int) -> int:
    with appliance.admin() as admin:
        for _ in range(times):
            admin.get("/v1/admin/agents")
        return notes.parse_checkpoint(notes.parse_note(admin.get("/v1/audit/log/checkpoint").content).text).size


def cosigned(appliance: Appliance, witness: Foreign) -> int:
    """The size of what is served, which the witness must have signed; 0 while there is nothing."""
    with appliance.admin() as admin:
        answer = admin.get("/v1/audit/log/cosigned")
    if answer.status_code == 404:
        return 0
    verifier = notes.parse_vkey(witness.vkey, notes.COSIGNATURE)
    assert find_cosigners(answer.content, [verifier], time.time()) == {"witness.example/foreign"}
    return notes.parse_checkpoint(notes.parse_note(answer.content).text).size


def test_a_foreign_witness_follows_the_log_and_not_its_fork(witness: Foreign, tmp_path: Path) -> None:
    more = settings(witness)
    with open_appliance(stub=None, more=more) as (appliance, _), contextlib.ExitStack() as stack:
        wait_until(lambda: 404 in witness.refusals, WITHIN, "it does not know the log")
        with appliance.admin() as admin:
            witness.trust(admin.get("/v1/audit/log/vkey").text.strip())
        for times in (1, 7, 150, 300):
            size = grow(appliance, times)
            wait_until(lambda size=size: cosigned(appliance, witness) >= size, WITHIN, "it signs")
        assert set(witness.refusals) == {404} and size > 900
        appliance.stop()
        fork = Appliance(tmp_path / "fork", more=more)
        for name in ("ca", "secrets", "db", "log", "anchors"):
            shutil.copytree(appliance.data / name, fork.data / name)
        appliance.start()
        size = grow(appliance, 5)
        wait_until(lambda: cosigned(appliance, witness) >= size, WITHIN, "it follows the first")
        appliance.stop()
        stack.callback(fork.stop)
        fork.start()
        grow(fork, 40)
        wait_until(lambda: 422 in witness.refusals, WITHIN, "it refuses the fork")
        wait_until(lambda: any(e["kind"] == "audit.fork" for e in fork.entries()), WITHIN, "which says so")
        assert cosigned(fork, witness) < size
