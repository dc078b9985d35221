from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from mastio.identity.jose import parse_compact, verify_signature
from mastio.pki.csr import encode_public_key, parse_csr, possession_message, verify_possession
from mastio_client.proofs import (
    KeyFileError,
    KeyKind,
    encode_pem_key,
    encode_private_jwk,
    key_sha256,
    key_thumbprint,
    make_assertion,
    make_csr,
    make_key,
    make_proof,
    parse_private_jwk,
    sign_enrollment,
    target_uri,
)
from mastio_primitives.jwk import parse_public_jwk

KINDS: tuple[KeyKind, ...] = ("p256", "ed25519")
URL = "https://gw.example:9443/v1/models"


@pytest.mark.parametrize("kind", KINDS)
def test_a_proof_is_what_rfc_9449_asks_for(kind: KeyKind) -> None:
    key = make_key(kind)
    proof = parse_compact(make_proof(key, "GET", URL + "?a=b#c", 1_800_000_000.9, nonce="n", token="t").encode())
    public = parse_public_jwk(proof.header["jwk"])
    verify_signature(proof, public)
    assert proof.header == {"typ": "dpop+jwt", "alg": public.algorithm, "jwk": proof.header["jwk"]}
    assert "d" not in proof.header["jwk"]
    ath = base64.urlsafe_b64encode(hashlib.sha256(b"t").digest()).rstrip(b"=").decode()
    assert {n: v for n, v in proof.claims().items() if n != "jti"} == {
        "htm": "GET", "htu": URL, "iat": 1_800_000_000, "nonce": "n", "ath": ath,
    }  # fmt: skip
    assert public.thumbprint == key_thumbprint(key)
    bare = parse_compact(make_proof(key, "GET", URL, 0).encode()).claims()
    assert set(bare) == {"jti", "htm", "htu", "iat"} and bare["jti"] != proof.claims()["jti"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_assertion_is_what_rfc_7523_asks_for(kind: KeyKind) -> None:
    key = make_key(kind)
    token = parse_compact(make_assertion(key, "alice", "https://gw", 1000.0, 30).encode())
    verify_signature(token, parse_public_jwk({n: v for n, v in encode_private_jwk(key).items() if n != "d"}))
    claims: dict[str, Any] = {"iss": "alice", "sub": "alice", "aud": "https://gw", "iat": 1000, "exp": 1030}
    assert {n: v for n, v in token.claims().items() if n != "jti"} == claims


@pytest.mark.parametrize("kind", KINDS)
def test_the_appliance_accepts_request_and_enrolment_proof(kind: KeyKind) -> None:
    key = make_key(kind)
    public = parse_csr(make_csr(key, "alice"), "spiffe://x/agent/alice")
    assert public == key.public_key()
    assert hashlib.sha256(encode_public_key(public)).hexdigest() == key_sha256(key)
    verify_possession(public, possession_message("enr_1"), sign_enrollment(key, "enr_1").encode())


@pytest.mark.parametrize("kind", KINDS)
def test_stored_keys_are_the_keys(kind: KeyKind) -> None:
    key = make_key(kind)
    stored = json.loads(json.dumps(encode_private_jwk(key)))
    assert parse_private_jwk(stored).public_key() == key.public_key()
    loaded = load_pem_private_key(encode_pem_key(key), None)
    assert loaded.public_key() == key.public_key()


def test_damaged_keys_are_refused() -> None:
    mine, other = encode_private_jwk(make_key()), encode_private_jwk(make_key())
    for wrong in ({}, [], None, "x", {**mine, "d": "!"}, {**mine, "d": other["d"]}, {**mine, "d": 1},
                  {n: v for n, v in mine.items() if n != "d"}, {**mine, "crv": "P-384"}):  # fmt: skip
        with pytest.raises(KeyFileError):
            parse_private_jwk(wrong)


def test_the_target_has_neither_query_nor_fragment() -> None:
    assert target_uri("https://a:1/b?c#d") == "https://a:1/b"
