"""A small authority made in memory, and requests as strangers might send them."""

from __future__ import annotations

from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import NameOID

from mastio.identity.trust import Trust
from mastio.pki.certificates import Issuer, build_intermediate, build_root, encode_der

NOW = 1_800_000_000.0
DAY = 86_400.0
TD = "world.test"
URI = f"spiffe://{TD}/agent/alice"


def p256() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


ROOT_KEY, ISSUER_KEY = p256(), p256()
ROOT = Issuer(build_root(ROOT_KEY, TD, NOW, 3650 * DAY), ROOT_KEY)
ISSUER = Issuer(build_intermediate(ISSUER_KEY, TD, ROOT, NOW, 730 * DAY), ISSUER_KEY)
TRUST = Trust((encode_der(ROOT.certificate),), (encode_der(ISSUER.certificate),))


def make_csr(key: Any, *extensions: x509.ExtensionType, algorithm: Any = "default", name: str = "alice") -> str:
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    if algorithm == "default":
        algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm).public_bytes(serialization.Encoding.PEM).decode()
