"""The credential of each kind of connection: its members and the format of its secret. Pure.

A secret is checked at each read, not only when an admin sets it: one that came from a file is written into
requests as well, and must not be able to end a header there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from mastio.exchange.target import TargetError, parse_base_url
from mastio_egress.connections.connection import ConnectionRow, CredentialKind

MIN_SECRET = 8
"""Characters. What is shorter is guessed, and could not be looked for in replies without finding it by chance."""

OPTIONS: Mapping[CredentialKind, tuple[str, ...]] = {
    "bearer": (),
    "header": ("header", "prefix"),
    "query": ("parameter",),
    "basic": ("username",),
    "oauth": ("token_url", "client_id", "scope", "audience", "client_auth"),
    "sigv4": ("access_key_id", "region", "service"),
    "certificate": (),
}
"""The members of a credential besides `kind` and its secret."""

DEFAULTS: Mapping[str, str] = {"prefix": "", "client_auth": "basic"}
OPTIONAL = frozenset({"scope", "audience", *DEFAULTS})

NOT_OURS = frozenset(
    {"connection", "content-length", "host", "keep-alive", "proxy-authenticate", "proxy-authorization",
     "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)  # fmt: skip
"""Headers that belong to one hop (RFC 9110 §7.6.1) or say where a message goes and ends: never set by description."""

KEEPABLE = frozenset({"set-cookie", "set-cookie2", "www-authenticate", "authentication-info", "refresh"})
"""Headers of replies that are taken out unless a connection keeps them; to keep another would do nothing."""

ON_THE_WIRE: frozenset[CredentialKind] = frozenset({"bearer", "header", "query", "basic", "oauth"})
"""Kinds with which whoever reads a request can make others."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_VISIBLE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_PREFIX = re.compile(r"([\x21-\x7e][\x20-\x7e]{0,63})?")
_PARAMETER = re.compile(r"[A-Za-z0-9._~$\[\]-]{1,64}")
_WORD = re.compile(r"[A-Za-z0-9_/+=.-]{1,128}")
_NAME = re.compile(r"[a-z0-9-]{1,64}")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*")
_PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]{1,64})-----[^-]*-----END \1-----")


