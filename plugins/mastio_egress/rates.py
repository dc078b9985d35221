"""The rate limit of an agent on a connection: its requests of the last sixty seconds are counted.

Each worker counts for itself; the edge sends an agent to one worker. What has to be exact across workers is a budget
(`docs/limits.md`).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from mastio.exchange.errors import Denied
from mastio.exchange.records import Directory
from mastio.exchange.values import Action, Message, Principal, Reservation
from mastio_egress.collection import CONNECTIONS

MINUTE = 60.0
SWEEP = 1000
"""So many requests later, whoever has made none for a minute is forgotten."""


class Rates:
    """`hooks.Reserve`."""

    def __init__(self, directory: Directory, clock: Callable[[], float] = time.monotonic) -> None:
        self._directory = directory
        self._clock = clock
        self._made: dict[tuple[str, str], deque[float]] = {}
        self._until_sweep = SWEEP

    async def reserve(self, principal: Principal, action: Action, message: Message) -> Reservation | None:
        """Raises `Denied` (rate_limited)."""
        if action.target_type != "Connection":
            return None
        row = CONNECTIONS.find_rows(self._directory).get(action.target)
        limit = row.limits.requests_per_minute if row is not None else 0
        if limit:
            self._count((principal.name, action.target), limit)
        return None

    def _count(self, who: tuple[str, str], limit: int) -> None:
        now = self._clock()
        self._sweep(now)
        made = self._made.setdefault(who, deque())
        while made and made[0] <= now - MINUTE:
            made.popleft()
        if len(made) >= limit:
            wait = max(1, int(made[len(made) - limit] + MINUTE - now) + 1)
            raise Denied(
                f"The connection takes {limit} requests of an agent in a minute.",
                code="rate_limited",
                headers=(("Retry-After", str(wait)),),
            )
        made.append(now)

    def _sweep(self, now: float) -> None:
        self._until_sweep -= 1
        if self._until_sweep <= 0:
            self._until_sweep = SWEEP
            self._made = {who: made for who, made in self._made.items() if made and made[-1] > now - MINUTE}
