"""What the keeper needs of a place outside the log that checkpoints go to."""

from __future__ import annotations

from typing import Protocol

from mastio_audit.log.chain import Head


class AnchorError(Exception):
    """The place is not known to have the checkpoint. The message is one phrase without address, path or secret."""


class AnchorTarget(Protocol):
    """Somewhere that checkpoints are kept. Calls do not overlap; each may be cancelled at any await."""

    async def lead(self) -> bool:
        """True: this process hands over. False: another one does, of those that share the log. Raises `StoreError`."""

    async def size(self) -> int:
        """Of the newest checkpoint that the place is known to have; 0: none. Raises `AnchorError`, `StoreError`."""

    async def keep(self, head: Head) -> None:
        """Hand over the checkpoint of this head. It is there, durably, when it returns.

        Raises `AnchorError`, `StoreError`, `ChainError`. Ends by itself in bounded time.
        """

    async def close(self) -> None:
        """Let go of what is open. Never raises; the others may follow."""
