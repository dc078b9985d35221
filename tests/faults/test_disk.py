"""A full disk: 503, nothing goes upstream, and service comes back by itself when there is room again."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mastio.client import Identity
from world import Appliance, Stub, wait_until

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


@pytest.mark.slow
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
