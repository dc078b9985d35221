"""X.509 as this appliance uses it: names, the authority's certificates, leaves, chains. Pure: the clock is handed in.

An agent's leaf carries exactly one subject alternative name, `spiffe://<trust-domain>/agent/<name>`, is `CA:FALSE`
and good for `clientAuth` only. Whether a chain holds is decided by `cryptography.x509.verification`; what is added
here is what this appliance demands beyond RFC 5280: our EKU, our one URI, our trust domain.

Requests are judged in `csr.py`; keys and files are `authority.py`'s.
"""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import verification
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mastio.identity.trust import Trust
from mastio_primitives.ed25519 import verify_ed25519
from mastio_primitives.jwk import encode_base64url

PublicKey = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey

BACKDATE = 60
"""Seconds that `notBefore` lies in the past, for clocks that are slow."""

NAME_RULE = "1 to 64 of a-z, 0-9, dot, underscore and hyphen, and neither . nor .."
_NAME = re.compile(r"(?!\.{1,2}\Z)[a-z0-9._-]{1,64}", re.ASCII)


class ChainError(ValueError):
    """The certificate does not chain to our authority as an agent's leaf. The text names the first reason."""


@dataclass(frozen=True, slots=True)
class LeafFacts:
    """The facts of a validated agent leaf. `not_after` is Unix time; `serial` is lower-case hex; `thumbprint`
    x5t#S256."""

    name: str
    spiffe_id: str
    thumbprint: str
    serial: str
    not_after: float


@dataclass(frozen=True, slots=True)
class Issuer:
    """A CA certificate with its key: what signs."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


@dataclass(frozen=True, slots=True)
class Revoked:
    """A line of the revocation list: serial in hex, Unix time, and which intermediate signed it (None: not known)."""

    serial: str
    at: float
    issuer: str | None = None


def is_agent_name(name: str) -> bool:
    """True if `name` matches `NAME_RULE`. ASCII only, so no two names look alike.

    A dot segment is no name (SPIFFE-ID §2.2): no path would lead to such an agent, so nobody could revoke it.
    """
    return _NAME.fullmatch(name) is not None


def spiffe_id(trust_domain: str, name: str) -> str:
    return f"spiffe://{trust_domain}/agent/{name}"


def thumbprint(der: bytes) -> str:
    """`x5t#S256` (RFC 8705 §3.1): base64url SHA-256 of the DER, without padding."""
    return encode_base64url(hashlib.sha256(der).digest())


def encode_pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode("ascii")


def encode_der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)


# --- building -----------------------------------------------------------------------------------------------------


def build_root(key: ec.EllipticCurvePrivateKey, trust_domain: str, now: float, seconds: float) -> x509.Certificate:
    """The self-signed trust anchor. Exactly one CA may stand below it."""
    name = _name(f"{trust_domain} root CA")
    builder = _builder(name, name, key.public_key(), now, seconds)
    return _as_authority(builder, key.public_key(), key, path_length=1)


def build_cross(new: Issuer, old: Issuer) -> x509.Certificate:
    """The key of a new root, signed by the root before it (RFC 4210 §4.4, "new with old"), as long as that one lives.

    Both roots have one name, so this certificate counts as self-issued and takes nothing from the path length
    (RFC 5280 §6.1.4).
    """
    start = new.certificate.not_valid_before_utc.timestamp()
    seconds = old.certificate.not_valid_after_utc.timestamp() - start
    key, name = new.key.public_key(), new.certificate.subject
    builder = _builder(name, old.certificate.subject, key, start + BACKDATE, seconds, old.certificate)
    return _as_authority(builder, old.key.public_key(), old.key, path_length=1)


def build_intermediate(
    key: ec.EllipticCurvePrivateKey, trust_domain: str, issuer: Issuer, now: float, seconds: float
) -> x509.Certificate:
    """The CA that issues leaves, and nothing but leaves (path length 0)."""
    name = _name(f"{trust_domain} issuing CA")
    builder = _builder(name, issuer.certificate.subject, key.public_key(), now, seconds, issuer.certificate)
    return _as_authority(builder, issuer.key.public_key(), issuer.key, path_length=0)


def build_agent_leaf(
    key: PublicKey, name: str, trust_domain: str, issuer: Issuer, now: float, seconds: float
) -> x509.Certificate:
    """The leaf of one agent, good for `clientAuth`. Of the request only the key is taken over."""
    alternative = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(spiffe_id(trust_domain, name))])
    return _leaf(key, name, alternative, ExtendedKeyUsageOID.CLIENT_AUTH, issuer, now, seconds)


def build_server_leaf(
    key: PublicKey, names: Sequence[str], issuer: Issuer, now: float, seconds: float
) -> x509.Certificate:
    """The edge's certificate for these DNS names and IP addresses, good for `serverAuth`."""
    alternative = x509.SubjectAlternativeName([_host(name) for name in names])
    return _leaf(key, names[0][:64], alternative, ExtendedKeyUsageOID.SERVER_AUTH, issuer, now, seconds)


def build_crl(
    revoked: Iterable[Revoked], issuer: Issuer, number: int, now: float, seconds: float
) -> x509.CertificateRevocationList:
    """The list of revoked leaves (RFC 5280 §5), good for `seconds`; `number` grows with every list."""
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(issuer.certificate.subject)
        .last_update(_time(now - BACKDATE))
        .next_update(_time(now + seconds))
        .add_extension(_authority_key(issuer.key.public_key()), critical=False)
        .add_extension(x509.CRLNumber(number), critical=False)
    )
    for line in revoked:
        builder = builder.add_revoked_certificate(
            x509.RevokedCertificateBuilder()
            .serial_number(int(line.serial, 16))
            .revocation_date(_time(min(line.at, now)))
            .build()
        )
    return builder.sign(issuer.key, hashes.SHA256())


