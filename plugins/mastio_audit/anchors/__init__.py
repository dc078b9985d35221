"""Where checkpoints are kept outside the appliance, so that who holds the appliance cannot rewrite its history.

| file | decides |
|---|---|
| `settings.py` | what `[[audit.anchors]]` may say |
| `keeper.py` | when a place gets the newest checkpoint, and when again after a failure |
| `place.py` | what a place must do, and what its errors mean |
| `file.py` | an append-only file: against who puts an older copy of the data folder back |

This module connects them. Every worker compares the log with the files when it starts, the first one hands over.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from mastio.services import Services
from mastio_audit.anchors.figures import Figures
from mastio_audit.anchors.file import FileAnchor
from mastio_audit.anchors.keeper import Keeper
from mastio_audit.anchors.settings import AnchorSettings
from mastio_audit.keys import LogKeys
from mastio_audit.outside import refuse_own
from mastio_audit.published import sign_head
from mastio_audit.store import LogReader


class Anchors:
    """The anchors of the settings. Raises `ConfigurationError`."""

    def __init__(self, settings: Sequence[AnchorSettings], services: Services, keys: LogKeys) -> None:
        self._services = services
        self._verified = False
        self._files: list[tuple[AnchorSettings, FileAnchor]] = []
        for one in settings:
            refuse_own(f"The audit anchor {one.name}", one.path, services.data)
            place = FileAnchor(one.name, one.path, keys.origin, lambda head: sign_head(head, keys, services.now()))
            self._files.append((one, place))

    async def verify(self, reader: LogReader) -> None:
        """That the log begins with what the files hold. Only at the start: a file that fails later holds nobody up.

        Raises `ConfigurationError`, `StoreError`.
        """
        if not self._verified:
            for _, place in self._files:
                await place.verify(reader)
            self._verified = True

    @asynccontextmanager
    async def keep(self, open_reader: Callable[[], LogReader]) -> AsyncIterator[None]:
        """Hand checkpoints over while this is open; each place gets a reader of its own."""
        if self._services.worker.slot != 0:
            yield
            return
        figures, now = Figures(), self._services.now
        keepers = [Keeper(one.name, place, open_reader(), figures, now, one.every) for one, place in self._files]
        for keeper in keepers:
            keeper.start()
        try:
            yield
        finally:
            for keeper in keepers:
                await keeper.stop()
