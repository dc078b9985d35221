"""An appliance and a stub provider of one's own, in a temporary folder, for questions that need them set up in one way.

The appliance has everything at its default but its address, its number of workers, its database and the rate of
enrolments, and one provider for each dialect, all of them the stub.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from lib.machine import CannotRun, Process, find_processes

from mastio.exchange.errors import ConfigurationError
from mastio_client.enroll import EnrollmentRequest, Refused, enroll

START_SECONDS = 60.0
STOP_SECONDS = 60.0
PROVIDERS = {"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}


@dataclass(frozen=True, slots=True)
class Own:
    """What runs, and where. `database`: the URL of its PostgreSQL database; empty is SQLite in the data folder."""

    data: Path
    base_url: str
    stub_url: str
    journal: Path
    stub_pid: int
    database: str

    @property
    def ca_file(self) -> Path:
        return self.data / "ca" / "ca.crt"

    def processes(self) -> list[Process]:
        return find_processes(self.data, self.stub_pid)

    def admin(self) -> httpx.Client:
        token = (self.data / "secrets" / "admin-token").read_text().strip()
        return self._client({"Authorization": f"Bearer {token}"})

    def _client(self, headers: dict[str, str]) -> httpx.Client:
        trust = httpx.create_ssl_context(verify=str(self.ca_file), trust_env=False)
        return httpx.Client(base_url=self.base_url, headers=headers, verify=trust, trust_env=False, timeout=30)

    def enroll(self, names: list[str]) -> list[Path]:
        """Identity folders of new agents, by one-time tokens, as anyone gets one."""
        folders = [self.data / "agents" / name for name in names]
        with self.admin() as admin:
            wish = {"name": "*", "ttl_seconds": 3600, "uses": len(names)}
            token = said(admin.post("/v1/admin/enrollment-tokens", json=wish))["token"]
        ca = self.ca_file.read_bytes()
        try:
            for name, folder in zip(names, folders, strict=True):
                enroll(EnrollmentRequest(self.base_url, ca, name, token=token), folder, lambda text: None)
        except (Refused, ConfigurationError) as error:
            raise CannotRun(f"No agent was enrolled: {error}.", "See out.log of the appliance.") from error
        return folders

    def export(self, file: Path) -> None:
        """The whole audit log, as the appliance serves it, a line for each entry."""
        token = self.data / "secrets" / "admin-token"
        command = [sys.executable, "-m", "mastio", "audit", "export", "--url", self.base_url, "--ca", str(self.ca_file)]
        command += ["--token-file", str(token), "--out", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise CannotRun(f"The audit log cannot be exported: {done.stderr.strip()[-300:]}", "See audit verify.")


def said(reply: httpx.Response) -> dict[str, Any]:
    """What an admin was told, or `CannotRun`."""
    if reply.is_error:
        message = f"The appliance answered {reply.status_code} to {reply.request.url.path}: {reply.text[:300]}"
        raise CannotRun(message, "See out.log of the appliance.")
    document: dict[str, Any] = reply.json()
    return document


@contextmanager
def run_own(stub: list[str], workers: int, database: str = "") -> Iterator[Own]:
    """Both running, and gone afterwards. `stub`: its arguments besides port and journal. `database` has to be empty."""
    nginx = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if nginx is None:
        raise CannotRun("nginx is not installed.", "Put nginx on the PATH.")
    folder = Path(tempfile.mkdtemp(prefix="mastio-"))
    port, stub_port, journal = free_port(), free_port(), folder / "journal"
    data = folder / "data"
    data.mkdir()
    url = f"https://localhost:{port}"
    (data / "mastio.toml").write_text(
        f'[server]\npublic_url = "{url}"\nworkers = {workers}\n'
        f'[edge]\nport = {port}\nbind = "127.0.0.1"\nenrollments_per_minute = 60000\n[database]\nurl = "{database}"\n'
    )
    started: list[subprocess.Popen[bytes]] = []
    try:
        with (folder / "out.log").open("wb") as log:
            for words in (
                ["stub-llm", "--port", str(stub_port), "--journal", str(journal), *stub],
                ["serve", "--data", str(data), "--edge", nginx],
            ):
                started.append(subprocess.Popen([sys.executable, "-m", "mastio", *words], stdout=log, stderr=log))
        own = Own(data, url, f"http://127.0.0.1:{stub_port}", journal, started[0].pid, database)
        wait_until(lambda: is_ready(own, workers, started), START_SECONDS, folder / "out.log")
        add_providers(own)
        yield own
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(STOP_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def another_stub(*words: str) -> Iterator[str]:
    """Its base URL. Another provider, beside the one of `run_own`."""
    port = free_port()
    command = [sys.executable, "-m", "mastio", "stub-llm", "--port", str(port), *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: answers(port), START_SECONDS, Path(os.devnull))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(condition: Callable[[], bool], seconds: float, log: Path) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            last = log.read_text("utf-8", "replace").strip()[-600:]
            raise CannotRun(f"The appliance is not ready within {seconds:g} s: {last}", "Does `mastio check` pass?")
        time.sleep(0.1)


def is_ready(own: Own, workers: int, started: list[subprocess.Popen[bytes]]) -> bool:
    """Through the edge, and each worker for itself: the edge asks whichever is there."""
    if any(process.poll() is not None for process in started):
        raise CannotRun("The appliance or the stub ended at once.", "Does `mastio check` pass?")
    try:
        with own._client({}) as client:
            ready = client.get("/readyz").status_code == 200
        return ready and all(is_worker_ready(own, slot) for slot in range(2 * workers))  # and those for long bodies
    except (httpx.HTTPError, OSError):
        return False


def is_worker_ready(own: Own, slot: int) -> bool:
    secret = (own.data / "secrets" / "edge.key").read_text().strip()
    headers = {"X-Edge-Secret": secret, "X-Edge-Address": "127.0.0.1", "X-Edge-Certificate": ""}
    transport = httpx.HTTPTransport(uds=str(own.data / "run" / f"app-{slot}.sock"))
    with httpx.Client(transport=transport, base_url="http://mastio", timeout=5) as client:
        return client.get("/readyz", headers=headers).status_code == 200


def add_providers(own: Own) -> None:
    with own.admin() as admin:
        for kind, path in PROVIDERS.items():
            provider = {
                "name": f"stub-{kind}",
                "kind": kind,
                "base_url": own.stub_url + path,
                "allow_addresses": ["127.0.0.1/32"],
                "api_key": "sk-stub",
            }
            said(admin.post("/v1/admin/providers", json=provider))
