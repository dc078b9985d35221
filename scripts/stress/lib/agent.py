"""The runner as an agent of the appliance: its identity folder, its token, and what is signed beforehand.

A proof (RFC 9449, section 4.2) names method, URL, token and nonce, so it can be signed before it is used, but
not long before: the appliance takes an `iat` of the last 60 seconds and a nonce of at least the last 30. So can a
client assertion (RFC 7523, section 3), which is good for as long as it says.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import secrets
import ssl
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from lib.generators import Exchange, Signed
from lib.machine import CannotRun

ES256 = ec.ECDSA(hashes.SHA256())
RECORDS_PER_TASK = 2000
ASSERTION_SECONDS = 120
Claims = dict[str, object]


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def integer_of(text: str) -> int:
    return int.from_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


class ProofKey:
    """A P-256 DPoP key. `jwk` is the private JWK as `mastio enroll` wrote it."""

    def __init__(self, jwk: dict[str, str]) -> None:
        if (jwk.get("kty"), jwk.get("crv")) != ("EC", "P-256"):
            message = "The runner signs with P-256 keys only, and dpop.jwk holds another kind."
            raise CannotRun(message, "Enrol an agent with the default key for load tests.")
        public = ec.EllipticCurvePublicNumbers(integer_of(jwk["x"]), integer_of(jwk["y"]), ec.SECP256R1())
        self._key = ec.EllipticCurvePrivateNumbers(integer_of(jwk["d"]), public).private_key()
        shown = {name: jwk[name] for name in ("kty", "crv", "x", "y")}
        self._header = base64url(compact({"typ": "dpop+jwt", "alg": "ES256", "jwk": shown}))

    def prove(self, claims: Claims) -> str:
        """A signed proof with these claims and a fresh `jti`."""
        return self._sign(self._header, claims)

    def assert_client(self, claims: Claims) -> str:
        """A client assertion likewise."""
        return self._sign(ASSERTION_HEADER, claims)

    def _sign(self, header: str, claims: Claims) -> str:
        """The signature is r and s, 32 bytes each."""
        payload = base64url(compact({"jti": secrets.token_urlsafe(12), **claims}))
        signed = f"{header}.{payload}"
        r, s = decode_dss_signature(self._key.sign(signed.encode(), ES256))
        return f"{signed}.{base64url(r.to_bytes(32) + s.to_bytes(32))}"


def compact(value: Claims) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


ASSERTION_HEADER = base64url(compact({"typ": "JWT", "alg": "ES256"}))


def assertion_claims(name: str, audience: str) -> Claims:
    now = int(time.time())
    return {"iss": name, "sub": name, "aud": audience, "iat": now, "exp": now + ASSERTION_SECONDS}


def proof_claims(method: str, url: str, token: str | None, nonce: str | None) -> Claims:
    claims: Claims = {"htm": method, "htu": url, "iat": int(time.time())}
    if token:
        claims["ath"] = base64url(hashlib.sha256(token.encode()).digest())
    if nonce:
        claims["nonce"] = nonce
    return claims


@dataclass(frozen=True, slots=True)
class Identity:
    """The folder that `mastio enroll --out DIR` wrote."""

    folder: Path
    name: str
    base_url: str | None
    ca_file: Path | None
    proof_jwk: dict[str, str]

    @classmethod
    def read(cls, folder: Path) -> Identity:
        try:
            agent = json.loads((folder / "agent.json").read_text())
            jwk = json.loads((folder / "dpop.jwk").read_text())
        except (OSError, json.JSONDecodeError) as error:
            message = f"The identity folder cannot be read: {error}."
            raise CannotRun(message, "Give --identity DIR as written by `mastio enroll`.") from error
        ca_file = folder / agent["ca_file"] if "ca_file" in agent else None
        return cls(folder, agent["name"], agent.get("base_url"), ca_file, jwk)


class Agent:
    """Calls as the agent, by token and proof: it shows no certificate, as wrk cannot, so that the edge leads both to
    the same worker."""

    def __init__(self, identity: Identity, base_url: str, ca_file: Path) -> None:
        self.base_url = base_url
        self._identity = identity
        self._key = ProofKey(identity.proof_jwk)
        context = ssl.create_default_context(cafile=str(ca_file))
        self._client = httpx.Client(verify=context, timeout=10, trust_env=False)
        self._nonce: str | None = None
        self.token: str | None = None

    def mint(self) -> str:
        """A new access token from the token endpoint, bound to the DPoP key."""
        reply = self.call(Exchange.of_token(self._identity.name))
        if reply.status_code != 200:
            message = f"No token: the appliance answered {reply.status_code} {reply.text[:200]}."
            raise CannotRun(message, "Is the agent active, and its certificate still valid?")
        token: str = reply.json()["access_token"]
        self.token = token
        return token

    def call(self, exchange: Exchange) -> httpx.Response:
        """One exchange; once more when it is answered with another nonce."""
        reply = self._send(exchange)
        challenged = reply.status_code in (400, 401) and "use_dpop_nonce" in reply.text + str(reply.headers)
        return self._send(exchange) if challenged else reply

    def watch(self, exchange: Exchange) -> list[float]:
        """When each piece of a streamed answer comes: seconds after the request was sent."""
        self.mint()
        self.call(Exchange.of_self())  # which gives the nonce of this moment
        return watch(self._client, self._signed(exchange))

    def newest_nonce(self, exchange: Exchange) -> str:
        """The nonce of this moment: a proof without one is refused, and the refusal carries it."""
        self._nonce = None
        self._send(exchange)
        if self._nonce is None:
            raise CannotRun("The appliance gave no DPoP-Nonce.", "Is it a Mastio appliance?")
        return self._nonce

    def statements(self, exchange: Exchange) -> Statements:
        """What is to be signed for each such exchange from this moment on."""
        token = None if exchange.by_assertion else self.token
        proof = proof_claims(exchange.method, self.base_url + exchange.path, token, self.newest_nonce(exchange))
        assertion = assertion_claims(self._identity.name, self.base_url) if exchange.by_assertion else None
        return Statements(proof, assertion)

    def _send(self, exchange: Exchange) -> httpx.Response:
        try:
            reply = self._client.send(self._signed(exchange))
        except httpx.TransportError as error:
            message = f"The appliance at {self.base_url} cannot be reached: {error}."
            raise CannotRun(message, "Is it up, and are --base-url and --ca right?") from error
        self._nonce = reply.headers.get("DPoP-Nonce", self._nonce)
        return reply

    def _signed(self, exchange: Exchange) -> httpx.Request:
        url, token = self.base_url + exchange.path, None if exchange.by_assertion else self.token
        proof = self._key.prove(proof_claims(exchange.method, url.partition("?")[0], token, self._nonce))
        headers = {**exchange.headers, "DPoP": proof}
        assertion = ""
        if token is not None:
            headers["Authorization"] = f"DPoP {token}"
        if exchange.by_assertion:
            assertion = self._key.assert_client(assertion_claims(self._identity.name, self.base_url))
        content = exchange.filled("0", assertion)
        return self._client.build_request(exchange.method, url, headers=headers, content=content)


# ---------------------------------------------------------------------------------------- one stream, watched


def watch_direct(exchange: Exchange, stub_url: str) -> list[float]:
    """When each piece of the stub's own answer comes."""
    with httpx.Client(timeout=10, trust_env=False) as client:
        url = stub_url + exchange.path
        return watch(
            client, client.build_request(exchange.method, url, headers=exchange.headers, content=exchange.filled("0"))
        )


