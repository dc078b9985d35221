"""Access tokens and client assertions: the good one is accepted, and the same one with a single fault is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from mastio.exchange.records import SigningKey
from mastio_primitives.jwk import encode_base64url, encode_public_jwk, sign_es256
from mastio_token.access import (
    ASSERTION_AGE,
    Issuer,
    TokenError,
    TokenKey,
    encode_access_token,
    verify_access_token,
    verify_assertion,
)
from support.weak_keys import WEAK, forge

NOW = 1000.0
URL = "https://mastio.test"
KEY = TokenKey.derive(SigningKey("key-1", "token", b"k" * 32, 0.0, 0.0))
ISSUER = Issuer(URL, (KEY,))
OWN = ec.generate_private_key(ec.SECP256R1())
JWKS = (encode_public_jwk(OWN.public_key()),)

TOKEN_HEADER = {"typ": "at+jwt", "alg": "ES256", "kid": "key-1"}
TOKEN_CLAIMS: dict[str, Any] = {
    "iss": URL, "aud": URL, "sub": "alice", "iat": NOW, "exp": NOW + 600, "enrolled_at": 1.0, "cnf": {"jkt": "key-a"},
}  # fmt: skip
ASSERTION_HEADER = {"typ": "JWT", "alg": "ES256"}
ASSERTION_CLAIMS: dict[str, Any] = {"iss": "alice", "sub": "alice", "aud": URL, "exp": NOW + 60, "jti": "one"}


def sign(header: dict[str, Any], claims: dict[str, Any], key: ec.EllipticCurvePrivateKey) -> bytes:
    signed = f"{encode_base64url(orjson.dumps(header))}.{encode_base64url(orjson.dumps(claims))}"
    return f"{signed}.{encode_base64url(sign_es256(signed.encode(), key))}".encode()


def verify_token(header: dict[str, Any], claims: dict[str, Any], now: float = NOW, issuer: Issuer = ISSUER) -> str:
    token = sign({**TOKEN_HEADER, **header}, {**TOKEN_CLAIMS, **claims}, KEY.private)
    return verify_access_token(token, issuer, now).subject


def verify_own(header: dict[str, Any], claims: dict[str, Any], now: float = NOW) -> str:
    assertion = sign({**ASSERTION_HEADER, **header}, {**ASSERTION_CLAIMS, **claims}, OWN)
    return verify_assertion(assertion, "alice", JWKS, (URL, f"{URL}/oauth/token"), now)[1]


def test_a_good_token_and_a_good_assertion() -> None:
    assert verify_token({}, {}) == "alice"
    assert verify_own({}, {}) == "one"


@pytest.mark.parametrize(
    ("header", "claims"),
    [
        ({"typ": "JWT"}, {}),
        ({"kid": "key-2"}, {}),
        ({"jku": "https://evil.test"}, {}),
        ({}, {"iss": "https://evil.test"}),
        ({}, {"aud": "https://evil.test"}),
        ({}, {"aud": [URL]}),
        ({}, {"sub": None}),
        ({}, {"cnf": {}}),
        ({}, {"cnf": {"jkt": "key-a", "x5t#S256": "cert-a"}}),
        ({}, {"exp": NOW}),
        ({}, {"exp": "never"}),
        ({}, {"exp": NOW + 606}),
        ({}, {"iat": NOW + 6}),
        ({}, {"iat": "now"}),
        ({}, {"iat": None}),
    ],
)
def test_a_token_with_one_fault(header: dict[str, Any], claims: dict[str, Any]) -> None:
    with pytest.raises(TokenError):
        verify_token(header, claims)


def test_a_token_ends_with_its_key() -> None:
    issuer = Issuer(URL, (replace(KEY, retire_at=NOW + 100),))
    assert verify_token({}, {}, NOW + 99, issuer) == "alice"
    with pytest.raises(TokenError):
        verify_token({}, {}, NOW + 100, issuer)


@pytest.mark.parametrize(
    ("header", "claims"),
    [
        ({"typ": "at+jwt"}, {}),
        ({"jwk": JWKS[0]}, {}),
        ({}, {"iss": "bob"}),
        ({}, {"sub": "bob"}),
        ({}, {"aud": "https://evil.test"}),
        ({}, {"aud": [URL, "https://evil.test"]}),
        ({}, {"exp": NOW}),
        ({}, {"exp": NOW + ASSERTION_AGE + 6}),
        ({}, {"nbf": NOW + 6}),
        ({}, {"jti": ""}),
    ],
)
def test_an_assertion_with_one_fault(header: dict[str, Any], claims: dict[str, Any]) -> None:
    with pytest.raises(TokenError):
        verify_own(header, claims)


@pytest.mark.parametrize("name", WEAK)
def test_an_assertion_by_a_stored_key_under_which_everybody_can_sign(name: str) -> None:
    """An earlier version may have stored the key."""
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": encode_base64url(WEAK[name])}
    header = encode_base64url(orjson.dumps({"typ": "JWT", "alg": "EdDSA"}))

    def message(number: int) -> bytes:
        return f"{header}.{encode_base64url(orjson.dumps({**ASSERTION_CLAIMS, 'jti': str(number)}))}".encode()

    number, signature = forge(WEAK[name], message)
    assertion = message(number) + b"." + encode_base64url(signature).encode()
    with pytest.raises(TokenError):
        verify_assertion(assertion, "alice", (jwk,), (URL,), NOW)
    beside = sign(ASSERTION_HEADER, ASSERTION_CLAIMS, OWN)
    assert verify_assertion(beside, "alice", (*JWKS, jwk), (URL,), NOW)[1] == "one"


@pytest.mark.parametrize("make", [
    lambda key: verify_access_token(sign(TOKEN_HEADER, TOKEN_CLAIMS, key), ISSUER, NOW),
    lambda key: verify_assertion(sign(ASSERTION_HEADER, ASSERTION_CLAIMS, key), "alice", JWKS, (URL,), NOW),
])  # fmt: skip
def test_another_key(make: Callable[[ec.EllipticCurvePrivateKey], object]) -> None:
    with pytest.raises(TokenError):
        make(ec.generate_private_key(ec.SECP256R1()))


def test_a_token_minted_in_the_second_of_an_immediate_rotation_has_the_new_key() -> None:
    rotated = NOW + 0.5
    old = TokenKey.derive(SigningKey("old", "token", b"o" * 32, 0.0, 0.0, rotated))
    new = TokenKey.derive(SigningKey("new", "token", b"n" * 32, rotated, rotated))
    issuer = Issuer(URL, (old, new))
    agent: Any = SimpleNamespace(name="alice", created_at=1.0)
    token = encode_access_token(issuer, agent, {"jkt": "key"}, "jti", rotated + 0.1, 600).encode()
    assert verify_access_token(token, issuer, rotated + 0.1).subject == "alice"
