"""The credentials that an agent presents, and the challenges that it answers. Pure: `mastio_client.auth` and the shim
carry it out.

RFC 6749 §4.4 and RFC 7523 (the token request), RFC 9449 §8 and §9 (nonces), RFC 9110 §11 (challenges).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from mastio_client.proofs import PrivateKey, hash_token, make_assertion

SECRET_HEADERS = ("authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key", "dpop", "cookie")
"""Headers in which software puts a secret. A caller that proves itself otherwise sends none of them."""

RENEW_BEFORE = 30.0
"""Seconds before its end that a token is replaced; half its life where that is shorter."""

Challenge = Literal["use_dpop_nonce", "invalid_token"]

_ERROR = re.compile(r'\berror="(use_dpop_nonce|invalid_token)"')


@dataclass(frozen=True, slots=True)
class Token:
    """An access token. It should be replaced from `renew_at` on, and is not used from `ends` on (Unix time)."""

    value: str
    ath: str
    renew_at: float
    ends: float


class TokenReplyError(ValueError):
    """The token endpoint's reply is not one of RFC 6749 §5.1."""


def read_token(document: Any, now: float) -> Token:
    """The token of a reply that was received at `now`. Raises `TokenReplyError`."""
    try:
        value, seconds = document["access_token"], float(document["expires_in"])
        return Token(value, hash_token(value), now + seconds - min(RENEW_BEFORE, seconds / 2), now + seconds)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TokenReplyError("The token endpoint's answer holds no token.") from error


def token_form(key: PrivateKey, name: str, issuer: str, now: float) -> dict[str, str]:
    """The body of a token request: client credentials, the client proven by an assertion."""
    return {
        "grant_type": "client_credentials",
        "client_id": name,
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": make_assertion(key, name, issuer, now),
    }


def read_challenge(status: int, www_authenticate: str) -> Challenge | None:
    """The part of a 401 that the caller can satisfy by itself: another nonce or another token. None: neither."""
    found = _ERROR.search(www_authenticate) if status == 401 else None
    if found is None:
        return None
    return "use_dpop_nonce" if found[1] == "use_dpop_nonce" else "invalid_token"
