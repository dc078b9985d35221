"""One asks, the others wait: of several with the same key at the same time, one has the turn to ask upstream.

Whoever has the turn ends it: with an answer for all, by letting the next one try, or by letting all go. Nobody holds
anything while waiting, so whoever goes away leaves nothing behind. For one event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque

from mastio_cache.cache_entry import CacheEntry


class Turn:
    """Somebody's turn. Ended once; what comes after that is ignored, and so is everything for one who asks alone."""

    __slots__ = ("_flights", "_key")

    def __init__(self, flights: Flights | None = None, key: bytes = b"") -> None:
        self._flights = flights
        self._key = key

    def land(self, kept: CacheEntry) -> None:
        """Here is the answer, for everybody who waits."""
        if (flights := self._end()) is not None:
            flights.land(self._key, kept)

    def give_up(self) -> None:
        """It failed, or whoever asked has gone: the next one tries."""
        if (flights := self._end()) is not None:
            flights.pass_on(self._key)

    def release(self) -> None:
        """There will be no answer that could be shared: everybody asks for themselves."""
        if (flights := self._end()) is not None:
            flights.release(self._key)

    def _end(self) -> Flights | None:
        flights, self._flights = self._flights, None
        return flights


class Flights:
    """The keys that somebody is asking for, and those who wait."""

    def __init__(self) -> None:
        self._waiting: dict[bytes, deque[asyncio.Future[CacheEntry | Turn]]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    async def join(self, key: bytes, patience: float) -> CacheEntry | Turn:
        """The answer that somebody got meanwhile, or the turn to ask. After `patience` seconds one asks alone."""
        waiting = self._waiting.get(key)
        if waiting is None:
            self._waiting[key] = deque()
            return Turn(self, key)
        news: asyncio.Future[CacheEntry | Turn] = asyncio.get_running_loop().create_future()
        waiting.append(news)
        taken = False
        try:
            async with asyncio.timeout(patience):
                found = await news
                taken = True
                return found
        except TimeoutError:
            taken = news.done() and not news.cancelled()
            return news.result() if taken else Turn()
        finally:
            if not taken:
                _leave(waiting, news)

    def land(self, key: bytes, kept: CacheEntry) -> None:
        for news in self._waiting.pop(key):
            if not news.done():
                news.set_result(kept)

    def pass_on(self, key: bytes) -> None:
        waiting = self._waiting[key]
        while waiting:
            news = waiting.popleft()
            if not news.done():
                news.set_result(Turn(self, key))
                return
        del self._waiting[key]

    def release(self, key: bytes) -> None:
        for news in self._waiting.pop(key):
            if not news.done():
                news.set_result(Turn())


def _leave(waiting: deque[asyncio.Future[CacheEntry | Turn]], news: asyncio.Future[CacheEntry | Turn]) -> None:
    """Cancelled, or out of patience. The turn may have come in that very moment: then the next one has it."""
    if news in waiting:
        waiting.remove(news)
    if news.done() and not news.cancelled():
        given = news.result()
        if isinstance(given, Turn):
            given.give_up()
