"""The format of the secret of each kind of provider. Pure.

Most kinds have one key. Where a cloud wants more, the secret is a JSON object: of Azure's an application of Entra, of
Vertex's the service account's file as Google gives it out, of Bedrock's an access key of AWS.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from mastio.exchange.target import TargetError, parse_base_url
from mastio.http.strictjson import JsonError, parse_object
from mastio.outbound.access_key import AccessKey

ProviderKind = Literal["openai", "anthropic", "gemini", "azure", "bedrock", "vertex", "ollama"]
"""The API that a provider speaks, and the form of its key."""

ENTRA = "https://login.microsoftonline.com"
ENTRA_SCOPE = "https://cognitiveservices.azure.com/.default"
GOOGLE_TOKENS = "https://oauth2.googleapis.com/token"

_KEY = re.compile(r"[\x21-\x7e]+")
_PLAIN = re.compile(r"[A-Za-z0-9._~-]{1,128}")
_REGION = re.compile(r"bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.")


class SecretError(ValueError):
    """The secret is not one of its kind. The text names the member, and never quotes the secret."""


@dataclass(frozen=True, slots=True)
class PlainKey:
    """A key that is sent as it is."""

    key: str


@dataclass(frozen=True, slots=True)
class EntraApplication:
    """An application of Entra: OAuth client credentials at `tokens`."""

    tokens: str
    client_id: str
    client_secret: str
    scope: str


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """A service account of Google: its key signs an assertion for `tokens` (RFC 7523)."""

    tokens: str
    client_email: str
    key_id: str
    key: rsa.RSAPrivateKey


ProviderSecret = PlainKey | EntraApplication | ServiceAccount | AccessKey


def parse_secret(kind: ProviderKind, base_url: str, text: str) -> ProviderSecret:
    """Raises `SecretError`."""
    if kind == "vertex":
        return _service_account(_object(text))
    if kind == "azure" and text.startswith("{"):
        return _entra(_object(text))
    if kind == "bedrock" and text.startswith("{"):
        return _access_key(_object(text), base_url)
    if not _KEY.fullmatch(text):
        raise SecretError("it must be one word of visible ASCII characters")
    return PlainKey(text)


def _object(text: str) -> dict[str, Any]:
    try:
        return parse_object(text.encode())
    except JsonError as error:
        raise SecretError("it must be a JSON object") from error


def _member(document: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = document.get(name, default)
    if not isinstance(value, str) or not value.isprintable() or not value.isascii() or not value:
        raise SecretError(f"its member {name} must be a string")
    return value


def _only(document: Mapping[str, Any], *names: str) -> None:
    for name in document:
        if name not in names:
            raise SecretError(f"its members may be {', '.join(names)}")


def _url(document: Mapping[str, Any], name: str, default: str) -> str:
    url = _member(document, name, default)
    try:
        parse_base_url(url)
    except TargetError as error:
        raise SecretError(f"its member {name} must be a URL") from error
    return url.rstrip("/")


def _entra(document: Mapping[str, Any]) -> EntraApplication:
    _only(document, "tenant_id", "client_id", "client_secret", "authority", "scope")
    tenant = _member(document, "tenant_id")
    if not _PLAIN.fullmatch(tenant):
        raise SecretError("its member tenant_id must be an id or a domain")
    return EntraApplication(
        f"{_url(document, 'authority', ENTRA)}/{tenant}/oauth2/v2.0/token",
        _member(document, "client_id"),
        _member(document, "client_secret"),
        _member(document, "scope", ENTRA_SCOPE),
    )


def _service_account(document: Mapping[str, Any]) -> ServiceAccount:
    """The file has more members than are needed here."""
    if document.get("type") != "service_account":
        raise SecretError("it must be the file of a service account")
    pem = document.get("private_key")
    try:
        key = load_pem_private_key(pem.encode("ascii") if isinstance(pem, str) else b"", password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SecretError("its member private_key must be a PEM key") from error
    if not isinstance(key, rsa.RSAPrivateKey):
        raise SecretError("its member private_key must be an RSA key")
    return ServiceAccount(
        _url(document, "token_uri", GOOGLE_TOKENS),
        _member(document, "client_email"),
        _member(document, "private_key_id"),
        key,
    )


def _access_key(document: Mapping[str, Any], base_url: str) -> AccessKey:
    _only(document, "access_key_id", "secret_access_key", "session_token", "region")
    named = _REGION.search(base_url)
    region = _member(document, "region", named[1] if named else None)
    session = _member(document, "session_token") if document.get("session_token") is not None else None
    return AccessKey(_member(document, "access_key_id"), _member(document, "secret_access_key"), session, region)
