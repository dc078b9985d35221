"""The injection of a connection's credential into a request, one class for each kind."""

from __future__ import annotations

import importlib
from base64 import b64encode
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import quote, quote_plus, unquote_to_bytes

from mastio.exchange.errors import BadRequest, DispatchError
from mastio.outbound.access_key import AccessKey
from mastio.plugin.oauth_client import Token, fetch_token
from mastio.plugin.services import Services, Upstream
from mastio_egress.connections.connection import ConnectionCredential, ConnectionRow

Headers = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One request. `path` is behind the base URL, with the query. `body` None: it goes on as it arrives."""

    method: str
    path: str
    headers: Headers
    body: bytes | None

    def with_header(self, name: str, value: str) -> Outgoing:
        """In place of what the agent sent by that name. Underscores are hyphens to some upstreams."""
        return replace(self, headers=[*self.without(name).headers, (name, value)])

    def without(self, *names: str) -> Outgoing:
        dropped = {name.replace("_", "-") for name in names}
        return replace(self, headers=[pair for pair in self.headers if pair[0].replace("_", "-") not in dropped])


class Injection(Protocol):
    """`needs_whole_body`: it is signed, so it cannot go on as it arrives."""

    needs_whole_body: bool
    is_shown: bool
    """True if the upstream sees a secret of the credential, and might repeat it."""

    pools: tuple[Upstream, ...]
    """The pools that were opened for the credential, to be closed with its connection."""

    @property
    def secrets(self) -> tuple[bytes, ...]:
        """The present secrets, which must not appear in replies."""

    async def apply(self, asked: Outgoing) -> Outgoing:
        """Raises `DispatchError` where the credential cannot be had, `BadRequest` for what takes its place."""

    def forget(self, refused: Outgoing) -> bool:
        """The upstream refused what `apply` made. Whether the next one may be another."""


class NoCredential:
    """A connection without a credential of the appliance, or with one that TLS shows."""

    needs_whole_body = False
    is_shown = False
    pools: tuple[Upstream, ...] = ()
    secrets: tuple[bytes, ...] = ()

    async def apply(self, asked: Outgoing) -> Outgoing:
        return asked

    def forget(self, refused: Outgoing) -> bool:
        return False


class Missing(NoCredential):
    """The secret cannot be had: its file is gone, or it does not open. Nothing is sent without it."""

    async def apply(self, asked: Outgoing) -> Outgoing:
        raise DispatchError("The connection's credential cannot be had.", code="upstream_refused")


class Header:
    """A header with a fixed value, in which `secrets` are."""

    needs_whole_body = False
    is_shown = True
    pools: tuple[Upstream, ...] = ()

    def __init__(self, name: str, value: str, *secrets: str) -> None:
        self._name = name
        self._value = value
        self.secrets = tuple(text.encode() for text in secrets)

    async def apply(self, asked: Outgoing) -> Outgoing:
        return asked.with_header(self._name, self._value)

    def forget(self, refused: Outgoing) -> bool:
        return False


class Query:
    """A parameter of the query. An agent's own by that name would stand beside it, and who knows which one counts; so
    would one that some upstreams read as that name."""

    needs_whole_body = False
    is_shown = True
    pools: tuple[Upstream, ...] = ()

    def __init__(self, parameter: str, secret: str) -> None:
        self._name = _fold_parameter(parameter.encode())
        self._pair = f"{quote(parameter, safe='')}={quote(secret, safe='')}"
        self.secrets = (secret.encode(),)

    async def apply(self, asked: Outgoing) -> Outgoing:
        _, _, query = asked.path.partition("?")
        for pair in query.replace(";", "&").split("&"):
            name = unquote_to_bytes(pair.partition("=")[0].replace("+", " "))
            if _fold_parameter(name) == self._name:
                raise BadRequest("The query has the parameter that the connection's credential is put in.")
        joint = "" if asked.path.endswith(("?", "&")) else "&" if "?" in asked.path else "?"
        return replace(asked, path=f"{asked.path}{joint}{self._pair}")

    def forget(self, refused: Outgoing) -> bool:
        return False


def _fold_parameter(name: bytes) -> bytes:
    """The form in which upstreams see names as equal: without case, array brackets, and signs that variables cannot
    have."""
    return name.strip(b" \0").lower().partition(b"[")[0].translate(bytes.maketrans(b". -", b"___"))


class Bearer:
    """A token that is fetched with a client's credentials (RFC 6749 §4.4)."""

    needs_whole_body = False
    is_shown = True

    def __init__(self, pool: Upstream, credential: ConnectionCredential, secret: str) -> None:
        self.pools: tuple[Upstream, ...] = (pool,)
        options = credential.options
        form = {"grant_type": "client_credentials"}
        form |= {name: options[name] for name in ("scope", "audience") if options.get(name)}
        more: Headers = []
        basic = b64encode(f"{quote_plus(options['client_id'])}:{quote_plus(secret)}".encode()).decode("ascii")
        if options.get("client_auth") == "body":
            form |= {"client_id": options["client_id"], "client_secret": secret}
        else:  # RFC 6749 §2.3.1
            more = [("authorization", f"Basic {basic}")]
        self._fixed = (secret.encode(), basic.encode())
        self._token = Token(lambda: fetch_token(pool, form, more))
        self._sent: tuple[bytes, ...] = ()

    @property
    def secrets(self) -> tuple[bytes, ...]:
        """With the token that was sent last, whether it is still good or not."""
        return (*self._fixed, *self._sent)

    async def apply(self, asked: Outgoing) -> Outgoing:
        token = await self._token.get()
        self._sent = (token.encode(),)
        return asked.with_header("authorization", f"Bearer {token}")

    def forget(self, refused: Outgoing) -> bool:
        return self._token.forget(dict(refused.headers)["authorization"].removeprefix("Bearer "))


