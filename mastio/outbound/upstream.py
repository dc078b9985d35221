"""The only way out of the appliance: pools of connections to described base URLs.

| file | decides |
|---|---|
| `target.py` | which URLs and addresses may be connected to. Pure |
| `resolver.py` | what the addresses of a name are |
| `connector.py` | that no connection is made but to an address that was judged |
| `tls.py` | whom to trust, and who we are |
| `upload.py` | how a body is sent |

No redirect is followed, no proxy taken from the environment, nothing decompressed. Leaving a request early closes its
connection at once, so that the upstream stops working for a caller who has gone. A request is sent once; only one that
changes nothing (RFC 9110 §9.2.1) is sent again, once, when a kept connection turns out to have been closed.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from weakref import WeakSet

import aiohttp
from yarl import URL

from mastio.exchange.errors import DispatchError, UpstreamTimeout
from mastio.exchange.target import Target, parse_base_url, parse_networks
from mastio.outbound.connector import (
    ATTEMPT,
    Attempt,
    CleanConnector,
    ForbiddenAddress,
    Judge,
    OwnEndpoints,
    Untrusted,
    connect,
)
from mastio.outbound.reachability import FailedStep, find_obstacle, find_obstacle_to_tls
from mastio.outbound.resolver import Resolver
from mastio.outbound.tls import make_context, parse_pin
from mastio.outbound.upload import PIECE, Upload, close_pieces, cut

MAX_URLS = 1024
"""Parsed URLs that one pool keeps."""

Body = bytes | AsyncIterator[bytes]

DEFAULT_TIMEOUTS: Mapping[str, float] = {"connect": 10.0, "read": 300.0, "total": 900.0}

UPLOAD_IDLE = 60.0
"""Seconds that an upstream may take no byte of a body, whatever its `read` is: the edge waits no longer for us
(`proxy_send_timeout`), and who hangs up meanwhile is not heard before the next piece is wanted."""

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_METHOD = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_PATH = re.compile(r"([/?][!\x22$-\[\]-~]*)?")
"""The text allowed after a base URL: no character that ends the request line or changes the host."""

_NAME = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_OURS = frozenset({"host", "transfer-encoding", "expect"})
"""Headers that are made here, from what is really sent and where to."""


class PooledReply:
    """An upstream's reply as `services.UpstreamReply` promises it."""

    __slots__ = ("_response", "_upload", "headers", "status")

    def __init__(self, response: aiohttp.ClientResponse, upload: Upload | None) -> None:
        self._response = response
        self._upload = upload
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
            _raise_failure(self._upload)
            raise DispatchError("The upstream broke off its reply.") from error


class Sending:
    """One request under way. Leaving the context closes the connection unless the reply was read to its end."""

    __slots__ = ("_attempt", "_body", "_closed", "_headers", "_method", "_path", "_pool", "_response", "_upload")

    def __init__(self, pool: Pool, method: str, path: str, headers: list[tuple[str, str]], body: Body) -> None:
        self._pool = pool
        self._method = method
        self._path = path
        self._headers = headers
        self._body = body
        self._attempt = Attempt()
        self._upload: Upload | None = None
        self._response: aiohttp.ClientResponse | None = None
        self._closed: asyncio.Future[None] | None = None

    async def __aenter__(self) -> PooledReply:
        begun = False
        try:
            response = await self._ask()
            begun = True
        finally:
            if not begun:
                await self._break_off()
        self._response = response
        if self._upload is not None:
            self._upload.answer(response.status)
        self._watch(response)
        return PooledReply(response, self._upload)

    async def _ask(self) -> aiohttp.ClientResponse:
        """The head of the reply. Raises `DispatchError`, `UpstreamTimeout`, and whatever the body's pieces raise."""
        headers, length = _take_length(self._headers)
        data: bytes | Upload | None
        if not isinstance(self._body, bytes):
            data = self._upload = self._pool.make_upload(self._body, length)
        elif length is not None and length != len(self._body):
            raise DispatchError("The body is not as long as its head says.")
        elif len(self._body) > PIECE:
            data = self._upload = self._pool.make_upload(cut(self._body), len(self._body))
        else:
            data = self._body or None
        try:
            response = await self._pool.request(self._method, self._path, headers, data, self._attempt)
        except ForbiddenAddress as error:
            raise _forbidden() from error
        except Untrusted as error:
            raise DispatchError("The upstream's certificate is not the pinned one.", code=UNREACHABLE) from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise DispatchError("The upstream's certificate is not accepted.", code=UNREACHABLE) from error
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, ForbiddenAddress):
                raise _forbidden() from error
            raise DispatchError("The upstream cannot be reached.", code=UNREACHABLE) from error
        except TimeoutError as error:
            failure = UpstreamTimeout("The upstream did not answer in time.")
            failure.was_sent = not isinstance(error, aiohttp.ConnectionTimeoutError)
            raise failure from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            _raise_failure(self._upload)
            raise DispatchError("The upstream broke off the exchange.") from error
        if not _is_well_formed(response):
            response.close()
            raise DispatchError("The upstream's reply is not well-formed.")
        return response

    async def _break_off(self) -> None:
        """There is no reply, or nobody waits for it any more."""
        self._attempt.abort()
        if self._upload is not None:
            await self._upload.finish()
        elif not isinstance(self._body, bytes):
            await close_pieces(self._body)

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
            if self._response.connection is not None:  # it was not read to its end
                self._attempt.abort()
            self._response.close()  # hands a connection that was read to its end back to the pool
        if self._upload is not None:
            await self._upload.finish()