class CredentialError(ValueError):
    """The credential is not one of its kind. `member` says which member, the text why; neither quotes a secret."""

    def __init__(self, member: str, text: str) -> None:
        super().__init__(text)
        self.member = member


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client certificate for TLS: the certificates as PEM, leaf first, then its chain; and the private key."""

    certificates: tuple[str, ...]
    key: str


def verify_options(kind: CredentialKind, given: Mapping[str, str]) -> dict[str, str]:
    """The options with their defaults. Raises `CredentialError`."""
    names = OPTIONS[kind]
    for name in given:
        if name not in names:
            raise CredentialError(name, f"it is not a member of the kind {kind}")
    options = {name: DEFAULTS[name] for name in names if name in DEFAULTS} | dict(given)
    for name in names:
        if name in options:
            _RULES[name](options[name])
        elif name not in OPTIONAL:
            raise CredentialError(name, f"the kind {kind} needs it")
    return options


def verify_secret(kind: CredentialKind, secret: str) -> None:
    """Raises `CredentialError`."""
    if kind == "certificate":
        load_client_certificate(secret)
    elif len(secret) < MIN_SECRET:
        raise CredentialError("secret", f"it must have {MIN_SECRET} characters at least")
    elif not _VISIBLE.fullmatch(secret):
        raise CredentialError("secret", "it must be one line of printable ASCII without spaces at its ends")


def load_client_certificate(pem: str) -> ClientCertificate:
    """The certificate, its chain and its key. Raises `CredentialError`."""
    blocks = [(match[1], match[0] + "\n") for match in _PEM.finditer(pem)]
    keys = [block for label, block in blocks if label.endswith("PRIVATE KEY")]
    certificates = tuple(block for label, block in blocks if label == "CERTIFICATE")
    if len(keys) + len(certificates) != len(blocks) or pem.count("-----BEGIN") != len(blocks):
        raise CredentialError("secret", "it must be PEM of certificates and one private key, and nothing else")
    if len(keys) != 1:
        raise CredentialError("secret", "it must be PEM with exactly one private key")
    if not certificates:
        raise CredentialError("secret", "it must be PEM with the certificate of its key")
    if _public_key(keys[0]) != _leaf_key(certificates):
        raise CredentialError("secret", "its first certificate must be the one of its key")
    return ClientCertificate(certificates, keys[0])


def verify_authorities(pem: str) -> None:
    """Certificates whom to trust, PEM. Raises `CredentialError`."""
    try:
        found = x509.load_pem_x509_certificates(pem.encode())
    except ValueError as error:
        raise CredentialError("ca", "it must be one or more certificates as PEM") from error
    if pem.count("-----BEGIN") != len(found):
        raise CredentialError("ca", "it must have certificates and nothing else")


def verify_whole(row: ConnectionRow) -> None:
    """Checks that the members of a connection fit together. Raises `CredentialError`; its member is one of the
    connection."""
    encrypted = parse_base_url(row.base_url).scheme == "https"
    if not encrypted and (row.pin is not None or row.ca is not None):
        raise CredentialError("base_url", "ca and pin need https")
    credential = row.credential
    if credential is None:
        return
    if not encrypted and credential.kind == "certificate":
        raise CredentialError("base_url", "a certificate needs https")
    urls = {"base_url": row.base_url}
    if credential.kind == "oauth":
        urls["credential.token_url"] = credential.options["token_url"]
    for member, url in urls.items():
        if credential.kind in ON_THE_WIRE and parse_base_url(url).scheme != "https" and not row.allow_addresses:
            raise CredentialError(
                member, "http would show the secret to others; use https, or name the inner network in allow_addresses"
            )


def destinations(row: ConnectionRow) -> tuple[str, ...]:
    """The origins that get to see the secret, or what was had for it."""
    urls = [row.base_url]
    if row.credential is not None and row.credential.kind == "oauth":
        urls.append(row.credential.options["token_url"])
    return tuple(parse_base_url(url).origin for url in urls)


def _public_key(pem: str) -> bytes:
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except TypeError as error:
        raise CredentialError("secret", "its private key must not be encrypted") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise CredentialError("secret", "its private key cannot be read") from error
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey):
        raise CredentialError("secret", "its private key must be RSA, ECDSA or Ed25519")
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _leaf_key(certificates: tuple[str, ...]) -> bytes:
    """The public key of the first certificate; all of them must be readable."""
    try:
        loaded = [x509.load_pem_x509_certificate(pem.encode()) for pem in certificates]
        return loaded[0].public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise CredentialError("secret", "one of its certificates cannot be read") from error


def _matching(member: str, pattern: re.Pattern[str], text: str) -> Callable[[str], None]:
    def verify(value: str) -> None:
        if not pattern.fullmatch(value):
            raise CredentialError(member, text)

    return verify


def _verify_header(name: str) -> None:
    """The name of a header that may be set. Raises `CredentialError`."""
    if not _TOKEN.fullmatch(name):
        raise CredentialError("header", "it must be the name of a header")
    if name.lower() in NOT_OURS:
        raise CredentialError("header", "this header belongs to the connection itself")


def _verify_username(value: str) -> None:
    """RFC 7617 §2: the first colon ends it."""
    if ":" in value or not value.isprintable() or len(value) > 256:
        raise CredentialError("username", "it must be printable, without a colon")


def _verify_token_url(value: str) -> None:
    try:
        parse_base_url(value)
    except TargetError as error:
        raise CredentialError("token_url", str(error).removesuffix(".")) from error


def _verify_client_auth(value: str) -> None:
    if value not in ("basic", "body"):
        raise CredentialError("client_auth", "it must be basic or body")


_RULES: Mapping[str, Callable[[str], None]] = {
    "header": _verify_header,
    "prefix": _matching("prefix", _PREFIX, "it must be printable ASCII and not begin with a space"),
    "parameter": _matching("parameter", _PARAMETER, "it must be the name of a query parameter"),
    "username": _verify_username,
    "token_url": _verify_token_url,
    "client_id": _matching("client_id", _VISIBLE, "it must be printable ASCII"),
    "scope": _matching("scope", _SCOPE, "it must be scopes with one space between them (RFC 6749 §3.3)"),
    "audience": _matching("audience", _VISIBLE, "it must be printable ASCII"),
    "client_auth": _verify_client_auth,
    "access_key_id": _matching("access_key_id", _WORD, "it must be the id of an access key"),
    "region": _matching("region", _NAME, "it must be the name of a region"),
    "service": _matching("service", _NAME, "it must be the name of a service as it is signed"),
}
