"""The only way out of the appliance: pools of connections to described base URLs.

Names are resolved here, every answer is judged (`mastio.target`), and the connection goes to a judged address with
the name kept for SNI and Host. No redirect is followed, no proxy taken from the environment, nothing decompressed.
Leaving a request early closes its connection at once, so that the upstream stops working for a caller who has gone.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from ipaddress import ip_address
from types import TracebackType
from weakref import WeakSet

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection
from aiohttp.tracing import Trace
from yarl import URL

from mastio.errors import DispatchError, UpstreamTimeout
from mastio.target import Address, Network, Target, TargetError, parse_base_url, parse_networks, verify_addresses

RESOLVE_EVERY = 30
"""Seconds after which a name is resolved and judged again."""

RESOLVE_WITHIN = 5.0
KEEP_ALIVE = 60.0
MAX_URLS = 1024
"""Parsed URLs that one pool keeps."""

Body = bytes | AsyncIterator[bytes]

DEFAULT_TIMEOUTS: Mapping[str, float] = {"connect": 10.0, "read": 300.0, "total": 900.0}


class ForbiddenAddress(OSError):
    """A name leads to an address that is neither public nor allowed."""


class JudgingResolver(AbstractResolver):
    """Resolves by the system, within a time limit, and judges all answers before any is used."""

    def __init__(self, allowed: tuple[Network, ...]) -> None:
        self._allowed = allowed

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises `ForbiddenAddress`, or `OSError` when the name cannot be resolved in time."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(RESOLVE_WITHIN):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        addresses = [(ip_address(answer[4][0]), answer) for answer in found]
        judge([address for address, _ in addresses], self._allowed)
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=answer[0],
                proto=answer[2],
                flags=socket.AI_NUMERICHOST,
            )
            for address, answer in addresses
        ]

    async def close(self) -> None:
        """Nothing is held."""


def judge(addresses: list[Address], allowed: tuple[Network, ...]) -> None:
    """Raises `ForbiddenAddress` unless every one of them may be connected to."""
    try:
        verify_addresses(addresses, allowed)
    except TargetError as error:
        raise ForbiddenAddress(str(error)) from error


class CleanConnector(aiohttp.TCPConnector):
    """Gives out no kept connection on which something came unasked: it would be taken for the next caller's reply."""

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 theirs
    ) -> Connection:
        while True:
            connection = await super().connect(req, traces, timeout)
            if connection.protocol is None or not connection.protocol.should_close:
                return connection
            connection.close()


class PooledReply:
    """An upstream's reply as `services.UpstreamReply` promises it."""

    __slots__ = ("_response", "headers", "status")

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers = [(name.lower(), value) for name, value in response.raw_headers]

    async def read(self, limit: int) -> bytes:
        pieces = []
        size = 0
        async for piece in self.chunks():
            size += len(piece)
            if size > limit:
                raise DispatchError("The upstream's reply is too large.")
            pieces.append(piece)
        return b"".join(pieces)

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._response.content.iter_any():
                yield piece
        except TimeoutError as error:
            raise UpstreamTimeout("The upstream stopped answering.") from error
        except (aiohttp.ClientError, OSError) as error:
            raise DispatchError("The upstream broke off its reply.") from error


