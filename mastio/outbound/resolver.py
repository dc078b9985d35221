"""Names to addresses, beside everything else that a worker does: a slow name holds up nobody who asks for another.

Between the connection and DNS: who connects judges what is found (`mastio.exchange.target`), since one cache serves
upstreams with different rules. Hosts file and search list are the system's, the name servers too unless others are set.

The library keeps answers for as long as they say, an hour and more, and cannot be told not to. So its channels, each
with a thread and descriptors, live for as long as somebody waits, and are joined only when they are new.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

import aiodns
import pycares

from mastio.exchange.target import Address, looks_numeric

RESOLVE_EVERY = 30.0
"""Seconds that an answer is kept at most, whatever it says of itself."""

AT_LEAST = 1.0
"""Seconds that any answer is kept, also that there is none: many connections to one name are one lookup."""

RESOLVE_SECONDS = 5.0
MAX_NAMES = 1024
LOOPBACK: tuple[Address, ...] = (ip_address("127.0.0.1"), ip_address("::1"))


class ResolveError(OSError):
    """A name cannot be resolved, or not in time."""


@dataclass(frozen=True, slots=True)
class _Kept:
    until: float
    addresses: tuple[Address, ...]
    """None of them: the name could not be resolved."""


class _Lookup:
    """One lookup and those who wait for it; without any it ends."""

    __slots__ = ("task", "waiting")

    def __init__(self, task: asyncio.Task[tuple[Address, ...]]) -> None:
        self.task = task
        self.waiting = 0


class _Channel:
    """One channel of the library's and those who ask through it."""

    __slots__ = ("asking", "since", "to")

    def __init__(self, to: aiodns.DNSResolver, since: float) -> None:
        self.to = to
        self.since = since
        self.asking = 0


def is_loopback_name(host: str) -> bool:
    """`localhost` and what is below it, which no name server is asked for (RFC 6761 §6.3)."""
    return host == "localhost" or host.endswith(".localhost")


class Resolver:
    """Serves one event loop. `servers` (`HOST` or `HOST:PORT`): asked instead of the system's. `clock` in seconds."""

    def __init__(
        self, servers: Sequence[str] = (), seconds: float = RESOLVE_SECONDS, clock: Callable[[], float] | None = None
    ) -> None:
        self._servers = list(servers)
        self._seconds = seconds
        self._clock = clock
        self._kept: dict[str, _Kept] = {}
        self._running: dict[str, _Lookup] = {}
        self._channel: _Channel | None = None

    async def resolve(self, host: str) -> tuple[Address, ...]:
        """All addresses of a name, IPv4 and IPv6, at least one. Raises `ResolveError`."""
        if is_loopback_name(host.rstrip(".")):
            return LOOPBACK
        if looks_numeric(host):
            raise ResolveError("The name is an address in an unusual spelling.")
        kept = self._kept.get(host)
        if kept is None or kept.until <= self._now():
            return await self._join(host)
        if not kept.addresses:
            raise ResolveError("The name could not be resolved a moment ago.")
        return kept.addresses

    async def close(self) -> None:
        running = [lookup.task for lookup in self._running.values()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _now(self) -> float:
        return asyncio.get_running_loop().time() if self._clock is None else self._clock()

    async def _join(self, host: str) -> tuple[Address, ...]:
        """The lookup that is under way, or a new one."""
        lookup = self._running.get(host)
        if lookup is None:
            lookup = self._running[host] = _Lookup(asyncio.create_task(self._look_up(host)))
            lookup.task.add_done_callback(lambda task: self._end(host, task))
        lookup.waiting += 1
        try:
            return await asyncio.shield(lookup.task)
        except asyncio.CancelledError:
            if lookup.task.cancelled():
                raise ResolveError("The resolver was closed.") from None
            raise
        finally:
            lookup.waiting -= 1
            if not lookup.waiting and not lookup.task.done():
                self._running.pop(host, None)
                lookup.task.cancel()

    def _end(self, host: str, task: asyncio.Task[tuple[Address, ...]]) -> None:
        if not task.cancelled():
            task.exception()  # heard by those who wait, if any are left
        running = self._running.get(host)
        if running is not None and running.task is task:
            del self._running[host]

    async def _look_up(self, host: str) -> tuple[Address, ...]:
        try:
            found, seconds = await self._ask(host)
        except ResolveError:
            self._keep(host, (), AT_LEAST)
            raise
        self._keep(host, found, min(RESOLVE_EVERY, max(AT_LEAST, seconds)))
        return found

    async def _ask(self, host: str) -> tuple[tuple[Address, ...], float]:
        """The addresses, and how long they say that they hold. Raises `ResolveError`."""
        channel = self._join_channel()
        channel.asking += 1
        try:
            async with asyncio.timeout(self._seconds):
                answer = await channel.to.getaddrinfo(host, socket.AF_UNSPEC, type=socket.SOCK_STREAM)
        except TimeoutError as error:
            raise ResolveError("The name servers did not answer in time.") from error
        except aiodns.error.DNSError as error:
            raise ResolveError(f"The name could not be resolved: {error.args[1]}.") from error
        finally:
            channel.asking -= 1
            if not channel.asking:
                if self._channel is channel:
                    self._channel = None
                await channel.to.close()
        found = dict.fromkeys(ip_address(node.addr[0].decode("ascii")) for node in answer.nodes)
        if not found:
            raise ResolveError("The name has no address.")
        return tuple(found), min(node.ttl for node in answer.nodes)

    def _join_channel(self) -> _Channel:
        """Raises `ResolveError`."""
        now = self._now()
        if self._channel is None or now - self._channel.since >= AT_LEAST:
            try:
                opened = aiodns.DNSResolver(self._servers or None, timeout=self._seconds / 2, tries=2)
            except pycares.AresError as error:
                raise ResolveError("The name servers cannot be asked.") from error
            self._channel = _Channel(opened, now)
        return self._channel

    def _keep(self, host: str, addresses: tuple[Address, ...], seconds: float) -> None:
        now = self._now()
        if len(self._kept) >= MAX_NAMES:
            self._kept = {name: kept for name, kept in self._kept.items() if kept.until > now}
        if len(self._kept) >= MAX_NAMES:
            self._kept.clear()
        self._kept[host] = _Kept(now + seconds, addresses)
