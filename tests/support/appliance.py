"""A whole appliance for a test: real nginx, real workers, a stand-in provider with a journal, enrolled agents.

Nothing here reaches into the product: it uses the command line, the REST surface, and reads the files that the
contract names.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import httpx

from mastio_client import DPoPAuth, Identity
from mastio_client.enroll import EnrollmentRequest, enroll
from support.ports import take_port

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
START_SECONDS = 60.0
UNVERIFIED = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For the probe of readiness, which begins before the appliance has certificates, and for clients without TLS: without
it they would read all authorities of the system."""
UNVERIFIED.check_hostname = False
UNVERIFIED.verify_mode = ssl.CERT_NONE


def wait_until(condition: Any, seconds: float, what: str) -> None:
    """Poll `condition` until it is true, or fail saying `what` did not happen."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"within {seconds} s not: {what}")
        time.sleep(0.03)


class Stub:
    """The stand-in provider. `journal` is its own record of what reached it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.port = take_port()
        self.journal_file = folder / f"stub-{self.port}.jsonl"
        command = [sys.executable, "-m", "mastio", "stub-llm", "--port", str(self.port)]
        command += ["--journal", str(self.journal_file), *(arguments or ("--latency", "0"))]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        wait_until(self._answers, START_SECONDS, "the stub answers")

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def gemini_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1beta"

    def journal(self) -> list[dict[str, Any]]:
        if not self.journal_file.exists():
            return []
        lines = self.journal_file.read_bytes().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith(b"\n")]  # the last one may be half-written

    def arrivals(self) -> list[str]:
        """The request ids that reached the provider."""
        return [line["request_id"] for line in self.journal() if line.get("method") == "POST" and "event" not in line]

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)


MANY_ENROLLMENTS = "enrollments_per_minute = 60000"
"""The agents of all tests come from one address."""

VENDOR_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
"""Whoever runs the tests may have such keys; no appliance of a test is to call a vendor."""


