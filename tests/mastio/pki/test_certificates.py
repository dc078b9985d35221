from __future__ import annotations

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mastio.identity.trust import Trust
from mastio.pki.certificates import (
    ChainError,
    Issuer,
    Revoked,
    build_agent_leaf,
    build_crl,
    build_intermediate,
    build_root,
    build_server_leaf,
    encode_der,
    encode_serial,
    is_agent_name,
    thumbprint,
    verify_chain,
)
from support.authorities import DAY, ISSUER, NOW, ROOT, ROOT_KEY, TD, TRUST, URI, p256
from support.weak_keys import WEAK


def leaf_of(name: str = "alice", key: object = None, issuer: Issuer = ISSUER, seconds: float = DAY) -> x509.Certificate:
    return build_agent_leaf((key or p256()).public_key(), name, TD, issuer, NOW, seconds)  # type: ignore[attr-defined]


def forged(
    key: ec.EllipticCurvePrivateKey,
    signer: Issuer,
    *,
    uri: str = URI,
    ca: bool = False,
    eku: list[x509.ObjectIdentifier] | None = None,
    sans: list[x509.GeneralName] | None = None,
) -> bytes:
    """A leaf as this appliance would never make one, with a good signature of `signer`."""
    moment = datetime.datetime.fromtimestamp(NOW, datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "forged")]))
        .issuer_name(signer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(moment - datetime.timedelta(minutes=1))
        .not_valid_after(moment + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(not ca, False, False, False, False, ca, ca, False, False), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key()), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.SubjectAlternativeName(sans or [x509.UniformResourceIdentifier(uri)]), critical=False)
    )
    if eku is None or eku:
        builder = builder.add_extension(x509.ExtendedKeyUsage(eku or [ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    return encode_der(builder.sign(signer.key, hashes.SHA256()))


@pytest.mark.parametrize("key", [p256(), ec.generate_private_key(ec.SECP384R1()), ed25519.Ed25519PrivateKey.generate()])
def test_a_leaf_says_who_it_is_for(key: object) -> None:
    leaf = leaf_of(key=key)
    facts = verify_chain(encode_der(leaf), TRUST, NOW, TD)
    assert facts.name == "alice"
    assert facts.spiffe_id == URI
    assert facts.thumbprint == thumbprint(encode_der(leaf))
    assert facts.serial == encode_serial(leaf.serial_number)
    assert facts.not_after == NOW + DAY


@pytest.mark.parametrize("name", WEAK)
def test_a_leaf_with_a_key_under_which_everybody_can_sign_is_refused(name: str) -> None:
    """An earlier version may have issued it."""
    key = ed25519.Ed25519PublicKey.from_public_bytes(WEAK[name])
    leaf = build_agent_leaf(key, "alice", TD, ISSUER, NOW, DAY)
    with pytest.raises(ChainError):
        verify_chain(encode_der(leaf), TRUST, NOW, TD)


def test_a_leaf_has_exactly_the_extensions_of_the_contract() -> None:
    leaf = leaf_of()
    get = leaf.extensions.get_extension_for_class
    constraints, usage = get(x509.BasicConstraints), get(x509.KeyUsage)
    assert constraints.critical and not constraints.value.ca
    assert usage.critical and usage.value.digital_signature and not usage.value.key_cert_sign
    assert list(get(x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert list(get(x509.SubjectAlternativeName).value) == [x509.UniformResourceIdentifier(URI)]
    assert get(x509.AuthorityKeyIdentifier).value.key_identifier == (
        ISSUER.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    )
    assert leaf.serial_number.bit_length() == 128
    assert leaf.not_valid_before_utc.timestamp() == NOW - 60
    assert len({leaf_of().serial_number for _ in range(100)}) == 100


def test_a_leaf_does_not_outlive_its_issuer() -> None:
    assert leaf_of(seconds=10_000 * DAY).not_valid_after_utc == ISSUER.certificate.not_valid_after_utc


@pytest.mark.parametrize("now", [NOW - 61, NOW + DAY + 1])
def test_a_leaf_is_good_only_in_its_time(now: float) -> None:
    leaf = encode_der(leaf_of())
    with pytest.raises(ChainError):
        verify_chain(leaf, TRUST, now, TD)
    assert verify_chain(leaf, TRUST, NOW, TD).name == "alice"


def test_one_agent_cannot_vouch_for_another() -> None:
    key = p256()
    mallory = Issuer(leaf_of("mallory", key), key)
    bob = forged(p256(), mallory)
    with pytest.raises(ChainError):
        verify_chain(bob, TRUST, NOW, TD)
    with_mallory = Trust(TRUST.roots, (*TRUST.intermediates, encode_der(mallory.certificate)))
    with pytest.raises(ChainError):  # not even if the leaf got among the intermediates: it is no CA
        verify_chain(bob, with_mallory, NOW, TD)


def test_an_authority_below_the_intermediate_is_refused() -> None:
    key = p256()
    below = Issuer(x509.load_der_x509_certificate(forged(key, ISSUER, ca=True)), key)
    with_below = Trust(TRUST.roots, (*TRUST.intermediates, encode_der(below.certificate)))
    with pytest.raises(ChainError):  # path length 0
        verify_chain(forged(p256(), below), with_below, NOW, TD)


def test_a_foreign_authority_of_the_same_name_is_refused() -> None:
    root_key, key = p256(), p256()
    root = Issuer(build_root(root_key, TD, NOW, DAY), root_key)
    issuer = Issuer(build_intermediate(key, TD, root, NOW, DAY), key)
    with pytest.raises(ChainError):
        verify_chain(encode_der(leaf_of(issuer=issuer)), TRUST, NOW, TD)


def test_the_authorities_themselves_are_not_agents() -> None:
    for certificate in (ROOT.certificate, ISSUER.certificate):
        with pytest.raises(ChainError):
            verify_chain(encode_der(certificate), TRUST, NOW, TD)


def test_the_servers_leaf_is_not_an_agents() -> None:
    server = build_server_leaf(p256().public_key(), ["localhost", "127.0.0.1", "::1"], ISSUER, NOW, DAY)
    with pytest.raises(ChainError):
        verify_chain(encode_der(server), TRUST, NOW, TD)


@pytest.mark.parametrize(
    "made",
    [
        {"ca": True},
        {"eku": []},
        {"eku": [ExtendedKeyUsageOID.SERVER_AUTH]},
        {"eku": [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]},
        {"eku": [ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE]},
        {"uri": "spiffe://other.test/agent/alice"},
        {"uri": f"spiffe://{TD}/agent/"},
        {"uri": f"spiffe://{TD}/agent/Alice"},
        {"uri": f"spiffe://{TD}/agent/alice/x"},
        {"uri": f"spiffe://{TD}.evil.test/agent/alice"},
        {"uri": f"spiffe://{TD}/host/alice"},
        {"sans": [x509.DNSName("alice")]},
        {"sans": [x509.UniformResourceIdentifier(URI), x509.UniformResourceIdentifier(URI + "2")]},
        {"sans": [x509.UniformResourceIdentifier(URI), x509.DNSName("alice")]},
    ],
    ids=str,
)
def test_only_leaves_as_we_make_them_are_agents(made: dict[str, object]) -> None:
    with pytest.raises(ChainError):
        verify_chain(forged(p256(), ISSUER, **made), TRUST, NOW, TD)  # type: ignore[arg-type]
    assert verify_chain(forged(p256(), ISSUER), TRUST, NOW, TD).name == "alice"  # the form itself is accepted


def test_bytes_that_are_no_certificate_are_refused() -> None:
    good = encode_der(leaf_of())
    for raw in (b"", b"x", good[:-1], good[:100] + bytes([good[100] ^ 1]) + good[101:]):
        with pytest.raises(ChainError):
            verify_chain(raw, TRUST, NOW, TD)


def test_a_leaf_directly_below_the_root_is_still_ours_and_signed_by_the_root() -> None:
    assert verify_chain(forged(p256(), ROOT), TRUST, NOW, TD).name == "alice"


def test_the_root_allows_one_authority_below_it() -> None:
    constraints = ROOT.certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert constraints.ca and constraints.path_length == 1
    below = ISSUER.certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert below.ca and below.path_length == 0
    ISSUER.certificate.verify_directly_issued_by(ROOT.certificate)
    assert ROOT.certificate.public_key() == ROOT_KEY.public_key()


def test_a_server_leaf_names_hosts_and_addresses() -> None:
    leaf = build_server_leaf(p256().public_key(), ["gw.example", "127.0.0.1", "::1"], ISSUER, NOW, DAY)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["gw.example"]
    assert [str(a) for a in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]


def test_a_revocation_list_holds_what_was_revoked() -> None:
    leaf = leaf_of()
    crl = build_crl([Revoked(encode_serial(leaf.serial_number), NOW - 5)], ISSUER, 7, NOW, DAY)
    assert crl.is_signature_valid(ISSUER.key.public_key())
    line = crl.get_revoked_certificate_by_serial_number(leaf.serial_number)
    assert line is not None and line.revocation_date_utc.timestamp() == NOW - 5
    assert crl.get_revoked_certificate_by_serial_number(leaf_of().serial_number) is None
    assert crl.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number == 7
    assert crl.next_update_utc is not None and crl.next_update_utc.timestamp() == NOW + DAY


@pytest.mark.parametrize("name", ["a", "a" * 64, "build-7.x_y", "0", "...", ".a", "--"])
def test_names_that_keep_to_the_rule(name: str) -> None:
    assert is_agent_name(name)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a" * 65, "A", "a b", "a\n", "a/b", "á", "\u0430", "a\u200b", "a%2f", "a\0"]
)
def test_names_that_do_not(name: str) -> None:
    assert not is_agent_name(name)
