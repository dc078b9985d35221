"""A scene for faulty providers: who calls them, who is asked meanwhile, what must be told, and what may be left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from mastio_client import Identity
from mastio_primitives.codes import CODES
from support.appliance import Appliance, Stub, wait_until
from support.scripted_provider import KEY
from support.threats.faulty_provider import MIB, Faulty, Right
from support.threats.judge import BODY, CHAT, Answer, verify_error

KINDS = ("openai", "anthropic", "gemini")
TIMEOUTS = {"connect": 1, "first": 1.5, "read": 1.2, "total": 3}
PATIENT = {"connect": 10, "first": 20, "read": 20, "total": 40}
"""For all that no timeout is to end: on a busy machine a short one would come first."""

FLOODED = 64 * MIB
HELLO = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 9}
CONTENTS = {"contents": [{"parts": [{"text": "hello"}]}]}


def asked(kind: str, stream: bool, name: str = "") -> tuple[str, dict[str, Any]]:
    """Path and body of a call. `kind` is the caller's API; `array` and `messages` are those that are tried beside."""
    model = f"{name or f'patient-{kind}'}/m"
    if kind in ("gemini", "array"):
        verb = "streamGenerateContent" if stream else "generateContent"
        verb += "?alt=sse" if stream and kind == "gemini" else ""
        return f"/v1beta/models/{model}:{verb}", CONTENTS
    path = CHAT if kind == "openai" else "/v1/messages"
    return path, {"model": model, **HELLO, "stream": stream}


@dataclass(frozen=True)
class Scene:
    """A faulty provider of each kind, and who calls it."""

    appliance: Appliance
    client: httpx.Client
    other: httpx.Client
    stub: Stub
    faulty: dict[str, Faulty]

    def call(self, kind: str, stream: bool, name: str = "") -> httpx.Response:
        """`name` is the provider's, where it is not the patient one of this kind."""
        path, body = asked(kind, stream, name)
        return self.client.post(path, json=body)

    def outcome(self, reply: httpx.Response) -> dict[str, Any]:
        """The outcome of the one pair of entries."""
        entries = self.appliance.entries_of(reply.headers["x-request-id"])
        assert [entry["phase"] for entry in entries] == ["intent", "outcome"], entries
        outcome: dict[str, Any] = entries[1]["outcome"]
        return outcome

    def verify(self, reply: httpx.Response, expected: str, right: Right) -> None:
        """The caller was told what it must be told, and the log too."""
        if "|" in expected:
            expected = next((code for code in expected.split("|") if code in reply.text), expected)
        code = expected.removeprefix("late ")
        if expected == "ok":
            assert reply.status_code == 200 and self.outcome(reply) == {"status": "ok"}, reply.text[:300]
            return
        assert self.outcome(reply) == {"status": "failed", "code": code}, (reply.status_code, reply.text[:300])
        if expected == code:
            assert reply.status_code == CODES[code].status
            assert verify_error(Answer.of(reply), reply.request.url.path) == code
        else:
            assert reply.status_code == 200 and reply.content.startswith(right.shown)
            said = right.read_failure(reply.content)
            assert code in str(said), said
        assert KEY not in reply.text

    def twin(self, kind: str, stream: bool) -> None:
        """The next call of the same kind is as good as ever."""
        self.faulty[kind].fault = None
        reply = self.call(kind, stream)
        assert reply.status_code == 200 and reply.content == Right(kind, stream).body
        assert self.outcome(reply) == {"status": "ok"}


def describe(scene_name: str, kind: str, port: int, **timeouts: float) -> dict[str, Any]:
    version = "v1beta" if kind == "gemini" else "v1"
    return {"name": scene_name, "kind": kind, "base_url": f"http://127.0.0.1:{port}/{version}", "api_key": KEY,
            "allow_addresses": ["127.0.0.1/32"], "timeouts": timeouts or TIMEOUTS}  # fmt: skip


@contextmanager
def described(appliance: Appliance, **body: Any) -> Iterator[None]:
    with appliance.admin() as admin:
        assert admin.post("/v1/admin/providers", json=body).status_code == 201
        yield
        assert admin.delete(f"/v1/admin/providers/{body['name']}").status_code == 204


# --- what is left ----------------------------------------------------------------------------------------------------


def descriptors(appliance: Appliance) -> dict[str, str]:
    """What the workers have open, by process and descriptor, without the edge's own connections to them."""
    found = {}
    for folder in appliance.worker_folders():
        for file in (folder / "fd").iterdir():
            try:
                found[f"{folder.name}/{file.name}"] = str(file.readlink())
            except FileNotFoundError:
                continue
    return found


def tcp_sockets(appliance: Appliance, port: int) -> int:
    """The workers' open TCP sockets to this port, also those that the other side has closed."""
    mine = {name[8:-1] for name in descriptors(appliance).values() if name.startswith("socket:[")}
    lines = Path(f"/proc/{appliance.pid('worker-0')}/net/tcp").read_text().splitlines()[1:]
    return sum(1 for line in lines if line.split()[2].endswith(f":{port:04X}") and line.split()[9] in mine)


def rss(appliance: Appliance) -> int:
    return appliance.memory()


def verify_nothing_is_left(scene: Scene, provider: Faulty) -> None:
    wait_until(lambda: provider.open == 0, 5, "the provider's connections ended")
    wait_until(lambda: tcp_sockets(scene.appliance, provider.port) == 0, 2, "the worker's descriptors are closed")


def watch(scene: Scene, pool: ThreadPoolExecutor, kind: str, stream: bool, name: str = "") -> httpx.Response:
    """The reply of the faulty one. Another provider is asked all the while, and answers before the faulty one is
    given up."""
    waiting: Future[httpx.Response] = pool.submit(scene.call, kind, stream, name)
    while True:
        started = time.monotonic()
        assert scene.other.post(CHAT, json=BODY).status_code == 200
        assert time.monotonic() - started < 2
        if wait([waiting], timeout=0.1).done:
            return waiting.result()


@contextmanager
def open_scene(appliance: Appliance, agent: Identity, stub: Stub, faulty: dict[str, Faulty]) -> Iterator[Scene]:
    with appliance.admin() as admin:
        for name, provider in faulty.items():
            for prefix, timeouts in (("faulty", TIMEOUTS), ("patient", PATIENT)):
                body = describe(f"{prefix}-{name}", provider.kind, provider.port, **timeouts)
                assert admin.post("/v1/admin/providers", json=body).status_code == 201
        with appliance.by_certificate(agent) as client, appliance.by_certificate(agent) as other:
            yield Scene(appliance, client, other, stub, faulty)
        for name, provider in faulty.items():
            for prefix in ("faulty", "patient"):
                assert admin.delete(f"/v1/admin/providers/{prefix}-{name}").status_code == 204
            provider.close()
