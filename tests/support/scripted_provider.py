"""A provider that answers what a test tells it to, byte by byte, and keeps what it was asked."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

from support.appliance import Appliance


@dataclass
class Asked:
    """One request as it reached the provider. Header names in lower case."""

    path: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        values = [value for key, value in self.headers if key == name]
        assert len(values) <= 1, values
        return values[0] if values else None

    @property
    def document(self) -> Any:
        return orjson.loads(self.body)

    @property
    def model(self) -> str:
        """In the path, as Gemini's API has it, or in the body."""
        found = re.search(r"/models/([^:?]+):", self.path)
        return found[1] if found else str(self.document.get("model", "")) if self.body else ""


@dataclass
class Script:
    """An answer. `pieces` go out as chunks; `cut` ends the connection without the last one. It begins after `delay`
    and waits `pause` after each piece."""

    status: int = 200
    content_type: str = "application/json"
    pieces: Sequence[bytes] = (b"{}",)
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    delay: float = 0.0
    pause: float = 0.0


class Provider(ThreadingHTTPServer):
    daemon_threads = True
    script = Script()

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[Asked] = []
        self.next: list[Script] = []
        """What is answered first, one by one; then `script`."""
        self.by_model: dict[str, Script] = {}
        """What is answered for a model, before any of these."""
        self.answer: Callable[[Asked], Script] | None = None
        """What is answered instead of all of these, where it depends on what is asked."""

    @property
    def last(self) -> Asked:
        return self.asked[-1]

    def choose(self, asked: Asked) -> Script:
        if self.answer is not None:
            return self.answer(asked)
        if self.by_model and (written := self.by_model.get(asked.model)) is not None:
            return written
        return self.next.pop(0) if self.next else self.script

    def url(self, version: str = "v1") -> str:
        return f"http://127.0.0.1:{self.server_port}/{version}".rstrip("/")

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever was answered has gone: that is for the test to judge."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        asked = Asked(self.path, [(n.lower(), v) for n, v in self.headers.items()], body)
        self.server.asked.append(asked)
        script = self.server.choose(asked)
        time.sleep(script.delay)
        self.send_response(script.status)
        for name, value in {"content-type": script.content_type, **script.headers}.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in script.pieces:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.flush()
            time.sleep(script.pause)
        if script.cut:
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is said."""


KEY = "sk-the-provider-own-key"


@contextmanager
def run_provider(appliance: Appliance, kind: str, name: str, **more: Any) -> Iterator[Provider]:
    """A running one, which the appliance knows as `name`, of this kind, with the key `KEY`, and `more` of it."""
    provider = Provider()
    thread = threading.Thread(target=provider.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    version = more.pop("version", "v1beta" if kind == "gemini" else "v1")
    body = {"name": name, "kind": kind, "base_url": provider.url(version), "api_key": KEY, "weight": 1,
            "allow_addresses": ["127.0.0.1/32"], "aliases": {f"alias-{name}": "real-model"}, **more}  # fmt: skip
    try:
        with appliance.admin() as admin:
            made = admin.post("/v1/admin/providers", json=body)
            assert made.status_code == 201, made.text
        yield provider
    finally:
        with appliance.admin() as admin:
            assert admin.delete(f"/v1/admin/providers/{name}").status_code == 204
        provider.shutdown()
        provider.server_close()
