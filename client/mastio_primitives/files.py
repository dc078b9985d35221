"""Files that appear whole or not at all, and stay after a power loss: certificates and keys. For plugins."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_private(path: Path, content: bytes) -> None:
    """Write `path` with mode 0600, replacing what was there in one step."""
    _write(path, content, 0o600)


def write_public(path: Path, content: bytes) -> None:
    """Write `path` with mode 0644, replacing what was there in one step."""
    _write(path, content, 0o644)


def create_private(path: Path, content: bytes) -> bool:
    """Write `path` with mode 0600 unless it exists. Returns whether this call made it; of several, one does."""
    draft = _draft(path, content, 0o600)
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    sync_folder(path.parent)
    return True


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(path: Path, content: bytes, mode: int) -> None:
    draft = _draft(path, content, mode)
    draft.replace(path)
    sync_folder(path.parent)


def _draft(path: Path, content: bytes, mode: int) -> Path:
    """A synced temporary file beside `path`. Nothing is left behind when it cannot be written."""
    draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return draft
