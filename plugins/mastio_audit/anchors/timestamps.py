"""Time stamps: what is asked of an authority, and whether its answer is what it should be (RFC 3161, RFC 5816). Pure.

A time stamp is a CMS message (RFC 5652) that the authority signed: this hash was there at this time. It counts when

- its status is granted, and hash and nonce are those that were sent,
- the one who signed it has a certificate for nothing but time stamps (RFC 3161 §2.3), which the signature names and
  which leads to an authority that the operator trusts, at the time of the stamp,
- the time is about now.

The reply is kept as it came, so that others verify it without us.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.verification import Criticality, ExtensionPolicy, Policy, PolicyBuilder, Store, VerificationError

from mastio_audit.anchors import der
from mastio_audit.anchors.der import CONTEXT, Element, Parts

CLOCKS = 300.0
"""Seconds that the authority's clock may differ from ours."""

_GRANTED = (0, 1)
_SIGNED_DATA = bytes.fromhex("2a864886f70d010702")
_TST_INFO = bytes.fromhex("2a864886f70d0109100104")
_CONTENT_TYPE = bytes.fromhex("2a864886f70d010903")
_MESSAGE_DIGEST = bytes.fromhex("2a864886f70d010904")
_SIGNING_CERTIFICATE = bytes.fromhex("2a864886f70d010910020c")
_SIGNING_CERTIFICATE_V2 = bytes.fromhex("2a864886f70d010910022f")
_SHA256 = bytes.fromhex("608648016503040201")
_HASHES: dict[bytes, hashes.SHA256 | hashes.SHA384 | hashes.SHA512] = {
    _SHA256: hashes.SHA256(),
    bytes.fromhex("608648016503040202"): hashes.SHA384(),
    bytes.fromhex("608648016503040203"): hashes.SHA512(),
}
_RSA = bytes.fromhex("2a864886f70d010101")
_SIGNATURES: dict[bytes, tuple[type[object], hashes.SHA256 | hashes.SHA384 | hashes.SHA512]] = {
    bytes.fromhex("2a864886f70d01010b"): (rsa.RSAPublicKey, hashes.SHA256()),
    bytes.fromhex("2a864886f70d01010c"): (rsa.RSAPublicKey, hashes.SHA384()),
    bytes.fromhex("2a864886f70d01010d"): (rsa.RSAPublicKey, hashes.SHA512()),
    bytes.fromhex("2a8648ce3d040302"): (ec.EllipticCurvePublicKey, hashes.SHA256()),
    bytes.fromhex("2a8648ce3d040303"): (ec.EllipticCurvePublicKey, hashes.SHA384()),
    bytes.fromhex("2a8648ce3d040304"): (ec.EllipticCurvePublicKey, hashes.SHA512()),
}
_MALFORMED = (ValueError, OverflowError, UnsupportedAlgorithm, x509.InvalidVersion, x509.DuplicateExtension)
_STAMPING = x509.oid.ExtendedKeyUsageOID.TIME_STAMPING


class TimestampError(ValueError):
    """The reply is no time stamp of what was sent, or not by whom it should be."""


@dataclass(frozen=True, slots=True)
class _Signed:
    """A CMS message with one signer. `attributes` are as they are signed; `named` by their OID."""

    content: bytes
    certificates: tuple[x509.Certificate, ...]
    signer: Element
    digest: bytes
    attributes: bytes
    named: dict[bytes, Element]
    algorithm: bytes
    signature: bytes


def write_request(content: bytes, nonce: int) -> bytes:
    """A TimeStampReq for the SHA-256 of `content`; the authority is to send its certificate along."""
    algorithm = der.write(der.SEQUENCE, der.write(der.OID, _SHA256), der.write(der.NULL))
    imprint = der.write(der.SEQUENCE, algorithm, der.write(der.OCTETS, hashlib.sha256(content).digest()))
    wanted = der.write(der.BOOLEAN, b"\xff")
    return der.write(der.SEQUENCE, der.write_integer(1), imprint, der.write_integer(nonce), wanted)


def verify_reply(reply: bytes, content: bytes, nonce: int, trusted: Sequence[x509.Certificate], now: float) -> float:
    """The time that the authority says it was, Unix seconds. Raises `TimestampError`."""
    try:
        signed = _read_token(_read_response(reply))
        time = _read_info(signed.content, content, nonce)
        if abs(time - now) > CLOCKS:
            raise TimestampError("it is of another time; compare the clocks")
        leaf = _find_signer(signed)
        _verify_signature(signed, leaf)
        verify_chain(leaf, signed.certificates, trusted, time)
    except TimestampError:
        raise
    except _MALFORMED as error:
        raise TimestampError(f"it is malformed: {error}") from error
    return time


# --- taking apart -----------------------------------------------------------------------------------------------------


