import json

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from mastio.identity.jose import SignedToken, parse_compact, verify_signature
from mastio_primitives.jwk import (
    JoseError,
    decode_base64url,
    encode_base64url,
    encode_public_jwk,
    parse_public_jwk,
    sign_es256,
)
from support.vectors import vectors
from support.weak_keys import WEAK


def is_accepted(jws: object, jwk: object) -> bool:
    try:
        token = parse_compact(str(jws).encode())
        verify_signature(token, parse_public_jwk(jwk))
    except JoseError:
        return False
    return True


def test_wycheproof_jws() -> None:
    """401 cases: none that is invalid is accepted, and every valid one of an algorithm we support is."""
    document = json.loads((vectors("wycheproof") / "json_web_signature_test.json").read_text())
    false_accepts, false_rejects, count = [], [], 0
    for group in document["testGroups"]:
        key = group.get("public", group.get("private"))
        supported = key.get("crv") == "P-256" and key.get("alg", "ES256") == "ES256" and key.get("use") != "enc"
        for case in group["tests"]:
            count += 1
            accepted = is_accepted(case["jws"], {k: v for k, v in key.items() if k != "d"})
            if accepted and case["result"] == "invalid":
                false_accepts.append(case["tcId"])
            if not accepted and case["result"] == "valid" and supported:
                false_rejects.append((case["tcId"], case["comment"]))
    assert count == 401
    assert false_accepts == []
    assert false_rejects == []


def test_wycheproof_p256_signatures() -> None:
    """r‖s signatures: exactly the valid ones of 64 bytes verify."""
    document = json.loads((vectors("wycheproof") / "ecdsa_secp256r1_sha256_p1363_test.json").read_text())
    wrong = []
    for group in document["testGroups"]:
        jwk = (
            {name: group["publicKeyJwk"][name] for name in ("kty", "crv", "x", "y")}
            if "publicKeyJwk" in group
            else None
        )
        if jwk is None:
            continue
        key = parse_public_jwk(jwk)
        for case in group["tests"]:
            token = SignedToken({"alg": "ES256"}, b"", bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"]))
            try:
                verify_signature(token, key)
                accepted = True
            except JoseError:
                accepted = False
            if accepted != (case["result"] == "valid"):
                wrong.append(case["tcId"])
    assert wrong == []


@pytest.mark.parametrize("text", [b"YQ==", b"YQ ", b"YR", b"Y", b"YQ\n", b"Y+8", b"Y/8", "YQé".encode()])
def test_base64url_has_one_spelling(text: bytes) -> None:
    with pytest.raises(JoseError):
        decode_base64url(text)


def test_base64url_round_trip() -> None:
    for size in range(40):
        raw = bytes(range(size))
        assert decode_base64url(encode_base64url(raw).encode()) == raw


P256 = encode_public_jwk(ec.derive_private_key(7, ec.SECP256R1()).public_key())
ED = encode_public_jwk(ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key())


@pytest.mark.parametrize(
    "jwk",
    [
        {**P256, "d": "AQ"},
        {**P256, "k": "AQ"},
        {**P256, "y": P256["x"]},
        {**P256, "x": P256["x"] + "A"},
        {**P256, "crv": "P-384"},
        {**P256, "alg": "HS256"},
        {**P256, "use": "enc"},
        {**P256, "key_ops": ["sign"]},
        {**ED, "alg": "ES256"},
        {"kty": "oct", "k": "AQ"},
        {"kty": "RSA", "n": "AQ", "e": "AQAB"},
        [P256],
        "key",
    ],
)
def test_refuses_keys(jwk: object) -> None:
    with pytest.raises(JoseError):
        parse_public_jwk(jwk)


@pytest.mark.parametrize("name", WEAK)
def test_refuses_keys_under_which_everybody_can_sign(name: str) -> None:
    with pytest.raises(JoseError, match="Ed25519"):
        parse_public_jwk({**ED, "x": encode_base64url(WEAK[name])})


@pytest.mark.parametrize("jwk", [P256, ED, {**P256, "kid": "x"}, {**P256, "key_ops": ["verify"], "use": "sig"}])
def test_accepts_keys(jwk: dict[str, object]) -> None:
    assert len(parse_public_jwk(jwk).thumbprint) == 43


def test_rfc_7638_thumbprint() -> None:
    """RFC 8037 appendix A.3."""
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
    assert parse_public_jwk(jwk).thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


def test_a_signature_of_ours_verifies_and_its_neighbours_do_not() -> None:
    private = ec.derive_private_key(7, ec.SECP256R1())
    signing_input = b"e30.e30"
    signature = sign_es256(signing_input, private)
    key = parse_public_jwk(P256)
    verify_signature(SignedToken({"alg": "ES256"}, b"{}", signing_input, signature), key)
    for broken in (signature[:-1], signature + b"\0", bytes(64), signature[32:] + signature[:32]):
        with pytest.raises(JoseError):
            verify_signature(SignedToken({"alg": "ES256"}, b"{}", signing_input, broken), key)
    with pytest.raises(JoseError):
        verify_signature(SignedToken({"alg": "EdDSA"}, b"{}", signing_input, signature), key)
