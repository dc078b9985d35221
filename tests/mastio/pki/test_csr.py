from __future__ import annotations

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from mastio.pki.csr import (
    MAX_BYTES,
    PossessionError,
    RequestError,
    assertion_keys,
    encode_public_key,
    load_public_key,
    parse_csr,
    possession_message,
    verify_possession,
)
from mastio_primitives.jwk import JoseError, encode_public_jwk, parse_public_jwk
from support.authorities import URI, make_csr, p256
from support.weak_keys import WEAK, weak_csr

P384 = ec.generate_private_key(ec.SECP384R1())
ED = ed25519.Ed25519PrivateKey.generate()
EC = p256()


@pytest.mark.parametrize("key", [EC, P384, ED])
def test_requests_by_the_three_kinds_of_key_are_accepted(key: ec.EllipticCurvePrivateKey) -> None:
    assert parse_csr(make_csr(key), URI) == key.public_key()


def test_the_agents_own_spiffe_id_may_be_asked_for() -> None:
    own = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(URI)])
    assert parse_csr(make_csr(EC, own, x509.BasicConstraints(False, None)), URI) == EC.public_key()


@pytest.mark.parametrize(
    "extension",
    [
        x509.BasicConstraints(ca=True, path_length=None),
        x509.KeyUsage(False, False, False, False, False, True, False, False, False),
        x509.KeyUsage(True, False, False, False, False, False, True, False, False),
        x509.SubjectAlternativeName([x509.UniformResourceIdentifier("spiffe://world.test/agent/bob")]),
        x509.SubjectAlternativeName([x509.UniformResourceIdentifier(URI), x509.DNSName("bob")]),
        x509.SubjectAlternativeName([x509.DNSName("localhost")]),
        x509.SubjectAlternativeName([x509.DNSName(f"h{n}") for n in range(500)]),
    ],
    ids=lambda e: type(e).__name__,
)
def test_wishes_that_would_not_be_granted_are_refused(extension: x509.ExtensionType) -> None:
    with pytest.raises(RequestError):
        parse_csr(make_csr(EC, extension), URI)


@pytest.mark.parametrize(
    "key",
    [
        rsa.generate_private_key(65537, 1024),
        rsa.generate_private_key(65537, 2048),
        ec.generate_private_key(ec.SECP521R1()),
        ec.generate_private_key(ec.SECP256K1()),
    ],
    ids=["rsa1024", "rsa2048", "p521", "k1"],
)
def test_other_keys_are_refused(key: ec.EllipticCurvePrivateKey) -> None:
    with pytest.raises(RequestError, match="P-256"):
        parse_csr(make_csr(key), URI)


@pytest.mark.parametrize("name", WEAK)
def test_a_key_under_which_everybody_can_sign_is_refused(name: str) -> None:
    """The request carries a valid signature, made without any secret. A key that is stored already is refused too."""
    pem = weak_csr(WEAK[name])
    stored = x509.load_pem_x509_csr(pem.encode()).public_key()
    with pytest.raises(RequestError, match="Ed25519"):
        parse_csr(pem, URI)
    with pytest.raises(RequestError, match="Ed25519"):
        load_public_key(encode_public_key(stored))  # type: ignore[arg-type]


def test_a_request_not_signed_by_its_own_key_is_refused() -> None:
    der = bytearray(x509.load_pem_x509_csr(make_csr(EC).encode()).public_bytes(serialization.Encoding.DER))
    mine = EC.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    other = p256().public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    swapped = bytes(der).replace(mine, other)
    assert swapped != bytes(der)
    pem = x509.load_der_x509_csr(swapped).public_bytes(serialization.Encoding.PEM).decode()
    with pytest.raises(RequestError, match="not signed"):
        parse_csr(pem, URI)


def test_ten_thousand_names_are_refused_by_size() -> None:
    names = x509.SubjectAlternativeName([x509.DNSName(f"h{n}.example") for n in range(10_000)])
    pem = make_csr(EC, names)
    assert len(pem) > MAX_BYTES
    with pytest.raises(RequestError, match="longer"):
        parse_csr(pem, URI)


def test_only_one_pem_request_and_nothing_else() -> None:
    good = make_csr(EC)
    for text in (
        "", "x", good + good, "junk\n" + good, good + "junk", good.replace("CERTIFICATE REQUEST", "CERTIFICATE"),
        good.replace("\n", "", 1)[:-30], good.replace("MI", "M!I", 1), "\ufeff" + good, good.replace("M", "\u041c", 1),
    ):  # fmt: skip
        with pytest.raises(RequestError):
            parse_csr(text, URI)
    assert parse_csr("\n" + good + "\n", URI) == EC.public_key()


def test_a_weak_hash_is_refused() -> None:
    with pytest.raises(RequestError, match="algorithm"):
        parse_csr(make_csr(EC, algorithm=hashes.SHA224()), URI)


def sign(key: object, message: bytes) -> bytes:
    if isinstance(key, ed25519.Ed25519PrivateKey):
        raw = key.sign(message)
    else:
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        size = (key.curve.key_size + 7) // 8
        algorithm = hashes.SHA384() if size == 48 else hashes.SHA256()
        r, s = decode_dss_signature(key.sign(message, ec.ECDSA(algorithm)))
        raw = r.to_bytes(size, "big") + s.to_bytes(size, "big")
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


@pytest.mark.parametrize("key", [EC, P384, ED])
def test_possession_is_proven_by_a_signature_as_jws_makes_it(key: ec.EllipticCurvePrivateKey) -> None:
    message = possession_message("enr_1")
    assert message == b"mastio-enrollment:v1|enr_1"
    verify_possession(key.public_key(), message, sign(key, message))
    for wrong in (
        sign(key, possession_message("enr_2")),
        sign(p256(), message),
        sign(key, message)[:-2],
        sign(key, message) + b"==",
        b"",
        b"!" * 86,
        base64.urlsafe_b64encode(b"\0" * 64).rstrip(b"="),
    ):
        with pytest.raises(PossessionError):
            verify_possession(key.public_key(), message, wrong)


def test_a_der_signature_is_not_a_jws_signature() -> None:
    der = EC.sign(b"m", ec.ECDSA(hashes.SHA256()))
    with pytest.raises(PossessionError):
        verify_possession(EC.public_key(), b"m", base64.urlsafe_b64encode(der).rstrip(b"="))


def test_keys_that_may_sign_assertions() -> None:
    dpop = encode_public_jwk(ED.public_key())
    keys = assertion_keys(EC.public_key(), dpop)
    assert keys.public_jwks == (encode_public_jwk(EC.public_key()), dpop)
    assert keys.dpop_jkt == parse_public_jwk(dpop).thumbprint
    assert assertion_keys(P384.public_key(), None).public_jwks == ()
    assert assertion_keys(EC.public_key(), None).dpop_jkt is None
    with pytest.raises(JoseError):
        assertion_keys(EC.public_key(), {**dpop, "d": "AA"})


@pytest.mark.parametrize("key", [EC, P384, ED])
def test_a_stored_key_is_the_key(key: ec.EllipticCurvePrivateKey) -> None:
    assert load_public_key(encode_public_key(key.public_key())) == key.public_key()
