"""DPoP proofs: the twelve checks of RFC 9449 §4.3, in that order. Pure: no clock, no network, no memory.

`parse_proof` covers what the proof alone can show (checks 2–7), `verify_proof` what the request expects (8–12).
Check 1, exactly one header, is the caller's, who has the headers; so is "once per key", which needs a memory; and the
second half of check 12, that the token is bound to this key, belongs to `mastio.identity.principal`, which has the
token.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from mastio.identity.jose import ALGORITHMS, SignedToken, parse_compact, verify_signature
from mastio_primitives.jwk import JoseError, PublicKey, parse_public_jwk

MAX_AGE = 60
"""Seconds that `iat` may lie in the past."""

MAX_AHEAD = 5
"""Seconds that `iat` may lie in the future: clocks differ."""

MAX_JTI = 256

_HEADER = frozenset({"typ", "alg", "jwk"})
_MEMBERS = frozenset({"kty", "crv", "x", "y"})
_DEFAULT_PORTS = {"https": 443, "http": 80}


class ProofError(ValueError):
    """The proof is refused. The text is for the caller."""


class NonceError(ProofError):
    """The proof is good but for its nonce: missing, too old, or of another worker. Repeat with ours (RFC 9449 §8)."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A proof whose signature verified. `thumbprint` is the `jkt` of the key that made it."""

    thumbprint: str
    jti: str
    htm: str
    htu: str
    iat: float
    nonce: str | None
    ath: str | None


@dataclass(frozen=True, slots=True)
class Expected:
    """The values that the proof of this request must have. `url` is the configured public URL and the path, never the
    Host header.

    `ath` is the base64url SHA-256 of the access token, `None` when the request has none. `nonces` are those in force.
    """

    method: str
    url: str
    ath: str | None
    nonces: Container[str]
    now: float


class KeyCache:
    """Parsed public keys by their coordinates: parsing a point costs half as much as verifying with it."""

    def __init__(self, size: int = 4096) -> None:
        self._keys: dict[tuple[Any, ...], PublicKey] = {}
        self._size = size

    def get(self, jwk: Any) -> PublicKey:
        """The key of `jwk`. Raises `JoseError`."""
        if not isinstance(jwk, dict):
            raise JoseError("The jwk is not an object.")
        if not jwk.keys() <= _MEMBERS:  # more, as long as the sender likes: parse without the cache
            return parse_public_jwk(jwk)
        try:
            name = tuple(jwk.items())
            known = self._keys.get(name)
        except TypeError:  # a member that is a list or an object cannot be hashed
            return parse_public_jwk(jwk)
        if known is None:
            known = parse_public_jwk(jwk)
            if len(self._keys) >= self._size:
                del self._keys[next(iter(self._keys))]
            self._keys[name] = known
        return known


def parse_proof(raw: bytes, keys: KeyCache) -> Proof:
    """Checks 2 to 7. Raises `ProofError`."""
    try:
        token = parse_compact(raw)  # 2: a single, well-formed JWT
        _verify_header(token)
        key = keys.get(token.header["jwk"])  # 7: no private key in it
        proof = _read_claims(token, key)  # 3: all required claims
        verify_signature(token, key)  # 6: by the key in the header
    except JoseError as error:
        raise ProofError(f"The DPoP proof is not acceptable: {error}") from error
    return proof


def _verify_header(token: SignedToken) -> None:
    """Checks 4 and 5. Members beyond the three are refused: nothing may point to another key (jku, x5u, x5c, kid)."""
    if token.header.keys() != _HEADER:
        raise ProofError("The DPoP proof's header must have exactly typ, alg and jwk.")
    if token.header["typ"] != "dpop+jwt":
        raise ProofError("The DPoP proof's typ is not dpop+jwt.")
    if token.header["alg"] not in ALGORITHMS:
        raise ProofError("The DPoP proof's alg is neither ES256 nor EdDSA.")


def _read_claims(token: SignedToken, key: PublicKey) -> Proof:
    claims = token.claims()
    for name in ("jti", "htm", "htu"):
        if not isinstance(claims.get(name), str):
            raise ProofError(f"The DPoP proof has no {name}.")
    for name in ("nonce", "ath"):
        if not isinstance(claims.get(name, ""), str):
            raise ProofError(f"The DPoP proof's {name} is not a string.")
    iat = claims.get("iat")
    if isinstance(iat, bool) or not isinstance(iat, int | float):
        raise ProofError("The DPoP proof has no numeric iat.")
    jti = claims["jti"]
    if not 1 <= len(jti) <= MAX_JTI:
        raise ProofError(f"The DPoP proof's jti must have 1 to {MAX_JTI} characters.")
    return Proof(key.thumbprint, jti, claims["htm"], claims["htu"], iat, claims.get("nonce"), claims.get("ath"))


def verify_proof(proof: Proof, expected: Expected) -> None:
    """Checks 8 to 12. Raises `NonceError` or `ProofError`."""
    if proof.htm != expected.method:  # 8
        raise ProofError("The DPoP proof is for another method.")
    if proof.htu != expected.url and normalize_htu(proof.htu) != normalize_htu(expected.url):  # 9
        raise ProofError("The DPoP proof is for another URL.")
    if proof.nonce is None or proof.nonce not in expected.nonces:  # 10
        raise NonceError("The DPoP proof needs the nonce of the DPoP-Nonce header.")
    if not expected.now - MAX_AGE <= proof.iat <= expected.now + MAX_AHEAD:  # 11
        raise ProofError("The DPoP proof was not made just now.")
    if expected.ath is not None and proof.ath != expected.ath:  # 12
        raise ProofError("The DPoP proof is for another access token.")


def normalize_htu(htu: str) -> str | None:
    """RFC 9449 §4.3: compared without query and fragment, after scheme-based normalization (RFC 3986 §6.2.3).

    `None` for what is no plain URL; the path is compared as it is, since the edge decides on one canonical path.
    """
    try:
        parts = urlsplit(htu)
        port = parts.port
    except ValueError:
        return None
    if "@" in parts.netloc or not parts.hostname or any(c <= " " or c == "\x7f" for c in htu):
        return None
    host = parts.hostname.lower()
    host = f"[{host}]" if ":" in host else host
    if port is not None and port != _DEFAULT_PORTS.get(parts.scheme):
        host = f"{host}:{port}"
    return f"{parts.scheme.lower()}://{host}{parts.path or '/'}"
