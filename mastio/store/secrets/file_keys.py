"""The appliance's secret keys: one file for each purpose in `secrets/`, 32 random bytes in hex, mode 0600."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from mastio.exchange.errors import ConfigurationError
from mastio_primitives.files import create_private

PURPOSES = (
    "admin-tokens",
    "api-keys",
    "audit-digest",
    "cache",
    "edge",
    "enrollment-tokens",
    "redaction",
    "store-secrets",
)
"""Every purpose there is. A key is made for each at the first start, and never silently again when one is asked for."""


class FileKeys:
    """Implements `services.Keys`. Keys are read once and then kept in memory.

    `elsewhere` says by purpose where a key comes from that has no file here; it raises `ConfigurationError`.
    """

    def __init__(
        self,
        data: Path,
        purposes: tuple[str, ...] = PURPOSES,
        elsewhere: Mapping[str, Callable[[], bytes]] | None = None,
    ) -> None:
        self._folder = data / "secrets"
        self._purposes = frozenset(purposes)
        self._elsewhere = elsewhere or {}
        self._read: dict[str, bytes] = {}

    def ensure(self) -> None:
        """Make the keys that do not exist yet: called by the supervisor at start, safe to call by several at once.

        Raises `ConfigurationError` when they cannot be written.
        """
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for purpose in sorted(self._purposes - self._elsewhere.keys()):
                if not self._path(purpose).exists():
                    create_private(self._path(purpose), secrets.token_hex(32).encode("ascii"))
        except OSError as error:
            raise ConfigurationError("The secret keys cannot be written.", f"Make {self._folder} writable.") from error

    def key(self, purpose: str) -> bytes:
        """32 random bytes. Raises `ConfigurationError` when the file is missing or not such a key."""
        key = self._read.get(purpose)
        if key is None:
            elsewhere = self._elsewhere.get(purpose)
            key = self._read[purpose] = self._load(purpose) if elsewhere is None else elsewhere()
        return key

    def _load(self, purpose: str) -> bytes:
        if purpose not in self._purposes:
            raise ConfigurationError(f"There is no key for the purpose {purpose}.", "Use one of the known purposes.")
        try:
            key = bytes.fromhex(self._path(purpose).read_text("ascii").strip())
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"The secret key {purpose} cannot be read.", f"Restore {self._path(purpose)} from a backup."
            ) from error
        if len(key) != 32:
            raise ConfigurationError(
                f"The secret key {purpose} is not 32 bytes.", f"Restore {self._path(purpose)} from a backup."
            )
        return key

    def _path(self, purpose: str) -> Path:
        return self._folder / f"{purpose}.key"
