"""The twelve checks, each refused on its own, each beside the good proof that it was made from."""

from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from mastio_dpop.proof import Expected, KeyCache, NonceError, ProofError, normalize_htu, parse_proof, verify_proof
from mastio_primitives.jwk import encode_base64url, encode_public_jwk, sign_es256
from support.weak_keys import WEAK, forge

KEY = ec.derive_private_key(11, ec.SECP256R1())
OTHER = ec.derive_private_key(12, ec.SECP256R1())
URL = "https://mastio.example:9443/v1/chat/completions"
EXPECTED = Expected("POST", URL, "A" * 43, ("nonce-1", "nonce-0"), 1_000_000.0)
HEADER = {"typ": "dpop+jwt", "alg": "ES256", "jwk": encode_public_jwk(KEY.public_key())}
CLAIMS = {"jti": "1", "htm": "POST", "htu": URL, "iat": 1_000_000, "nonce": "nonce-1", "ath": "A" * 43}


def sign(header: Any = HEADER, claims: Any = CLAIMS, key: ec.EllipticCurvePrivateKey = KEY) -> bytes:
    signing_input = f"{encode_base64url(orjson.dumps(header))}.{encode_base64url(orjson.dumps(claims))}".encode()
    return signing_input + b"." + encode_base64url(sign_es256(signing_input, key)).encode()


def check(raw: bytes, expected: Expected = EXPECTED) -> None:
    verify_proof(parse_proof(raw, KeyCache()), expected)


def test_a_good_proof() -> None:
    proof = parse_proof(sign(), KeyCache())
    verify_proof(proof, EXPECTED)
    assert proof.jti == "1"


def test_a_good_ed25519_proof() -> None:
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(31) + b"\1")
    header = {"typ": "dpop+jwt", "alg": "EdDSA", "jwk": encode_public_jwk(key.public_key())}
    signing_input = f"{encode_base64url(orjson.dumps(header))}.{encode_base64url(orjson.dumps(CLAIMS))}".encode()
    check(signing_input + b"." + encode_base64url(key.sign(signing_input)).encode())


@pytest.mark.parametrize("name", WEAK)
def test_a_proof_by_a_key_under_which_everybody_can_sign_is_refused(name: str) -> None:
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": encode_base64url(WEAK[name])}
    header = encode_base64url(orjson.dumps({"typ": "dpop+jwt", "alg": "EdDSA", "jwk": jwk}))

    def message(number: int) -> bytes:
        return f"{header}.{encode_base64url(orjson.dumps({**CLAIMS, 'jti': str(number)}))}".encode()

    number, signature = forge(WEAK[name], message)
    with pytest.raises(ProofError, match="Ed25519"):
        parse_proof(message(number) + b"." + encode_base64url(signature).encode(), KeyCache())


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in CLAIMS.items() if key != name}


