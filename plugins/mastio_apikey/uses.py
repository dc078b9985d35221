"""The times when keys were last used: gathered in memory, stored every half minute and at the end of the worker.

Whether that succeeds never matters to an exchange. What could not be kept stays here and is tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from mastio.plugin.services import NoteUses

log = logging.getLogger("mastio.apikey")

INTERVAL = 30.0


class Uses:
    """The last use of each key in this worker that has not been kept yet: as many as there are keys at most."""

    def __init__(self, keep: NoteUses, interval: float = INTERVAL) -> None:
        self._keep = keep
        self._interval = interval
        self._noted: dict[str, float] = {}

    def note(self, identifier: str, now: float) -> None:
        """The key was presented, and is in force."""
        self._noted[identifier] = now

    async def keep(self, ending: asyncio.Event) -> None:
        """Flush again and again, and once more when `ending` is set."""
        last = False
        while not last:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ending.wait(), self._interval)
            last = ending.is_set()
            flush = asyncio.create_task(self.flush())
            await asyncio.wait({flush})
            if (error := flush.exception()) is not None:
                log.error("the last uses of API keys were not kept, and will be tried again", exc_info=error)

    async def flush(self) -> None:
        """Hand over what was noted. What is noted meanwhile stays for the next time."""
        handed = dict(self._noted)
        if not handed:
            return
        await self._keep(handed)
        for identifier, at in handed.items():
            if self._noted.get(identifier) == at:
                del self._noted[identifier]
