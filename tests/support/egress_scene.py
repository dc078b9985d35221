"""An upstream for connections, which keeps what reached it, and a scene with an appliance before it."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

from support.appliance import Appliance, open_appliance

PIECE = b"0123456789abcdef" * 4096
PERMIT = 'permit(principal, action == Action::"egress.http", resource);'


@dataclass
class Arrived:
    """One request as it reached the upstream."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    size: int = 0
    digest: str = ""
    whole: bool = False

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name]


class Handler(BaseHTTPRequestHandler):
    """What it answers is in the path: see `Upstream`."""

    protocol_version = "HTTP/1.1"
    server: Server

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def parse_request(self) -> bool:
        parsed = super().parse_request()
        if parsed:
            setattr(self, f"do_{self.command}", self.answer)
        return parsed

    def answer(self) -> None:
        upstream = self.server.upstream
        arrived = Arrived(self.command, self.path, list(self.headers.items()))
        upstream.arrived.append(arrived)
        digest = hashlib.sha256()
        try:
            for piece in self._body():
                arrived.size += len(piece)
                digest.update(piece)
                time.sleep(upstream.reads_slowly)
            arrived.digest, arrived.whole = digest.hexdigest(), True
            name = self.path.split("?")[0].split("/")[1]
            upstream.ways.get(name, upstream.ways["echo"])(self, arrived)
        except OSError:
            upstream.broken.append(arrived)
            self.close_connection = True

    def _body(self) -> Iterator[bytes]:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                left = size
                while left:
                    piece = self.rfile.read1(left)  # type: ignore[attr-defined]
                    if not piece:
                        raise ConnectionError
                    left -= len(piece)
                    yield piece
                self.rfile.readline()
            self.rfile.readline()
            return
        left = int(self.headers.get("content-length") or 0)
        while left:
            piece = self.rfile.read1(min(left, 65536))  # type: ignore[attr-defined]
            if not piece:
                raise ConnectionError
            left -= len(piece)
            yield piece

    def send(self, status: int, body: bytes, *headers: tuple[str, str], kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """The journal says it."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024
    upstream: Upstream

    def handle_error(self, *_: Any) -> None:
        """Whoever hangs up is no error of ours."""


@dataclass
class Upstream:
    """`ways` by the first segment of the path:

    echo: what reached it, as JSON · bytes/N: N bytes, with their length · chunks/N: the same, in chunks · status/N ·
    events/N: N events, ten milliseconds apart · slow: a byte each tenth of a second · and what a test adds.
    """

    arrived: list[Arrived] = field(default_factory=list)
    broken: list[Arrived] = field(default_factory=list)
    reads_slowly: float = 0.0
    port: int = 0
    ways: dict[str, Callable[[Handler, Arrived], None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ways = {
            "echo": echo, "bytes": say_bytes, "chunks": say_chunks, "status": say_status, "events": say_events,
            "slow": say_slowly,
        }  # fmt: skip

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def last(self) -> Arrived:
        return self.arrived[-1]

    @contextmanager
    def serve(self) -> Iterator[Upstream]:
        server = Server(("127.0.0.1", 0), Handler)
        server.upstream = self
        self.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()


def echo(handler: Handler, arrived: Arrived) -> None:
    said = {"method": arrived.method, "path": arrived.path, "headers": arrived.headers, "size": arrived.size}
    handler.send(200, json.dumps(said).encode())


def _number(arrived: Arrived) -> int:
    return int(arrived.path.split("?")[0].split("/")[2])


def say_bytes(handler: Handler, arrived: Arrived) -> None:
    left = _number(arrived)
    handler.send_response(200)
    handler.send_header("content-type", "application/octet-stream")
    handler.send_header("content-length", str(left))
    handler.end_headers()
    while left and handler.command != "HEAD":
        handler.wfile.write(PIECE[:left])
        left -= min(left, len(PIECE))


def say_chunks(handler: Handler, arrived: Arrived) -> None:
    left = _number(arrived)
    handler.send_response(200)
    handler.send_header("content-type", "application/octet-stream")
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    while left:
        handler.chunk(PIECE[:left])
        left -= min(left, len(PIECE))
    handler.wfile.write(b"0\r\n\r\n")


def say_status(handler: Handler, arrived: Arrived) -> None:
    status = _number(arrived)
    if status in (204, 304):
        handler.send_response(status)
        handler.end_headers()
    else:
        handler.send(status, b'{"said":%d}' % status)


def say_events(handler: Handler, arrived: Arrived) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    for n in range(_number(arrived)):
        handler.chunk(b'data: {"n":%d}\n\n' % n)
        time.sleep(0.01)
    handler.wfile.write(b"0\r\n\r\n")


def say_slowly(handler: Handler, arrived: Arrived) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "application/octet-stream")
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    for _ in range(6000):
        handler.chunk(b".")
        time.sleep(0.1)


@dataclass
class Scene:
    appliance: Appliance
    upstream: Upstream
    admin: httpx.Client
    agent: httpx.Client

    def connect(self, name: str = "api", **members: Any) -> None:
        """Describe a connection to the upstream, or describe it anew."""
        body = {"base_url": self.upstream.url, "allow_addresses": ["127.0.0.1/32"], **members}
        made = self.admin.put(f"/v1/admin/connections/{name}", json=body)
        if made.status_code == 404:
            made = self.admin.post("/v1/admin/connections", json={"name": name, **body})
        assert made.status_code in (200, 201), made.text

    def call(self, method: str, path: str, name: str = "api", **more: Any) -> httpx.Response:
        return self.agent.request(method, f"/v1/egress/{name}{path}", **more)

    def entries(self, reply: httpx.Response) -> list[dict[str, Any]]:
        return self.appliance.entries_of(reply.headers["x-request-id"])


@contextmanager
def open_scene(**options: Any) -> Iterator[Scene]:
    """An agent that may use every connection."""
    with Upstream().serve() as upstream, open_appliance(stub=None, **options) as (appliance, _):
        identity = appliance.enroll("alice")
        with appliance.admin() as admin, appliance.agent(identity) as agent:
            made = admin.post("/v1/admin/policies", json={"name": "egress", "cedar": PERMIT})
            assert made.status_code == 201, made.text
            scene = Scene(appliance, upstream, admin, agent)
            scene.connect()
            yield scene