S3 = "s3"
OF_A_SIGNATURE = ("authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256")
"""Headers that are the signature's own: an agent's would stand beside them, or be signed."""


class Signed:
    """AWS Signature Version 4. S3 takes bodies that are not signed, where TLS keeps them whole."""

    is_shown = False
    pools: tuple[Upstream, ...] = ()

    def __init__(self, row: ConnectionRow, credential: ConnectionCredential, secret: str) -> None:
        options = credential.options
        key = AccessKey(options["access_key_id"], secret, None, options["region"])
        # Only where it is used: Amazon's library would cost every worker memory for nothing.
        self._signature = importlib.import_module("mastio.outbound.sigv4").Signature(
            key, row.base_url, options["service"]
        )
        self.needs_whole_body = not (options["service"] == S3 and row.base_url.startswith("https:"))
        self.secrets = (secret.encode(),)

    async def apply(self, asked: Outgoing) -> Outgoing:
        asked = asked.without(*OF_A_SIGNATURE)
        body = asked.body if self.needs_whole_body else None
        for name, value in await self._signature.headers(asked.method, asked.path, asked.headers, body):
            asked = asked.with_header(name, value)
        return asked

    def forget(self, refused: Outgoing) -> bool:
        return False


def open_injection(services: Services, row: ConnectionRow) -> Injection:
    """Raises `TargetError` for a place of tokens that is not acceptable."""
    credential = row.credential
    if credential is None:
        return NoCredential()
    options, secret = credential.options, credential.secret
    if secret is None:
        return Missing()
    match credential.kind:
        case "bearer":
            return Header("authorization", f"Bearer {secret}", secret)
        case "header":
            return Header(options["header"].lower(), options.get("prefix", "") + secret, secret)
        case "query":
            return Query(options["parameter"], secret)
        case "basic":
            pair = b64encode(f"{options['username']}:{secret}".encode()).decode("ascii")
            return Header("authorization", f"Basic {pair}", pair, secret)
        case "oauth":
            pool = services.upstreams.open(options["token_url"], row.allow_addresses, row.timeouts)
            return Bearer(pool, credential, secret)
        case "sigv4":
            return Signed(row, credential, secret)
        case "certificate":
            return NoCredential()
