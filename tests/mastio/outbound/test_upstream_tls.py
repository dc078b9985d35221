"""Whom the appliance trusts outside, and who it is there: nobody gets a byte of a request who is not the one meant."""

from __future__ import annotations

import datetime
import gc
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from mastio.exchange.errors import DispatchError
from mastio.outbound.resolver import Resolver
from mastio.outbound.tls import TlsError, make_context, parse_pin
from mastio.outbound.upstream import Pool, Pools
from support.dns_server import Names
from support.raw_upstream import Upstream

TIMEOUTS = {"connect": 2.0, "read": 2.0, "total": 4.0}
ALLOWED = ("127.0.0.1", "::1")
CA, OTHER = trustme.CA(), trustme.CA()
LEAF = CA.issue_cert("a.example", "127.0.0.1", "::1")


def text(blob: trustme.Blob) -> str:
    return blob.bytes().decode()


def pin_of(leaf: trustme.LeafCert) -> str:
    certificate = x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes())
    return certificate.fingerprint(certificate.signature_hash_algorithm or pytest.fail()).hex()


def count_open() -> int:
    gc.collect()  # what earlier tests left open must not be closed in between
    return len(list(Path("/proc/self/fd").iterdir()))


def serving(leaf: trustme.LeafCert = LEAF) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    leaf.configure_cert(context)
    return context


@pytest.fixture
def names() -> Iterator[Names]:
    with Names() as names:
        for name in ("a.example", "b.example"):
            names.say(name, "127.0.0.1")
        yield names


async def ask(pool: Pool) -> bytes:
    async with pool.send("GET", "/", [("authorization", "Bearer secret")], b"") as reply:
        return await reply.read(100)


async def is_answered(
    names: Names, upstream: Upstream, tls: ssl.SSLContext | None, pin: str | None = None, host: str = "a.example"
) -> bool:
    """Else it is refused with its reason, and nothing of a request has arrived."""
    pools = Pools(resolver=Resolver([names.server]))
    pool = pools.open(f"https://{host}:{upstream.port}", ALLOWED, TIMEOUTS, tls, pin)
    try:
        assert await ask(pool) == b"ok"
        assert await ask(pool) == b"ok"
        assert upstream.connects == 1
        return True
    except DispatchError as error:
        assert error.code == "upstream_unreachable" and upstream.heads == 0
        return False
    finally:
        await pools.close()


@pytest.mark.parametrize(
    ("ca", "host", "answered"),
    [
        (CA, "a.example", True), (CA, "127.0.0.1", True), (CA, "b.example", False), (OTHER, "a.example", False),
        (None, "a.example", False), (None, "127.0.0.1", False),
    ],
)  # fmt: skip
async def test_authorities(names: Names, ca: trustme.CA | None, host: str, answered: bool) -> None:
    with Upstream(tls=serving()) as upstream:
        tls = None if ca is None else make_context(text(ca.cert_pem), None, None)
        assert await is_answered(names, upstream, tls, host=host) == answered


async def test_the_name_is_shown_and_an_address_is_not(names: Names) -> None:
    tls = make_context(text(CA.cert_pem), None, None)
    for address, host, name in (
        ("127.0.0.1", "a.example", "a.example"), ("127.0.0.1", "127.0.0.1", None), ("::1", "[::1]", None)
    ):  # fmt: skip
        with Upstream(address, tls=serving()) as upstream:
            assert await is_answered(names, upstream, tls, host=host)
            assert upstream.names == [name]
            assert upstream.seen[0].header("host") == f"{host}:{upstream.port}"


@pytest.mark.parametrize("host", ["a.example", "b.example", "127.0.0.1"])
async def test_a_pin_stands_for_authorities_and_name(names: Names, host: str) -> None:
    past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    expired = CA.issue_cert("a.example", not_after=past)
    for leaf in (LEAF, expired):
        for pin, answered in ((pin_of(leaf), True), (pin_of(CA.issue_cert("a.example")), False)):
            with Upstream(tls=serving(leaf)) as upstream:
                assert await is_answered(names, upstream, None, pin, host) == answered


async def test_a_pin_beside_authorities_asks_for_both(names: Names) -> None:
    good, bad = pin_of(LEAF), pin_of(CA.issue_cert("a.example"))
    for ca, pin, host, answered in (
        (CA, good, "a.example", True), (CA, bad, "a.example", False), (OTHER, good, "a.example", False),
        (CA, good, "b.example", False),
    ):  # fmt: skip
        with Upstream(tls=serving()) as upstream:
            tls = make_context(text(ca.cert_pem), pin, None)
            assert await is_answered(names, upstream, tls, pin, host) == answered


async def test_a_pin_is_looked_at_on_kept_connections_too(names: Names) -> None:
    """And where one could not be shown, as without TLS, nothing is sent."""
    with Upstream() as upstream:
        pools = Pools(resolver=Resolver([names.server]))
        with pytest.raises(DispatchError):
            await ask(pools.open(upstream.url(), ALLOWED, TIMEOUTS, None, pin_of(LEAF)))
        await pools.close()
        assert upstream.heads == 0


async def test_a_client_certificate(names: Names) -> None:
    identity, stranger = CA.issue_cert("client"), OTHER.issue_cert("client")
    for client, answered in ((identity, True), (stranger, False), (None, False)):
        context = serving()
        context.verify_mode = ssl.CERT_REQUIRED
        CA.configure_trust(context)
        context.maximum_version = ssl.TLSVersion.TLSv1_2  # where the handshake itself fails
        with Upstream(tls=context) as upstream:
            pem = None if client is None else text(client.private_key_and_cert_chain_pem)
            assert await is_answered(names, upstream, make_context(text(CA.cert_pem), None, pem)) == answered


async def test_old_versions_are_refused(names: Names) -> None:
    context = serving()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning):
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with Upstream(tls=context) as upstream:
        assert not await is_answered(names, upstream, make_context(None, pin_of(LEAF), None), pin_of(LEAF))
    assert make_context(None, None, None).minimum_version == ssl.TLSVersion.TLSv1_2


def test_what_cannot_be_used() -> None:
    leaf = CA.issue_cert("client")
    key = serialization.load_pem_private_key(leaf.private_key_pem.bytes(), None)
    locked = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
    )
    chain = text(leaf.cert_chain_pems[0])
    opened = count_open()
    for ca, pin, certificate in (
        ("", None, None), ("nonsense", None, None), (text(leaf.private_key_pem), None, None),
        (None, "", None), (None, "ab" * 31, None), (None, "zz" * 32, None), (None, "ab" * 33, None),
        (None, None, ""), (None, None, "nonsense"), (None, None, chain), (None, None, text(leaf.private_key_pem)),
        (None, None, locked.decode() + chain), (None, None, text(OTHER.issue_cert("x").private_key_pem) + chain),
    ):  # fmt: skip
        with pytest.raises(TlsError) as caught:
            make_context(ca, pin, certificate)
        assert "BEGIN" not in str(caught.value)
    # those of a test before may end meanwhile; a descriptor that stays open in each case would outnumber them
    assert count_open() <= opened
    make_context(None, None, text(leaf.private_key_pem) + chain)
    assert count_open() <= opened


def test_how_pins_are_written() -> None:
    assert parse_pin("AB" * 32) == parse_pin(":".join(["ab"] * 32)) == bytes.fromhex("ab" * 32)


def test_a_certificate_alone_trusts_the_system() -> None:
    context = make_context(None, None, text(LEAF.private_key_and_cert_chain_pem))
    assert context.verify_mode == ssl.CERT_REQUIRED and context.check_hostname
