"""The appliance's authentication to a provider: headers for one request.

A key is sent as it is. A token is fetched from where the provider's cloud gives them out
(`mastio.plugin.oauth_client`). A signature is made for each request (`mastio.outbound.sigv4`).
"""

from __future__ import annotations

import importlib
from typing import Protocol

import orjson
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.hashes import SHA256

from mastio.exchange.errors import DispatchError
from mastio.outbound.access_key import AccessKey
from mastio.plugin.oauth_client import Token, fetch_token
from mastio.plugin.services import Services
from mastio_llm.dialects import SPEAKERS
from mastio_llm.dialects.operation import Speaker
from mastio_llm.provider import ProviderRow
from mastio_llm.provider_secrets import EntraApplication, PlainKey, ServiceAccount, parse_secret
from mastio_primitives.jwk import encode_base64url

Headers = list[tuple[str, str]]

GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


class Credential(Protocol):
    """`secrets` are what no reply may tell its reader."""

    @property
    def secrets(self) -> tuple[bytes, ...]: ...

    async def headers(self, method: str, path: str, headers: Headers, body: bytes) -> Headers:
        """The authentication headers of this request to `path` (behind the base URL). Raises `DispatchError`."""

    def forget(self) -> bool:
        """The provider refused it. Whether the next one may be another."""


class Key:
    """One header; none where there is no key."""

    def __init__(self, speaker: Speaker, key: str | None) -> None:
        self._headers = [(speaker.key_header, speaker.key_prefix + key)] if key else []
        self.secrets = (key.encode(),) if key else ()

    async def headers(self, method: str, path: str, headers: Headers, body: bytes) -> Headers:
        return self._headers

    def forget(self) -> bool:
        return False


class Bearer:
    """A token that the provider's cloud gives out. `fixed`: the secret that it is fetched with."""

    def __init__(self, token: Token, fixed: tuple[bytes, ...]) -> None:
        self._token = token
        self._fixed = fixed

    @property
    def secrets(self) -> tuple[bytes, ...]:
        current = self._token.current
        return self._fixed if current is None else (*self._fixed, current.encode())

    async def headers(self, method: str, path: str, headers: Headers, body: bytes) -> Headers:
        return [("authorization", f"Bearer {await self._token.get()}")]

    def forget(self) -> bool:
        return self._token.forget()


class Lost:
    """The credential of a provider whose key cannot be had: no request is sent without it."""

    secrets: tuple[bytes, ...] = ()

    async def headers(self, method: str, path: str, headers: Headers, body: bytes) -> Headers:
        raise DispatchError("The provider's key cannot be had.", code="upstream_refused")

    def forget(self) -> bool:
        return False


def open_credential(services: Services, row: ProviderRow) -> Credential:
    """Raises `SecretError`, and `TargetError` for a place of tokens that is not acceptable."""
    speaker = SPEAKERS[row.kind]
    if row.has_lost_key:
        return Lost()
    if row.api_key is None:
        return Key(speaker, None)
    secret = parse_secret(row.kind, row.base_url, row.api_key)
    match secret:
        case PlainKey(key):
            return Key(speaker, key)
        case AccessKey():
            # Only where it is used: Amazon's library would cost every worker memory for nothing.
            signed: Credential = importlib.import_module("mastio.outbound.sigv4").Signature(
                secret, row.base_url, "bedrock"
            )
            return signed
        case EntraApplication(tokens=tokens, client_secret=client_secret):
            pool = services.upstreams.open(tokens, row.allow_addresses, row.timeouts)
            return Bearer(Token(lambda: fetch_token(pool, entra_form(secret))), (client_secret.encode(),))
        case ServiceAccount(tokens=tokens):
            pool = services.upstreams.open(tokens, row.allow_addresses, row.timeouts)
            return Bearer(Token(lambda: fetch_token(pool, google_form(secret, services.now()))), ())


def entra_form(application: EntraApplication) -> dict[str, str]:
    """RFC 6749 §4.4."""
    return {
        "grant_type": "client_credentials",
        "client_id": application.client_id,
        "client_secret": application.client_secret,
        "scope": application.scope,
    }


def google_form(account: ServiceAccount, now: float) -> dict[str, str]:
    """RFC 7523 §2.1, signed with RS256 as Google wants it."""
    header = {"alg": "RS256", "typ": "JWT", "kid": account.key_id}
    claims = {
        "iss": account.client_email, "sub": account.client_email, "aud": account.tokens, "scope": GOOGLE_SCOPE,
        "iat": int(now), "exp": int(now) + 3600,
    }  # fmt: skip
    signed = ".".join(encode_base64url(orjson.dumps(part)) for part in (header, claims))
    signature = account.key.sign(signed.encode("ascii"), padding.PKCS1v15(), SHA256())
    return {"grant_type": JWT_BEARER, "assertion": f"{signed}.{encode_base64url(signature)}"}
