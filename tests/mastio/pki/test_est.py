"""EST on the wire: what a body must be, whose name it asks for, and what openssl reads of a reply."""

from __future__ import annotations

import base64
import subprocess

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.hazmat.primitives.serialization.pkcs7 import load_der_pkcs7_certificates
from cryptography.x509.oid import NameOID

from mastio.pki.csr import MAX_BYTES, RequestError, verify_csr
from mastio.pki.est import encode_certificates, find_name, parse_request
from support.authorities import ISSUER, ROOT, TD, URI, make_csr, p256

KEY = p256()
DER = x509.load_pem_x509_csr(make_csr(KEY).encode()).public_bytes(Encoding.DER)
GOOD = base64.b64encode(DER)


def request(names: list[str], *uris: str) -> x509.CertificateSigningRequest:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name) for name in names])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if uris:
        alternative = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri) for uri in uris])
        builder = builder.add_extension(alternative, critical=False)
    return builder.sign(KEY, hashes.SHA256())


@pytest.mark.parametrize(
    "body",
    [GOOD, base64.encodebytes(DER), GOOD + b"\r\n", b"\r\n".join(base64.encodebytes(DER).split()), b"\t " + GOOD],
    ids=["line", "lines", "end", "crlf", "space"],
)
def test_base64_with_and_without_line_breaks(body: bytes) -> None:
    assert verify_csr(parse_request(body), URI) == KEY.public_key()


@pytest.mark.parametrize(
    "body",
    [
        b"", b"=", b"!!!!", DER, make_csr(KEY).encode(), GOOD + GOOD, GOOD[:-4], GOOD.rstrip(b"=") + b"A",
        base64.urlsafe_b64encode(DER[:60] + b"\xff\xfe\xfb"), base64.b64encode(DER + b"\0"), base64.b64encode(b"x"),
        base64.b64encode(encode_certificates([ROOT.certificate])), b"A" * (MAX_BYTES + 1), b"\0" + GOOD, b"\x0b" + GOOD,
    ],
    ids=["empty", "pad", "signs", "der", "pem", "twice", "cut", "nopad", "url", "trailing", "byte", "pkcs7", "long",
         "nul", "tab"],
)  # fmt: skip
def test_anything_else_is_refused(body: bytes) -> None:
    with pytest.raises(RequestError):
        parse_request(body)


def test_base64_has_one_form() -> None:
    """The last character carries bits that belong to no byte: they must be zero."""
    encoded = base64.b64encode(DER + b"\0" * (1 if len(DER) % 3 == 0 else 3 - len(DER) % 3 + 1))
    assert encoded.endswith(b"=")
    last = encoded.rstrip(b"=")[-1:]
    bent = encoded.replace(last + b"=", bytes([last[0] + 1]) + b"=", 1)
    assert base64.b64decode(bent) == base64.b64decode(encoded)
    with pytest.raises(RequestError, match="canonical"):
        parse_request(bent)


@pytest.mark.parametrize(
    ("names", "uris", "found"),
    [
        (["alice"], [], "alice"),
        (["Some Machine"], [URI], "alice"),
        (["bob"], [URI], "alice"),
        ([], [URI], "alice"),
        ([], [], None),
    ],
    ids=["common", "any", "other", "uri", "none"],
)
def test_whose_name_is_asked_for(names: list[str], uris: list[str], found: str | None) -> None:
    assert find_name(request(names, *uris), TD) == found


@pytest.mark.parametrize(
    ("names", "uris"),
    [
        (["Alice"], []),
        (["alice", "bob"], []),
        (["alice", "bob"], [URI]),
        (["alice"], ["spiffe://evil.test/agent/alice"]),
        (["alice"], [f"spiffe://{TD}/agent/"]),
        (["alice"], [f"spiffe://{TD}/agent/a/b"]),
        (["alice"], [URI, URI.replace("alice", "bob")]),
        (["alice"], [f"spiffe://{TD}.evil/agent/alice"]),
    ],
)
def test_a_name_that_cannot_be_given_is_refused(names: list[str], uris: list[str]) -> None:
    with pytest.raises(RequestError):
        find_name(request(names, *uris), TD)


def test_a_name_beside_the_uri_is_refused() -> None:
    alternative = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(URI), x509.DNSName("alice")])
    with pytest.raises(RequestError, match="alone"):
        find_name(x509.load_pem_x509_csr(make_csr(KEY, alternative).encode()), TD)


def test_a_reply_is_certs_only_in_lines() -> None:
    reply = encode_certificates([ROOT.certificate, ISSUER.certificate])
    assert max(map(len, reply.splitlines())) <= 76
    found = load_der_pkcs7_certificates(base64.b64decode(reply))
    assert {one.subject for one in found} == {ROOT.certificate.subject, ISSUER.certificate.subject}
    command = ["openssl", "pkcs7", "-inform", "DER", "-print_certs", "-noout"]
    said = subprocess.run(command, input=base64.b64decode(reply), capture_output=True, check=True).stdout.decode()
    assert said.count("subject=") == 2
