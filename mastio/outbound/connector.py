"""The one place where a connection out of the appliance is made: to a judged address, or not at all.

| made by | judged |
|---|---|
| `mastio.outbound.upstream`, HTTP | the name before it is resolved, all answers, and once more the address of each
socket | | `connect`, raw streams and datagrams | the same |

The name stays for SNI and Host. A connection that is kept open goes to an address that was judged when it was made, and
may be used until it has been idle for `KEEP_ALIVE`; whoever changes what is allowed opens another pool.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

from mastio.exchange.target import (
    Address,
    Network,
    TargetError,
    carried,
    parse_address,
    verify_addresses,
    verify_not_own,
)
from mastio.outbound.resolver import Resolver, is_loopback_name
from mastio.outbound.tls import is_pinned

KEEP_ALIVE = 60.0
"""Seconds that a connection without an exchange is kept."""

_NONLOCAL = "/proc/sys/net/{}/ip_nonlocal_bind"


class ForbiddenAddress(OSError):
    """A name leads to an address that is neither public nor allowed, or to the appliance itself."""


class Untrusted(aiohttp.ClientError):
    """The other side does not have the certificate that is pinned."""


@dataclass(frozen=True, slots=True)
class OwnEndpoints:
    """The appliance's own endpoints, which it must never connect to: `ports` on any address of this machine, `doors`
    (host and port) by name.
    """

    ports: frozenset[int] = frozenset()
    doors: frozenset[tuple[str, int]] = frozenset()


def is_local(address: Address) -> bool:
    """True if data sent to the address stays on this machine. Sends nothing."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_loopback or address.is_unspecified:
        return True
    with socket.socket(_family(address), socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((str(address), 9))
            if parse_address(probe.getsockname()[0]) == address:
                return True
        except OSError:
            pass  # there is no way there
    if _binds_anything(address.version):
        return False
    with socket.socket(_family(address), socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True


class Judge:
    """Says of one upstream's names and addresses whether they may be connected to. Each raises `ForbiddenAddress`."""

    def __init__(
        self, allowed: tuple[Network, ...], own: OwnEndpoints, is_local: Callable[[Address], bool] = is_local
    ) -> None:
        self._allowed = allowed
        self._own = own
        self._is_local = is_local

    def verify_name(self, host: str, port: int) -> None:
        if (host, port) in self._own.doors:
            raise ForbiddenAddress("The name is the appliance's own.")

    def verify(self, addresses: Iterable[Address], port: int) -> None:
        """Every one of them, of a name or an address that is written out."""
        addresses = tuple(addresses)
        try:
            verify_addresses(addresses, self._allowed)
            for address in addresses:
                if any(self._is_local(one) for one in (address, *carried(address))):
                    verify_not_own(address, port, self._allowed, self._own.ports)
        except TargetError as error:
            raise ForbiddenAddress(str(error)) from error

    def choose_loopback(self, addresses: Iterable[Address]) -> tuple[Address, ...]:
        """Of both addresses that `localhost` has by definition, those that are allowed: nobody rebinds it."""
        return tuple(one for one in addresses if any(one in n for n in self._allowed if n.version == one.version))


async def resolve(host: str, port: int, judge: Judge, resolver: Resolver) -> tuple[Address, ...]:
    """The addresses of a name, or the one written out, all judged. Raises `ForbiddenAddress`, and `OSError` when there
    is none."""
    host = host.lower()
    judge.verify_name(host.rstrip("."), port)
    written = parse_address(host)
    addresses = (written,) if written is not None else await resolver.resolve(host)
    if is_loopback_name(host.rstrip(".")):
        addresses = judge.choose_loopback(addresses) or addresses
    judge.verify(addresses, port)
    return addresses


async def connect(host: str, port: int, kind: socket.SocketKind, judge: Judge, resolver: Resolver) -> socket.socket:
    """A socket to the first address that answers, not blocking. Raises `ForbiddenAddress` and `OSError`."""
    loop = asyncio.get_running_loop()
    failure: OSError = OSError("the name has no address")
    for address in await resolve(host, port, judge, resolver):
        link = socket.socket(_family(address), kind)
        connected = False
        try:
            link.setblocking(False)
            await loop.sock_connect(link, (str(address), port))
            connected = True
            return link
        except OSError as error:
            failure = error
        finally:
            if not connected:
                link.close()
    raise failure


async def secure(link: socket.socket, context: ssl.SSLContext, host: str) -> asyncio.StreamWriter:
    """TLS over a socket that `connect` made. Raises `OSError`; then the socket is still the caller's to close."""
    _, writer = await asyncio.open_connection(sock=link, ssl=context, server_hostname=host)
    return writer


@cache
def _binds_anything(version: int) -> bool:
    """True if this machine lets a socket bind to addresses that are not its own (ip_nonlocal_bind)."""
    try:
        return Path(_NONLOCAL.format("ipv4" if version == 4 else "ipv6")).read_text("ascii").strip() != "0"
    except OSError:
        return False


def _family(address: Address) -> socket.AddressFamily:
    return socket.AF_INET if address.version == 4 else socket.AF_INET6


class JudgingResolver(AbstractResolver):
    """The resolver that the HTTP library calls for the addresses of a name."""

    def __init__(self, judge: Judge, resolver: Resolver) -> None:
        self._judge = judge
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises `ForbiddenAddress`, or `OSError` when the name cannot be resolved in time."""
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=_family(address),
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await resolve(host, port, self._judge, self._resolver)
        ]

    async def close(self) -> None:
        """The resolver is everybody's."""


class Attempt:
    """The connection of one request, for the code that has to end it or may repeat it."""

    __slots__ = ("kept", "transport")

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.kept = False
        """True if the connection was reused from an earlier request."""

    def abort(self) -> None:
        """End it now, whatever is still to be sent."""
        if self.transport is not None:
            self.transport.abort()


ATTEMPT: ContextVar[Attempt] = ContextVar("attempt")
"""Of the request that is being made in this task."""


class CleanConnector(aiohttp.TCPConnector):
    """Gives out no kept connection on which something came unasked: it would be taken for the next caller's reply. And
    none without the certificate that is pinned."""

    def __init__(self, judge: Judge, resolver: Resolver, pin: bytes | None, **more: Any) -> None:
        super().__init__(
            resolver=JudgingResolver(judge, resolver),
            use_dns_cache=False,  # the resolver has one
            socket_factory=self._open_socket,
            limit=0,
            keepalive_timeout=KEEP_ALIVE,
            **more,
        )
        self._judge = judge
        self._pin = pin

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 theirs
    ) -> Connection:
        attempt = ATTEMPT.get()
        while True:
            attempt.kept = True
            connection = await super().connect(req, traces, timeout)
            attempt.transport = connection.transport
            if connection.protocol is None or not connection.protocol.should_close:
                break
            connection.close()
        if self._pin is not None and not is_pinned(_leaf(connection), self._pin):
            connection.close()
            raise Untrusted("The certificate is not the pinned one.")
        return connection

    async def _create_connection(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 theirs
    ) -> ResponseHandler:
        ATTEMPT.get().kept = False
        return await super()._create_connection(req, traces, timeout)

    def _open_socket(self, where: tuple[Any, ...]) -> socket.socket:
        """The last look, at the very address that is connected to. An address that is written out is seen only here."""
        family, kind, protocol, _, (host, port, *_) = where
        address = parse_address(host)
        if address is None:
            raise ForbiddenAddress("There is no address.")
        self._judge.verify_name(host, port)
        self._judge.verify((address,), port)
        return socket.socket(family, kind, protocol)


def _leaf(connection: Connection) -> bytes | None:
    if connection.transport is None:
        return None
    tls = connection.transport.get_extra_info("ssl_object")
    der: bytes | None = None if tls is None else tls.getpeercert(binary_form=True)
    return der