UNREACHABLE = "upstream_unreachable"


def _forbidden() -> DispatchError:
    return DispatchError("The upstream's address is not allowed.", code="upstream_forbidden_address")


def _raise_failure(upload: Upload | None) -> None:
    """Raises the failure of the request's body, if there is one: it is not the upstream's fault."""
    if upload is not None and upload.failure is not None:
        raise upload.failure


def _is_well_formed(response: aiohttp.ClientResponse) -> bool:
    """False for responses that the library's parser accepts and that are malformed: an invalid status or an unrequested
    101, header names that are no tokens, values with control characters (RFC 9110 §5.5), and transfer codings that the
    library does not decode (RFC 9112 §6.1).
    """
    codings = []
    for name, value in response.raw_headers:
        if not _NAME.fullmatch(name) or _CONTROL.search(value):
            return False
        if name.lower() == b"transfer-encoding":
            codings.append(value.lower())
    return 200 <= response.status <= 599 and codings in ([], [b"chunked"])


def _take_length(headers: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], int | None]:
    """The headers without those that are made here, and the length that they announce. Raises `DispatchError`."""
    kept, length = [], None
    for pair in headers:
        name = pair[0].lower()
        if name == "content-length":
            if length is not None or not re.fullmatch(r"[0-9]{1,18}", pair[1]):
                raise DispatchError("The length of the body is not one.")
            length = int(pair[1])
        elif name not in _OURS:
            kept.append(pair)
    return kept, length


def _take(closed: asyncio.Future[None]) -> None:
    if not closed.cancelled():
        closed.exception()


