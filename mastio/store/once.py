"""Values that may be used once, on any number of workers and replicas: the first writer has used the value.

A mark has to stay at least as long as what it marks is accepted. The wall clock decides on that, and it may step. So a
sweep takes the lowest and highest reading of the wall clock during the last `LONGEST` seconds of the monotonic clock. A
mark from that time expires after the lowest reading, and less than `LONGEST` after the highest: it is never removed.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable

from sqlalchemy import Connection, bindparam, delete, insert, or_
from sqlalchemy.exc import IntegrityError

from mastio.store.sql.engine import Database
from mastio.store.sql.tables import used

LONGEST = 600.0
"""Seconds that anything may be in force whose use is marked here; also the seconds between two sweeps of a worker."""

SPARE = 300.0
"""Seconds that marks are kept longer, for replicas whose clocks differ."""

_ADD = insert(used)
_SWEEP = delete(used).where(or_(used.c.expires_at < bindparam("low"), used.c.expires_at > bindparam("high")))


class Once:
    """Implements `services.Once`."""

    def __init__(self, database: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._monotonic = monotonic
        self._swept_at = monotonic()
        self._readings: tuple[float, float] | None = None

    async def use(self, name: str, expires_at: float, now: float) -> bool:
        """True the first time for `name`. It may be forgotten after `expires_at` (Unix seconds), `LONGEST` from now at
        most.

        When this returns True it is on stable storage. Raises `Unavailable`.
        """
        if expires_at > now + LONGEST:
            raise ValueError(f"nothing is in force for more than {LONGEST} s")
        identifier = hashlib.sha256(name.encode()).hexdigest()  # a caller chose it: no column takes every text
        bounds = self._due(now)

        def work(connection: Connection) -> bool:
            if bounds is not None:
                connection.execute(_SWEEP, bounds)
            try:
                with connection.begin_nested():
                    connection.execute(_ADD, {"id": identifier, "expires_at": expires_at})
            except IntegrityError:
                return False
            return True

        return await self._database.write(work)

    def _due(self, now: float) -> dict[str, float] | None:
        """The bounds of a sweep, below and above; None while none is due. Notes this reading of the wall clock."""
        low, high = self._readings or (now, now)
        low, high = min(low, now), max(high, now)
        if self._monotonic() - self._swept_at < LONGEST:
            self._readings = (low, high)
            return None
        self._swept_at, self._readings = self._monotonic(), (now, now)
        return {"low": low - SPARE, "high": high + LONGEST + SPARE}
