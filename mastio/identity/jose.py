"""Signed tokens, strictly: the compact form of JWS and its verification. Pure; used for proofs and access tokens.

General JOSE libraries accept some of Wycheproof's invalid signatures, because they decode leniently. Here there is
exactly one encoding of every value: three parts, canonical base64url, 64-byte signatures, no duplicate members.
Keys and base64url are those of `mastio_primitives.jwk`.

RFC 7515 (JWS).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from mastio.http.strictjson import JsonError, parse_object
from mastio_primitives.jwk import Algorithm, JoseError, PublicKey, decode_base64url

ALGORITHMS: tuple[Algorithm, ...] = ("ES256", "EdDSA")
MAX_BYTES = 8 * 1024

_ES256 = ec.ECDSA(hashes.SHA256())


@dataclass(frozen=True, slots=True)
class SignedToken:
    """A compact JWS, taken apart; its signature is not verified yet."""

    header: dict[str, Any]
    payload: bytes
    signing_input: bytes
    signature: bytes

    def claims(self) -> dict[str, Any]:
        """The payload as a strict JSON object. Raises `JoseError`."""
        try:
            return parse_object(self.payload)
        except JsonError as error:
            raise JoseError("Its claims are not a strict JSON object.") from error


def parse_compact(raw: bytes) -> SignedToken:
    """A compact JWS (RFC 7515 §7.1), its header a strict JSON object. Raises `JoseError`."""
    if len(raw) > MAX_BYTES:
        raise JoseError(f"It is longer than {MAX_BYTES} bytes.")
    parts = raw.split(b".")
    if len(parts) != 3:
        raise JoseError("It does not have exactly three parts.")
    try:
        header = parse_object(decode_base64url(parts[0]))
    except JsonError as error:
        raise JoseError("Its header is not a strict JSON object.") from error
    return SignedToken(header, decode_base64url(parts[1]), parts[0] + b"." + parts[1], decode_base64url(parts[2]))


def verify_signature(token: SignedToken, key: PublicKey) -> None:
    """Raises `JoseError` unless `key` made the signature with the algorithm that the header names."""
    if token.header.get("alg") != key.algorithm:
        raise JoseError("The algorithm does not fit the key.")
    if len(token.signature) != 64:
        raise JoseError("The signature is not 64 bytes.")
    try:
        if isinstance(key.key, ed25519.Ed25519PublicKey):
            key.key.verify(token.signature, token.signing_input)
        else:
            r = int.from_bytes(token.signature[:32], "big")
            s = int.from_bytes(token.signature[32:], "big")
            key.key.verify(encode_dss_signature(r, s), token.signing_input, _ES256)
    except (InvalidSignature, ValueError) as error:
        raise JoseError("The signature does not verify.") from error
