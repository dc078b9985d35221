"""Time stamps of a real authority, `openssl ts`: what is right is taken, and each thing that is wrong is not."""

from __future__ import annotations

import itertools
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from mastio_audit.anchors import der
from mastio_audit.anchors.der import DerError
from mastio_audit.anchors.timestamps import TimestampError, verify_chain, verify_reply, write_request
from support.timestamp_authority import OPENSSL, STAMPING, Tsa, issue, make_key

pytestmark = pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")
CONTENT, NONCE = b"test.example/audit\n7\n", 0x7FEDCBA987654321
CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


@pytest.fixture(scope="module")
def tsa(tmp_path_factory: pytest.TempPathFactory) -> Tsa:
    return Tsa(tmp_path_factory.mktemp("tsa") / "files")


@pytest.fixture(scope="module")
def reply(tsa: Tsa) -> bytes:
    return tsa.reply(write_request(CONTENT, NONCE))


@pytest.mark.parametrize("nonce", [1, 127, 128, 255, 256, NONCE])
def test_openssl_reads_the_request_as_it_is_meant(tmp_path: Path, nonce: int) -> None:
    assert OPENSSL is not None
    (tmp_path / "content").write_bytes(CONTENT)
    (tmp_path / "query").write_bytes(write_request(CONTENT, nonce))
    text = subprocess.run(
        [OPENSSL, "ts", "-query", "-in", tmp_path / "query", "-text"], capture_output=True, check=True
    )
    shown = text.stdout.decode()
    assert "Hash Algorithm: sha256" in shown and "Certificate required: yes" in shown
    assert f"Nonce: 0x{nonce.to_bytes((nonce.bit_length() + 7) // 8, 'big').hex().upper()}" in shown


@pytest.mark.parametrize("nonce", [1, 128, NONCE])
@pytest.mark.parametrize(
    "made",
    [
        {"kind": "ec"}, {"kind": "rsa"}, {"kind": "rsa", "digest": "sha512"}, {"kind": "ec", "digest": "sha384"},
        {"ess": "sha1"}, {"ess": "sha512"}, {"middle_usages": []},
    ],
    ids=str,
)  # fmt: skip
def test_what_an_authority_stamps_is_taken(tmp_path: Path, made: dict[str, Any], nonce: int) -> None:
    tsa = Tsa(tmp_path / "tsa", **made)
    now = time.time()
    stamped = tsa.reply(write_request(CONTENT, nonce))
    assert abs(verify_reply(stamped, CONTENT, nonce, tsa.trusted, now) - now) < 5
    (tmp_path / "content").write_bytes(CONTENT)
    (tmp_path / "tsr").write_bytes(stamped)
    assert tsa.verify(tmp_path / "content", tmp_path / "tsr")


def chain(**wrong: Any) -> tuple[x509.Certificate, list[x509.Certificate], list[x509.Certificate]]:
    """Leaf, what lies between, root."""
    root_key, middle_key, key = make_key("ec"), make_key("ec"), make_key("ec")
    root = issue("root", root_key, "root", root_key, ca=True, usages=[])
    middle = issue("middle", middle_key, "root", root_key, **{"ca": True, "usages": []} | wrong.pop("middle", {}))
    leaf = issue("tsa", key, "middle", middle_key, **{"ca": False, "usages": [STAMPING]} | wrong)
    return leaf, [middle], [root]


@pytest.mark.parametrize(
    "wrong",
    [
        {"critical": False}, {"usages": []}, {"usages": [CLIENT]}, {"usages": [STAMPING, CLIENT]}, {"days": (-30, -1)},
        {"days": (1, 30)}, {"middle": {"ca": False}}, {"middle": {"usages": [CLIENT]}}, {"middle": {"days": (-30, -1)}},
    ],
    ids=str,
)  # fmt: skip
def test_a_certificate_that_is_not_for_time_stamps_is_refused(wrong: dict[str, Any]) -> None:
    """Each differs in one thing from a chain that is right."""
    verify_chain(*chain(), time.time())
    verify_chain(*chain(middle={"usages": [STAMPING]}), time.time())
    with pytest.raises(TimestampError, match="does not lead"):
        verify_chain(*chain(**wrong), time.time())


