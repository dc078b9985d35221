"""What `[[audit.anchors]]` may say. Each mistake is named."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from mastio.exchange.errors import ConfigurationError
from mastio.outbound.upstream import Pools
from mastio_audit.anchors import Anchors
from mastio_audit.plugin import AuditSettings
from mastio_primitives.transparency.notes import COSIGNATURE, Signer, Verifier
from support.weak_keys import WEAK

FILE = {"name": "a", "kind": "file", "path": "/mnt/anchor"}

VKEY = str(Verifier("witness.example/w1", Signer("w1", bytes(32)).verifier.key, COSIGNATURE))
OTHER = str(Verifier("witness.example/w2", bytes([1]) * 32, COSIGNATURE))
WITNESS = {"name": "w", "kind": "witness", "url": "https://witness.example/prefix", "vkey": VKEY}

STAMPS = {"name": "t", "kind": "rfc3161", "url": "https://tsa.example/tsr", "tsa_ca_file": "/etc/tsa.pem"}


def read(*anchors: dict[str, Any], **more: Any) -> AuditSettings:
    return AuditSettings.model_validate({"anchors": list(anchors), **more})


def test_what_is_right_is_taken() -> None:
    one, other = read(FILE, FILE | {"name": "b", "path": "/mnt/b", "every": 1}).anchors
    assert (one.name, one.every, other.every) == ("a", 60, 1)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([FILE | {"path": "anchor"}], "the whole path"),
        ([FILE | {"path": "/"}], "the whole path"),
        ([FILE | {"name": "A b"}], "anchors.0"),
        ([FILE | {"mode": 1}], "mode"),
        ([FILE | {"every": 0}], "every"),
        ([FILE | {"kind": "carrier-pigeon"}], "anchors.0"),
        ([FILE, FILE | {"path": "/mnt/b"}], "a name of its own"),
        ([FILE, FILE | {"name": "b"}], "a file of its own"),
        ([FILE | {"name": "witnesses"}], "a name of its own"),
        ([WITNESS], "witness_quorum must say"),
        ([WITNESS | {"vkey": str(Verifier("log.example", bytes(32)))}], "of type 04"),
        ([WITNESS | {"vkey": VKEY.replace(VKEY.split("+")[1], "00000000")}], "key ID"),
        ([WITNESS | {"vkey": "words"}], "vkey"),
        ([WITNESS | {"vkey": str(Verifier("w", WEAK["order8"], b"\x04"))}], "small order"),
        ([WITNESS | {"url": "ftp://witness.example"}], "https://"),
        ([WITNESS | {"url": "https://me:secret@witness.example"}], "must not have a user"),
        ([WITNESS | {"allow_addresses": ["everywhere"]}], "CIDR"),
        ([{name: STAMPS[name] for name in STAMPS if name != "tsa_ca_file"}], "tsa_ca_file"),
        ([STAMPS | {"vkey": VKEY}], "vkey"),
        ([WITNESS, WITNESS | {"name": "v"}], "a key and a key name"),
    ],
)
def test_what_is_wrong_is_named(wrong: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        read(*wrong)


@pytest.mark.parametrize("quorum", [0, -1, 3])
def test_a_quorum_is_one_of_the_witnesses_at_least_and_all_at_most(quorum: int) -> None:
    both = (WITNESS, WITNESS | {"name": "v", "vkey": OTHER})
    for right in (1, 2):
        assert read(*both, witness_quorum=right).witness_quorum == right
    with pytest.raises(ValidationError, match="1 to 2"):
        read(*both, witness_quorum=quorum)
    with pytest.raises(ValidationError, match="no anchor of kind witness"):
        read(FILE, witness_quorum=1)


def make(settings: AuditSettings, data: Path) -> Anchors:
    services: Any = SimpleNamespace(data=data, upstreams=Pools())
    keys: Any = SimpleNamespace(origin="test.example/audit")
    return Anchors(settings.anchors, services, keys)


def test_a_ca_file_is_one(tmp_path: Path) -> None:
    for content in (None, b"", b"words"):
        file = tmp_path / "ca.pem"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(ConfigurationError, match="tsa_ca_file"):
            make(read(STAMPS | {"tsa_ca_file": str(file)}), tmp_path)
        with pytest.raises(ConfigurationError, match="ca_file"):
            make(read(WITNESS | {"ca_file": str(file)}, witness_quorum=1), tmp_path)


async def test_files_are_compared_with_the_log_at_the_start_alone(tmp_path: Path) -> None:
    """A disk of an anchor that fails later stops nothing."""
    anchors, seen = make(read(FILE | {"path": str(tmp_path / "logs" / "anchor")}), tmp_path), list[Any]()

    class Place:
        async def verify(self, reader: Any) -> None:
            seen.append(reader)
            if len(seen) == 1:
                raise ConfigurationError("The anchor has another log.")

    anchors._files = [(one, Place()) for one, _ in anchors._files]  # type: ignore[misc]
    reader: Any = object()
    with pytest.raises(ConfigurationError):
        await anchors.verify(reader)
    for _ in range(3):
        await anchors.verify(reader)
    assert seen == [reader, reader], "again until it was good once"


def test_no_anchor_is_in_what_it_is_to_guard(tmp_path: Path) -> None:
    for inside in ("log/anchor", "anchor", "db/../secrets/anchor"):
        with pytest.raises(ConfigurationError, match="into the data folder"):
            make(read(FILE | {"path": str(tmp_path / inside)}), tmp_path)
    for outside in (tmp_path / "logs" / "anchor", tmp_path.parent / "anchor"):
        make(read(FILE | {"path": str(outside)}), tmp_path)
