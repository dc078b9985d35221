"""`DPoPAuth` against workers that each have a nonce of their own, without a network."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import orjson
import pytest

from mastio.identity.jose import parse_compact
from mastio_client import DPoPAuth, Identity
from mastio_client.proofs import make_key

URL = "https://appliance.example"


class Workers:
    """Stands for an edge with several workers: the token endpoint is one, each token leads to another.

    `bad` are tokens that are refused; `sent` is what came, as path, token and nonce.
    """

    def __init__(self) -> None:
        self.bad: set[str] = set()
        self.sent: list[tuple[str, str, str | None]] = []
        self.minted = 0
        self.stubborn = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        token = request.headers.get("authorization", "").removeprefix("DPoP ")
        nonce = parse_compact(request.headers["dpop"].encode()).claims().get("nonce")
        self.sent.append((request.url.path, token, nonce))
        wanted = f"nonce-of-{token or 'endpoint'}"
        given = {"DPoP-Nonce": wanted}
        if request.url.path == "/oauth/token":
            if nonce != wanted or self.stubborn:
                return httpx.Response(400, json={"error": "use_dpop_nonce"}, headers=given)
            self.minted += 1
            return httpx.Response(200, json={"access_token": f"t{self.minted}", "expires_in": 600}, headers=given)
        if nonce != wanted or self.stubborn:
            return self._refuse("use_dpop_nonce", given)
        if token in self.bad:
            return self._refuse("invalid_token", given)
        return httpx.Response(200, json={"token": token}, headers=given)

    def _refuse(self, error: str, given: dict[str, str]) -> httpx.Response:
        challenge = f'DPoP error="{error}", algs="ES256 EdDSA"'
        return httpx.Response(401, json={}, headers={"WWW-Authenticate": challenge, **given})

    def spoken(self) -> list[tuple[str, str, str | None]]:
        sent, self.sent = self.sent, []
        return sent


@pytest.fixture
def workers() -> Workers:
    return Workers()


@pytest.fixture
def auth() -> DPoPAuth:
    return DPoPAuth(Identity(Path("nowhere"), "one", URL, Path("nowhere/ca.crt"), make_key()))


@pytest.fixture
def client(workers: Workers, auth: DPoPAuth) -> httpx.Client:
    return httpx.Client(base_url=URL, auth=auth, transport=httpx.MockTransport(workers))


def test_each_worker_asks_for_its_nonce_once(client: httpx.Client, workers: Workers) -> None:
    assert client.get("/v1/agents/self").status_code == 200
    assert workers.spoken() == [
        ("/oauth/token", "", None),
        ("/oauth/token", "", "nonce-of-endpoint"),
        ("/v1/agents/self", "t1", "nonce-of-endpoint"),
        ("/v1/agents/self", "t1", "nonce-of-t1"),
    ]
    for _ in range(5):
        assert client.get("/v1/agents/self").status_code == 200
    assert workers.spoken() == [("/v1/agents/self", "t1", "nonce-of-t1")] * 5


def test_a_refused_token_leads_to_another_worker(client: httpx.Client, workers: Workers) -> None:
    """The old token was wanted with another nonce first, and the new one is again: both are answered."""
    assert client.get("/v1/agents/self").status_code == 200
    client.auth._nonce = "too old"  # type: ignore[union-attr]
    workers.bad = {"t1"}
    workers.spoken()
    assert client.get("/v1/agents/self").json() == {"token": "t2"}
    assert workers.spoken() == [
        ("/v1/agents/self", "t1", "too old"),
        ("/v1/agents/self", "t1", "nonce-of-t1"),
        ("/oauth/token", "", "nonce-of-t1"),
        ("/oauth/token", "", "nonce-of-endpoint"),
        ("/v1/agents/self", "t2", "nonce-of-endpoint"),
        ("/v1/agents/self", "t2", "nonce-of-t2"),
    ]


def test_a_token_that_is_refused_again_is_the_callers_to_see(client: httpx.Client, workers: Workers) -> None:
    workers.bad = {"t1", "t2", "t3"}
    refused = client.get("/v1/agents/self")
    assert refused.status_code == 401 and "invalid_token" in refused.headers["www-authenticate"]
    assert workers.minted == 2


def test_an_appliance_that_always_wants_another_nonce_is_asked_twice(client: httpx.Client, workers: Workers) -> None:
    assert client.get("/v1/agents/self").status_code == 200
    workers.stubborn = True
    workers.spoken()
    assert client.get("/v1/agents/self").status_code == 401
    assert len(workers.spoken()) == 2


def test_a_challenge_is_answered_with_its_own_nonce(client: httpx.Client, workers: Workers, auth: DPoPAuth) -> None:
    """Whatever another thread, served by another worker, was given meanwhile."""
    assert client.get("/v1/agents/self").status_code == 200
    auth._nonce = "too old"
    answered = DPoPAuth._remember

    def meddled(self: DPoPAuth, response: httpx.Response) -> str | None:
        nonce = answered(self, response)
        self._nonce = "of another worker"
        return nonce

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DPoPAuth, "_remember", meddled)
        assert client.get("/v1/agents/self").status_code == 200


def test_many_threads_share_one(auth: DPoPAuth, workers: Workers) -> None:
    """When their token goes bad, everybody is served all the same, and the new one is fetched once."""
    barrier, answers = threading.Barrier(8), Counter[int]()

    def work(slot: int) -> None:
        with httpx.Client(base_url=URL, auth=auth, transport=httpx.MockTransport(workers)) as client:
            barrier.wait(10)
            for turn in range(25):
                if slot == 0 and turn == 5:
                    workers.bad = {"t1"}
                answers[client.get("/v1/agents/self").status_code] += 1

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, slot) for slot in range(8)]:
            done.result(30)
    assert answers == {200: 200}
    assert workers.minted == 2


def test_the_same_for_asyncio(auth: DPoPAuth, workers: Workers) -> None:
    async def work() -> list[int]:
        async with httpx.AsyncClient(base_url=URL, auth=auth, transport=httpx.MockTransport(workers)) as client:
            first = [(await client.get("/v1/agents/self")).status_code]
            workers.bad = {"t1"}
            rest = await asyncio.gather(*(client.get("/v1/agents/self") for _ in range(10)))
            return first + [reply.status_code for reply in rest]

    assert asyncio.run(work()) == [200] * 11
    assert workers.minted == 2


def test_the_body_goes_with_every_repetition(client: httpx.Client, workers: Workers) -> None:
    seen: list[bytes] = []

    def keep(request: httpx.Request) -> httpx.Response:
        if request.url.path != "/oauth/token":
            seen.append(request.content)
        return workers(request)

    body = {"model": "m"}
    with httpx.Client(base_url=URL, auth=client.auth, transport=httpx.MockTransport(keep)) as other:
        assert other.post("/v1/chat/completions", json=body).status_code == 200
    assert [orjson.loads(one) for one in seen] == [body, body]
