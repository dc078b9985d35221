"""The keys for access tokens as this worker knows them: derived from the shared ones, kept up with the directory.

Pure: the directory is handed in.
"""

from __future__ import annotations

from collections.abc import Callable

from mastio.exchange.records import Directory
from mastio.identity.rotation import in_force
from mastio_token.access import Issuer, TokenKey

PURPOSE = "token"


class TokenKeyRing:
    """`issuer` is the present state; `changed` is called after it was replaced."""

    def __init__(self, url: str, directory: Directory, changed: Callable[[], None]) -> None:
        self._url = url
        self._directory = directory
        self._changed = changed
        self._known: tuple[object, ...] = ()
        self.issuer = Issuer(url, ())
        self.reload()

    def reload(self) -> None:
        """Take the directory's keys, unless they are the ones that are known."""
        rows = tuple(key for key in self._directory.signing_keys if key.purpose == PURPOSE)
        if rows != self._known:
            self._known = rows
            self.issuer = Issuer(self._url, tuple(map(TokenKey.derive, rows)))
            self._changed()

    def jwks(self, now: float) -> list[dict[str, str]]:
        """The public keys that a token in force may be signed with, the newest first (RFC 7517)."""
        return [key.jwk() for key in reversed(in_force(self.issuer.keys, now))]
