"""Tells the audit log of refusals of unknown callers: each within the rate, and the others in one entry a second."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable

from mastio.exchange.errors import MastioError
from mastio.exchange.values import Entry
from mastio.pipeline.refusal_rate import Refusals, describe

EVERY = 1.0  # seconds
log = logging.getLogger("mastio.refusals")


class RefusalLog:
    """`Refusals` with a clock and a log. A counted refusal is answered at once; its entry follows within a second.

    Exchanges that are recorded first and refused then have a rate of their own: challenges for a nonce, of which many
    agents behind one address get many, keep nobody there from enrolling.
    """

    def __init__(
        self, refusals: Refusals, record: Callable[[Entry], Awaitable[int]], monotonic: Callable[[], float]
    ) -> None:
        self._refusals = refusals
        self._begun = refusals.another()
        self._record = record
        self._monotonic = monotonic
        self._telling: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def has_left(self, address: str) -> bool:
        """True if an exchange of this address may be recorded before it is judged."""
        return self._begun.has_left(address, self._monotonic())

    def spend(self, address: str) -> None:
        """An exchange of this address was recorded and refused then."""
        self._begun.spend(address, self._monotonic())

    def takes(self, address: str) -> bool:
        """True if this refusal gets an audit entry of its own; otherwise it is counted."""
        if self._refusals.takes(address, self._monotonic()):
            return True
        if self._telling is None:
            self._telling = asyncio.create_task(self._tell(), name="refusals")
        return False

    async def close(self) -> None:
        """Record what is counted. An entry that is being recorded is waited for."""
        self._closing.set()
        if self._telling is not None:
            await asyncio.wait((self._telling,))
        await self._tell_counted()

    async def _tell(self) -> None:
        try:
            while self._refusals.pending and not self._closing.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), EVERY)
                await self._tell_counted()
        finally:
            self._telling = None

    async def _tell_counted(self) -> None:
        counted = self._refusals.take_counted()
        if not counted:
            return
        recorded = False
        try:
            await self._record(describe(counted, secrets.token_hex(16)))
            recorded = True
        except MastioError as error:
            log.error("%d refusals are not recorded yet: %s", counted.total(), error.message)
        finally:
            if not recorded:
                self._refusals.put_back(counted)
