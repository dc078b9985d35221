"""Certificates that an enrolled agent can make with what it holds: its own leaf with its key, and the public chain."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from mastio.pki.certificates import Issuer, build_agent_leaf, encode_pem
from mastio_client import Identity
from mastio_client.proofs import encode_pem_key

DOMAIN = "test.example"
Key = ec.EllipticCurvePrivateKey
Chain = list[x509.Certificate]
"""As it is sent: the leaf first."""


def show(folder: Path, key: Key, *chain: x509.Certificate) -> Identity:
    """An identity folder that shows this chain."""
    folder.mkdir(parents=True)
    (folder / "agent.key").write_bytes(encode_pem_key(key))
    (folder / "agent.crt").write_text("".join(encode_pem(certificate) for certificate in chain))
    return Identity(folder, "shown", "", folder / "ca.crt", key)


def load(folder: Path, name: str) -> Issuer:
    key = load_pem_private_key((folder / f"{name}.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return Issuer(x509.load_pem_x509_certificate((folder / f"{name}.crt").read_bytes()), key)


def make_authority(subject: x509.Name, key: Key, issuer: Issuer) -> Issuer:
    """A certificate that says CA:TRUE and may sign others, by whoever is `issuer`."""
    now = issuer.certificate.not_valid_before_utc
    authority = (
        x509.CertificateBuilder(issuer.certificate.subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(issuer.certificate.not_valid_after_utc)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(True, False, False, False, False, True, True, False, False), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return Issuer(authority.sign(issuer.key, hashes.SHA256()), key)


def leaf_by(issuer: Issuer, key: Key, victim: str) -> x509.Certificate:
    """In every way like a real leaf of `victim`, but for who signed it."""
    return build_agent_leaf(key.public_key(), victim, DOMAIN, issuer, time.time(), 3600)


def public_chain(agent: Identity) -> Chain:
    """What everybody who was enrolled has: the intermediate."""
    return x509.load_pem_x509_certificates((agent.folder / "chain.pem").read_bytes())


def by_own_leaf(agent: Identity, key: Key, victim: str) -> Chain:
    return [leaf_by(load(agent.folder, "agent"), key, victim)]


def by_own_leaf_sent_along(agent: Identity, key: Key, victim: str) -> Chain:
    own = load(agent.folder, "agent")
    return [leaf_by(own, key, victim), own.certificate, *public_chain(agent)]


def by_own_leaf_as_authority(agent: Identity, key: Key, victim: str) -> Chain:
    """The own leaf over again, with the own key and name, but CA:TRUE and signed by itself."""
    own = load(agent.folder, "agent")
    itself = make_authority(own.certificate.subject, own.key, own)
    return [leaf_by(itself, key, victim), itself.certificate, *public_chain(agent)]


def by_promoted_key(agent: Identity, key: Key, victim: str) -> Chain:
    """An authority below the own leaf, all of it sent along up to the real intermediate."""
    own = load(agent.folder, "agent")
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "another issuing CA")])
    promoted = make_authority(name, ec.generate_private_key(ec.SECP256R1()), own)
    return [leaf_by(promoted, key, victim), promoted.certificate, own.certificate, *public_chain(agent)]


def by_namesake(agent: Identity, key: Key, victim: str) -> Chain:
    """An authority that has the real intermediate's name, below the own leaf."""
    own = load(agent.folder, "agent")
    namesake = make_authority(public_chain(agent)[0].subject, ec.generate_private_key(ec.SECP256R1()), own)
    return [leaf_by(namesake, key, victim), namesake.certificate, own.certificate, *public_chain(agent)]


FORGERIES: dict[str, Callable[[Identity, Key, str], Chain]] = {
    "alone": by_own_leaf,
    "chain": by_own_leaf_sent_along,
    "authority": by_own_leaf_as_authority,
    "promoted": by_promoted_key,
    "namesake": by_namesake,
}
