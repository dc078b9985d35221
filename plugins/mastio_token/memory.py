"""The client assertions that this worker has seen, each until it expires.
Pure but for its own marks: the clocks are handed in.

The monotonic clock measures how long a mark is kept, since the wall clock may step. A step forward drops no mark. A
step back makes an assertion valid for longer: the memory notices it and keeps all its marks for the longest life again.
"""

from __future__ import annotations

from mastio_token.access import ASSERTION_AGE, LEEWAY

SPAN = 60
"""Seconds of expiry that are kept together and forgotten together."""

LONGEST = ASSERTION_AGE + LEEWAY + 1
STEP = 1.0
"""Seconds that the wall clock must lose against the monotonic clock to count as a step back. Each mark is kept as much
longer as it takes to notice."""


class Assertions:
    """The assertions in force that this process has seen. An assertion lives for minutes only. Not for several
    threads."""

    def __init__(self) -> None:
        self._seen: dict[int, set[int]] = {}
        self._offset: float | None = None

    def use(self, thumbprint: str, jti: str, expires_at: float, now: float, monotonic: float) -> bool:
        """True the first time for this key and `jti`, False again until `expires_at` (Unix seconds, as `now`).

        A 64-bit keyed hash is kept instead of the strings, as for proofs: a collision could only refuse a good one.
        """
        self._notice_step(now - monotonic, monotonic)
        for end in [end for end in self._seen if end <= monotonic]:
            del self._seen[end]
        name = hash((thumbprint, jti))
        if any(name in seen for seen in self._seen.values()):
            return False
        self._seen.setdefault(_end(monotonic + expires_at - now + STEP), set()).add(name)
        return True

    def _notice_step(self, offset: float, monotonic: float) -> None:
        """`offset`: Unix time less monotonic time. It changes only when the wall clock is set."""
        if self._offset is None or offset > self._offset:
            self._offset = offset
        elif offset < self._offset - STEP:
            self._offset = offset
            self._seen = {_end(monotonic + LONGEST): set().union(*self._seen.values())}

    def __len__(self) -> int:
        return sum(len(seen) for seen in self._seen.values())


def _end(monotonic: float) -> int:
    return (int(monotonic) // SPAN + 1) * SPAN
