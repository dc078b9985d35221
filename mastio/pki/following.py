"""Keeps the authority of one process up to date with what a rotation wrote, whichever process did it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from mastio.exchange.errors import ConfigurationError
from mastio.pki.public import PublicAuthority

log = logging.getLogger("mastio.pki")

INTERVAL = 0.25
"""Seconds between two looks at the ring: a `stat` each."""


class FollowedAuthority:
    """Looks several times a second. What cannot be read leaves the last good state in force and is said by `ready`.

    `publish`: writes what is derived from a new state; it is called in a thread.
    """

    def __init__(
        self, authority: PublicAuthority, now: Callable[[], float], publish: Callable[[], None] | None = None
    ) -> None:
        self._authority = authority
        self._now = now
        self._publish = publish
        self._task: asyncio.Task[None] | None = None
        self._problem: str | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._follow())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def ready(self) -> str | None:
        """For `/readyz`."""
        if self._problem is not None:
            return self._problem
        return None if self._now() < self._authority.not_after else "ca: the issuing certificate has expired"

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            try:
                if self._authority.refresh(self._now()) and self._publish is not None:
                    await asyncio.to_thread(self._publish)
                self._problem = None
            except (ConfigurationError, OSError) as error:
                if self._problem is None:
                    log.error("the certificate authority is served from memory", exc_info=error)
                self._problem = "ca: its files cannot be read or written"
