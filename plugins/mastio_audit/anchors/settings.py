"""The tables `[[audit.anchors]]`, as an operator writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from mastio.hooks import PluginSettings


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


AnchorSettings = FileAnchorSettings


def verify_unique(anchors: tuple[AnchorSettings, ...]) -> tuple[AnchorSettings, ...]:
    """Raises `ValueError` where two anchors would share a name or a file."""
    names = [anchor.name for anchor in anchors]
    if len(set(names)) < len(names):
        raise ValueError("each anchor needs a name of its own")
    paths = [anchor.path for anchor in anchors if isinstance(anchor, FileAnchorSettings)]
    if len(set(paths)) < len(paths):
        raise ValueError("each anchor needs a file of its own")
    return anchors
