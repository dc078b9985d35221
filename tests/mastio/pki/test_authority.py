from __future__ import annotations

import hashlib
import ssl
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from mastio.exchange.errors import ConfigurationError
from mastio.pki.authority import Authority
from mastio.pki.certificates import Revoked, verify_chain
from mastio.pki.revocation import FRESH_SECONDS, RevocationList
from mastio_primitives.files import create_private, write_private
from support.authorities import DAY, NOW, TD, p256

FILES = {"root.crt", "root.key", "intermediate.crt", "intermediate.key", "ca.crt", "clients.pem"}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_made_once_with_modes_that_keep_it_to_itself(tmp_path: Path) -> None:
    first = Authority.ensure(tmp_path, TD, NOW)
    folder = tmp_path / "ca"
    assert {f.name for f in folder.iterdir()} == FILES
    assert mode(folder) == 0o700
    assert mode(folder / "root.key") == mode(folder / "intermediate.key") == 0o600
    before = {f.name: f.read_bytes() for f in folder.iterdir()}
    again = Authority.ensure(tmp_path, TD, NOW + DAY)
    assert {f.name: f.read_bytes() for f in folder.iterdir()} == before
    assert again.trust() == first.trust()
    assert [f.name for f in tmp_path.iterdir()] == ["ca"]


def test_an_empty_folder_that_was_prepared_is_filled(tmp_path: Path) -> None:
    (tmp_path / "ca").mkdir(mode=0o755)
    Authority.ensure(tmp_path, TD, NOW)
    assert mode(tmp_path / "ca") == 0o700


def test_of_many_at_once_one_makes_it(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: Authority.ensure(tmp_path, TD, NOW).root_sha256, range(8)))
    assert len(set(made)) == 1
    assert [f.name for f in tmp_path.iterdir()] == ["ca"]


def test_the_anchor_is_the_root(tmp_path: Path) -> None:
    authority = Authority.ensure(tmp_path, TD, NOW)
    assert authority.root_pem == (tmp_path / "ca" / "ca.crt").read_bytes()
    root = x509.load_pem_x509_certificate(authority.root_pem)
    assert authority.root_sha256 == hashlib.sha256(root.public_bytes(Encoding.DER)).hexdigest()
    both = x509.load_pem_x509_certificates((tmp_path / "ca" / "clients.pem").read_bytes())
    assert [c.public_bytes(Encoding.DER) for c in both] == [*authority.trust().roots, *authority.trust().intermediates]


def test_a_leaf_it_issues_is_an_agents(tmp_path: Path) -> None:
    authority = Authority.ensure(tmp_path, TD, NOW)
    leaf = Authority.load(tmp_path, TD, NOW).issue_leaf(p256().public_key(), "alice", NOW, DAY)
    der = x509.load_pem_x509_certificate(leaf.certificate.encode()).public_bytes(Encoding.DER)
    facts = verify_chain(der, authority.trust(), NOW, TD)
    assert (facts.name, facts.serial, facts.thumbprint, facts.not_after) == (
        leaf.name, leaf.serial, leaf.thumbprint, leaf.not_after,
    )  # fmt: skip
    assert leaf.chain.encode() == (tmp_path / "ca" / "intermediate.crt").read_bytes()


@pytest.mark.parametrize("damage", ["missing", "garbled", "other key", "other root"])
def test_damage_stops_the_start(tmp_path: Path, damage: str) -> None:
    Authority.ensure(tmp_path, TD, NOW)
    Authority.ensure(tmp_path / "other", TD, NOW)
    folder, other = tmp_path / "ca", tmp_path / "other" / "ca"
    match damage:
        case "missing":
            (folder / "intermediate.key").unlink()
        case "garbled":
            (folder / "root.crt").write_text("no")
        case "other key":
            (folder / "intermediate.key").write_bytes((other / "intermediate.key").read_bytes())
        case "other root":
            (folder / "root.crt").write_bytes((other / "root.crt").read_bytes())
    with pytest.raises(ConfigurationError):
        Authority.ensure(tmp_path, TD, NOW)


def test_a_folder_with_half_an_authority_is_not_filled_up(tmp_path: Path) -> None:
    (tmp_path / "ca").mkdir()
    (tmp_path / "ca" / "root.key").write_text("precious")
    with pytest.raises(ConfigurationError):
        Authority.ensure(tmp_path, TD, NOW)
    assert (tmp_path / "ca" / "root.key").read_text() == "precious"


