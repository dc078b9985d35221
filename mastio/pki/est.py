"""Enrolment over Secure Transport (RFC 7030) on the wire: base64 requests in, base64 certs-only replies out. Pure.

As RFC 8951 §3 clarifies it: base64 (RFC 4648 §4) of DER, white space ignored, `Content-Transfer-Encoding` meaning
nothing to whoever receives.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.hazmat.primitives.serialization.pkcs7 import serialize_certificates
from cryptography.x509.oid import NameOID

from mastio.pki.certificates import NAME_RULE, is_agent_name, spiffe_id
from mastio.pki.csr import MAX_BYTES, RequestError

REQUEST_TYPE = "application/pkcs10"
REPLY_TYPE = "application/pkcs7-mime; smime-type=certs-only"

_SPACE = b" \t\r\n"


def parse_request(body: bytes) -> x509.CertificateSigningRequest:
    """The certificate request in a body. Whether it is acceptable is `verify_csr`'s to say. Raises `RequestError`."""
    if len(body) > MAX_BYTES:
        raise RequestError(f"The request is longer than {MAX_BYTES} bytes.")
    encoded = body.translate(None, _SPACE)
    try:
        der = binascii.a2b_base64(encoded, strict_mode=True)
        if base64.b64encode(der) != encoded:
            raise RequestError("The body is not base64 in its one canonical form.")
        return x509.load_der_x509_csr(der)
    except RequestError:
        raise
    except binascii.Error as error:
        raise RequestError("The body must be the base64 of one DER certificate request.") from error
    except ValueError as error:
        raise RequestError("The certificate request cannot be read.") from error


def find_name(csr: x509.CertificateSigningRequest, trust_domain: str) -> str | None:
    """The agent's name that the request asks for: of its SPIFFE ID, else its common name; None when it has neither.

    Raises `RequestError` for any other alternative name, and for what is no agent's name.
    """
    try:
        extensions, subject = csr.extensions, csr.subject
    except (ValueError, x509.DuplicateExtension) as error:
        raise RequestError("The certificate request cannot be read.") from error
    common = [str(attribute.value) for attribute in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if len(common) > 1:
        raise RequestError("The request has more than one common name.")
    asked = [extension.value for extension in extensions if isinstance(extension.value, x509.SubjectAlternativeName)]
    name = _name_in(asked[0], trust_domain) if asked else next(iter(common), None)
    if name is not None and not is_agent_name(name):
        raise RequestError(f"The name that is asked for must be {NAME_RULE}.")
    return name


def _name_in(alternative: x509.SubjectAlternativeName, trust_domain: str) -> str:
    prefix = spiffe_id(trust_domain, "")
    uris = [one.value for one in alternative if isinstance(one, x509.UniformResourceIdentifier)]
    if len(uris) != 1 or len(list(alternative)) != 1 or not uris[0].startswith(prefix):
        raise RequestError("Leave the subject alternative name out, or make it the agent's SPIFFE ID alone.")
    return uris[0].removeprefix(prefix)


def encode_certificates(certificates: Sequence[x509.Certificate]) -> bytes:
    """A certs-only PKCS #7 (RFC 7030 §4.1.3), base64 in lines, so that every tool can read it."""
    return base64.encodebytes(serialize_certificates(list(certificates), Encoding.DER))