class Appliance:
    """One appliance in a folder of its own."""

    def __init__(
        self, folder: Path, *, workers: int = 1, database: str = "", edge: str = "", more: str = "",
        many_enrollments: bool = True,
    ) -> None:  # fmt: skip
        self.data = folder
        self.port = take_port()
        self.base_url = f"https://localhost:{self.port}"
        self.workers = workers
        self.environment: dict[str, str] = {}
        """What the appliance finds in its environment besides what the test run has."""
        fleet = MANY_ENROLLMENTS if many_enrollments else ""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "mastio.toml").write_text(
            f'[server]\npublic_url = "{self.base_url}"\ntrust_domain = "test.example"\nworkers = {workers}\n'
            f'[edge]\nport = {self.port}\nbind = "127.0.0.1"\n{edge}\n{fleet}\n[database]\nurl = "{database}"\n{more}'
        )
        self._process: subprocess.Popen[bytes] | None = None
        self._mark = 0

    def start(self) -> None:
        self._launch()
        self.wait_ready()

    def start_refused(self, reason: str) -> str:
        """Start what must not become ready, until the log has `reason`. Returns what the log has of this start."""
        before = len(self.log()) if (self.data / "out.log").exists() else 0
        self._launch()
        wait_until(lambda: reason in self.log()[before:] or self._has_ended(), START_SECONDS, f"it says {reason!r}")
        assert not self._is_worker_ready(0, timeout=1.0)
        said = self.log()[before:]
        assert reason in said, said
        return said

    def _launch(self) -> None:
        assert NGINX is not None
        command = [sys.executable, "-m", "mastio", "serve", "--data", str(self.data), "--edge", NGINX]
        environment = {name: value for name, value in os.environ.items() if name not in VENDOR_KEYS}
        with (self.data / "out.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env={**environment, **self.environment})

    def _has_ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def wait_ready(self) -> None:
        try:
            wait_until(lambda: self._has_ended() or self.is_ready(), START_SECONDS, "the appliance is ready")
            assert not self._has_ended(), "the appliance has ended"
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log()[-4000:]}") from None

    def is_ready(self) -> bool:
        """Through the edge, and every worker for itself: the edge asks whichever is there."""
        return self._is_edge_ready() and all(map(self._is_worker_ready, self.slots))

    @property
    def slots(self) -> range:
        """Of all its workers, those for long bodies too."""
        return range(2 * self.workers)

    def _is_edge_ready(self) -> bool:
        probe = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=5, context=UNVERIFIED)
        try:
            probe.request("GET", "/readyz", headers={"Host": f"localhost:{self.port}"})
            return probe.getresponse().status == 200
        except (http.client.HTTPException, OSError):
            return False
        finally:
            probe.close()

    def _is_worker_ready(self, slot: int, timeout: float = 5.0) -> bool:
        try:
            with self.worker(slot) as client:
                return client.get("/readyz", timeout=timeout).status_code == 200
        except (httpx.HTTPError, OSError):
            return False

    def worker(self, slot: int) -> httpx.Client:
        """A client of one worker's own socket, which says what the edge says of a stranger."""
        return self._process_client(f"app-{slot}.sock")

    def control(self) -> httpx.Client:
        """The same of control's socket."""
        return self._process_client("control.sock")

    def _process_client(self, name: str) -> httpx.Client:
        secret = (self.data / "secrets" / "edge.key").read_text().strip()
        said = {"X-Edge-Secret": secret, "X-Edge-Address": "127.0.0.1", "X-Edge-Certificate": ""}
        transport = plain_transport(self.data / "run" / name)
        return httpx.Client(transport=transport, trust_env=False, base_url="http://mastio", headers=said, timeout=5)

    def settle(self, *replicas: Appliance) -> None:
        """Wait until every worker, those of `replicas` too, knows each change that was answered before this call. A
        worker knows its own changes at once."""
        workers = [(one, slot) for one in (self, *replicas) for slot in one.slots]
        wanted = max(one.version_of(slot) for one, slot in workers)
        for one, slot in workers:
            wait_until(lambda one=one, slot=slot: one.version_of(slot) >= wanted, 5, f"{one.data} {slot} is up to date")

    def version_of(self, slot: int) -> float:
        """The version of the configuration that a worker knows."""
        token = (self.data / "secrets" / "admin-token").read_text().strip()
        with self.worker(slot) as client:
            text = client.get("/metrics", headers={"Authorization": f"Bearer {token}"}).text
        found = re.search(r"^mastio_directory_version (\S+)$", text, re.MULTILINE)
        assert found is not None, text[:400]
        return float(found[1])

    def log(self) -> str:
        return (self.data / "out.log").read_text("utf-8", "replace")

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(40)

    def pid(self, name: str) -> int:
        return int((self.data / "run" / f"{name}.pid").read_text())

    def worker_folders(self) -> list[Path]:
        """What `/proc` says of each worker."""
        return [Path(f"/proc/{self.pid(f'worker-{slot}')}") for slot in self.slots]

    def memory(self) -> int:
        """Bytes of the resident memory of all these processes."""
        return sum(int((folder / "statm").read_text().split()[1]) * 4096 for folder in self.worker_folders())

    def kill_worker(self, slot: int = 0) -> None:
        os.kill(self.pid(f"worker-{slot}"), signal.SIGKILL)

    def kill_control(self) -> None:
        os.kill(self.pid("control"), signal.SIGKILL)

    def replace_control(self) -> None:
        """Kill it, and wait until its successor serves."""
        before = self.pid("control")
        self.kill_control()
        wait_until(lambda: self.pid("control") != before, START_SECONDS, "control is started again")
        with self.control() as client:
            assert client.get("/pki/ca.crt", timeout=START_SECONDS).status_code == 200

    # --- who calls -------------------------------------------------------------------------------------------------

    def tls(self, identity: Identity | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.data / "ca" / "ca.crt"))
        if identity is not None:
            context.load_cert_chain(identity.folder / "agent.crt", identity.folder / "agent.key")
        return context

    def client(self, **more: Any) -> httpx.Client:
        """A stranger."""
        more.setdefault("verify", self.tls())
        return httpx.Client(base_url=self.base_url, trust_env=False, timeout=30, **more)

    def admin(self) -> httpx.Client:
        token = (self.data / "secrets" / "admin-token").read_text().strip()
        return self.client(headers={"Authorization": f"Bearer {token}"})

    def agent(self, identity: Identity) -> httpx.Client:
        """An agent that signs a DPoP proof for each request."""
        return self.client(auth=DPoPAuth(identity))

    def by_certificate(self, identity: Identity) -> httpx.Client:
        """An agent that shows its certificate alone."""
        return self.client(verify=self.tls(identity))

    def enrollment_token(self, name: str = "*", uses: int = 1) -> str:
        with self.admin() as admin:
            made = admin.post("/v1/admin/enrollment-tokens", json={"name": name, "ttl_seconds": 3600, "uses": uses})
            assert made.status_code == 201, made.text
            token: str = made.json()["token"]
            return token

    def enroll(self, name: str) -> Identity:
        folder = self.data / "agents" / name
        ca = (self.data / "ca" / "ca.crt").read_bytes()
        enroll(EnrollmentRequest(self.base_url, ca, name, token=self.enrollment_token(name)), folder, lambda text: None)
        return Identity.load(folder)

    def add_provider(self, stub: Stub, name: str = "stub", kind: str = "openai") -> None:
        body = {
            "name": name,
            "kind": kind,
            "base_url": stub.gemini_url if kind == "gemini" else stub.url,
            "allow_addresses": ["127.0.0.1/32"],
            "api_key": "sk-stub-secret",
        }
        with self.admin() as admin:
            made = admin.post("/v1/admin/providers", json=body)
            assert made.status_code == 201, made.text

    # --- what it wrote ---------------------------------------------------------------------------------------------

    def next_index(self) -> int:
        """The index that the next entry of the log will have."""
        index: int = self._select("SELECT coalesce(max(seq), -1) + 1 FROM entries WHERE seq >= ?", 0)[0][0]
        return index

    def mark(self) -> None:
        """From now on `entries` begins here: an appliance that tests share has the entries of all of them."""
        self._mark = self.next_index()

    def entries(self, since: int | None = None) -> list[dict[str, Any]]:
        """The audit log from an index on, or since the mark, or since its beginning, from the bytes."""
        first = self._mark if since is None else since
        rows = self._select("SELECT entry FROM entries WHERE seq >= ? ORDER BY seq", first)
        return [json.loads(row[0]) for row in rows]

    def _select(self, sql: str, *parameters: Any) -> list[Any]:
        connection = apsw.Connection(str(self.data / "db" / "audit.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return list(connection.execute(sql, parameters))
        finally:
            connection.close()

    def entries_of(self, request_id: str) -> list[dict[str, Any]]:
        """The entries of one exchange, wherever in the log they are."""
        rows = self._select("SELECT entry FROM entries WHERE instr(entry, ?) ORDER BY seq", request_id.encode("ascii"))
        return [entry for row in rows if (entry := json.loads(row[0]))["id"] == request_id]

    def verify(self) -> int:
        """Exit status of `mastio audit verify`."""
        command = [sys.executable, "-m", "mastio", "audit", "verify", "--data", str(self.data)]
        return subprocess.run(command, capture_output=True, check=False).returncode


def plain_transport(file: Path) -> httpx.HTTPTransport:
    """HTTP over a unix socket. Without `verify`, httpx reads all authorities of the system for it: 40 ms each time."""
    return httpx.HTTPTransport(uds=str(file), verify=UNVERIFIED)


def read_files(folder: Path) -> dict[Path, bytes]:
    """Every file below the folder, but those that are gone before they are read: drafts of others."""
    contents = {}
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError):
            if file.is_file():
                contents[file] = file.read_bytes()
    return contents


@contextmanager
def open_appliance(*, stub: tuple[str, ...] | None = (), **options: Any) -> Iterator[tuple[Appliance, Stub | None]]:
    """A running appliance in a temporary folder, with a stand-in provider unless `stub` is None."""
    folder = Path(tempfile.mkdtemp(prefix="mastio-"))
    appliance = Appliance(folder / "data", **options)
    provider = Stub(folder, *stub) if stub is not None else None
    try:
        appliance.start()
        if provider is not None:
            appliance.add_provider(provider)
        yield appliance, provider
    finally:
        appliance.stop()
        if provider is not None:
            provider.stop()
        shutil.rmtree(folder, ignore_errors=True)