class Pool:
    """`services.Upstream`: connections to one base URL. Opened with the first request."""

    def __init__(
        self,
        target: Target,
        judge: Judge,
        resolver: Resolver,
        timeouts: Mapping[str, float],
        tls: ssl.SSLContext | None,
        pin: bytes | None,
        closed: Callable[[Pool], None],
    ) -> None:
        self._told_closed = closed
        self._judge = judge
        self._resolver = resolver
        self._tls = tls
        self._pin = pin
        self._timeouts = {**DEFAULT_TIMEOUTS, **timeouts}
        self._base = target.origin + target.path
        self._urls: dict[str, URL] = {}
        self._heard: WeakSet[asyncio.Future[None]] = WeakSet()
        self._session: aiohttp.ClientSession | None = None

    def send(self, method: str, path: str, headers: list[tuple[str, str]], body: Body) -> Sending:
        return Sending(self, method, path, headers, body)

    def make_upload(self, pieces: AsyncIterator[bytes], length: int | None) -> Upload:
        return Upload(pieces, length, min(self._timeouts["read"], UPLOAD_IDLE))

    def hear_out(self, closed: asyncio.Future[None]) -> None:
        """A connection may also end with an error when nobody uses it: then that is nobody's failure."""
        if closed not in self._heard:
            self._heard.add(closed)
            closed.add_done_callback(_take)

    async def request(
        self,
        method: str,
        path: str,
        headers: list[tuple[str, str]],
        body: bytes | Upload | None,
        attempt: Attempt,
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            self._session = self._open()
        url = self._find_url(path)
        if method == "CONNECT" or not _METHOD.fullmatch(method):
            raise ValueError("the method is none that is sent")
        ATTEMPT.set(attempt)
        try:
            return await self._session.request(method, url, data=body, headers=headers, allow_redirects=False)
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            again = attempt.kept and method in SAFE and not isinstance(body, Upload)
            if not again or isinstance(error, aiohttp.ClientConnectorError):
                raise
        return await self._session.request(method, url, data=body, headers=headers, allow_redirects=False)

    def _find_url(self, path: str) -> URL:
        url = self._urls.get(path)
        if url is None:
            if not _PATH.fullmatch(path):
                raise ValueError("the path is none that is sent")
            if len(self._urls) >= MAX_URLS:  # a path may have a model's name in it, which callers choose
                self._urls.clear()
            url = self._urls[path] = URL(self._base + path, encoded=True)
        return url

    def _open(self) -> aiohttp.ClientSession:
        connector = CleanConnector(
            self._judge,
            self._resolver,
            self._pin,
            # otherwise the library's one prebuilt context, which verifies against the system's authorities
            ssl=True if self._tls is None else self._tls,
        )
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            timeout=aiohttp.ClientTimeout(
                total=self._timeouts["total"], sock_connect=self._timeouts["connect"], sock_read=self._timeouts["read"]
            ),
        )
        session._retry_connection = False  # it would send PUT and DELETE again, and on a connection that was new
        return session

    async def close(self) -> None:
        self._told_closed(self)
        if self._session is not None:
            await self._session.close()


class Pools:
    """`services.Upstreams`: makes pools and closes them all at the end. One resolver serves them all, one TLS context
    all that bring none."""

    def __init__(self, own: OwnEndpoints | None = None, resolver: Resolver | None = None) -> None:
        self._own = own or OwnEndpoints()
        self._resolver = resolver or Resolver()
        self._pools: set[Pool] = set()

    def open(
        self,
        base_url: str,
        allow_addresses: tuple[str, ...],
        timeouts: Mapping[str, float],
        tls: ssl.SSLContext | None = None,
        pin: str | None = None,
    ) -> Pool:
        """Raises `TargetError` for a base URL or network that is not acceptable, `TlsError` for a pin that is none."""
        if pin is not None and tls is None:
            tls = make_context(None, pin, None)
        pool = Pool(
            parse_base_url(base_url),
            Judge(parse_networks(allow_addresses), self._own),
            self._resolver,
            timeouts,
            tls,
            None if pin is None else parse_pin(pin),
            self._pools.discard,
        )
        self._pools.add(pool)
        return pool

    async def connect(
        self, host: str, port: int, kind: socket.SocketKind, allow_addresses: tuple[str, ...]
    ) -> socket.socket:
        """Raises `TargetError`, and `OSError`: `ForbiddenAddress` and what the network says."""
        judge = Judge(parse_networks(allow_addresses), self._own)
        return await connect(host, port, kind, judge, self._resolver)

    async def examine(
        self,
        base_url: str,
        allow_addresses: tuple[str, ...],
        tls: ssl.SSLContext | None = None,
        pin: str | None = None,
        *,
        connects: bool = True,
    ) -> FailedStep | None:
        """Raises `TargetError`, and `TlsError` for a pin that is none."""
        target, judge = parse_base_url(base_url), Judge(parse_networks(allow_addresses), self._own)
        if not connects:
            return await find_obstacle(target, judge, self._resolver)
        if pin is not None and tls is None:
            tls = make_context(None, pin, None)
        parsed = None if pin is None else parse_pin(pin)
        return await find_obstacle_to_tls(target, judge, self._resolver, tls, parsed)

    async def close(self) -> None:
        for pool in tuple(self._pools):
            await pool.close()
        await self._resolver.close()
