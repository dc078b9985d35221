"""The secret that a caller presented, and its headers: one parse for every plugin that accepts secrets. Pure.

A secret is in `Authorization` (RFC 9110 §11.6.2) or, for tools that cannot send that, in a provider's own header, which
means the same as `Authorization: Bearer`. Rules: each header at most once; the same secret in several headers is one;
two different ones are two principals, and nobody. What is in force of a secret is for the plugin of its kind.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from mastio.exchange.errors import AuthenticationError

Scheme = Literal["DPoP", "Bearer"]
Kind = Literal["admin", "api_key", "token"]

AUTHORIZATION = b"authorization"
PROVIDER_HEADERS = frozenset({b"x-api-key", b"x-goog-api-key", b"api-key"})
HEADERS = PROVIDER_HEADERS | {AUTHORIZATION}
"""Every header that may hold a secret of the caller: none of them is passed on, but for a password."""

ADMIN_PREFIX = b"mastio_admin_"
CLAIM_PREFIX = b"mastio_admin_claim_"
"""Of a one-time code: good for giving an admin a token, and for nothing else."""

CLAIM_MARK = "claim:"
"""The prefix of the stored hash of a one-time code."""

API_KEY_PREFIX = b"mastio_sk_"
CERTIFICATE = b"certificate"
"""The placeholder for clients whose software insists on sending a key: it refers to the client certificate."""

MAX_SECRET = 8 * 1024
MAX_REMEMBERED = 2 * 1024
"""Bytes of headers whose judgement is remembered: no secret of ours is longer, and strangers choose what they send."""

_SCHEMES: Mapping[bytes, Scheme] = {b"dpop": "DPoP", b"bearer": "Bearer"}


@dataclass(frozen=True, slots=True)
class Presented:
    """One secret. `kind` is what it looks like: whatever is no admin token and no API key must be an access token.

    `headers` are those that it came in.
    """

    scheme: Scheme
    value: bytes
    headers: frozenset[bytes]

    @property
    def kind(self) -> Kind:
        if self.value.startswith(ADMIN_PREFIX):
            return "admin"
        return "api_key" if self.value.startswith(API_KEY_PREFIX) else "token"


def parse_presented(headers: Iterable[tuple[bytes, bytes]]) -> Presented | None:
    """The secret that the caller presented, of `headers` as received (names in lower case).

    None: there is none, only the word `certificate`, or a password (`Basic`), which is for the route that wants one.
    Raises `AuthenticationError`: ambiguous_credential, or invalid_token for what cannot be a secret of anybody.
    """
    found = tuple(pair for pair in headers if pair[0] in HEADERS)
    if not found:
        return None
    is_short = sum(len(value) for _, value in found) <= MAX_REMEMBERED
    return _judge(found) if is_short else _judge.__wrapped__(found)


@lru_cache(maxsize=4096)
def _judge(found: tuple[tuple[bytes, bytes], ...]) -> Presented | None:
    """Remembered, because every plugin of an exchange asks, and a caller sends the same token for minutes."""
    names = frozenset(name for name, _ in found)
    if len(names) < len(found):
        raise AuthenticationError("A header that holds a credential came twice.", code="ambiguous_credential")
    secret = _parse(*found[0])
    if any(_parse(*other) != secret for other in found[1:]):
        raise AuthenticationError("The headers hold different credentials.", code="ambiguous_credential")
    if secret is None or secret == ("Bearer", CERTIFICATE):
        return None
    return Presented(*secret, names)


def _parse(name: bytes, value: bytes) -> tuple[Scheme, bytes] | None:
    """Scheme and secret of one header; None for a password."""
    scheme: Scheme | None = "Bearer"
    if name == AUTHORIZATION:
        if is_password(name, value):
            return None
        word, _, value = value.partition(b" ")
        scheme = _SCHEMES.get(word.lower())
    secret = value.strip()
    if scheme is None or not 0 < len(secret) <= MAX_SECRET:
        raise AuthenticationError(f"The header {name.decode('ascii')} is not acceptable.", code="invalid_token")
    return scheme, secret


def is_password(name: bytes, value: bytes) -> bool:
    """True if this header holds a password (RFC 7617), which is passed on to the route that accepts one."""
    return name == AUTHORIZATION and value.partition(b" ")[0].lower() == b"basic"


def parse_password(value: str) -> tuple[str, str] | None:
    """User and password of an `Authorization: Basic` header (RFC 7617), in UTF-8; None when it is not one."""
    scheme, _, encoded = value.partition(" ")
    if scheme.lower() != "basic" or len(encoded) > MAX_SECRET:
        return None
    try:
        user, colon, password = binascii.a2b_base64(encoded.strip(), strict_mode=True).decode().partition(":")
    except ValueError:
        return None
    return (user, password) if colon else None


def digest_secret(secret: bytes) -> str:
    """SHA-256 of a secret, hex. The holder may publish it, because secrets are random and long."""
    return hashlib.sha256(secret).hexdigest()


def hash_digest(key: bytes, digest: str) -> str:
    """The stored hash of a secret of which only `digest_secret` is known."""
    return hash_secret(key, f"sha256:{digest}".encode("ascii"))


def hash_claim(key: bytes, digest: str) -> str:
    """The stored hash of a one-time code, until a token takes its place. It never matches a token."""
    return CLAIM_MARK + hash_secret(key, f"claim:{digest}".encode("ascii"))


def limit_claim(kept: str, end: float) -> str:
    """The kept form of a one-time code that is good until `end` (Unix seconds)."""
    return f"{kept}:{int(end)}"


def end_of_claim(kept: str) -> float:
    """Until when a kept one-time code is good, in Unix seconds. 0 for a code without an end: it is good no more."""
    end = kept.removeprefix(CLAIM_MARK).partition(":")[2]
    return float(end) if end.isascii() and end.isdigit() else 0.0


def find_name(kept: str) -> str:
    """By what a kept secret is found: the whole hash, of a one-time code without its end."""
    return CLAIM_MARK + kept.removeprefix(CLAIM_MARK).partition(":")[0] if kept.startswith(CLAIM_MARK) else kept


def hash_secret(key: bytes, secret: bytes) -> str:
    """The stored hash of a secret that was shown once: HMAC-SHA256 under one of the appliance's keys, hex."""
    return hmac.digest(key, secret, hashlib.sha256).hex()
