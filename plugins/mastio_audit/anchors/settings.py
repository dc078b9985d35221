"""The tables `[[audit.anchors]]`, as an operator writes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from mastio.plugin.hooks import BaseUrl, Networks, PluginSettings
from mastio_primitives.transparency import notes
from mastio_primitives.transparency.notes import Verifier

WITNESSES = "witnesses"
"""The name of all witnesses together, in figures and logs."""


class FileAnchorSettings(PluginSettings):
    """A file that checkpoints are appended to, every `every` seconds while the log grows."""

    name: str = Field(pattern=r"^[a-z0-9-]{1,32}$")
    kind: Literal["file"]
    path: Path
    every: float = Field(default=60, ge=1, le=86_400)

    @field_validator("path")
    @classmethod
    def _is_absolute(cls, value: Path) -> Path:
        if not value.is_absolute() or value.name in ("", ".."):
            raise ValueError("write the whole path of the file, beginning with /")
        return value


class _OutwardSettings(PluginSettings):
    """A service. `ca_file`: what its certificate must lead to (without one, the system's authorities).
    `allow_addresses`: where it may be, beyond public addresses."""

    name: str = Field(pattern=r"^[a-z0-9-]{1,32}$")
    url: BaseUrl
    ca_file: Path | None = None
    allow_addresses: Networks = ()


class WitnessSettings(_OutwardSettings):
    """A C2SP witness: `url` is its submission prefix, `vkey` its Ed25519 cosignature key (type 04)."""

    kind: Literal["witness"]
    vkey: str

    @field_validator("vkey")
    @classmethod
    def _is_vkey(cls, value: str) -> str:
        notes.parse_vkey(value, notes.COSIGNATURE)
        return value

    @property
    def verifier(self) -> Verifier:
        return notes.parse_vkey(self.vkey, notes.COSIGNATURE)


class TimestampSettings(_OutwardSettings):
    """An RFC 3161 authority, asked every `every` seconds while the log grows. `tsa_ca_file`: what the certificates of
    its time stamps must lead to, PEM."""

    kind: Literal["rfc3161"]
    tsa_ca_file: Path
    every: float = Field(default=3600, ge=1, le=7 * 86_400)


AnchorSettings = Annotated[FileAnchorSettings | WitnessSettings | TimestampSettings, Field(discriminator="kind")]


def verify_unique(anchors: tuple[AnchorSettings, ...]) -> tuple[AnchorSettings, ...]:
    """Raises `ValueError` where two anchors would share a name, a file or a key."""
    names = [anchor.name for anchor in anchors]
    if len(set(names)) < len(names) or WITNESSES in names:
        raise ValueError(f"each anchor needs a name of its own, which is not {WITNESSES}")
    paths = [anchor.path for anchor in anchors if isinstance(anchor, FileAnchorSettings)]
    if len(set(paths)) < len(paths):
        raise ValueError("each anchor needs a file of its own")
    witnesses = witnesses_of(anchors)
    if len({one.key for one in witnesses}) < len(witnesses) or len({one.name for one in witnesses}) < len(witnesses):
        raise ValueError("each witness needs a key and a key name of its own")
    return anchors


def verify_quorum(anchors: Sequence[AnchorSettings], quorum: int | None) -> None:
    """Raises `ValueError` for a quorum that the witnesses cannot be, or none where there are witnesses."""
    count = len(witnesses_of(anchors))
    if count == 0 and quorum is not None:
        raise ValueError("witness_quorum is set, but there is no anchor of kind witness")
    if count and (quorum is None or not 1 <= quorum <= count):
        raise ValueError(f"witness_quorum must say how many of the witnesses have to sign, 1 to {count}")


def witnesses_of(anchors: Sequence[AnchorSettings]) -> list[Verifier]:
    """The keys of the witnesses."""
    return [anchor.verifier for anchor in anchors if isinstance(anchor, WitnessSettings)]
