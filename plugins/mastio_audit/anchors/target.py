"""The interface of a place outside the log that keeps checkpoints."""

from __future__ import annotations

from typing import Protocol

from mastio_audit.log.chain import Head


class AnchorError(Exception):
    """The place is not known to have the checkpoint. The message is one phrase without address, path or secret."""


class AnchorTarget(Protocol):
    """A place that keeps checkpoints. Calls do not overlap; each may be cancelled at any await."""

    async def lead(self) -> bool:
        """True if this process hands checkpoints over; False if another process that shares the log does. Raises
        `StoreError`."""

    async def size(self) -> int:
        """The size of the newest checkpoint that the place is known to have; 0: none. Raises `AnchorError`,
        `StoreError`."""

    async def keep(self, head: Head) -> None:
        """Hand over the checkpoint of this head. It is durably at the place when the call returns.

        Raises `AnchorError`, `StoreError`, `ChainError`. Ends by itself in bounded time.
        """

    async def close(self) -> None:
        """Release all resources. Never raises; other calls may follow."""
