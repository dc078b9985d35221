"""The digest of the code files on disk. Standard library only, for the supervisor."""

from __future__ import annotations

import hashlib
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def digest_code() -> str:
    """Changes when a file of the core or of a plugin that is installed beside it is written anew. SHA-256, hex."""
    roots = [_PACKAGE, _PACKAGE.parent / "plugins", *sorted(_PACKAGE.parent.glob("mastio_*"))]
    found = hashlib.sha256()
    for file in sorted(file for root in roots for file in root.rglob("*.py")):
        status = file.stat()
        found.update(f"{file}\0{status.st_mtime_ns}\0{status.st_size}\n".encode())
    return found.hexdigest()
