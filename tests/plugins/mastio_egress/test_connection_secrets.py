"""Client certificates and whole connections, as values; the single members are tried in the tests of the API."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from mastio_egress.connections.connection import ConnectionCredential, ConnectionRow
from mastio_egress.connections.secrets import (
    KEEPABLE,
    CredentialError,
    destinations,
    load_client_certificate,
    verify_authorities,
    verify_options,
    verify_secret,
    verify_whole,
)
from mastio_egress.header_policy import KEPT_BY_RULE
from support.connection_samples import client_pem, make_certificate, make_key, make_key_pem

OTHER = ec.generate_private_key(ec.SECP256R1())


def pem_of(key: rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey | x25519.X25519PrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")


def test_a_certificate_with_its_chain_in_any_order_of_key_and_text_between() -> None:
    leaf, key, issuer = make_certificate(make_key()), make_key_pem(make_key()), make_certificate(OTHER, "issuer")
    for pem in (leaf + issuer + key, key + leaf + issuer, f"Bag Attributes\n  name: x\n{leaf}{key}subject=x\n{issuer}"):
        found = load_client_certificate(pem)
        assert found.certificates == (leaf, issuer) and found.key == key
    windows = load_client_certificate((leaf + key).replace("\n", "\r\n"))
    assert len(windows.certificates) == 1
    traditional = make_key().private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    assert load_client_certificate(leaf + traditional).key == traditional


@pytest.mark.parametrize(
    ("pem", "said"),
    [
        ("", "exactly one private key"),
        (make_certificate(make_key()), "exactly one private key"),
        (client_pem() + make_key_pem(OTHER), "exactly one private key"),
        (make_key_pem(make_key()), "the certificate of its key"),
        (make_certificate(OTHER) + make_key_pem(make_key()), "the one of its key"),
        (make_certificate(OTHER) + client_pem(), "the one of its key"),
        (make_certificate(make_key()) + make_key_pem(make_key(), b"password"), "must not be encrypted"),
        (client_pem() + "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----", "nothing else"),
        (client_pem() + "-----BEGIN CERTIFICATE-----\nAAAA", "nothing else"),
        (client_pem() + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "cannot be read"),
        (client_pem() + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END PRIVATE KEY-----\n", "nothing else"),
        (make_certificate(make_key()) + pem_of(x25519.X25519PrivateKey.generate()), "RSA, ECDSA or Ed25519"),
        (make_certificate(make_key()) + pem_of(ed25519.Ed25519PrivateKey.generate()), "the one of its key"),
        (
            make_certificate(make_key()) + "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
            "cannot be read",
        ),
    ],
    ids=range(14),
)
def test_what_is_no_client_certificate(pem: str, said: str) -> None:
    with pytest.raises(CredentialError, match=said) as caught:
        verify_secret("certificate", pem)
    assert caught.value.member == "secret" and "BEGIN" not in str(caught.value)


@pytest.mark.parametrize("secret", ["canary-1", "a b c d e f", "~" * 16_000, "%20{}\"'\\"])
def test_secrets_that_fit_into_one_line(secret: str) -> None:
    verify_secret("bearer", secret)


@pytest.mark.parametrize(
    "secret",
    ["", "1234567", " 12345678", "12345678 ", "1234\t5678", "1234\x7f5678", "1234\x855678", "12345678\n",
     "１２３４５６７８", "1234\u20285678"],
)  # fmt: skip
def test_secrets_that_do_not(secret: str) -> None:
    for kind in ("bearer", "header", "query", "basic", "oauth", "sigv4"):
        with pytest.raises(CredentialError):
            verify_secret(kind, secret)  # type: ignore[arg-type]


def test_defaults_of_options() -> None:
    assert verify_options("header", {"header": "X-Key"}) == {"header": "X-Key", "prefix": ""}
    assert verify_options("basic", {"username": ""}) == {"username": ""}
    assert verify_options("oauth", {"token_url": "https://t.example", "client_id": "c"})["client_auth"] == "basic"


def test_what_may_be_kept_is_what_is_taken_out_by_rule() -> None:
    """One list here, where it is judged, and one in the plugin, where it is done."""
    assert {name.decode("ascii") for name in KEPT_BY_RULE} == KEEPABLE


def test_authorities() -> None:
    verify_authorities(make_certificate(OTHER) + make_certificate(make_key()))
    for wrong in ("", client_pem(), make_key_pem(OTHER), "-----BEGIN CERTIFICATE-----\n"):
        with pytest.raises(CredentialError):
            verify_authorities(wrong)


def test_where_a_secret_goes() -> None:
    row = ConnectionRow("a", "https://Api.example/v1", ConnectionCredential("bearer", "12345678"))
    assert destinations(row) == ("https://api.example:443",)
    options = {"token_url": "http://login.example:8080/t"}
    oauth = replace(row, credential=ConnectionCredential("oauth", "12345678", options))
    assert destinations(oauth) == ("https://api.example:443", "http://login.example:8080")
    with pytest.raises(CredentialError) as caught:
        verify_whole(oauth)
    assert caught.value.member == "credential.token_url"
    verify_whole(replace(oauth, allow_addresses=("10.0.0.0/8",)))
    sigv4 = ConnectionCredential("sigv4", "12345678", {})
    verify_whole(replace(row, base_url="http://api.example", credential=sigv4))  # the signature gives no secret away
