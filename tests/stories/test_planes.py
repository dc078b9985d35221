"""Two programs: control and workers. Each goes on without the other, and a worker has no key of the authority."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from mastio.client import Identity
from support.appliance import NGINX, Appliance, Stub, open_appliance, wait_until

BODY = {"model": "stub/m", "messages": [{"role": "user", "content": "hello"}]}
BACK_WITHIN = 3.0
"""Seconds until control that was killed serves again; ten times as long where the machine is shared."""


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[Appliance, Stub, Identity]]:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance() as (appliance, stub):
        assert stub is not None
        yield appliance, stub, appliance.enroll("busy")


# --- who serves what -------------------------------------------------------------------------------------------------


def test_each_program_serves_its_plane_alone(world: tuple[Appliance, Stub, Identity]) -> None:
    appliance, _, _ = world
    with appliance.worker(0) as worker, appliance.control() as control:
        for path in ("/pki/ca.crt", "/v1/admin/agents", "/openapi.json", "/.well-known/jwks.json"):
            assert worker.get(path).json()["code"] == "not_found", path
            assert control.get(path).status_code in (200, 401), path
        for path in ("/v1/agents/self", "/readyz", "/metrics"):
            assert control.get(path).json()["code"] == "not_found", path
            assert worker.get(path).status_code in (200, 401), path


def test_the_operator_sees_both_planes(world: tuple[Appliance, Stub, Identity]) -> None:
    appliance, _, _ = world
    with appliance.admin() as admin:
        # a process tells of its event loop a second after its start
        wait_until(lambda: 'seconds{worker="control"}' in admin.get("/metrics").text, 10, "control tells of its loop")
        text = admin.get("/metrics").text
    up = set(re.findall(r'^mastio_process_up\{process="([^"]+)"\} 1.0$', text, re.MULTILINE))
    assert up == {"control", "worker-0", "worker-1"}
    lag = set(re.findall(r'^mastio_event_loop_lag_seconds\{worker="([^"]+)"\}', text, re.MULTILINE))
    assert lag >= {"control", "0", "1"}
    assert 'kind="admin.providers"' in text, "what control counted is there"


# --- what a worker holds ---------------------------------------------------------------------------------------------


def forms_of(key: ec.EllipticCurvePrivateKey, pem: bytes) -> dict[str, bytes]:
    """The bytes by which the key is recognised in memory: the number in both orders, and parts of the file's lines."""
    number = key.private_numbers().private_value.to_bytes(32, "big")
    lines = [line for line in pem.splitlines() if b"-----" not in line]
    return {"big": number, "little": number[::-1], "file": lines[0][28:64]}


def find_in_memory(pid: int, needles: dict[str, bytes]) -> set[str]:
    found = set()
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights, *_ = line.split()
            if "r" not in rights or line.endswith(("[vvar]", "[vsyscall]")):
                continue
            start, end = (int(part, 16) for part in place.split("-"))
            found |= find_in_range(memory.fileno(), start, end, needles)
    return found


def find_in_range(memory: int, start: int, end: int, needles: dict[str, bytes]) -> set[str]:
    """Piece by piece; pieces overlap by more than a needle."""
    found, step = set[str](), 1 << 20
    for place in range(start, end, step):
        try:
            piece = os.pread(memory, min(step + 64, end - place), place)
        except OSError:
            continue
        found |= {name for name, needle in needles.items() if needle in piece}
    return found


