"""Certificate requests (PKCS #10, RFC 2986) and proofs that a caller holds the key of one. Pure.

Of a request only its key is ever taken over; what else it asks for must be absent or be what would be granted anyway,
so that nobody believes to have been given more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key

from mastio.pki.certificates import PublicKey
from mastio_primitives.ed25519 import WeakKeyError, verify_ed25519
from mastio_primitives.jwk import JoseError, decode_base64url, encode_public_jwk, parse_public_jwk

MAX_BYTES = 16 * 1024

_BEGIN = "-----BEGIN CERTIFICATE REQUEST-----"
_END = "-----END CERTIFICATE REQUEST-----"
_HASHES = (hashes.SHA256, hashes.SHA384, hashes.SHA512)


class RequestError(ValueError):
    """The certificate request is not acceptable. The text is for the caller."""


class PossessionError(ValueError):
    """It is not proven that the caller holds the key."""


def parse_csr(pem: str, uri: str) -> PublicKey:
    """The public key of an acceptable request by the agent whose SPIFFE ID is `uri`. Raises `RequestError`."""
    text = pem.strip()
    if len(pem) > MAX_BYTES:
        raise RequestError(f"The request is longer than {MAX_BYTES} bytes.")
    if not (text.startswith(_BEGIN) and text.endswith(_END) and text.count("-----BEGIN") == 1 and text.isascii()):
        raise RequestError("It must be exactly one PEM certificate request.")
    try:
        csr = x509.load_pem_x509_csr(text.encode("ascii"))
    except ValueError as error:
        raise RequestError("The certificate request cannot be read.") from error
    return verify_csr(csr, uri)


def verify_csr(csr: x509.CertificateSigningRequest, uri: str) -> PublicKey:
    """The public key of a request that is acceptable for the SPIFFE ID `uri`. Raises `RequestError`."""
    try:
        key = csr.public_key()
        extensions = csr.extensions
    except (ValueError, UnsupportedAlgorithm, x509.DuplicateExtension) as error:
        raise RequestError("The certificate request cannot be read.") from error
    accepted = _accepted_key(key)
    _verify_signature(csr)
    for extension in extensions:
        _judge(extension.value, uri)
    return accepted


def _accepted_key(key: object) -> PublicKey:
    if isinstance(key, ed25519.Ed25519PublicKey):
        try:
            verify_ed25519(key.public_bytes_raw())
        except WeakKeyError as error:
            raise RequestError(str(error)) from error
        return key
    if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1 | ec.SECP384R1):
        return key
    raise RequestError("The key must be P-256, P-384 or Ed25519.")


def _verify_signature(csr: x509.CertificateSigningRequest) -> None:
    """The request is signed by the very key it names: proof of possession (RFC 2986 §3)."""
    try:
        algorithm = csr.signature_hash_algorithm
        valid = csr.is_signature_valid
    except (ValueError, UnsupportedAlgorithm, TypeError) as error:
        raise RequestError("The request's signature algorithm is not accepted.") from error
    if algorithm is not None and not isinstance(algorithm, _HASHES):
        raise RequestError("The request's signature algorithm is not accepted.")
    if not valid:
        raise RequestError("The request is not signed by its own key.")


def _judge(wish: x509.ExtensionType, uri: str) -> None:
    if isinstance(wish, x509.BasicConstraints) and wish.ca:
        raise RequestError("A CA certificate is not issued here.")
    if isinstance(wish, x509.KeyUsage) and (wish.key_cert_sign or wish.crl_sign):
        raise RequestError("A CA certificate is not issued here.")
    if isinstance(wish, x509.SubjectAlternativeName) and list(wish) != [x509.UniformResourceIdentifier(uri)]:
        raise RequestError("Leave the subject alternative name out, or make it the agent's SPIFFE ID alone.")


def verify_possession(key: PublicKey, message: bytes, proof: bytes) -> None:
    """Raises `PossessionError` unless `proof` (base64url) is `key`'s signature over `message`, as JWS signs.

    ECDSA is r‖s with SHA-256 on P-256 and SHA-384 on P-384 (RFC 7518 §3.4), Ed25519 as it is (RFC 8037 §3.1).
    """
    try:
        signature = decode_base64url(proof)
        if isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(signature, message)
            return
        size = (key.curve.key_size + 7) // 8
        if len(signature) != 2 * size:
            raise PossessionError("The signature has the wrong length.")
        r, s = int.from_bytes(signature[:size], "big"), int.from_bytes(signature[size:], "big")
        algorithm = hashes.SHA384() if size == 48 else hashes.SHA256()
        key.verify(encode_dss_signature(r, s), message, ec.ECDSA(algorithm))
    except (JoseError, InvalidSignature) as error:
        raise PossessionError("The signature is not by the key of the request.") from error


def possession_message(enrollment: str) -> bytes:
    """The bytes that the key's holder signs to fetch the decision on the enrolment request with this id."""
    return f"mastio-enrollment:v1|{enrollment}".encode()


@dataclass(frozen=True, slots=True)
class AssertionKeys:
    """An agent's keys as the rows hold them. `dpop_jkt` is the thumbprint of the DPoP key that it named, if any."""

    public_jwks: tuple[Mapping[str, str], ...]
    dpop_jkt: str | None


def assertion_keys(key: PublicKey, dpop_jwk: Mapping[str, str] | None) -> AssertionKeys:
    """The keys that may sign a `private_key_jwt`: the certificate's, unless P-384 (ES384 is not spoken), and the DPoP
    key.

    Raises `JoseError` when `dpop_jwk` is not a public P-256 or Ed25519 key.
    """
    jwks: list[Mapping[str, str]] = []
    if isinstance(key, ed25519.Ed25519PublicKey) or isinstance(key.curve, ec.SECP256R1):
        jwks.append(encode_public_jwk(key))
    if dpop_jwk is None:
        return AssertionKeys(tuple(jwks), None)
    dpop = parse_public_jwk(dpop_jwk)
    jwks.append(encode_public_jwk(dpop.key))
    return AssertionKeys(tuple(jwks), dpop.thumbprint)


def encode_public_key(key: PublicKey) -> bytes:
    """DER, SubjectPublicKeyInfo."""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def load_public_key(der: bytes) -> PublicKey:
    """The key of `encode_public_key`. Raises `RequestError`."""
    return _accepted_key(load_der_public_key(der))
