"""The bodies of `/v1/admin/connections`. What has to go together, `secrets` judges."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from mastio.exchange.target import TargetError, parse_base_url
from mastio.outbound.request_headers import is_sendable
from mastio.plugin.fields import Answer, BaseUrl, Body, Name, Networks, Seconds, SecretFile, verify_glob
from mastio_egress.connections.connection import ConnectionLimits, CredentialKind
from mastio_egress.connections.secrets import KEEPABLE, CredentialError, verify_authorities

DEFAULT = ConnectionLimits()
NOT_METHODS = ("CONNECT", "TRACE")
_METHOD = re.compile(r"[A-Z][A-Z0-9_-]{0,31}")
_PATH = re.compile(r"\*|/[\x21-\x7e]{0,499}")


def _methods(methods: list[str]) -> list[str]:
    """In upper case, each once."""
    upper = list(dict.fromkeys(method.upper() for method in methods))
    if not all(_METHOD.fullmatch(method) for method in upper):
        raise ValueError("a method is a word of letters, digits and hyphens")
    if any(method in NOT_METHODS for method in upper):
        raise ValueError(f"none of them may be {' or '.join(NOT_METHODS)}")
    return upper


def _path(glob: str) -> str:
    if not _PATH.fullmatch(glob):
        raise ValueError("it must be * or begin with / and have neither spaces nor control characters")
    return glob


def _host(host: str) -> str:
    """A name or an IPv4 address, without a port."""
    try:
        target = parse_base_url(f"https://{host}")
    except TargetError as error:
        raise ValueError("it must be the name of a host") from error
    if target.host != host.lower():
        raise ValueError("it must be the name of a host, without a port")
    return target.host


def _kept(name: str) -> str:
    if name.lower() not in KEEPABLE:
        raise ValueError(f"it must be one of {', '.join(sorted(KEEPABLE))}; others are not taken out, or never kept")
    return name.lower()


def _sent(names: list[str]) -> list[str]:
    """In lower case, each once."""
    lower = list(dict.fromkeys(name.lower() for name in names))
    for name in lower:
        if not is_sendable(name.encode("latin-1", "replace")):
            raise ValueError(f"{name} cannot be sent: it is no header, of one hop, or says who somebody is")
    return lower


def _authorities(pem: str) -> str:
    try:
        verify_authorities(pem)
    except CredentialError as error:
        raise ValueError(str(error)) from error
    return pem


Method = Annotated[str, StringConstraints(min_length=1, max_length=32)]
Methods = Annotated[list[Method], Field(max_length=50), AfterValidator(_methods)]
Path = Annotated[str, AfterValidator(_path), AfterValidator(verify_glob)]
Paths = Annotated[list[Path], Field(min_length=1, max_length=200)]
Host = Annotated[str, StringConstraints(min_length=1, max_length=253), AfterValidator(_host)]
Hosts = Annotated[list[Host], Field(max_length=100)]
Kept = Annotated[str, AfterValidator(_kept)]
Headers = Annotated[list[Kept], Field(max_length=50)]
HeaderName = Annotated[str, StringConstraints(min_length=1, max_length=64)]
SentHeaders = Annotated[list[HeaderName], Field(max_length=50), AfterValidator(_sent)]
Authorities = Annotated[str, StringConstraints(min_length=1, max_length=64 * 1024), AfterValidator(_authorities)]
Pin = Annotated[str, StringConstraints(pattern=r"^[0-9A-Fa-f]{64}$", to_lower=True)]
Secret = Annotated[str, StringConstraints(pattern=r"^[\x20-\x7e\t\r\n]{1,16384}$")]
Option = Annotated[str, StringConstraints(max_length=2000)]
Bytes = Annotated[int, Field(ge=1, le=2**40)]
PerMinute = Annotated[int, Field(ge=0, le=1_000_000_000)]
Total = Annotated[float, Field(gt=0, le=86_400)]


class CredentialMembers(Body):
    """The secret is write-only: in the body, or in a file that the operator laid down. The other members are each of
    one kind: of header `header` and `prefix`; of query `parameter`; of basic `username`; of oauth `token_url`,
    `client_id`, `scope`, `audience`, `client_auth` (basic or body); of sigv4 `access_key_id`, `region`, `service`."""

    secret: Secret | None = None
    secret_file: SecretFile | None = None
    header: Option | None = None
    prefix: Option | None = None
    parameter: Option | None = None
    username: Option | None = None
    token_url: Option | None = None
    client_id: Option | None = None
    scope: Option | None = None
    audience: Option | None = None
    client_auth: Option | None = None
    access_key_id: Option | None = None
    region: Option | None = None
    service: Option | None = None

    @model_validator(mode="after")
    def one_secret(self) -> Self:
        if self.secret is not None and self.secret_file is not None:
            raise ValueError("give secret or secret_file, not both")
        return self

    def given_options(self) -> dict[str, str]:
        """Those that are neither left out nor null."""
        options: dict[str, str] = self.model_dump(exclude={"kind", "secret", "secret_file"}, exclude_none=True)
        return options

    @property
    def has_secret(self) -> bool:
        return self.secret is not None or self.secret_file is not None


class CredentialBody(CredentialMembers):
    kind: CredentialKind

    @model_validator(mode="after")
    def with_secret(self) -> Self:
        if not self.has_secret:
            raise ValueError("give secret or secret_file")
        return self


class CredentialPatch(CredentialMembers):
    """Members that are left out, or null, stay as they are; another kind begins anew."""

    kind: CredentialKind | None = None


class Inspect(Body):
    """The inspection of requests to a connection, and of its replies."""

    request: bool = False
    response: bool = False


class InspectPatch(Body):
    request: bool | None = None
    response: bool | None = None


class Limits(Body):
    """Of one request and one reply in bytes; of one agent in a minute, 0: any number."""

    request_bytes: Bytes = DEFAULT.request_bytes
    response_bytes: Bytes = DEFAULT.response_bytes
    requests_per_minute: PerMinute = DEFAULT.requests_per_minute


class LimitsPatch(Body):
    request_bytes: Bytes | None = None
    response_bytes: Bytes | None = None
    requests_per_minute: PerMinute | None = None


class ConnectionTimeouts(Body):
    """Seconds. `read`: between two pieces of the reply."""

    connect: Seconds | None = None
    read: Seconds | None = None
    total: Total | None = None


class ConnectionPut(Body):
    """`paths` are globs on what is behind `base_url`; `methods` without any are all. `redirect_hosts` are hosts to
    which redirects may lead, without the credential. `ca` is whom to trust instead of the system's authorities, `pin`
    the SHA-256 of the one certificate that is accepted. `keep_headers`: of the reply, let through all the same.
    `request_headers`: of the request, sent beside those that every connection sends."""

    name: Name | None = None
    base_url: BaseUrl
    credential: CredentialBody | None = None
    methods: Methods = Field(default_factory=list)
    paths: Paths = Field(default_factory=lambda: ["*"])
    allow_addresses: Networks = Field(default_factory=list)
    redirects: bool = False
    redirect_hosts: Hosts = Field(default_factory=list)
    inspect: Inspect = Inspect()
    limits: Limits = Limits()
    timeouts: ConnectionTimeouts = ConnectionTimeouts()
    keep_headers: Headers = Field(default_factory=list)
    request_headers: SentHeaders = Field(default_factory=list)
    ca: Authorities | None = None
    pin: Pin | None = None


class ConnectionBody(ConnectionPut):
    name: Name


class ConnectionPatch(Body):
    """Members that are left out, or null, stay as they are, those of `credential`, `inspect` and `limits` too; of
    `timeouts` those that are left out. A `credential`, a `ca`, a `pin` or a timeout that is null is removed."""

    base_url: BaseUrl | None = None
    credential: CredentialPatch | None = None
    methods: Methods | None = None
    paths: Paths | None = None
    allow_addresses: Networks | None = None
    redirects: bool | None = None
    redirect_hosts: Hosts | None = None
    inspect: InspectPatch | None = None
    limits: LimitsPatch | None = None
    timeouts: ConnectionTimeouts | None = None
    keep_headers: Headers | None = None
    request_headers: SentHeaders | None = None
    ca: Authorities | None = None
    pin: Pin | None = None


class InspectAnswer(Answer):
    request: bool
    response: bool


class LimitsAnswer(Answer):
    request_bytes: int
    response_bytes: int
    requests_per_minute: int


class ConnectionAnswer(Answer):
    """`credential` has its kind and members without the secret; `secret_set`: there is one, and it can be had."""

    name: str
    base_url: str
    credential: Mapping[str, str | bool] | None
    methods: list[str]
    paths: list[str]
    allow_addresses: list[str]
    redirects: bool
    redirect_hosts: list[str]
    inspect: InspectAnswer
    limits: LimitsAnswer
    timeouts: Mapping[str, float]
    keep_headers: list[str]
    request_headers: list[str]
    ca: str | None
    pin: str | None
