"""Answers in this worker's memory: the ones used last, within a number of bytes, each for a time.
Pure but for its own answers.

The clock is handed in.
"""

from __future__ import annotations

from collections import OrderedDict

from mastio_cache.cache_entry import CacheEntry


class Memory:
    """By key. Not for several threads."""

    def __init__(self, max_bytes: int, ttl: float) -> None:
        self._max_bytes = max_bytes
        self._ttl = ttl
        self._kept: OrderedDict[bytes, CacheEntry] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: bytes, now: float, max_age: float | None = None) -> CacheEntry | None:
        """None: there is none, it has expired, or it is older than `max_age` seconds, though others may take it."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        age = kept.age(now)
        if age >= self._ttl:
            self.remove(key)
            return None
        if max_age is not None and age > max_age:
            return None
        self._kept.move_to_end(key)
        return kept

    def put(self, key: bytes, kept: CacheEntry) -> None:
        """In place of what was there. What has not been used for longest makes room."""
        self.remove(key)
        if kept.size > self._max_bytes:
            return
        self._kept[key] = kept
        self.bytes += kept.size
        while self.bytes > self._max_bytes:
            _, oldest = self._kept.popitem(last=False)
            self.bytes -= oldest.size

    def remove(self, key: bytes) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self.bytes -= kept.size