def watch(client: httpx.Client, request: httpx.Request) -> list[float]:
    request.extensions["timeout"] = httpx.Timeout(60).as_dict()
    started = time.perf_counter()
    try:
        reply = client.send(request, stream=True)
        with contextlib.closing(reply):
            if reply.status_code != 200:
                message = f"The stream is answered {reply.status_code}: {reply.read()[:300]!r}."
                raise CannotRun(message, "Is the agent permitted to do this, and the stub up?")
            return [time.perf_counter() - started for _ in reply.iter_raw()]
    except httpx.TransportError as error:
        raise CannotRun(f"{request.url.host} broke off a stream: {error}.", "Is the stub up?") from error


# ---------------------------------------------------------------------------------------- many at once


@dataclass(frozen=True, slots=True)
class Statements:
    """The claims of what one request carries; each signature gets a `jti` of its own."""

    proof: Claims
    assertion: Claims | None

    def sign(self, key: ProofKey) -> list[str]:
        return [key.prove(self.proof)] + ([key.assert_client(self.assertion)] if self.assertion else [])


def sign_many(count: int, jwk: dict[str, str], statements: Statements) -> bytes:
    key = ProofKey(jwk)
    return "".join(part for _ in range(count) for part in statements.sign(key)).encode()


def use_every_core() -> None:
    os.sched_setaffinity(0, range(os.cpu_count() or 1))


def presign(file: Path, count: int, jwk: dict[str, str], statements: Statements) -> Signed:
    """Write `count` records of equal length into the file, signed on all cores."""
    lengths = tuple(len(part) for part in statements.sign(ProofKey(jwk)))
    tasks = [min(RECORDS_PER_TASK, count - start) for start in range(0, count, RECORDS_PER_TASK)]
    with ProcessPoolExecutor(os.cpu_count(), initializer=use_every_core) as pool:
        written = write_all(file, pool.map(partial(sign_many, jwk=jwk, statements=statements), tasks))
    if written != count * sum(lengths):
        raise AssertionError("what is signed with one key and the same claims has one length")
    return Signed(file, lengths)


def write_all(file: Path, parts: Iterable[bytes]) -> int:
    with file.open("wb") as out:
        return sum(out.write(part) for part in parts)


def raw_verifications_per_second(seconds: float, core: int | None) -> float:
    """How often one core verifies a P-256 signature when it does nothing else: the yardstick of the run."""
    bound_to = os.sched_getaffinity(0)
    if core is not None:
        os.sched_setaffinity(0, {core})
    try:
        return verify_for(seconds)
    finally:
        os.sched_setaffinity(0, bound_to)


def verify_for(seconds: float) -> float:
    key = ec.generate_private_key(ec.SECP256R1())
    signature, data = key.sign(b"x" * 400, ES256), b"x" * 400
    public, done = key.public_key(), 0
    started = time.perf_counter()
    while (elapsed := time.perf_counter() - started) < seconds:
        for _ in range(100):
            public.verify(signature, data, ES256)
        done += 100
    return done / elapsed