@pytest.mark.parametrize(
    ("header", "claims"),
    [
        (HEADER, without("jti")),
        (HEADER, without("htm")),
        (HEADER, without("htu")),
        (HEADER, without("iat")),
        (HEADER, without("nonce")),
        (HEADER, without("ath")),
        (HEADER, {**CLAIMS, "jti": ""}),
        (HEADER, {**CLAIMS, "jti": "x" * 257}),
        (HEADER, {**CLAIMS, "jti": 1}),
        ({**HEADER, "typ": "JWT"}, CLAIMS),
        ({**HEADER, "typ": "DPOP+JWT"}, CLAIMS),
        ({"alg": "ES256", "jwk": HEADER["jwk"]}, CLAIMS),
        ({**HEADER, "alg": "none"}, CLAIMS),
        ({**HEADER, "alg": "HS256"}, CLAIMS),
        ({**HEADER, "alg": "RS256"}, CLAIMS),
        ({**HEADER, "alg": "EdDSA"}, CLAIMS),
        ({**HEADER, "alg": None}, CLAIMS),
        ({**HEADER, "jwk": {**HEADER["jwk"], "d": "AQ"}}, CLAIMS),  # type: ignore[dict-item]
        ({**HEADER, "jwk": encode_public_jwk(OTHER.public_key())}, CLAIMS),
        ({**HEADER, "jwk": "x"}, CLAIMS),
        ({**HEADER, "kid": "../../etc/passwd"}, CLAIMS),
        ({**HEADER, "kid": "' OR 1=1 --"}, CLAIMS),
        ({**HEADER, "jku": "https://evil.example/jwks"}, CLAIMS),
        ({**HEADER, "x5u": "https://evil.example/x5u"}, CLAIMS),
        ({**HEADER, "x5c": ["AA"]}, CLAIMS),
        ({**HEADER, "crit": ["exp"]}, CLAIMS),
        (HEADER, {**CLAIMS, "htm": "GET"}),
        (HEADER, {**CLAIMS, "htm": "post"}),
        (HEADER, {**CLAIMS, "htu": URL + "/"}),
        (HEADER, {**CLAIMS, "htu": "http://mastio.example:9443/v1/chat/completions"}),
        (HEADER, {**CLAIMS, "htu": "https://mastio.example/v1/chat/completions"}),
        (HEADER, {**CLAIMS, "htu": "https://user@mastio.example:9443/v1/chat/completions"}),
        (HEADER, {**CLAIMS, "htu": "https://mastio.example:9443/v1/chat%2Fcompletions"}),
        (HEADER, {**CLAIMS, "htu": "https://mastio.example:9443/V1/chat/completions"}),
        (HEADER, {**CLAIMS, "htu": "https://mastio.example.evil:9443/v1/chat/completions"}),
        (HEADER, {**CLAIMS, "htu": "/v1/chat/completions"}),
        (HEADER, {**CLAIMS, "htu": URL.replace("/v1", "/x/../v1")}),
        (HEADER, {**CLAIMS, "nonce": "nonce-2"}),
        (HEADER, {**CLAIMS, "nonce": 1}),
        (HEADER, {**CLAIMS, "iat": 1_000_000 - 61}),
        (HEADER, {**CLAIMS, "iat": 1_000_000 + 6}),
        (HEADER, {**CLAIMS, "iat": "1000000"}),
        (HEADER, {**CLAIMS, "iat": True}),
        (HEADER, {**CLAIMS, "iat": 1e300}),
        (HEADER, {**CLAIMS, "ath": "B" * 43}),
        (HEADER, {**CLAIMS, "ath": None}),
    ],
)
def test_refused(header: Any, claims: Any) -> None:
    with pytest.raises(ProofError):
        check(sign(header, claims))


@pytest.mark.parametrize(
    "htu",
    [
        URL + "?query=1",
        URL + "#fragment",
        "HTTPS://MASTIO.example:9443/v1/chat/completions",
    ],
)
def test_htu_is_compared_without_query_and_after_normalization(htu: str) -> None:
    check(sign(claims={**CLAIMS, "htu": htu}))


def test_default_port_is_the_same_url() -> None:
    assert normalize_htu("https://a.example:443/x") == normalize_htu("https://a.example/x") == "https://a.example/x"
    assert normalize_htu("https://a.example:8443/x") != normalize_htu("https://a.example/x")


@pytest.mark.parametrize("iat", [1_000_000 - 60, 1_000_000 + 5, 999_999.5])
def test_iat_at_the_edges(iat: float) -> None:
    check(sign(claims={**CLAIMS, "iat": iat}))


def test_a_proof_without_a_token_needs_no_ath() -> None:
    check(sign(claims=without("ath")), Expected("POST", URL, None, ("nonce-1",), 1_000_000.0))


def test_a_stale_nonce_is_told_apart() -> None:
    with pytest.raises(NonceError):
        check(sign(claims={**CLAIMS, "nonce": "old"}))


@pytest.mark.parametrize(
    "mangle",
    [
        lambda raw: raw + b".",
        lambda raw: raw.rpartition(b".")[0],
        lambda raw: raw.replace(b".", b". ", 1),
        lambda raw: raw[:-1] + (b"A" if raw[-1:] != b"A" else b"B"),
        lambda raw: raw + b"=",
        lambda raw: raw + b" " * 3,
        lambda raw: b"A" * 65536,
        lambda raw: raw.rpartition(b".")[0] + b".",
        lambda raw: b".".join([raw.split(b".")[0]] * 5),
    ],
)
def test_only_one_spelling(mangle: Any) -> None:
    with pytest.raises(ProofError):
        check(mangle(sign()))


def test_duplicate_members_are_refused() -> None:
    claims = orjson.dumps(CLAIMS)[:-1] + b',"htm":"GET"}'
    signing_input = f"{encode_base64url(orjson.dumps(HEADER))}.{encode_base64url(claims)}".encode()
    with pytest.raises(ProofError):
        check(signing_input + b"." + encode_base64url(sign_es256(signing_input, KEY)).encode())
