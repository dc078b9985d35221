"""What `[[audit.anchors]]` may say. Each mistake is named."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from mastio.errors import ConfigurationError
from mastio_audit import AuditSettings
from mastio_audit.anchors import Anchors

FILE = {"name": "a", "kind": "file", "path": "/mnt/anchor"}


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
    ],
)
def test_what_is_wrong_is_named(wrong: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        read(*wrong)


def make(settings: AuditSettings, data: Path) -> Anchors:
    services: Any = SimpleNamespace(data=data)
    keys: Any = SimpleNamespace(origin="test.example/audit")
    return Anchors(settings.anchors, services, keys)


def test_no_anchor_is_in_what_it_is_to_guard(tmp_path: Path) -> None:
    for inside in ("log/anchor", "anchor", "db/../secrets/anchor"):
        with pytest.raises(ConfigurationError, match="into the data folder"):
            make(read(FILE | {"path": str(tmp_path / inside)}), tmp_path)
    for outside in (tmp_path / "logs" / "anchor", tmp_path.parent / "anchor"):
        make(read(FILE | {"path": str(outside)}), tmp_path)
