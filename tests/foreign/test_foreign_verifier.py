"""The log of real appliances before a verifier of public Go modules alone, which has nothing of ours in it.

It must say yes to a log that grows under traffic and to one with tiles of three levels, and no to any byte that a proxy
on its way changes.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mastio.exchange.values import Entry
from mastio_audit.log import chain
from mastio_audit.log.sqlite import SqliteStore
from mastio_audit.log.store import Batch
from support.appliance import NGINX, Appliance, open_appliance, wait_until

HERE = Path(__file__).parent
GO = shutil.which("go")
LARGE = 66_000
"""More than 65,536 entries: there is a hash of level 2."""


@pytest.fixture(scope="session")
def verifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built from the sources beside this file and the modules that go.sum names."""
    if GO is None:
        pytest.skip("Go is not installed")
    if NGINX is None:
        pytest.skip("nginx is not installed")
    out = tmp_path_factory.mktemp("foreign") / "foreign"
    environment = {**os.environ, "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    done = subprocess.run(
        [GO, "build", "-o", str(out), "."], cwd=HERE, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return out


class Foreign:
    """Runs the program as an auditor of one appliance, who pinned its key."""

    def __init__(self, program: Path, appliance: Appliance) -> None:
        self._program = program
        self.appliance = appliance
        kept = appliance.data / "log" / "vkey"
        wait_until(kept.exists, 5, "the log's key is kept")
        self.vkey = kept.read_text().splitlines()[0]
        self.token_file = appliance.data / "auditor"
        with appliance.admin() as admin:
            made = admin.post("/v1/admin/admins", json={"name": "vera", "role": "auditor"})
            assert made.status_code == 201, made.text
        self.token_file.write_text(made.json()["token"])
        appliance.settle()

    def run(self, *words: str, url: str | None = None) -> subprocess.CompletedProcess[str]:
        place = ["-url", url or self.appliance.base_url, "-vkey", self.vkey, "-token-file", str(self.token_file)]
        if url is None:
            place += ["-ca", str(self.appliance.data / "ca" / "ca.crt")]
        command = [str(self._program), *place, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)

    def report(self, *words: str, url: str | None = None) -> dict[str, Any]:
        done = self.run(*words, url=url)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@contextmanager
def traffic(appliance: Appliance) -> Iterator[None]:
    """Calls, as fast as they come, until the end of the block."""
    ended = threading.Event()

    def call() -> None:
        with appliance.admin() as admin:
            while not ended.is_set():
                assert admin.get("/v1/admin/agents").status_code == 200

    thread = threading.Thread(target=call)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def fill(file: Path, size: int) -> None:
    """A log as if so much had happened."""

    async def append() -> None:
        store = SqliteStore(file, inline=True)
        await store.open()
        for start in range(0, size, 6000):
            drafts = [
                chain.draft(Entry(id=f"x-{number}", phase="event", kind="test", agent="demo"))
                for number in range(start, min(start + 6000, size))
            ]

            def build(head: chain.Head, drafts: list[chain.Draft] = drafts) -> Batch:
                made = chain.append(head, drafts, 1_700_000_000.0)
                return Batch(made.rows, made.head, made.nodes)

            await store.append(build)
        await store.close()

    asyncio.run(append())


@pytest.fixture(scope="module")
def large(verifier: Path) -> Iterator[Foreign]:
    folder = Path(tempfile.mkdtemp(prefix="mastio-"))
    appliance = Appliance(folder / "data")
    fill(appliance.data / "db" / "audit.sqlite", LARGE)
    try:
        appliance.start()
        yield Foreign(verifier, appliance)
    finally:
        appliance.stop()
        shutil.rmtree(folder, ignore_errors=True)


Change = Callable[[str, bytes], bytes]


@contextmanager
def proxy(appliance: Appliance, change: Change) -> Iterator[str]:
    """Passes requests on to the appliance, and what `change` makes of the replies back."""
    with appliance.client() as client:

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 20  # a reply in one piece

            def do_GET(self) -> None:
                reply = client.get(self.path, headers={"Authorization": self.headers["Authorization"]})
                content = change(self.path, reply.content) if reply.status_code == 200 else reply.content
                self.send_response(reply.status_code)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def test_a_log_that_grows_under_traffic(verifier: Path) -> None:
    with open_appliance(workers=2, stub=None) as (appliance, _):
        foreign = Foreign(verifier, appliance)
        with appliance.admin() as admin:
            old = admin.get("/v1/audit/log/checkpoint").content
        kept = appliance.data / "kept"
        kept.write_bytes(old)
        with traffic(appliance):
            found = foreign.report("-watch", "2s", "-every", "25", "-checkpoint", str(kept))
        assert found["checkpoints"] > 10 and found["size"] > 100
        assert found["pairs"] >= found["checkpoints"] * (found["checkpoints"] - 1) // 2
        assert found["asked"] >= found["size"] // 25
        stranger = kept.read_text().replace("test.example", "else.example")
        kept.write_text(stranger)
        assert foreign.run("-checkpoint", str(kept)).returncode == 1


def test_tiles_of_three_levels(large: Foreign) -> None:
    found = large.report("-every", "6000")
    assert found["size"] > LARGE and found["levels"] == 3
    assert found["tiles"] == -(-found["size"] // 256) + 2 + 1
    place = ["--url", large.appliance.base_url, "--ca", str(large.appliance.data / "ca" / "ca.crt")]
    words = ["audit", "verify", *place, "--token-file", str(large.token_file), "--vkey", large.vkey, "--json"]
    done = subprocess.run([sys.executable, "-m", "mastio", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ours = json.loads(done.stdout)
    again = large.report("-every", "100000")
    with large.appliance.admin() as admin:
        same = admin.get(f"/v1/audit/log/checkpoint?size={ours['size']}").text.split("\n")
    assert ours["size"] <= again["size"] and same[2] == ours["root_base64"]


@pytest.mark.parametrize(
    "path",
    ["tile/0/000", "tile/0/257.p/", "tile/0/128", "tile/1/000", "tile/1/001.p/1", "tile/2/000.p/1", "tile/entries/003",
     "tile/entries/257.p/", "checkpoint", "vkey"],
)  # fmt: skip
def test_one_changed_byte_is_seen(large: Foreign, path: str) -> None:
    changed: list[str] = []

    def change(asked: str, content: bytes) -> bytes:
        if not asked.startswith(f"/v1/audit/log/{path}"):
            return content
        changed.append(asked)
        at = len(content) // 2
        return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]

    with proxy(large.appliance, change) as url:
        done = large.run("-every", "100000", url=url)
    assert (done.returncode, done.stdout) == (1, "") and changed, done.stderr


def test_what_is_passed_on_unchanged_is_good(large: Foreign) -> None:
    """So it is the byte that is seen, not the proxy."""
    with proxy(large.appliance, lambda asked, content: content) as url:
        assert large.report("-every", "100000", url=url)["size"] > LARGE