def encode_serial(serial: int) -> str:
    return format(serial, "032x")


def _leaf(
    key: PublicKey,
    common_name: str,
    alternative: x509.SubjectAlternativeName,
    usage: x509.ObjectIdentifier,
    issuer: Issuer,
    now: float,
    seconds: float,
) -> x509.Certificate:
    subject = issuer.certificate.subject
    return (
        _builder(_name(common_name), subject, key, now, seconds, issuer.certificate)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(alternative, critical=False)
        .add_extension(_authority_key(issuer.key.public_key()), critical=False)
        .sign(issuer.key, hashes.SHA256())
    )


def _as_authority(
    builder: x509.CertificateBuilder,
    issuer_key: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePrivateKey,
    path_length: int,
) -> x509.Certificate:
    return (
        builder.add_extension(x509.BasicConstraints(ca=True, path_length=path_length), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
        .add_extension(_authority_key(issuer_key), critical=False)
        .sign(signer, hashes.SHA256())
    )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: PublicKey,
    now: float,
    seconds: float,
    above: x509.Certificate | None = None,
) -> x509.CertificateBuilder:
    """A builder with the members that all certificates share. No certificate outlives the one above it."""
    end = _time(now + seconds)
    if above is not None:
        end = min(end, above.not_valid_after_utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(_serial())
        .not_valid_before(_time(now - BACKDATE))
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _serial() -> int:
    """128 random bits, the highest set: positive, and always of the same length (RFC 5280 §4.1.2.2)."""
    return secrets.randbits(128) | 1 << 127


def _time(seconds: float) -> datetime.datetime:
    """Whole seconds: X.509 has no finer time."""
    return datetime.datetime.fromtimestamp(int(seconds), datetime.UTC)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _authority_key(key: ec.EllipticCurvePublicKey) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key)


def _key_usage(*, digital_signature: bool = False, authority: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


# --- verifying ----------------------------------------------------------------------------------------------------


def verify_chain(leaf_der: bytes, trust: Trust, now: float, trust_domain: str) -> LeafFacts:
    """Verifies the chain of a leaf to `trust` and returns the facts of the leaf. Raises `ChainError`.

    Only the issuers in `trust` are considered, never any that a caller sends along: so nobody's leaf can vouch for
    another's, whatever it signs. The library checks signatures, validity, CA flag, path length, key usage and EKU.
    """
    try:
        leaf = x509.load_der_x509_certificate(leaf_der)
        verifier = _policy(trust).time(_time(now)).build_client_verifier()
        verifier.verify(leaf, _intermediates(trust))
        _verify_key(leaf)
        uri = _one_uri(leaf)
    except (verification.VerificationError, ValueError, x509.DuplicateExtension, x509.ExtensionNotFound) as error:
        raise ChainError("The certificate does not chain to this appliance's authority as an agent's leaf.") from error
    name = _agent_of(uri, trust_domain)
    not_after = leaf.not_valid_after_utc.timestamp()
    return LeafFacts(name, uri, thumbprint(leaf_der), encode_serial(leaf.serial_number), not_after)


@lru_cache(maxsize=8)
def _policy(trust: Trust) -> verification.PolicyBuilder:
    roots = [x509.load_der_x509_certificate(root) for root in trust.roots]
    leaf = (
        verification.ExtensionPolicy.webpki_defaults_ee()
        .require_present(x509.BasicConstraints, verification.Criticality.CRITICAL, _demand_leaf)
        .require_present(x509.KeyUsage, verification.Criticality.CRITICAL, _demand_signature_only)
        .require_present(x509.ExtendedKeyUsage, verification.Criticality.AGNOSTIC, _demand_client_auth_only)
    )
    return (
        verification.PolicyBuilder()
        .store(verification.Store(roots))
        .max_chain_depth(1)
        .extension_policies(ca_policy=verification.ExtensionPolicy.webpki_defaults_ca(), ee_policy=leaf)
    )


@lru_cache(maxsize=8)
def _intermediates(trust: Trust) -> list[x509.Certificate]:
    return [x509.load_der_x509_certificate(der) for der in trust.intermediates]


def _demand_leaf(_: verification.Policy, __: x509.Certificate, constraints: x509.BasicConstraints) -> None:
    if constraints.ca:
        raise ValueError("a CA is not a leaf")


def _demand_signature_only(_: verification.Policy, __: x509.Certificate, usage: x509.KeyUsage) -> None:
    if not usage.digital_signature or usage.key_cert_sign or usage.crl_sign:
        raise ValueError("key usage is not that of a leaf")


def _demand_client_auth_only(_: verification.Policy, __: x509.Certificate, usage: x509.ExtendedKeyUsage) -> None:
    if list(usage) != [ExtendedKeyUsageOID.CLIENT_AUTH]:
        raise ValueError("extended key usage is not clientAuth alone")


def _verify_key(leaf: x509.Certificate) -> None:
    """Refuses a weak key in a leaf that an earlier version issued. Raises `WeakKeyError`."""
    key = leaf.public_key()
    if isinstance(key, ed25519.Ed25519PublicKey):
        verify_ed25519(key.public_bytes_raw())


def _one_uri(leaf: x509.Certificate) -> str:
    names = list(leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    if len(names) != 1 or not isinstance(names[0], x509.UniformResourceIdentifier):
        raise ValueError("the subject alternative name is not one URI")
    return names[0].value


def _agent_of(uri: str, trust_domain: str) -> str:
    prefix = spiffe_id(trust_domain, "")
    name = uri[len(prefix) :]
    if not uri.startswith(prefix) or not is_agent_name(name):
        raise ChainError("The certificate's SPIFFE ID is not an agent of this trust domain.")
    return name
