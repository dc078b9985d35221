from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mastio.exchange.errors import ConfigurationError
from mastio.store.secrets.file_keys import PURPOSES, FileKeys
from mastio.store.secrets.sealed import Sealer, SealError


def test_keys_are_made_once_and_kept(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: FileKeys(tmp_path).ensure(), range(8)))
    files = sorted((tmp_path / "secrets").iterdir())
    assert [f.name for f in files] == [f"{purpose}.key" for purpose in sorted(PURPOSES)]
    assert {f.stat().st_mode & 0o777 for f in files} == {0o600}
    keys = [FileKeys(tmp_path).key(purpose) for purpose in PURPOSES]
    assert {len(key) for key in keys} == {32} and len(set(keys)) == len(PURPOSES)
    FileKeys(tmp_path).ensure()
    assert [FileKeys(tmp_path).key(purpose) for purpose in PURPOSES] == keys


def test_a_lost_or_damaged_key_is_said_and_not_made_anew(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        FileKeys(tmp_path).key("edge")
    assert not (tmp_path / "secrets").exists()
    FileKeys(tmp_path).ensure()
    for content in ("", "zz", "00" * 31, "00" * 33):
        (tmp_path / "secrets" / "edge.key").write_text(content)
        with pytest.raises(ConfigurationError):
            FileKeys(tmp_path).key("edge")


def test_only_known_purposes_have_keys(tmp_path: Path) -> None:
    FileKeys(tmp_path).ensure()
    with pytest.raises(ConfigurationError, match="purpose"):
        FileKeys(tmp_path).key("../admin-token")


def test_sealed_secrets_open_in_their_place_only(tmp_path: Path) -> None:
    FileKeys(tmp_path).ensure()
    sealer = Sealer(FileKeys(tmp_path))
    sealed = sealer.seal("sk-1", "providers/a")
    assert sealer.unseal(sealed, "providers/a") == "sk-1"
    assert sealer.seal("sk-1", "providers/a") != sealed
    flipped = sealed[:-3] + ("A" if sealed[-3] != "A" else "B") + sealed[-2:]
    for value, place in ((sealed, "providers/b"), (flipped, "providers/a"), ("v2." + sealed[3:], "providers/a"),
                         ("", "providers/a"), ("v1.", "providers/a"), ("v1.!!", "providers/a")):  # fmt: skip
        with pytest.raises(SealError):
            sealer.unseal(value, place)
    FileKeys(tmp_path / "other").ensure()
    with pytest.raises(SealError):
        Sealer(FileKeys(tmp_path / "other")).unseal(sealed, "providers/a")
