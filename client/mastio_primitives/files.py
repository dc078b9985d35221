"""Files that appear whole or not at all, and stay after a power loss: certificates and keys. For plugins.

On Windows modes have no effect; the folder decides who may read a file.
"""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

if sys.platform == "win32":
    BINARY = os.O_BINARY  # without it, line ends are changed
else:
    BINARY = 0


def write_private(path: Path, content: bytes) -> None:
    """Write `path` with mode 0600, replacing what was there in one step."""
    _write(path, content, 0o600)


def write_public(path: Path, content: bytes) -> None:
    """Write `path` with mode 0644, replacing what was there in one step."""
    _write(path, content, 0o644)


def create_private(path: Path, content: bytes) -> bool:
    """Write `path` with mode 0600 unless it exists. Returns True for the one call that made it."""
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
    """Make the names in `folder` durable. Windows has no call for that."""
    if sys.platform == "win32":
        return
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
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if sys.platform != "win32":
                os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return draft
