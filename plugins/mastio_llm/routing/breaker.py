"""The circuit breaker of a provider: after repeated failures it gets no calls for a time. Pure; time is a parameter.

    closed ──THRESHOLD failures in a row──▶ open ──pause over──▶ one call tries ──success──▶ closed
                                             ▲                        │
                                             └──failure, twice the pause──┘

Only what says something of the provider counts: no failure that has to do with one call alone, and none of a call that
began before somebody else's was answered. So nobody shuts a provider to others by what they ask for, or for how long.

Who has another provider goes there meanwhile. Who has none is refused at once only where failing took long: a quick
failure says more than our guess. The pauses are short, so that everybody is back within `LONGEST` of its recovery.
"""

from __future__ import annotations

THRESHOLD = 10
FIRST = 1.0
LONGEST = 5.0
SLOW = 1.0
"""Seconds. A failure that took `SLOW` or longer is one that nobody wants to wait for again."""

WEIGHT = 0.2
"""Of the newest call in the average latency."""


class Health:
    """The health of one provider in one worker. Times are monotonic seconds."""

    __slots__ = ("_answered", "_failures", "_pause", "_slow", "_trying", "_until", "latency", "refuses_options")

    def __init__(self) -> None:
        self.latency: float | None = None
        """Average seconds until a reply begins; None before the first."""
        self.refuses_options = False
        """True if the provider has refused `stream_options`."""
        self._answered = float("-inf")  # when it was last known to be well
        self._failures = 0
        self._pause = FIRST
        self._slow = False
        self._until = 0.0
        self._trying = False

    @property
    def is_open(self) -> bool:
        """True if it is, or was until a call may try again, left alone."""
        return self._failures >= THRESHOLD

    def take(self, now: float, *, is_last: bool) -> bool:
        """True if a call may go there now; `is_last`: there is no other provider for it.

        After True exactly one of `succeed`, `fail` and `release` follows.
        """
        if not self.is_open or (is_last and not self._slow):
            return True
        if self._trying or now < self._until:
            return False
        self._trying = True
        return True

    def wait(self, now: float) -> float:
        """Seconds until a call may try again."""
        return max(self._until - now, 0.0) if self.is_open else 0.0

    def succeed(self, now: float, seconds: float | None) -> None:
        """The provider answered, after so long; None: with a refusal, which says nothing of how quick it is."""
        if seconds is not None:
            self.latency = seconds if self.latency is None else self.latency + WEIGHT * (seconds - self.latency)
        self._answered, self._failures, self._pause, self._trying = now, 0, FIRST, False

    def fail(self, now: float, seconds: float) -> None:
        """It took so long to fail."""
        if now - seconds < self._answered:
            self._trying = False
            return
        self._failures += 1
        self._slow = seconds >= SLOW
        if self._trying:
            self._pause = min(self._pause * 2, LONGEST)
        if self.is_open:
            self._until = now + self._pause
        self._trying = False

    def release(self) -> None:
        """The caller went away, or failed by itself: nothing was learned."""
        self._trying = False