def _read_response(reply: bytes) -> Element:
    """The token of a TimeStampResp (RFC 3161 §2.4.2)."""
    response = der.parse(reply).inside(der.SEQUENCE)
    status = response.take().inside(der.SEQUENCE).take().integer
    if status not in _GRANTED:
        raise TimestampError(f"the authority refused it with status {status}")
    token = response.take()
    response.finish()
    return token


def _read_token(token: Element) -> _Signed:
    """ContentInfo and SignedData (RFC 5652 §3, §5.1)."""
    info = token.inside(der.SEQUENCE)
    _require(info.take().get(der.OID) == _SIGNED_DATA, "it is not signed")
    data = _only(info.take().inside(CONTEXT)).inside(der.SEQUENCE)
    info.finish()
    data.take()  # version
    data.take().get(der.SET)  # the digests that are used; the signer says which
    wrapped = data.take().inside(der.SEQUENCE)
    _require(wrapped.take().get(der.OID) == _TST_INFO, "what is signed is not a time stamp")
    content = _only(wrapped.take().inside(CONTEXT)).get(der.OCTETS)
    wrapped.finish()
    attached = data.take_if(CONTEXT)
    data.take_if(CONTEXT | 1)
    signer = _only(data.take().inside(der.SET))
    data.finish()
    certificates = _parse_certificates(attached) if attached else ()
    return _read_signer(signer.inside(der.SEQUENCE), content, certificates)


def _read_signer(signer: Parts, content: bytes, certificates: tuple[x509.Certificate, ...]) -> _Signed:
    """SignerInfo (RFC 5652 §5.3)."""
    signer.take()  # version
    identifier = signer.take()
    digest = signer.take().inside(der.SEQUENCE).take().get(der.OID)
    attributes = signer.take().get(CONTEXT)
    algorithm = signer.take().inside(der.SEQUENCE).take().get(der.OID)
    signature = signer.take().get(der.OCTETS)
    named: dict[bytes, Element] = {}
    for attribute in Parts(attributes).rest():
        parts = attribute.inside(der.SEQUENCE)
        name, values = parts.take().get(der.OID), parts.take().inside(der.SET)
        _require(name not in named, "a signed attribute is there twice")
        named[name] = values.take()
    whole = der.write(der.SET, attributes)
    return _Signed(content, certificates, identifier, digest, whole, named, algorithm, signature)


def _parse_certificates(attached: Element) -> tuple[x509.Certificate, ...]:
    elements = Parts(attached.content).rest()
    return tuple(x509.load_der_x509_certificate(one.whole) for one in elements if one.tag == der.SEQUENCE)


def _read_info(info: bytes, content: bytes, nonce: int) -> float:
    """The time of a TSTInfo, which must be of this content and nonce (RFC 3161 §2.4.2)."""
    parts = der.parse(info).inside(der.SEQUENCE)
    _require(parts.take().integer == 1, "it is of another version")
    parts.take().get(der.OID)  # the authority's policy
    imprint = parts.take().inside(der.SEQUENCE)
    _require(imprint.take().inside(der.SEQUENCE).take().get(der.OID) == _SHA256, "it is of another hash")
    digest = imprint.take().get(der.OCTETS)
    _require(hmac.compare_digest(digest, hashlib.sha256(content).digest()), "it is of something else")
    parts.take().get(der.INTEGER)  # serial number
    time = _parse_time(parts.take().get(der.TIME))
    returned = [element.integer for element in parts.rest() if element.tag == der.INTEGER]
    _require(returned == [nonce], "it is not the answer to this request")
    return time