def test_only_a_trusted_authority_counts(tsa: Tsa, reply: bytes, tmp_path: Path) -> None:
    other = Tsa(tmp_path / "other")
    with pytest.raises(TimestampError, match="does not lead"):
        verify_reply(reply, CONTENT, NONCE, other.trusted, time.time())
    verify_reply(reply, CONTENT, NONCE, [*other.trusted, *tsa.trusted], time.time())


def test_a_stamp_is_of_one_content_one_request_and_now(tsa: Tsa, reply: bytes) -> None:
    now = time.time()
    verify_reply(reply, CONTENT, NONCE, tsa.trusted, now)
    for content, nonce, at, said in (
        (CONTENT + b" ", NONCE, now, "something else"),
        (CONTENT, NONCE + 1, now, "not the answer"),
        (CONTENT, -NONCE, now, "not the answer"),
        (CONTENT, NONCE, now + 3600, "another time"),
        (CONTENT, NONCE, now - 3600, "another time"),
    ):
        with pytest.raises(TimestampError, match=said):
            verify_reply(reply, content, nonce, tsa.trusted, at)


def test_a_refusal_is_one(tsa: Tsa) -> None:
    tsa.configure("sha256", "sha256", "sha512")
    try:
        refused = tsa.reply(write_request(CONTENT, NONCE))
    finally:
        tsa.configure("sha256", "sha256", "sha256, sha512")
    with pytest.raises(TimestampError, match="refused it with status 2"):
        verify_reply(refused, CONTENT, NONCE, tsa.trusted, time.time())


@pytest.mark.filterwarnings("ignore:Parsed a serial number")
def test_no_changed_byte_of_a_stamp_goes_through(tsa: Tsa, reply: bytes) -> None:
    """What is not signed may change and mean the same: versions, and names of algorithms that are given twice."""
    taken = set()
    for at, bit in itertools.product(range(len(reply)), (0x01, 0x80)):
        changed = reply[:at] + bytes([reply[at] ^ bit]) + reply[at + 1 :]
        try:
            verify_reply(changed, CONTENT, NONCE, tsa.trusted, time.time())
        except TimestampError:
            continue
        taken.add(at)
    assert len(taken) < 60
    info = reply.index(bytes.fromhex("2a864886f70d0109100104"))
    assert not [at for at in taken if info <= at < info + 100], "nothing of what is stamped"
    assert not [at for at in taken if at > len(reply) - 60], "nothing of the signature"


def test_what_is_cut_off_or_appended_is_refused(tsa: Tsa, reply: bytes) -> None:
    for content in [reply[:at] for at in range(len(reply))] + [
        reply + b"\0",
        reply + reply,
        b"",
        b"<html>",
        bytes(9999),
    ]:
        with pytest.raises(TimestampError):
            verify_reply(content, CONTENT, NONCE, tsa.trusted, time.time())


@pytest.mark.parametrize(
    "content",
    [
        "",
        "30",
        "3001",
        "300200",
        "3080",
        "30800000",
        "308101",
        "30820001",
        "3081",
        "1f0100",
        "308500000000 01",
        "0500 0500",
    ],
)
def test_what_is_no_der_is_refused(content: str) -> None:
    with pytest.raises(DerError):
        der.parse(bytes.fromhex(content)).inside(der.SEQUENCE)


@pytest.mark.parametrize("number", [0, 1, 127, 128, 255, 256, -1, -128, -129, 2**64])
def test_integers_come_back(number: int) -> None:
    assert der.parse(der.write_integer(number)).integer == number


@pytest.mark.parametrize("content", ["0200", "02020001", "0202ffff", "0202007f"])
def test_an_integer_has_one_form(content: str) -> None:
    with pytest.raises(DerError):
        print(der.parse(bytes.fromhex(content)).integer)


@pytest.mark.parametrize("size", [0, 1, 127, 128, 255, 256, 65535, 65536])
def test_lengths_come_back(size: int) -> None:
    element = der.parse(der.write(der.OCTETS, bytes(size)))
    assert element.get(der.OCTETS) == bytes(size)
