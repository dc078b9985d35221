"""Bodies of 100 kB, or of unknown length, have a worker of their own: what it does keeps no short call waiting."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import httpx
import pytest

from mastio_client.proofs import Prover, hash_token
from support.appliance import Appliance, Identity
from support.egress_scene import Scene, open_scene

CHAT = "/v1/chat/completions"
LONG_WORKER = 1


def body_of(size: int) -> bytes:
    empty = json.dumps({"model": "stub/m", "max_tokens": 9, "messages": [{"role": "user", "content": ""}]})
    return empty.replace('""', json.dumps("x " * ((size - len(empty)) // 2) + "x" * ((size - len(empty)) % 2))).encode()


def in_pieces(body: bytes) -> Iterator[bytes]:
    """Sent without a length."""
    yield body


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """An appliance with a connection; its agent shows a certificate."""
    with open_scene() as opened, opened.appliance.by_certificate(opened.appliance.enroll("bob")) as bob:
        opened.appliance.settle()
        yield replace(opened, agent=bob)


@contextmanager
def stopped(appliance: Appliance, slot: int) -> Iterator[None]:
    """A worker that does nothing meanwhile, as one that is busy for long."""
    pid = appliance.pid(f"worker-{slot}")
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize(
    ("size", "is_length_said", "is_long"),
    [(99_999, True, False), (100_000, True, True), (500, True, False), (500, False, True)],
)
def test_who_takes_a_body(
    appliance: Appliance, agent: Identity, size: int, is_length_said: bool, is_long: bool
) -> None:
    body = body_of(size)
    assert len(body) == size
    with appliance.by_certificate(agent) as client, ThreadPoolExecutor(1) as beside:

        def send() -> httpx.Response:
            content = body if is_length_said else in_pieces(body)
            return client.post(CHAT, content=content, headers={"content-type": "application/json"}, timeout=30)

        with stopped(appliance, 0 if is_long else LONG_WORKER):
            assert send().status_code == 200
        with stopped(appliance, LONG_WORKER if is_long else 0):
            waiting = beside.submit(send)
            with pytest.raises(TimeoutError):
                waiting.result(0.3)
        assert waiting.result(30).status_code == 200


def test_calls_without_a_body_are_short(appliance: Appliance, agent: Identity) -> None:
    with appliance.by_certificate(agent) as client, stopped(appliance, LONG_WORKER):
        assert client.get("/v1/models").status_code == 200
        assert client.get("/v1/agents/self").status_code == 200


def test_a_busy_worker_for_long_bodies_stops_no_administration(appliance: Appliance) -> None:
    with appliance.admin() as admin, stopped(appliance, LONG_WORKER):
        cedar = "// " + "x" * 60_000 + '\nforbid (principal == Agent::"nobody", action, resource);'
        made = admin.post("/v1/admin/policies", json={"name": "long-bodies", "cedar": cedar})
        assert made.status_code == 201, made.text
        assert admin.delete("/v1/admin/policies/long-bodies").status_code == 204
        assert admin.get("/readyz").status_code == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE"])
def test_what_has_no_body_is_short_for_a_connection_too(scene: Scene, method: str) -> None:
    """So whoever described a connection may call it at once: its worker knows it."""
    with stopped(scene.appliance, LONG_WORKER):
        assert scene.call(method, "/echo", timeout=30).status_code == 200


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_body_where_none_is_expected_says_its_length(scene: Scene, method: str) -> None:
    before = len(scene.upstream.arrived)

    def slowly() -> Iterator[bytes]:
        yield b"x" * 250
        time.sleep(0.3)  # of a body that has arrived with the head, the edge says the length itself
        yield b"x" * 250

    refused = scene.call(method, "/echo", content=slowly())
    assert (refused.status_code, refused.json()["code"]) == (400, "bad_request")
    assert "length" in refused.json()["detail"] and len(scene.upstream.arrived) == before
    assert scene.call(method, "/echo", content=b"x" * 500).status_code == 200


@pytest.mark.parametrize(
    ("size", "is_length_said", "is_long"),
    [(100_000, True, True), (99_999, True, False), (500, False, True)],
)
def test_who_takes_a_body_for_a_connection(scene: Scene, size: int, is_length_said: bool, is_long: bool) -> None:
    body = b"x" * size
    with stopped(scene.appliance, 0 if is_long else LONG_WORKER):
        reply = scene.call("POST", "/echo", content=body if is_length_said else in_pieces(body), timeout=30)
        assert reply.status_code == 200


def test_calls_with_a_proof_are_sorted_too(appliance: Appliance, agent: Identity) -> None:
    """The nonce of one worker counts at the other: a stream, which cannot be sent again, is taken at once."""
    with appliance.agent(agent) as client:
        assert client.get("/v1/agents/self").status_code == 200
        with stopped(appliance, 0):
            for content in (body_of(1_500_000), in_pieces(body_of(1_500_000)), in_pieces(body_of(500))):
                reply = client.post(CHAT, content=content, headers={"content-type": "application/json"}, timeout=30)
                assert reply.status_code == 200, reply.text
        with stopped(appliance, LONG_WORKER):
            assert client.get("/v1/agents/self").status_code == 200


def test_a_proof_is_not_used_again_at_the_other_worker(appliance: Appliance, agent: Identity) -> None:
    """The same proof with a short body and with a long one: `htm` and `htu` are the same."""
    with appliance.agent(agent) as client:
        first = client.post(CHAT, content=body_of(500), headers={"content-type": "application/json"})
        assert first.status_code == 200
        headers = {name: first.request.headers[name] for name in ("dpop", "authorization", "content-type")}
        with appliance.client() as stranger:
            for size in (200_000, 500):
                again = stranger.post(CHAT, content=body_of(size), headers=headers)
                assert (again.status_code, again.json()["error"]["code"]) == (401, "invalid_dpop_proof")


@pytest.mark.parametrize("turn", range(5))
def test_a_proof_works_once_at_both_workers_at_once(appliance: Appliance, agent: Identity, turn: int) -> None:
    """Twenty at once, with short and with long bodies, and a fresh proof that nobody has used."""
    with appliance.agent(agent) as client, appliance.client() as stranger, ThreadPoolExecutor(20) as pool:
        first = client.get("/v1/agents/self")
        token, nonce = first.request.headers["authorization"], first.headers["dpop-nonce"]
        url, ath = f"{appliance.base_url}{CHAT}", hash_token(token.removeprefix("DPoP "))
        proof = Prover(agent.dpop_key).prove("POST", url, time.time(), nonce, ath)
        headers = {"dpop": proof, "authorization": token, "content-type": "application/json"}

        def send(number: int) -> int:
            body = body_of((500, 100_000)[(number + turn) % 2])
            return stranger.post(CHAT, content=body, headers=headers, timeout=30).status_code

        assert sorted(pool.map(send, range(20))) == [200, *[401] * 19]
