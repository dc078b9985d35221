"""A credential of each kind, with something in its secret that can be looked for."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Sample:
    """`canary` is a part of `secret` that nothing else has; `options` are as they are answered."""

    kind: str
    secret: str
    canary: str
    given: dict[str, str]
    options: dict[str, str]

    @property
    def body(self) -> dict[str, Any]:
        return {"kind": self.kind, "secret": self.secret, **self.given}


def make_certificate(key: ec.EllipticCurvePrivateKey, name: str = "client") -> str:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=3650))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(Encoding.PEM).decode("ascii")


def make_key_pem(key: ec.EllipticCurvePrivateKey, password: bytes | None = None) -> str:
    protection = NoEncryption() if password is None else BestAvailableEncryption(password)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection).decode("ascii")


@cache
def make_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@cache
def client_pem() -> str:
    """A certificate and its key."""
    return make_certificate(make_key()) + make_key_pem(make_key())


@cache
def renewed_pem() -> str:
    """Another certificate and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    return make_certificate(key) + make_key_pem(key)


@cache
def authority_pem() -> str:
    return make_certificate(ec.generate_private_key(ec.SECP256R1()), "authority")


def _make(kind: str, given: dict[str, str], defaults: dict[str, str] | None = None) -> Sample:
    secret = f"canary-{kind}-83b1c7"
    return Sample(kind, secret, secret, given, {**(defaults or {}), **given})


CREDENTIALS = {
    sample.kind: sample
    for sample in (
        _make("bearer", {}),
        _make("header", {"header": "X-Api-Key"}, {"prefix": ""}),
        _make("query", {"parameter": "api_key"}),
        _make("basic", {"username": "robot"}),
        _make(
            "oauth",
            {"token_url": "https://login.example/token", "client_id": "robot", "scope": "read write"},
            {"client_auth": "basic"},
        ),
        _make("sigv4", {"access_key_id": "AKIAEXAMPLE", "region": "eu-south-1", "service": "execute-api"}),
        Sample("certificate", client_pem(), make_key_pem(make_key()).splitlines()[2], {}, {}),
    )
}
