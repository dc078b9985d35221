"""The interface of a receiver of entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mastio_audit.log.chain import Row


class SinkError(Exception):
    """The rows are not known to have arrived. The message is one phrase without address, path or secret."""


class Sink(Protocol):
    """A receiver of entries. Calls do not overlap; `deliver` may be cancelled at any await."""

    async def deliver(self, rows: Sequence[Row]) -> None:
        """Hand over all of `rows`, in order. They have arrived when the call returns. Raises `SinkError`, after which
        the same rows come again. Ends by itself in bounded time."""

    async def close(self) -> None:
        """Release all resources. Never raises; `deliver` may follow."""
