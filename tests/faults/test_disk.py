"""A full disk: 503, nothing goes upstream, and service comes back by itself when there is room again."""

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mastio_client import Identity
from support.appliance import Appliance, Stub, open_appliance, wait_until

BODY = {"model": "stub/gpt-4o", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Take all the room that is left."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(bytes(4096))
        except OSError:
            return ballast


@pytest.mark.alone
def test_a_full_disk_refuses_and_recovers(small_disk: Path, tmp_path: Path) -> None:
    appliance, stub = Appliance(small_disk / "d"), Stub(tmp_path)
    try:
        appliance.start()
        appliance.add_provider(stub)
        identity: Identity = appliance.enroll("caller")
        with appliance.by_certificate(identity) as client:
            assert client.post("/v1/chat/completions", json=BODY).status_code == 200
            ballast = fill(small_disk)
            refused = 0
            for _ in range(200):  # the write-ahead log may have room for a few more
                before = len(stub.arrivals())
                reply = client.post("/v1/chat/completions", json=BODY)
                if reply.status_code == 503:
                    refused += 1
                    assert reply.json()["error"]["code"] == "audit_unavailable"
                    assert "retry-after" in reply.headers
                    if refused > 1:  # the very first may be refused for its outcome, after the provider was called
                        assert len(stub.arrivals()) == before
                if refused == 10:
                    break
            assert refused == 10
            with appliance.client() as stranger:
                ready = stranger.get("/readyz")
            assert ready.status_code == 503 and "audit" in ready.json()["detail"]
            ballast.unlink()
            freed = time.monotonic()
            wait_until(
                lambda: client.post("/v1/chat/completions", json=BODY).status_code == 200,
                10,
                "service is back by itself",
            )
            assert time.monotonic() - freed < 10
        assert appliance.verify() == 0
    finally:
        appliance.stop()
        stub.stop()


@contextmanager
def failing_writes(process: int, error: str) -> Iterator[None]:
    """Every write into a database file fails with this error, as on a file system that a kernel made read-only."""
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject=pwrite64,ftruncate:error={error}"]
    with subprocess.Popen([*command, "-p", str(process)], stderr=subprocess.PIPE) as strace:
        try:
            yield
        finally:
            strace.send_signal(signal.SIGINT)
            strace.wait(10)


@pytest.mark.alone
@pytest.mark.parametrize("error", ["EROFS", "EIO"])
def test_a_disk_that_takes_no_writes_refuses_and_recovers(error: str) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    with open_appliance() as (appliance, stub):
        assert stub is not None
        identity = appliance.enroll("caller")
        with appliance.by_certificate(identity) as client:

            def status() -> int:
                return client.post("/v1/chat/completions", json=BODY).status_code

            assert status() == 200
            with failing_writes(appliance.pid("worker-0"), error):
                wait_until(lambda: status() == 503, 10, "it is refused")
                before = len(stub.arrivals())
                for _ in range(5):
                    reply = client.post("/v1/chat/completions", json=BODY)
                    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "audit_unavailable")
                assert len(stub.arrivals()) == before, "nothing goes upstream"
            wait_until(lambda: status() == 200, 10, "service is back by itself")
        assert appliance.verify() == 0