def test_the_edges_certificate_is_issued_and_renewed(tmp_path: Path) -> None:
    authority = Authority.ensure(tmp_path, TD, NOW)
    names = ["gw.example", "127.0.0.1"]
    assert authority.needs_renewal(NOW, names)
    authority.issue_server(names, NOW)
    edge = tmp_path / "edge"
    assert mode(edge / "server.key") == 0o600
    assert not authority.needs_renewal(NOW, names)
    assert not authority.needs_renewal(NOW + 19 * DAY, names)
    assert authority.needs_renewal(NOW + 21 * DAY, names)
    assert authority.needs_renewal(NOW, [*names, "other.example"])
    chain = x509.load_pem_x509_certificates((edge / "server.crt").read_bytes())
    assert len(chain) == 2
    chain[0].verify_directly_issued_by(chain[1])


def test_a_pair_that_a_crash_tore_is_renewed(tmp_path: Path) -> None:
    authority = Authority.ensure(tmp_path, TD, NOW)
    authority.issue_server(["localhost"], NOW)
    old = (tmp_path / "edge" / "server.crt").read_bytes()
    authority.issue_server(["localhost"], NOW)
    (tmp_path / "edge" / "server.crt").write_bytes(old)
    assert authority.needs_renewal(NOW, ["localhost"])
    authority.issue_server(["localhost"], NOW)
    assert not authority.needs_renewal(NOW, ["localhost"])


def test_a_certificate_of_another_authority_is_renewed(tmp_path: Path) -> None:
    Authority.ensure(tmp_path / "other", TD, NOW).issue_server(["localhost"], NOW)
    authority = Authority.ensure(tmp_path, TD, NOW)
    (tmp_path / "edge").mkdir()
    for name in ("server.crt", "server.key"):
        (tmp_path / "edge" / name).write_bytes((tmp_path / "other" / "edge" / name).read_bytes())
    assert authority.needs_renewal(NOW, ["localhost"])


def test_tls_accepts_the_files(tmp_path: Path) -> None:
    Authority.ensure(tmp_path, TD, NOW).issue_server(["localhost"], NOW)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "edge" / "server.crt", tmp_path / "edge" / "server.key")
    context.load_verify_locations(tmp_path / "ca" / "clients.pem")


async def test_the_list_is_made_anew_when_something_was_revoked_or_it_aged(tmp_path: Path) -> None:
    authority = Authority.ensure(tmp_path, TD, NOW)

    class State:
        version = 1
        time = NOW
        asked = 0

        def now(self) -> float:
            return self.time

        async def revoked(self, now: float) -> list[Revoked]:
            self.asked += 1
            return [Revoked("0a" * 16, NOW)] if self.version > 1 else []

    state = State()
    published = RevocationList(authority, state.revoked, state, state.now)
    first = x509.load_pem_x509_crl(await published.pem())
    assert list(first) == []
    await published.pem()
    assert state.asked == 1
    state.version = 2
    second = x509.load_pem_x509_crl(await published.pem())
    assert [line.serial_number for line in second] == [int("0a" * 16, 16)]
    state.time += FRESH_SECONDS + 1
    third = x509.load_pem_x509_crl(await published.pem())
    assert state.asked == 3

    def number(crl: x509.CertificateRevocationList) -> int:
        return crl.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number

    assert number(third) > number(second)


def test_files_appear_whole(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_private(path, b"one")
    write_private(path, b"two")
    assert path.read_bytes() == b"two" and mode(path) == 0o600
    assert create_private(tmp_path / "g", b"first")
    assert not create_private(tmp_path / "g", b"second")
    assert (tmp_path / "g").read_bytes() == b"first"
    assert sorted(f.name for f in tmp_path.iterdir()) == ["f", "g"]


def test_the_root_key_is_readable_as_a_key(tmp_path: Path) -> None:
    Authority.ensure(tmp_path, TD, NOW)
    key = load_pem_private_key((tmp_path / "ca" / "root.key").read_bytes(), None)
    root = x509.load_pem_x509_certificate((tmp_path / "ca" / "root.crt").read_bytes())
    assert key.public_key() == root.public_key()
