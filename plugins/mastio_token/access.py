"""Access tokens and client assertions as JWTs (RFC 9068, RFC 7523, RFC 7800). Pure: key, clock and agents are given."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from mastio.exchange.records import Agent, SigningKey
from mastio.identity.jose import SignedToken, parse_compact, verify_signature
from mastio.identity.rotation import current, in_force
from mastio_primitives.jwk import (
    JoseError,
    PublicKey,
    encode_base64url,
    encode_public_jwk,
    parse_public_jwk,
    sign_es256,
)

P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
TOKEN_AGE = 600
"""Seconds that an access token is valid for at most."""

LEEWAY = 5
"""Seconds that a date may lie in the future: clocks differ."""

ASSERTION_AGE = 300
"""Seconds that a client assertion may be valid for at most."""

ACCESS_HEADER = frozenset({"typ", "alg", "kid"})
ASSERTION_HEADER = frozenset({"typ", "alg", "kid"})


class TokenError(ValueError):
    """The token is refused. The text is for the caller."""


@dataclass(frozen=True, slots=True)
class TokenKey:
    """One generation of the appliance's key for access tokens, ES256. Dates as in `mastio.identity.rotation`."""

    kid: str
    private: ec.EllipticCurvePrivateKey
    public: PublicKey
    created_at: float
    active_from: float
    retire_at: float | None

    @classmethod
    def derive(cls, key: SigningKey) -> TokenKey:
        """The key that belongs to a 32-byte secret: every worker derives the same one."""
        wide = HKDF(hashes.SHA256(), 48, salt=None, info=b"mastio token signing P-256").derive(key.secret)
        private = ec.derive_private_key(1 + int.from_bytes(wide, "big") % (P256_ORDER - 1), ec.SECP256R1())
        public = parse_public_jwk(encode_public_jwk(private.public_key()))
        return cls(key.id, private, public, key.created_at, key.active_from, key.retire_at)

    def jwk(self) -> dict[str, str]:
        """The public JWK as the JWKS document shows it (RFC 7517)."""
        members = encode_public_jwk(self.private.public_key())
        return {**members, "use": "sig", "alg": "ES256", "kid": self.kid}


@dataclass(frozen=True, slots=True)
class Issuer:
    """The required issuer and audience of a token: one appliance, one URL.

    `keys` are all generations that are remembered.
    """

    url: str
    keys: tuple[TokenKey, ...]

    def find(self, kid: object, now: float) -> TokenKey | None:
        """The generation of this name, if it is still trusted."""
        return next((key for key in in_force(self.keys, now) if key.kid == kid), None)


@dataclass(frozen=True, slots=True)
class AccessClaims:
    """The claims of a verified access token. Exactly one of `jkt` and `x5t` is set."""

    subject: str
    jkt: str | None
    x5t: str | None
    expires_at: float
    enrolled_at: float
    issued_at: float


def encode_access_token(
    issuer: Issuer, agent: Agent, confirmation: Mapping[str, str], jti: str, now: float, seconds: int
) -> str:
    """A signed access token for `agent` as enrolled now, bound by `confirmation` (RFC 7800 `cnf`).

    `now` in Unix seconds with their fraction: in the second of an immediate rotation, the rounded time would choose the
    key that was just retired. Raises `LookupError` without a key in force.
    """
    key = current(issuer.keys, now)
    header = {"typ": "at+jwt", "alg": "ES256", "kid": key.kid}
    claims = {
        "iss": issuer.url,
        "aud": issuer.url,
        "sub": agent.name,
        "client_id": agent.name,
        "iat": int(now),
        "exp": int(now) + seconds,
        "jti": jti,
        "cnf": confirmation,
        "enrolled_at": agent.created_at,
    }
    signing_input = f"{encode_base64url(orjson.dumps(header))}.{encode_base64url(orjson.dumps(claims))}"
    signature = sign_es256(signing_input.encode("ascii"), key.private)
    return f"{signing_input}.{encode_base64url(signature)}"


