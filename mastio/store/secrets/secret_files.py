"""Files that the operator laid down and that secrets of providers and connections are read from."""

from __future__ import annotations

from pathlib import Path

from mastio.store.secrets.file_keys import PURPOSES

MAX_SECRET = 16 * 1024
"""Bytes."""

OWN_FILES = frozenset({"admin-token", *(f"{purpose}.key" for purpose in PURPOSES)})
"""The appliance's own secrets: never a provider's or a connection's, wherever they lie."""


class SecretFileError(ValueError):
    """A secret file may not be, or cannot be, read. The text names neither path nor content."""


Written = tuple[int, int, int] | None
"""The identity of the file at a path and its time of writing; None: it cannot be found."""


def look_at_file(path: str) -> Written:
    """Another value when the file was written again, or another one was put in its place."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def read_secret_file(path: str, folders: tuple[Path, ...]) -> str:
    """The secret in the file, without surrounding white space. Raises `SecretFileError`."""
    try:
        real = Path(path).resolve(strict=True)
        if real.name in OWN_FILES or not any(real.is_relative_to(folder.resolve()) for folder in folders):
            raise SecretFileError("The file is not one that a secret may be read from.")
        with real.open("rb") as file:
            secret = file.read(MAX_SECRET + 1).decode().strip()
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, SecretFileError):
            raise
        raise SecretFileError("The file cannot be read.") from error
    if not secret or len(secret) > MAX_SECRET:
        raise SecretFileError("The file is empty or too long.")
    return secret
