"""How the appliance proves to a provider who it is: headers for one request.

A key is sent as it is. A token is fetched from where the provider's cloud gives them out, kept until shortly before its
end, and fetched once for all who wait. A signature is made for each request (`sigv4`).
"""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Awaitable, Callable
from typing import Protocol
from urllib.parse import urlencode

import orjson
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.hashes import SHA256

from mastio.errors import DispatchError, UpstreamTimeout
from mastio.jose import encode_base64url
from mastio.provider_secrets import AccessKey, EntraApplication, PlainKey, ServiceAccount, parse_secret
from mastio.services import Services, Upstream
from mastio.store.base import ProviderRow
from mastio.strictjson import JsonError, parse_object
from mastio_llm.dialects import SPEAKERS
from mastio_llm.dialects.operation import Speaker

Headers = list[tuple[str, str]]

EARLY = 120.0
"""Seconds before its end at which a token is fetched anew."""

FETCH_WITHIN = 30.0
"""Seconds, whatever the provider's own timeouts are."""

MAX_TOKEN_REPLY = 64 * 1024
GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


class Credential(Protocol):
    """`secrets` are what no reply may tell its reader."""

    @property
    def secrets(self) -> tuple[bytes, ...]: ...

    async def headers(self, method: str, path: str, headers: Headers, body: bytes) -> Headers:
        """What proves this request to `path` (behind the base URL). Raises `DispatchError`."""

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


class Token:
    """A bearer token that `fetch` gives out, with the seconds that it is good for.

    Whoever needs one while it is being fetched gets what comes of that, a failure too: nobody waits for more than one
    fetch, which has `within` seconds. It goes on when who began it has gone.
    """

    def __init__(
        self,
        fetch: Callable[[], Awaitable[tuple[str, float]]],
        secrets: tuple[bytes, ...],
        within: float = FETCH_WITHIN,
    ) -> None:
        self._fetch = fetch
        self._fixed = secrets
        self._within = within
        self._token: str | None = None
        self._until = 0.0
        self._fetching: asyncio.Future[str] | None = None

    @property
    def secrets(self) -> tuple[bytes, ...]:
        return self._fixed if self._token is None else (*self._fixed, self._token.encode())

    async def headers(self, method: str, path: str, headers: Headers, body: bytes) -> Headers:
        token = self._token
        if token is None or time.monotonic() >= self._until:
            if self._fetching is None:
                self._fetching = asyncio.ensure_future(self._renew())
                self._fetching.add_done_callback(self._done)
            token = await asyncio.shield(self._fetching)
        return [("authorization", f"Bearer {token}")]

    async def _renew(self) -> str:
        try:
            async with asyncio.timeout(self._within):
                token, seconds = await self._fetch()
        except TimeoutError as error:
            raise UpstreamTimeout("The provider's tokens cannot be had in time.") from error
        self._token, self._until = token, time.monotonic() + max(seconds - EARLY, seconds / 2)
        return token

    def _done(self, fetching: asyncio.Future[str]) -> None:
        self._fetching = None
        if not fetching.cancelled():
            fetching.exception()  # seen, also where nobody waits for it any more

    def forget(self) -> bool:
        had, self._token = self._token is not None, None
        return had


def open_credential(services: Services, row: ProviderRow) -> Credential:
    """Raises `SecretError`, and `TargetError` for a place of tokens that is not acceptable."""
    speaker = SPEAKERS[row.kind]
    if row.api_key is None:
        return Key(speaker, None)
    secret = parse_secret(row.kind, row.base_url, row.api_key)
    match secret:
        case PlainKey(key):
            return Key(speaker, key)
        case AccessKey():
            # Only where it is used: Amazon's library would cost every worker memory for nothing.
            signed: Credential = importlib.import_module("mastio_llm.sigv4").Signature(secret, row.base_url)
            return signed
        case EntraApplication(tokens=tokens, client_secret=client_secret):
            pool = services.upstreams.open(tokens, row.allow_addresses, row.timeouts)
            return Token(lambda: fetch_token(pool, entra_form(secret)), (client_secret.encode(),))
        case ServiceAccount(tokens=tokens):
            pool = services.upstreams.open(tokens, row.allow_addresses, row.timeouts)
            return Token(lambda: fetch_token(pool, google_form(secret, services.now())), ())


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


async def fetch_token(pool: Upstream, form: dict[str, str]) -> tuple[str, float]:
    """The access token and the seconds it is good for (RFC 6749 §5.1). Raises `DispatchError`."""
    headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("accept", "application/json"),
        ("accept-encoding", "identity"),
    ]
    async with pool.send("POST", "", headers, urlencode(form).encode("ascii")) as upstream:
        body = await upstream.read(MAX_TOKEN_REPLY)
        if upstream.status >= 500:
            raise DispatchError("The provider's tokens cannot be had.")
        try:
            document = parse_object(body) if upstream.status == 200 else {}
        except JsonError:
            document = {}
        token, seconds = document.get("access_token"), document.get("expires_in")
        if not isinstance(token, str) or not token.isprintable() or not token.isascii() or not token:
            raise DispatchError("The provider gave the appliance no token.", code="upstream_refused")
    return token, float(seconds) if isinstance(seconds, int) and 0 < seconds <= 86_400 else 300.0
