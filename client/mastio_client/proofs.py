"""Signatures with an agent's keys: requests, enrolment proofs, DPoP proofs. Client side; pure, time is a parameter.

RFC 2986 (certificate requests), RFC 9449 §4.2 (DPoP proofs), RFC 7515 (JWS), RFC 8037 (Ed25519).
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import orjson
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID

from mastio_primitives.jwk import decode_base64url, encode_base64url, encode_public_jwk, parse_public_jwk, sign_es256

PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
KeyKind = Literal["p256", "ed25519"]


class KeyFileError(ValueError):
    """A stored key cannot be read."""


def make_key(kind: KeyKind = "p256") -> PrivateKey:
    """A new private key. It never leaves the machine that made it."""
    return ed25519.Ed25519PrivateKey.generate() if kind == "ed25519" else ec.generate_private_key(ec.SECP256R1())


def encode_pem_key(key: PrivateKey) -> bytes:
    """PKCS #8, unencrypted: for a file that only its owner can read."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def key_sha256(key: PrivateKey) -> str:
    """SHA-256 of the public key (DER), in hex. An operator sees the same value and compares."""
    der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()


def make_csr(key: PrivateKey, name: str) -> str:
    """A certificate request (PEM) without extensions: the appliance decides what the leaf contains."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm).public_bytes(Encoding.PEM).decode("ascii")


def sign_enrollment(key: PrivateKey, enrollment: str) -> str:
    """The `X-Enrollment-Proof` that picks up the decision on the enrolment with this id."""
    return encode_base64url(_sign(key, f"mastio-enrollment:v1|{enrollment}".encode()))


def make_proof(
    key: PrivateKey, method: str, url: str, now: float, *, nonce: str | None = None, token: str | None = None
) -> str:
    """A DPoP proof for one request; `token` is the access token that goes with it, `nonce` the newest one given."""
    return Prover(key).prove(method, target_uri(url), now, nonce, None if token is None else hash_token(token))


def hash_token(token: str) -> str:
    """`ath`: base64url SHA-256 of the access token (RFC 9449 §4.2)."""
    return encode_base64url(hashlib.sha256(token.encode("ascii")).digest())


class Prover:
    """Makes many proofs with one key. The part that all of them share is encoded once."""

    def __init__(self, key: PrivateKey) -> None:
        self._key = key
        header = {"typ": "dpop+jwt", "alg": _algorithm(key), "jwk": encode_public_jwk(key.public_key())}
        self._header = encode_base64url(orjson.dumps(header))

    def prove(self, method: str, htu: str, now: float, nonce: str | None, ath: str | None) -> str:
        """A proof for one request. `htu` is the URL without its query, `ath` the `hash_token` of the access token."""
        claims: dict[str, Any] = {"jti": secrets.token_urlsafe(16), "htm": method, "htu": htu, "iat": int(now)}
        if ath is not None:
            claims["ath"] = ath
        if nonce is not None:
            claims["nonce"] = nonce
        return _sign_compact(self._key, f"{self._header}.{encode_base64url(orjson.dumps(claims))}")


def make_assertion(key: PrivateKey, client_id: str, audience: str, now: float, seconds: int = 60) -> str:
    """A `private_key_jwt` client assertion (RFC 7523 §3), good for `seconds`; `audience` is the issuer."""
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": int(now),
        "exp": int(now) + seconds,
        "jti": secrets.token_urlsafe(16),
    }
    return _compact(key, {"typ": "JWT"}, claims)


def key_thumbprint(key: PrivateKey) -> str:
    """RFC 7638, base64url SHA-256: `jkt`."""
    return parse_public_jwk(encode_public_jwk(key.public_key())).thumbprint


def encode_private_jwk(key: PrivateKey) -> dict[str, str]:
    """For a file that only its owner can read."""
    if isinstance(key, ed25519.Ed25519PrivateKey):
        secret = key.private_bytes_raw()
    else:
        secret = key.private_numbers().private_value.to_bytes(32, "big")
    return {**encode_public_jwk(key.public_key()), "d": encode_base64url(secret)}


def parse_private_jwk(jwk: Any) -> PrivateKey:
    """The key of `encode_private_jwk`. Raises `KeyFileError`, a `ValueError`."""
    try:
        public = parse_public_jwk({name: value for name, value in jwk.items() if name != "d"})
        secret = decode_base64url(jwk["d"].encode("ascii"))
        key: PrivateKey
        if public.algorithm == "EdDSA":
            key = ed25519.Ed25519PrivateKey.from_private_bytes(secret)
        else:
            key = ec.derive_private_key(int.from_bytes(secret, "big"), ec.SECP256R1())
    except (ValueError, KeyError, AttributeError) as error:
        raise KeyFileError("It is not a private JWK of a P-256 or Ed25519 key.") from error
    if key.public_key() != public.key:
        raise KeyFileError("The private and the public part do not belong together.")
    return key


def target_uri(url: str) -> str:
    """`htu`: the URL without query and fragment (RFC 9449 §4.2)."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{parts.path}"


def _compact(key: PrivateKey, header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
    """A compact JWS (RFC 7515 §3.1)."""
    parts = ({"alg": _algorithm(key), **header}, claims)
    return _sign_compact(key, ".".join(encode_base64url(orjson.dumps(part)) for part in parts))


def _sign_compact(key: PrivateKey, signing_input: str) -> str:
    return f"{signing_input}.{encode_base64url(_sign(key, signing_input.encode('ascii')))}"


def _algorithm(key: PrivateKey) -> str:
    return "EdDSA" if isinstance(key, ed25519.Ed25519PrivateKey) else "ES256"


def _sign(key: PrivateKey, message: bytes) -> bytes:
    return key.sign(message) if isinstance(key, ed25519.Ed25519PrivateKey) else sign_es256(message, key)
