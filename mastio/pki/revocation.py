"""The revocation list as it is published: made anew when something was revoked, a generation of the authority
began or ended, or the last one has aged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from mastio.identity.trust import Trust
from mastio.pki.authority import Authority
from mastio.pki.certificates import Revoked

FRESH_SECONDS = 300.0
"""Seconds that a list is served again while nothing changed."""


class Versioned(Protocol):
    """Something that says when anything changed: the directory."""

    @property
    def version(self) -> int: ...


class RevocationList:
    """`pem()` is cheap enough for an open route: the database is read only after a change or `FRESH_SECONDS`."""

    def __init__(
        self,
        authority: Authority,
        revoked: Callable[[float], Awaitable[Sequence[Revoked]]],
        directory: Versioned,
        now: Callable[[], float],
    ) -> None:
        self._authority = authority
        self._revoked = revoked
        self._directory = directory
        self._now = now
        self._pem = b""
        self._version: tuple[int, Trust] | None = None
        self._made_at = 0.0

    async def pem(self) -> bytes:
        """The current list, PEM. Raises `Unavailable` when it must be made and the database does not answer."""
        now, version = self._now(), (self._directory.version, self._authority.trust())
        if self._version != version or not 0 <= now - self._made_at < FRESH_SECONDS:
            lines = await self._revoked(now)
            self._pem = self._authority.crl(lines, int(now * 1000), now)
            self._version, self._made_at = version, now
        return self._pem
