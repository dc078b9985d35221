"""The memory of an anchor, and its assignment to one of the processes that share the log."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from mastio_audit.sinks.cursor import FileCursor


class Memory(Protocol):
    """The memory of an anchor. Calls may overlap. Each but `close` raises `StoreError`; a number is durable when the
    call that stores it returns."""

    async def open(self) -> bool:
        """True if this process serves the anchor. No other process serves it while the memory is open."""

    async def recall(self, key: str) -> int | None:
        """The number under `key`; None: there is none."""

    async def remember(self, key: str, number: int) -> None:
        """Store the number under `key`. Only while `open` gave True."""

    async def publish(self, note: bytes) -> None:
        """Publish the note for the other processes. Only while `open` gave True."""

    async def published(self) -> bytes | None:
        """The newest stamp that another process received; None if there is none."""

    async def close(self) -> None:
        """Give the anchor up. Never raises; `open` may follow."""


class FileMemory:
    """Files with one number each, for a log that one appliance has."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def open(self) -> bool:
        return True

    async def recall(self, key: str) -> int | None:
        return await FileCursor(self._folder / key).read()

    async def remember(self, key: str, number: int) -> None:
        await FileCursor(self._folder / key).move(number)

    async def publish(self, note: bytes) -> None:
        """There are no others."""

    async def published(self) -> bytes | None:
        return None

    async def close(self) -> None:
        """Nothing is held."""