class Sending:
    """One request under way. Leaving the context closes the connection unless the reply was read to its end."""

    __slots__ = ("_body", "_closed", "_headers", "_method", "_path", "_pool", "_response")

    def __init__(self, pool: Pool, method: str, path: str, headers: list[tuple[str, str]], body: Body) -> None:
        self._pool = pool
        self._method = method
        self._path = path
        self._headers = headers
        self._body = body
        self._response: aiohttp.ClientResponse | None = None
        self._closed: asyncio.Future[None] | None = None

    async def __aenter__(self) -> PooledReply:
        try:
            self._response = await self._pool.request(self._method, self._path, self._headers, self._body)
        except ForbiddenAddress as error:
            raise _forbidden() from error
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, ForbiddenAddress):
                raise _forbidden() from error
            raise DispatchError("The upstream cannot be reached.", code="upstream_unreachable") from error
        except TimeoutError as error:
            raise UpstreamTimeout("The upstream did not answer in time.") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise DispatchError("The upstream broke off the exchange.") from error
        self._watch(self._response)
        return PooledReply(self._response)

    def _watch(self, response: aiohttp.ClientResponse) -> None:
        """See to it that who reads the body hears of the connection's end. The library closes the connection when what
        comes cannot be parsed, stops its clock, and tells nobody: the reader would wait for `total`."""
        if response.connection is None or response.connection.protocol is None:
            return  # the body is here already
        self._closed = response.connection.protocol.closed
        if self._closed is None:
            self._end(None)
        else:
            self._pool.hear_out(self._closed)
            self._closed.add_done_callback(self._end)

    def _end(self, closed: asyncio.Future[None] | None) -> None:
        if self._response is not None:
            content = self._response.content
            if not content.is_eof() and content.exception() is None:
                content.set_exception(aiohttp.ClientPayloadError("The connection ended before the body."))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._closed is not None:
            self._closed.remove_done_callback(self._end)
        if self._response is not None:
            self._response.close()  # hands a connection that was read to its end back to the pool


def _forbidden() -> DispatchError:
    return DispatchError("The upstream's address is not allowed.", code="upstream_forbidden_address")


def _take(closed: asyncio.Future[None]) -> None:
    if not closed.cancelled():
        closed.exception()


class Pool:
    """`services.Upstream`: connections to one base URL. Opened with the first request."""

    def __init__(
        self,
        target: Target,
        allowed: tuple[Network, ...],
        timeouts: Mapping[str, float],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._target = target
        self._allowed = allowed
        self._tls = tls
        self._timeouts = {**DEFAULT_TIMEOUTS, **timeouts}
        host = f"[{target.host}]" if ":" in target.host else target.host
        self._base = f"{target.scheme}://{host}:{target.port}{target.path}"
        self._urls: dict[str, URL] = {}
        self._heard: WeakSet[asyncio.Future[None]] = WeakSet()
        self._session: aiohttp.ClientSession | None = None

    def send(self, method: str, path: str, headers: list[tuple[str, str]], body: Body) -> Sending:
        return Sending(self, method, path, headers, body)

    def hear_out(self, closed: asyncio.Future[None]) -> None:
        """A connection may also end with an error when nobody uses it: then that is nobody's failure."""
        if closed not in self._heard:
            self._heard.add(closed)
            closed.add_done_callback(_take)

    async def request(
        self, method: str, path: str, headers: list[tuple[str, str]], body: Body
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            self._session = self._open()
        url = self._urls.get(path)
        if url is None:
            if len(self._urls) >= MAX_URLS:  # a path may have a model's name in it, which callers choose
                self._urls.clear()
            url = self._urls[path] = URL(self._base + path, encoded=True)
        return await self._session.request(method, url, data=body or None, headers=headers, allow_redirects=False)

    def _open(self) -> aiohttp.ClientSession:
        """Raises `ForbiddenAddress` where the base URL names an address that is not allowed."""
        if (literal := self._target.address) is not None:
            judge([literal], self._allowed)
        connector = CleanConnector(
            resolver=JudgingResolver(self._allowed),
            ttl_dns_cache=RESOLVE_EVERY,
            # otherwise the library's one prebuilt context, which verifies against the system's authorities
            ssl=True if self._tls is None else self._tls,
            limit=0,
            keepalive_timeout=KEEP_ALIVE,
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
            timeout=aiohttp.ClientTimeout(
                total=self._timeouts["total"], sock_connect=self._timeouts["connect"], sock_read=self._timeouts["read"]
            ),
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


class Pools:
    """`services.Upstreams`: makes pools and closes them all at the end. One TLS context serves all that bring none."""

    def __init__(self) -> None:
        self._pools: list[Pool] = []

    def open(
        self,
        base_url: str,
        allow_addresses: tuple[str, ...],
        timeouts: Mapping[str, float],
        tls: ssl.SSLContext | None = None,
    ) -> Pool:
        """Raises `TargetError` for a base URL or network that is not acceptable."""
        pool = Pool(parse_base_url(base_url), parse_networks(allow_addresses), timeouts, tls)
        self._pools.append(pool)
        return pool

    async def close(self) -> None:
        for pool in self._pools:
            await pool.close()
