"""Keeps a part of the log's room for administration: what agents and strangers do is refused before it is used up.

Room is what the disk of the database has free, with what the database itself can use again; and what is left of
`most_megabytes`, where that is set. PostgreSQL does not say what its disk has, so there only the setting counts.

    free < 2 × reserve   the alarm: a line in the log, a metric
    free < reserve       intents and refusals of agents and strangers: 503; admins, outcomes and our own events go on
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Gauge

from mastio.exchange.errors import ConfigurationError
from mastio.exchange.values import Entry
from mastio_audit.log.store import LogReader, Space, StoreError

FREE, KEPT = "mastio_audit_free_bytes", "mastio_audit_reserve_bytes"
EVERY = 1.0  # seconds
MEGABYTE = 1024 * 1024
PART_OF_DISK = 20
"""The reserve is never more than this part of a disk, so that a small one can be used at all."""

HINT = "Give it more room, or move old entries out with `mastio audit archive` (operate/log-size.md)."
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes that are left (None: not known), and of these the reserve."""

    free: int | None
    reserve: int

    @property
    def is_low(self) -> bool:
        """True if only administration continues."""
        return self.free is not None and self.free < self.reserve

    @property
    def is_alarming(self) -> bool:
        """True if an operator should make room."""
        return self.free is not None and self.free < 2 * self.reserve


def judge(space: Space, reserve: int, most: int) -> Room:
    """The room that is left. `most`: bytes that the log may have; 0: no limit."""
    if space.disk is not None:
        reserve = min(reserve, space.disk // PART_OF_DISK)
    left = max(most - space.used, 0) if most else None
    known = [one for one in (space.free, left) if one is not None]
    return Room(min(known, default=None), reserve)


def is_from_outside(entry: Entry) -> bool:
    """True if an agent or an unknown caller caused the entry and nothing has been done yet. An outcome is never
    refused."""
    if entry.phase == "outcome":
        return False
    if entry.agent is not None:
        return True
    is_refusal = entry.outcome is not None and entry.outcome.get("status") == "refused"
    return entry.credential is None and (entry.phase == "intent" or is_refusal)


class Reserve:
    """Watches the room of one log. `reader` is its own."""

    def __init__(self, reader: LogReader, reserve: int, most: int) -> None:
        self._reader = reader
        self._reserve = reserve
        self._most = most
        self._room = Room(None, reserve)
        registry = CollectorRegistry()
        self._free = Gauge(
            FREE, "Room that the audit log has left, as far as that is known.",
            registry=registry, multiprocess_mode="mostrecent",
        )  # fmt: skip
        self._kept = Gauge(
            KEPT, "The part of it that is kept for administration.",
            registry=registry, multiprocess_mode="mostrecent",
        )  # fmt: skip

    @property
    def problem(self) -> str | None:
        """For `/readyz`: why agents are refused; None: they are not."""
        if not self._room.is_low:
            return None
        return f"the audit log has {(self._room.free or 0) // MEGABYTE} MB left, which are kept for administration"

    def refuses(self, entry: Entry) -> bool:
        """True if the room that is left must not be used for this entry."""
        return self._room.is_low and is_from_outside(entry)

    async def run(self) -> None:
        """Look once a second, until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        """Measure now. What cannot be measured changes nothing: the log itself says whether it can be written."""
        try:
            space = await self._measure()
        except (StoreError, ConfigurationError, OSError):
            return
        room, before = judge(space, self._reserve, self._most), self._room
        self._room = room
        self._kept.set(room.reserve)
        if room.free is not None:
            self._free.set(room.free)
        if room.is_alarming and not before.is_alarming:
            _log.error("the audit log has %d MB left. %s", (room.free or 0) // MEGABYTE, HINT)
        if room.is_low != before.is_low:
            _log.error("agents are %s: room of the audit log", "refused" if room.is_low else "served again")

    async def _measure(self) -> Space:
        try:
            return await self._reader.space()
        except StoreError:
            await self._reader.close()
            await self._reader.open()
            return await self._reader.space()

    async def close(self) -> None:
        await self._reader.close()


def make(open_reader: Callable[[], LogReader], megabytes: int, most_megabytes: int) -> Reserve:
    """`megabytes` of the settings; 0 `most_megabytes`: no limit but the disk's."""
    return Reserve(open_reader(), megabytes * MEGABYTE, most_megabytes * MEGABYTE)
