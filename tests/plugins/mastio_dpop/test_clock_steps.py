"""The wall clock steps; a proof still works once, and good proofs are served again after the next challenge."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from mastio.exchange.errors import AuthenticationError, Unavailable
from mastio.exchange.values import ProofCredential
from mastio.host.host_memory import HostMemory, make_host_memory
from mastio_dpop.memory import BUCKET, Memory
from mastio_dpop.plugin import Verifier
from mastio_primitives.jwk import encode_base64url, encode_public_jwk, sign_es256

KEY = ec.derive_private_key(11, ec.SECP256R1())
HEADER = encode_base64url(orjson.dumps({"typ": "dpop+jwt", "alg": "ES256", "jwk": encode_public_jwk(KEY.public_key())}))
HOUR = 3600.0


class Worker:
    """One worker's verifier and its two clocks."""

    def __init__(self, limit: int = 100) -> None:
        self.wall, self.steady = 1_800_000_000.0, 500.0
        services: Any = SimpleNamespace(
            now=lambda: self.wall, monotonic=lambda: self.steady, public_url="https://mastio.test"
        )
        self._verifier = Verifier(services, Memory(HostMemory(make_host_memory()), limit))
        self._count = 0

    def wait(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds

    def head(self, *headers: tuple[bytes, bytes]) -> Any:
        return SimpleNamespace(
            method="GET", path="/v1/models", headers=list(headers),
            all=lambda name: [value for key, value in headers if key == name],
        )  # fmt: skip

    def nonce(self) -> str:
        return self._verifier.challenge(self.head(), AuthenticationError("x"))["DPoP-Nonce"]

    def proof(self, nonce: str | None = None, iat: float | None = None) -> bytes:
        self._count += 1
        claims = {
            "jti": str(self._count), "htm": "GET", "htu": "https://mastio.test/v1/models",
            "iat": self.wall if iat is None else iat, "nonce": nonce or self.nonce(),
        }  # fmt: skip
        signing_input = f"{HEADER}.{encode_base64url(orjson.dumps(claims))}"
        return f"{signing_input}.{encode_base64url(sign_es256(signing_input.encode(), KEY))}".encode()

    def send(self, proof: bytes) -> str:
        try:
            credential = self._verifier.authenticate(self.head((b"dpop", proof)))
        except AuthenticationError as error:
            return error.code
        assert isinstance(credential, ProofCredential)
        return "served"


@pytest.mark.parametrize("step", [HOUR, -HOUR, 60.0, -60.0, 1e9, -1e9])
def test_a_step_neither_frees_a_used_proof_nor_stops_good_ones(step: float) -> None:
    worker = Worker()
    used = worker.proof()
    assert worker.send(used) == "served"
    worker.wall += step
    assert worker.send(worker.proof()) == "served"
    assert worker.send(used) == "invalid_dpop_proof"
    worker.wall -= step
    assert worker.send(used) == "invalid_dpop_proof", "its iat is good again, and its nonce in force"
    assert worker.send(worker.proof()) == "served"


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_nonces_are_renewed_after_a_step(step: float) -> None:
    """A nonce lives as long as before the step, and so does what is remembered with it."""
    worker = Worker()
    worker.nonce()
    worker.wall += step
    before = worker.nonce()
    worker.wait(2 * BUCKET)
    assert worker.nonce() != before
    assert worker.send(worker.proof(before)) == "use_dpop_nonce"
    assert worker.send(worker.proof()) == "served"


def test_a_full_memory_empties_after_the_clock_was_set_back() -> None:
    """By the wall clock the memory would be kept for an hour: beyond its limit no proof would be served."""
    worker = Worker(limit=50)
    worker.wall += HOUR
    assert worker.send(worker.proof()) == "served"
    worker.wall -= HOUR
    for _ in range(10):
        for _ in range(20):
            assert worker.send(worker.proof()) == "served"
        worker.wait(BUCKET)
    for _ in range(50):
        worker.send(worker.proof())
    with pytest.raises(Unavailable):
        worker.send(worker.proof())
    worker.wait(BUCKET)
    assert worker.send(worker.proof()) == "served"


def test_a_proof_is_judged_by_the_wall_clock() -> None:
    worker = Worker()
    assert worker.send(worker.proof(iat=worker.wall - 59)) == "served"
    assert worker.send(worker.proof(iat=worker.wall - 61)) == "invalid_dpop_proof"
    assert worker.send(worker.proof(iat=worker.wall + 6)) == "invalid_dpop_proof"
