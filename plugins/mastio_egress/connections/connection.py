"""The connection to another API, as the hot copy has it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

CredentialKind = Literal["bearer", "header", "query", "basic", "oauth", "sigv4", "certificate"]
"""The kind of authentication that a connection's upstream requires."""


@dataclass(frozen=True, slots=True)
class ConnectionCredential:
    """The credential that the appliance adds to each request to a connection. No agent sees it.

    `secret` is in the clear here, in memory only; None if it cannot be read: then nothing is sent. `secret_file` is
    where it was read from, when it is not kept in the table. `options` by kind: of header `header` and `prefix`, of
    query `parameter`, of basic `username`, of oauth `token_url`, `client_id`, `scope`, `audience` and `client_auth`
    (basic or body), of sigv4 `access_key_id`, `region` and `service`.
    """

    kind: CredentialKind
    secret: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict)
    secret_file: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The most that one request and one reply may have, in bytes, and the requests of one agent in a minute; 0:
    any number of them."""

    request_bytes: int = 256 * 1024 * 1024
    response_bytes: int = 1024 * 1024 * 1024
    requests_per_minute: int = 0


@dataclass(frozen=True, slots=True)
class ConnectionRow:
    """An upstream that agents reach through the appliance without holding its key.

    `methods` in upper case, empty: all. `paths` are globs on the path behind the base URL, which begins with `/`.
    `redirects`: whether redirects within the upstream's own origin are followed; `redirect_hosts` are others to which
    they may lead, without the credential. `keep_headers` are reply headers that are let through although they are
    taken out by default (`set-cookie`, `www-authenticate`). `request_headers`, in lower case, are headers of requests
    that go up beside those of `mastio.outbound.request_headers.DEFAULT`. `ca` is PEM, whom to trust instead of the
    system's authorities; `pin` the SHA-256 (hex) of the one certificate that is accepted.
    """

    name: str
    base_url: str
    credential: ConnectionCredential | None = None
    methods: tuple[str, ...] = ()
    paths: tuple[str, ...] = ("*",)
    allow_addresses: tuple[str, ...] = ()
    redirects: bool = False
    redirect_hosts: tuple[str, ...] = ()
    inspect_request: bool = False
    inspect_response: bool = False
    limits: ConnectionLimits = ConnectionLimits()
    timeouts: Mapping[str, float] = field(default_factory=dict)
    keep_headers: tuple[str, ...] = ()
    request_headers: tuple[str, ...] = ()
    ca: str | None = None
    pin: str | None = None
