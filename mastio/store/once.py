"""What may be used once, on any number of workers and replicas: the first who writes it down has used it."""

from __future__ import annotations

import hashlib

from sqlalchemy import Connection, bindparam, delete, insert
from sqlalchemy.exc import IntegrityError

from mastio.store.engine import Database
from mastio.store.tables import used

SWEEP_EVERY = 300.0
"""Seconds between two removals of what has expired; it is kept as long again, for replicas whose clocks are behind."""

_ADD = insert(used)
_SWEEP = delete(used).where(used.c.expires_at < bindparam("at"))


class Once:
    """Implements `services.Once`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._swept_at = 0.0

    async def use(self, name: str, expires_at: float, now: float) -> bool:
        """True the first time for `name`. What expired at `expires_at` (Unix seconds) may be forgotten afterwards.

        When this returns True it is on stable storage. Raises `Unavailable`.
        """
        identifier = hashlib.sha256(name.encode()).hexdigest()  # a caller chose it: no column takes every text
        sweep = now - self._swept_at >= SWEEP_EVERY
        if sweep:
            self._swept_at = now

        def work(connection: Connection) -> bool:
            if sweep:
                connection.execute(_SWEEP, {"at": now - SWEEP_EVERY})
            try:
                with connection.begin_nested():
                    connection.execute(_ADD, {"id": identifier, "expires_at": expires_at})
            except IntegrityError:
                return False
            return True

        return await self._database.write(work)