def verify_access_token(raw: bytes, issuer: Issuer, now: float) -> AccessClaims:
    """Raises `TokenError` unless we signed it, for here, it is in force and bound to something."""
    if raw.count(b".") != 2:
        raise TokenError("What was presented is neither an access token nor an API key of this appliance.")
    try:
        token = parse_compact(raw)
        _verify_header(token, ACCESS_HEADER, ("at+jwt",))
        key = issuer.find(token.header.get("kid"), now)
        if key is None:
            raise TokenError("The access token names another key.")
        verify_signature(token, key.public)
        claims = token.claims()
    except JoseError as error:
        raise TokenError(f"The access token is not acceptable: {error}") from error
    if claims.get("iss") != issuer.url or claims.get("aud") != issuer.url:
        raise TokenError("The access token is for another issuer or audience.")
    if not isinstance(claims.get("sub"), str):
        raise TokenError("The access token has no sub.")
    confirmation = claims.get("cnf")
    if not isinstance(confirmation, dict) or confirmation.keys() not in ({"jkt"}, {"x5t#S256"}):
        raise TokenError("The access token is bound to nothing.")
    issued_at, expires_at = _read_time(claims, "iat"), _read_time(claims, "exp")
    if now >= expires_at:
        raise TokenError("The access token has expired.")
    if not is_in_force(issued_at, expires_at, now):
        raise TokenError("The access token was issued in the future: the clock was set back. Get a new one.")
    enrolled_at = _read_time(claims, "enrolled_at")
    jkt, x5t = confirmation.get("jkt"), confirmation.get("x5t#S256")
    return AccessClaims(claims["sub"], jkt, x5t, expires_at, enrolled_at, issued_at)


def is_in_force(issued_at: float, expires_at: float, now: float) -> bool:
    """True if an access token is in force at `now`. A token that was minted while the clock was ahead is not."""
    return issued_at - LEEWAY <= now < expires_at <= now + TOKEN_AGE + LEEWAY


def _verify_header(token: SignedToken, members: frozenset[str], types: tuple[str | None, ...]) -> None:
    """No member that could point to another key or ask for an extension: `jku x5u x5c jwk crit` and all others."""
    if not token.header.keys() <= members or token.header.get("typ") not in types:
        raise JoseError("Its header is not of the expected form.")


def _read_time(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TokenError(f"The {name} is not a number.")
    return value


def peek_assertion_subject(raw: bytes) -> str:
    """The unverified subject of an assertion: only to find the keys to verify it with. Raises `TokenError`."""
    try:
        subject = parse_compact(raw).claims().get("sub")
    except JoseError as error:
        raise TokenError(f"The client assertion is not acceptable: {error}") from error
    if not isinstance(subject, str):
        raise TokenError("The client assertion has no sub.")
    return subject


def verify_assertion(
    raw: bytes, subject: str, jwks: tuple[Mapping[str, str], ...], audiences: tuple[str, ...], now: float
) -> tuple[PublicKey, str, float]:
    """The key, `jti` and `exp` of a `private_key_jwt` assertion (RFC 7523 §3). Raises `TokenError`."""
    try:
        token = parse_compact(raw)
        _verify_header(token, ASSERTION_HEADER, (None, "JWT", "client-authentication+jwt"))
        key = _verify_by_one_of(token, jwks)
        claims = token.claims()
    except JoseError as error:
        raise TokenError(f"The client assertion is not acceptable: {error}") from error
    if claims.get("iss") != subject or claims.get("sub") != subject:
        raise TokenError("The client assertion's iss and sub must be the client_id.")
    audience = claims.get("aud")
    named = audience if isinstance(audience, list) else [audience]
    if len(named) != 1 or named[0] not in audiences:
        raise TokenError("The client assertion is for another audience.")
    expires_at = _read_time(claims, "exp")
    if not now < expires_at <= now + ASSERTION_AGE + LEEWAY:
        raise TokenError(f"The client assertion must be in force, for at most {ASSERTION_AGE} seconds.")
    for name in ("iat", "nbf"):
        if name in claims and _read_time(claims, name) > now + LEEWAY:
            raise TokenError("The client assertion is not in force yet.")
    jti = claims.get("jti")
    if not isinstance(jti, str) or not 1 <= len(jti) <= 256:
        raise TokenError("The client assertion has no jti.")
    return key, jti, expires_at


def _verify_by_one_of(token: SignedToken, jwks: tuple[Mapping[str, str], ...]) -> PublicKey:
    """The last key first: it is the DPoP key where the agent named one, and clients sign with that."""
    for jwk in reversed(jwks):
        try:
            key = _parse_enrolled(tuple(jwk.items()))
            verify_signature(token, key)
        except JoseError:  # another key's, or a key that an earlier version stored and this one refuses
            continue
        return key
    raise JoseError("No enrolled key of the client verifies it.")


@lru_cache(maxsize=4096)
def _parse_enrolled(members: tuple[tuple[str, str], ...]) -> PublicKey:
    return parse_public_jwk(dict(members))


def hash_token(raw: bytes) -> str:
    """`ath`: base64url SHA-256 of the token (RFC 9449 §4.2)."""
    return encode_base64url(hashlib.sha256(raw).digest())
