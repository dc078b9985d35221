"""Public keys as JWK, base64url, and ES256 signatures, strictly. Pure; used for proofs and access tokens.

General JOSE libraries decode leniently. Here there is exactly one encoding of every value: canonical base64url, 64-byte
signatures, no private members.

RFC 7515 (JWS), RFC 7517 (JWK), RFC 7638 (thumbprint), RFC 8037 (Ed25519).
"""

from __future__ import annotations

import binascii
import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from mastio_primitives.ed25519 import WeakKeyError, load_ed25519

Algorithm = Literal["ES256", "EdDSA"]

_PRIVATE_MEMBERS = frozenset({"d", "k", "p", "q", "dp", "dq", "qi", "oth", "priv"})
_ES256 = ec.ECDSA(hashes.SHA256())


class JoseError(ValueError):
    """Not a signed token or key that is accepted here. The text is for the caller."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key that may verify, with its RFC 7638 thumbprint (base64url SHA-256)."""

    algorithm: Algorithm
    thumbprint: str
    key: ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey


def encode_base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def decode_base64url(text: bytes) -> bytes:
    """The bytes of canonical, unpadded base64url. Raises `JoseError` for every other spelling."""
    try:
        raw = urlsafe_b64decode(text + b"=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise JoseError("A part is not base64url.") from error
    if urlsafe_b64encode(raw).rstrip(b"=") != text:
        raise JoseError("A part is not canonical base64url.")
    return raw


def parse_public_jwk(jwk: Any) -> PublicKey:
    """A P-256 or Ed25519 public key. Raises `JoseError` for private members, other kinds, bad points."""
    if not isinstance(jwk, Mapping):
        raise JoseError("The key is not a JWK object.")
    if _PRIVATE_MEMBERS & jwk.keys():
        raise JoseError("The key has private members.")
    if jwk.get("kty") == "EC" and jwk.get("crv") == "P-256":
        return _parse_p256(jwk)
    if jwk.get("kty") == "OKP" and jwk.get("crv") == "Ed25519":
        return _parse_ed25519(jwk)
    raise JoseError("The key is neither EC P-256 nor OKP Ed25519.")


def _coordinate(jwk: Mapping[str, Any], name: str) -> bytes:
    value = jwk.get(name)
    if not isinstance(value, str) or not value.isascii():
        raise JoseError(f"The key's {name} is missing.")
    raw = decode_base64url(value.encode("ascii"))
    if len(raw) != 32:
        raise JoseError(f"The key's {name} is not 32 bytes.")
    return raw


def _parse_p256(jwk: Mapping[str, Any]) -> PublicKey:
    x, y = _coordinate(jwk, "x"), _coordinate(jwk, "y")
    _is_for(jwk, "ES256")
    try:
        key = ec.EllipticCurvePublicNumbers(
            int.from_bytes(x, "big"), int.from_bytes(y, "big"), ec.SECP256R1()
        ).public_key()
    except ValueError as error:
        raise JoseError("The key is not a point on P-256.") from error
    thumbprint = f'{{"crv":"P-256","kty":"EC","x":"{jwk["x"]}","y":"{jwk["y"]}"}}'
    return PublicKey("ES256", encode_base64url(hashlib.sha256(thumbprint.encode()).digest()), key)


def _parse_ed25519(jwk: Mapping[str, Any]) -> PublicKey:
    x = _coordinate(jwk, "x")
    _is_for(jwk, "EdDSA")
    try:
        key = load_ed25519(x)
    except WeakKeyError as error:
        raise JoseError(str(error)) from error
    thumbprint = f'{{"crv":"Ed25519","kty":"OKP","x":"{jwk["x"]}"}}'
    return PublicKey("EdDSA", encode_base64url(hashlib.sha256(thumbprint.encode()).digest()), key)


def _is_for(jwk: Mapping[str, Any], algorithm: Algorithm) -> None:
    if jwk.get("alg", algorithm) != algorithm or jwk.get("use", "sig") != "sig":
        raise JoseError("The key is meant for something else.")
    operations = jwk.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        raise JoseError("The key is meant for something else.")


def sign_es256(signing_input: bytes, key: ec.EllipticCurvePrivateKey) -> bytes:
    """The 64-byte JWS signature r‖s (RFC 7518 §3.4)."""
    r, s = decode_dss_signature(key.sign(signing_input, _ES256))
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def encode_public_jwk(key: ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey) -> dict[str, str]:
    """The public JWK of a P-256 or Ed25519 key, required members only."""
    if isinstance(key, ed25519.Ed25519PublicKey):
        return {"kty": "OKP", "crv": "Ed25519", "x": encode_base64url(key.public_bytes_raw())}
    numbers = key.public_numbers()
    return {
        "kty": "EC",
        "crv": "P-256",
        "x": encode_base64url(numbers.x.to_bytes(32, "big")),
        "y": encode_base64url(numbers.y.to_bytes(32, "big")),
    }
