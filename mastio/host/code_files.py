"""The digest of the code files on disk. Standard library only, for the supervisor."""

from __future__ import annotations

import hashlib
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def digest_code() -> str:
    """Changes when a file of the core, the client or a plugin beside them is written anew. SHA-256, hex."""
    base = _PACKAGE.parent
    roots = [_PACKAGE, base / "plugins", base / "client", *sorted(base.glob("mastio_*"))]
    found = hashlib.sha256()
    for file in sorted(file for root in roots for file in root.rglob("*.py")):
        status = file.stat()
        found.update(f"{file}\0{status.st_mtime_ns}\0{status.st_size}\n".encode())
    return found.hexdigest()
