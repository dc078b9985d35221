"""Ed25519 keys under which everybody can sign, and what a stranger signs with them."""

from __future__ import annotations

import base64
from collections.abc import Callable

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding

from support.authorities import make_csr

PRIME = 2**255 - 19

SMALL_ORDER = {
    "order1": "0100000000000000000000000000000000000000000000000000000000000000",
    "order2": "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "order4": "0000000000000000000000000000000000000000000000000000000000000000",
    "order4-negative": "0000000000000000000000000000000000000000000000000000000000000080",
    "order8": "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "order8-negative": "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "order8-other": "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "order8-other-negative": "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
}
"""The eight points of small order, as RFC 8032 encodes them."""

NOT_CANONICAL = {
    "order1-sign": "0100000000000000000000000000000000000000000000000000000000000080",
    "order1-plus-p": "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "order1-plus-p-sign": "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "order2-sign": "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "order4-plus-p": "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "order4-plus-p-sign": "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
}
"""The same points in encodings that RFC 8032 §5.1.3 refuses and libraries accept."""

WEAK = {name: bytes.fromhex(text) for name, text in {**SMALL_ORDER, **NOT_CANONICAL}.items()}


def forge(key: bytes, message: Callable[[int], bytes]) -> tuple[int, bytes]:
    """A valid signature by the weak `key`, made without any secret: which of the messages it is for, and the 64 bytes.

    Each point of small order as R with S = 0 fits one message in eight at least.
    """
    public = Ed25519PublicKey.from_public_bytes(key)
    for number in range(200):
        for point in SMALL_ORDER.values():
            signature = bytes.fromhex(point) + bytes(32)
            try:
                public.verify(signature, message(number))
            except InvalidSignature:
                continue
            return number, signature
    raise AssertionError("no signature was found")


def weak_csr(key: bytes, name: str = "alice") -> str:
    """A certificate request for a weak key with a valid signature, made without any secret."""
    own = Ed25519PrivateKey.generate()
    variants: list[x509.CertificateSigningRequest] = []

    def message(number: int) -> bytes:
        while len(variants) <= number:
            wish = x509.SubjectKeyIdentifier(bytes([len(variants)]))
            variants.append(x509.load_pem_x509_csr(make_csr(own, wish, name=name).encode()))
        return variants[number].tbs_certrequest_bytes.replace(own.public_key().public_bytes_raw(), key)

    number, signature = forge(key, message)
    made = variants[number]
    der = made.public_bytes(Encoding.DER)
    der = der.replace(made.tbs_certrequest_bytes, message(number)).replace(made.signature, signature)
    return f"-----BEGIN CERTIFICATE REQUEST-----\n{base64.encodebytes(der).decode()}-----END CERTIFICATE REQUEST-----\n"
