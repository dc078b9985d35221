"""Which client assertions this worker has seen, each until it expires."""

from __future__ import annotations

SPAN = 60
"""Seconds of expiry that are kept together and forgotten together."""


class Assertions:
    """As many as are in force, at the cost of a few look-ups each: an assertion lives for minutes only. Not for several
    threads."""

    def __init__(self) -> None:
        self._seen: dict[int, set[int]] = {}

    def use(self, thumbprint: str, jti: str, expires_at: float, now: float) -> bool:
        """True the first time for this key and `jti`, False again until `expires_at` (Unix seconds).

        A 64-bit keyed hash is kept instead of the strings, as for proofs: a collision could only refuse a good one.
        """
        for end in [end for end in self._seen if end <= now]:
            del self._seen[end]
        name = hash((thumbprint, jti))
        if any(name in seen for seen in self._seen.values()):
            return False
        self._seen.setdefault((int(expires_at) // SPAN + 1) * SPAN, set()).add(name)
        return True

    def __len__(self) -> int:
        return sum(len(seen) for seen in self._seen.values())
