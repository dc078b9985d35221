"""The only way out of the appliance: pools of connections to described base URLs.

Names are resolved here, every answer is judged (`mastio.target`), and the connection goes to the judged address with
the name kept for SNI and Host. No redirect is followed, no proxy taken from the environment, nothing decompressed.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from ipaddress import ip_address
from types import TracebackType

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import BuilderError, ConnectError, PyreqwestError, RequestTimeoutError
from pyreqwest.request import StreamRequest
from pyreqwest.response import Response

from mastio.errors import DispatchError, UpstreamTimeout
from mastio.target import Address, Network, Target, TargetError, parse_base_url, parse_networks, verify_addresses

RESOLVE_EVERY = 30.0
"""Seconds after which a name is resolved and judged again."""

RESOLVE_WITHIN = 5.0
DEFAULT_TIMEOUTS: Mapping[str, float] = {"connect": 10.0, "read": 300.0, "total": 900.0}


class PooledReply:
    """An upstream's reply as `services.UpstreamReply` promises it."""

    def __init__(self, response: Response) -> None:
        self._response = response
        self.status = response.status
        self.headers = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in response.headers.items()]

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
        reader = self._response.body_reader
        while True:
            try:
                piece = await reader.read_chunk()
            except RequestTimeoutError as error:
                raise UpstreamTimeout("The upstream stopped answering.") from error
            except PyreqwestError as error:
                raise DispatchError("The upstream broke off its reply.") from error
            if piece is None:
                return
            yield bytes(piece)


class Sending:
    """One request under way. Leaving the context drops the connection unless the reply was read to its end."""

    __slots__ = ("_body", "_headers", "_method", "_path", "_pool", "_request")

    def __init__(self, pool: Pool, method: str, path: str, headers: list[tuple[str, str]], body: bytes) -> None:
        self._pool = pool
        self._method = method
        self._path = path
        self._headers = headers
        self._body = body
        self._request: StreamRequest | None = None

    async def __aenter__(self) -> PooledReply:
        client = await self._pool.client()
        builder = client.request(self._method, self._pool.base_url + self._path).headers(self._headers)
        try:
            self._request = builder.body_bytes(self._body).build_streamed()
            return PooledReply(await self._request.__aenter__())
        except ConnectError as error:
            raise DispatchError("The upstream cannot be reached.", code="upstream_unreachable") from error
        except RequestTimeoutError as error:
            raise UpstreamTimeout("The upstream did not answer in time.") from error
        except BuilderError as error:
            raise DispatchError("The request to the upstream is not a valid one.") from error
        except PyreqwestError as error:
            raise DispatchError("The upstream broke off the exchange.") from error

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._request is not None:
            await self._request.__aexit__(kind, error, trace)


class Pool:
    """`services.Upstream`: connections to one base URL, re-resolved and re-judged every `RESOLVE_EVERY` seconds."""

    def __init__(self, target: Target, allowed: tuple[Network, ...], timeouts: Mapping[str, float]) -> None:
        self._target = target
        self._allowed = allowed
        self._timeouts = {**DEFAULT_TIMEOUTS, **timeouts}
        host = f"[{target.host}]" if ":" in target.host else target.host
        self.base_url = f"{target.scheme}://{host}:{target.port}{target.path}"
        self._client: Client | None = None
        self._address: Address | None = None
        self._judged_until = 0.0

    def send(self, method: str, path: str, headers: list[tuple[str, str]], body: bytes) -> Sending:
        return Sending(self, method, path, headers, body)

    async def client(self) -> Client:
        """The client that connects to an address judged good. Raises `DispatchError`."""
        if self._client is None or time.monotonic() >= self._judged_until:
            await self._judge()
        assert self._client is not None
        return self._client

    async def _judge(self) -> None:
        addresses = await self._resolve()
        try:
            verify_addresses(addresses, self._allowed)
        except TargetError as error:
            self._judged_until = 0.0
            raise DispatchError("The upstream's address is not allowed.", code="upstream_forbidden_address") from error
        if self._client is None or self._address not in addresses:
            self._address = addresses[0]
            self._client = self._build(self._address)
        self._judged_until = time.monotonic() + RESOLVE_EVERY

    async def _resolve(self) -> list[Address]:
        if (literal := self._target.address) is not None:
            return [literal]
        loop = asyncio.get_running_loop()
        try:
            found = await asyncio.wait_for(
                loop.getaddrinfo(self._target.host, self._target.port, type=socket.SOCK_STREAM), RESOLVE_WITHIN
            )
        except (OSError, TimeoutError) as error:
            raise DispatchError("The upstream's name cannot be resolved.", code="upstream_unreachable") from error
        return list(dict.fromkeys(ip_address(answer[4][0]) for answer in found))

    def _build(self, address: Address) -> Client:
        builder = (
            ClientBuilder()
            .no_proxy()
            .follow_redirects(False)
            .referer(False)
            .gzip(False)
            .brotli(False)
            .zstd(False)
            .deflate(False)
            .http1_lower_case_headers()
            .connect_timeout(timedelta(seconds=self._timeouts["connect"]))
            .read_timeout(timedelta(seconds=self._timeouts["read"]))
            .timeout(timedelta(seconds=self._timeouts["total"]))
            .pool_max_idle_per_host(256)
        )
        if self._target.address is None:
            builder = builder.resolve(self._target.host, str(address), self._target.port)
        return builder.build()

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()


class Pools:
    """`services.Upstreams`: makes pools and closes them all at the end."""

    def __init__(self) -> None:
        self._pools: list[Pool] = []

    def open(self, base_url: str, allow_addresses: tuple[str, ...], timeouts: Mapping[str, float]) -> Pool:
        """Raises `TargetError` for a base URL or network that is not acceptable."""
        pool = Pool(parse_base_url(base_url), parse_networks(allow_addresses), timeouts)
        self._pools.append(pool)
        return pool

    async def close(self) -> None:
        for pool in self._pools:
            await pool.close()