@pytest.mark.parametrize("name", ["intermediate", "root"])
def test_no_key_of_the_authority_is_in_a_worker(world: tuple[Appliance, Stub, Identity], name: str) -> None:
    appliance, _, agent = world
    with appliance.by_certificate(agent) as caller:
        assert caller.get("/v1/agents/self").status_code == 200
    pem = (appliance.data / "ca" / f"{name}.key").read_bytes()
    key = load_pem_private_key(pem, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    needles = forms_of(key, pem)
    for process in ("worker-0", "worker-1", "fork-server", "supervisor"):
        assert find_in_memory(appliance.pid(process), needles) == set(), process
    if name == "intermediate":
        assert find_in_memory(appliance.pid("control"), needles), "the search finds a key where there is one"


def test_no_key_of_enrolment_tokens_is_in_a_worker(world: tuple[Appliance, Stub, Identity]) -> None:
    appliance, _, _ = world
    for name, has_it in (("enrollment-tokens", False), ("audit-digest", True)):
        key = bytes.fromhex((appliance.data / "secrets" / f"{name}.key").read_text())
        found = find_in_memory(appliance.pid("worker-0"), {"key": key})
        assert bool(found) == has_it, f"{name}: the search finds a key where there is one"


def test_no_framework_is_in_a_worker(world: tuple[Appliance, Stub, Identity]) -> None:
    """By the compiled modules, which are mapped, and by the names of modules, which a module that is loaded keeps."""
    appliance, _, _ = world
    names = {"fastapi": b"fastapi.routing", "starlette": b"starlette.routing", "control": b"mastio.control.application"}
    for process in ("worker-0", "fork-server"):
        assert find_in_memory(appliance.pid(process), names) == set(), process
    assert find_in_memory(appliance.pid("control"), names) == set(names)


# --- each without the other ------------------------------------------------------------------------------------------


class Caller(threading.Thread):
    """Calls without pause until it is stopped, with a new client now and then."""

    def __init__(self, make: Callable[[], httpx.Client]) -> None:
        super().__init__(daemon=True)
        self.told = Counter[str]()
        self._make, self._end = make, threading.Event()

    def run(self) -> None:
        while not self._end.is_set():
            with self._make() as client:
                for _ in range(20):
                    self._call(client)

    def _call(self, client: httpx.Client) -> None:
        try:
            reply = client.post("/v1/chat/completions", json=BODY)
            self.told[str(reply.status_code)] += 1
        except httpx.HTTPError as error:
            self.told[repr(error)] += 1

    def stop(self) -> Counter[str]:
        self._end.set()
        self.join(30)
        return self.told


def test_no_call_of_an_agent_fails_while_control_is_killed(world: tuple[Appliance, Stub, Identity]) -> None:
    appliance, stub, agent = world
    arrived = len(stub.arrivals())
    callers = [Caller(lambda: appliance.by_certificate(agent)) for _ in range(2)]
    callers.append(Caller(lambda: appliance.agent(agent)))  # each client asks for an access token first
    for caller in callers:
        caller.start()
    recoveries = []
    try:
        for _ in range(3):
            before, struck = appliance.pid("control"), time.monotonic()
            appliance.kill_control()
            with appliance.admin() as admin:
                # a connection that was in the killed process's hands is refused; one in the socket waits
                wait_until(lambda a=admin: a.get("/v1/admin/agents").status_code == 200, 30, "control is back")
            recoveries.append(time.monotonic() - struck)
            assert appliance.pid("control") != before
    finally:
        told = sum((caller.stop() for caller in callers), Counter[str]())
    print(f"control was back after {[round(one, 2) for one in recoveries]} s; {told}")
    assert set(told) == {"200"} and told["200"] > 20, told
    assert len(stub.arrivals()) - arrived == told["200"]
    assert max(recoveries) < 10 * BACK_WITHIN
    assert appliance.verify() == 0


def test_agents_are_served_while_control_is_down(world: tuple[Appliance, Stub, Identity]) -> None:
    """It cannot start: a key of the authority is gone. What needs control is refused at once, with the time to wait."""
    appliance, _, agent = world
    key = appliance.data / "ca" / "intermediate.key"
    kept = key.read_bytes()
    key.unlink()
    try:
        appliance.kill_control()
        with appliance.admin() as admin, appliance.by_certificate(agent) as caller:
            wait_until((appliance.data / "edge" / "control-down").exists, 20, "control is down")
            refused = admin.get("/v1/admin/agents")
            assert (refused.status_code, refused.json()["code"]) == (503, "not_ready")
            assert refused.headers["retry-after"]
            assert admin.get("/pki/ca.crt").status_code == 503
            for _ in range(3):
                assert caller.post("/v1/chat/completions", json=BODY).status_code == 200
            with appliance.agent(agent) as signing:  # with a new access token
                assert signing.get("/v1/agents/self").json()["credential"]["type"] == "token"
            told = admin.get("/readyz")
            assert told.status_code == 503 and "control: it does not run" in told.json()["detail"]
            assert admin.get("/readyz?exclude=control").json()["status"] == "ready"
            assert 'mastio_process_up{process="control"} 0.0' in admin.get("/metrics").text
    finally:
        key.write_bytes(kept)
        key.chmod(0o600)
    with appliance.admin() as admin:
        wait_until(lambda: admin.get("/v1/admin/agents").status_code == 200, 30, "control is back")
        wait_until(appliance.is_ready, 30, "it is ready")


def test_control_that_stands_still_is_down(world: tuple[Appliance, Stub, Identity]) -> None:
    appliance, _, agent = world
    control = appliance.pid("control")
    os.kill(control, signal.SIGSTOP)
    try:
        wait_until((appliance.data / "edge" / "control-down").exists, 20, "control is down")
        with appliance.admin() as admin, appliance.by_certificate(agent) as caller:
            assert admin.get("/v1/admin/agents").status_code == 503
            assert caller.post("/v1/chat/completions", json=BODY).status_code == 200
    finally:
        os.kill(control, signal.SIGCONT)
    with appliance.admin() as admin:
        wait_until(lambda: admin.get("/v1/admin/agents").status_code == 200, 20, "control is back")
    assert appliance.pid("control") == control


def test_control_serves_while_the_workers_are_down(world: tuple[Appliance, Stub, Identity]) -> None:
    """They stand still here. What control changes is in force at them when they go on."""
    appliance, _, agent = world
    workers = [appliance.pid(f"worker-{slot}") for slot in appliance.slots]
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    try:
        with appliance.admin() as admin:
            assert admin.post("/v1/admin/agents/busy/revoke", json={}).status_code == 200
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
    with appliance.by_certificate(agent) as caller, appliance.admin() as admin:
        assert caller.get("/v1/agents/self").status_code == 401
        assert admin.post("/v1/admin/agents/busy/reactivate", json={}).status_code == 200
