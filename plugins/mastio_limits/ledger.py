"""One worker's lease of one budget's window: what it may still set aside, and what it has to report. Pure.

    held ──────────────────────────────────────────┐
    ├─ used, not reported ─┼─ reserved ─┼─ free ───┤      held counts from the last report on

While a claim is under way the lease lives on: what it may use meanwhile is `keep`, which the database leaves to it
whatever it decides, and whether or not the claim arrives. So no moment exists in which something is free twice.
"""

from __future__ import annotations

from collections import deque

from mastio.exchange.budgets import BudgetWindow, Claim, Grant

TICKS = 2
"""For so many ticks after it was last busy a lease keeps a spare, so that the next exchange need not ask."""

PART = 32
"""The spare of one worker is at most one part in so many of the limit: what is lost when it is killed."""

MOST = 2**60
"""No use counts for more, whatever a provider says: sums must stay numbers that a database can keep."""


class Lease:
    """Amounts in the budget's unit."""

    __slots__ = ("_busy", "_recent", "_unanswered", "held", "id", "reported", "reserved", "series", "used", "window")

    def __init__(self, identifier: str, series: str, window: BudgetWindow) -> None:
        self.id = identifier
        self.series = series
        self.window = window
        self.held = 0
        self.reserved = 0
        self.used = 0
        self.reported = 0
        self._busy = 0
        self._unanswered = False  # a claim was sent, and nobody knows whether it happened
        self._recent: deque[int] = deque(maxlen=TICKS)

    @property
    def free(self) -> int:
        """Below zero when more was used than had been set aside."""
        return self.held - self.reserved - (self.used - self.reported)

    @property
    def is_done(self) -> bool:
        """True if nothing is left to settle, report or give back."""
        return self.held == 0 and self.reserved == 0 and self.used == self.reported and not self._unanswered

    def covers(self, at: float) -> bool:
        """True if `at` (Unix seconds) is in the lease's window."""
        return self.window.start <= at and (self.window.end is None or at < self.window.end)

    def reserve(self, amount: int) -> bool:
        """Set `amount` aside, if there is so much; nothing always goes."""
        if 0 < amount > self.free:
            return False
        self.reserved += amount
        self._busy += amount
        return True

    def settle(self, amount: int, used: int) -> None:
        """The exchange that had set `amount` aside is over, and has used `used`."""
        self.reserved -= amount
        self.used = min(self.used + max(0, used), MOST)

    def tick(self) -> None:
        """A moment has passed; how busy it was decides the spare."""
        self._recent.append(self._busy)
        self._busy = 0

    def spare(self, limit: int, needed: int = 0) -> int:
        """The amount to hold for exchanges to come: twice what the busiest of the last moments set aside."""
        return min(2 * max((self._busy + needed, *self._recent)), limit // PART)

    @property
    def is_due(self) -> bool:
        """True if there is something to report, or an idle amount that others may need by now."""
        return self._unanswered or self.used != self.reported or self.free > 0

    def draft(self, limit: int, needs: tuple[int, ...] = (), *, pressed: bool) -> Claim:
        """The claim to send now. Until its answer is applied, `keep` is all that the lease has."""
        spare = 0 if pressed else self.spare(limit, sum(needs))
        keep = self.reserved + max(0, min(self.free, spare))
        self.held, self.reported, self._unanswered = keep, self.used, True
        return Claim(self.id, self.series, self.window, self.used, self.reserved, keep, needs, spare)

    def apply(self, grant: Grant) -> None:
        """The answer to the last draft."""
        self.held, self._unanswered = grant.held, False