def _parse_time(text: bytes) -> float:
    """GeneralizedTime in UTC, with a fraction of a second or without (RFC 3161 §2.4.2)."""
    whole, dot, fraction = text.decode("latin-1").removesuffix("Z").partition(".")
    digits = whole.isascii() and whole.isdigit() and len(whole) == 14
    part = not dot or (fraction.isascii() and fraction.isdigit() and len(fraction) < 10)
    _require(text.endswith(b"Z") and digits and part, "its time is malformed")
    try:
        seconds = datetime.strptime(whole, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
    except ValueError as error:
        raise TimestampError("its time is malformed") from error
    return seconds + (float(f"0.{fraction}") if dot else 0.0)


# --- who signed -------------------------------------------------------------------------------------------------------


def _find_signer(signed: _Signed) -> x509.Certificate:
    """The certificate that signature and signed attribute name (RFC 5652 §5.3, RFC 5816)."""
    found = [one for one in signed.certificates if _is_named(one, signed.signer)]
    _require(len(found) == 1, "it does not have the certificate of who signed it")
    leaf = found[0].public_bytes(serialization.Encoding.DER)
    if (second := signed.named.get(_SIGNING_CERTIFICATE_V2)) is not None:
        parts = _only_first(second)
        algorithm = parts.take_if(der.SEQUENCE)
        name = _SHA256 if algorithm is None else Parts(algorithm.content).take().get(der.OID)
        expected = _digest(name, leaf)
    elif (first := signed.named.get(_SIGNING_CERTIFICATE)) is not None:
        parts, expected = _only_first(first), hashlib.sha1(leaf, usedforsecurity=False).digest()
    else:
        raise TimestampError("it does not say which certificate signed it")
    _require(hmac.compare_digest(parts.take().get(der.OCTETS), expected), "it names another certificate")
    return found[0]


def _is_named(certificate: x509.Certificate, signer: Element) -> bool:
    """By issuer and serial number, or by its subject key identifier."""
    if signer.tag == 0x80:
        try:
            key = certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
        except (x509.ExtensionNotFound, ValueError):
            return False
        return key == signer.content
    parts = signer.inside(der.SEQUENCE)
    return (parts.take().whole, parts.take().integer) == (certificate.issuer.public_bytes(), certificate.serial_number)


def _verify_signature(signed: _Signed, leaf: x509.Certificate) -> None:
    """Over the signed attributes, which hold the content's digest (RFC 5652 §5.4)."""
    kind, digest = signed.named.get(_CONTENT_TYPE), signed.named.get(_MESSAGE_DIGEST)
    _require(kind is not None and kind.get(der.OID) == _TST_INFO, "its signature is of something else")
    expected = _digest(signed.digest, signed.content)
    _require(digest is not None and hmac.compare_digest(digest.get(der.OCTETS), expected), "its content was changed")
    key = leaf.public_key()
    if signed.algorithm == _RSA:
        wanted: tuple[type[object], hashes.HashAlgorithm] = (rsa.RSAPublicKey, _HASHES[signed.digest])
    elif signed.algorithm in _SIGNATURES:
        wanted = _SIGNATURES[signed.algorithm]
    else:
        raise TimestampError("it is signed in a way that is not known here")
    _require(isinstance(key, wanted[0]), "it is signed with a key of another kind")
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signed.signature, signed.attributes, padding.PKCS1v15(), wanted[1])
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signed.signature, signed.attributes, ec.ECDSA(wanted[1]))
    except InvalidSignature as error:
        raise TimestampError("its signature is wrong") from error


def verify_chain(
    leaf: x509.Certificate, certificates: Sequence[x509.Certificate], trusted: Sequence[x509.Certificate], time: float
) -> None:
    """That `leaf` leads to a trusted authority, at that time, and is for time stamps alone (RFC 3161 §2.3).

    Raises `TimestampError`. The library knows no verifier for this purpose, so its policies say what must be.
    """
    above = (
        ExtensionPolicy.permit_all()
        .require_present(x509.BasicConstraints, Criticality.AGNOSTIC, _is_authority)
        .may_be_present(x509.KeyUsage, Criticality.AGNOSTIC, _may_sign_certificates)
        .may_be_present(x509.ExtendedKeyUsage, Criticality.AGNOSTIC, _may_stamp)
    )
    end = ExtensionPolicy.permit_all().require_present(x509.ExtendedKeyUsage, Criticality.CRITICAL, _stamps_only)
    verifier = (
        PolicyBuilder()
        .store(Store(list(trusted)))
        .time(datetime.fromtimestamp(time, UTC).replace(tzinfo=None))
        .extension_policies(ca_policy=above, ee_policy=end)
        .build_client_verifier()
    )
    try:
        verifier.verify(leaf, [one for one in certificates if one != leaf])
    except (VerificationError, ValueError) as error:
        raise TimestampError(
            "its certificate does not lead to a trusted authority, or is not for time stamps"
        ) from error


def _is_authority(policy: Policy, certificate: x509.Certificate, extension: x509.BasicConstraints) -> None:
    _require(extension.ca, "an issuer is no authority")


def _may_sign_certificates(policy: Policy, certificate: x509.Certificate, extension: x509.KeyUsage | None) -> None:
    _require(extension is None or extension.key_cert_sign, "an issuer may not sign certificates")


def _may_stamp(policy: Policy, certificate: x509.Certificate, extension: x509.ExtendedKeyUsage | None) -> None:
    allowed = {_STAMPING, x509.oid.ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
    _require(extension is None or bool(allowed & set(extension)), "an issuer is not for time stamps")


def _stamps_only(policy: Policy, certificate: x509.Certificate, extension: x509.ExtendedKeyUsage) -> None:
    _require(list(extension) == [_STAMPING], "the certificate is not for time stamps alone")


def _digest(name: bytes, content: bytes) -> bytes:
    if name not in _HASHES:
        raise TimestampError("it uses a hash that is not taken here")
    return hashlib.new(_HASHES[name].name, content).digest()


def _only(parts: Parts) -> Element:
    element = parts.take()
    parts.finish()
    return element


def _only_first(attribute: Element) -> Parts:
    """The first certificate's hash of SigningCertificate or SigningCertificateV2: of who signed."""
    return attribute.inside(der.SEQUENCE).take().inside(der.SEQUENCE).take().inside(der.SEQUENCE)


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise TimestampError(otherwise)
