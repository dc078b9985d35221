"""Access tokens that the appliance fetches for itself where an upstream's authority gives them out. For plugins.

A token is kept until shortly before its end, and fetched once for all who wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

from mastio.exchange.errors import DispatchError, UpstreamTimeout
from mastio.http.strictjson import JsonError, parse_object
from mastio.plugin.services import Upstream

EARLY = 120.0
"""Seconds before its end at which a token is fetched anew."""

FETCH_WITHIN = 30.0
"""Seconds, whatever the upstream's own timeouts are."""

MAX_REPLY = 64 * 1024
MOST_SECONDS = 86_400
UNSAID_SECONDS = 300.0
"""Seconds that a token is used if the server does not state its lifetime."""


class Token:
    """A token from `fetch`, which returns it with its lifetime in seconds.

    Callers that need it during a fetch share that fetch's result, a failure included: no caller waits for more than one
    fetch, which has `within` seconds. The fetch continues if the caller that began it has gone.
    """

    def __init__(self, fetch: Callable[[], Awaitable[tuple[str, float]]], within: float = FETCH_WITHIN) -> None:
        self._fetch = fetch
        self._within = within
        self._until = 0.0
        self._fetching: asyncio.Future[str] | None = None
        self.current: str | None = None

    async def get(self) -> str:
        """Raises `DispatchError`."""
        if self.current is not None and time.monotonic() < self._until:
            return self.current
        if self._fetching is None:
            self._fetching = asyncio.ensure_future(self._renew())
            self._fetching.add_done_callback(self._done)
        return await asyncio.shield(self._fetching)

    async def _renew(self) -> str:
        try:
            async with asyncio.timeout(self._within):
                token, seconds = await self._fetch()
        except TimeoutError as error:
            raise UpstreamTimeout("The provider's tokens cannot be had in time.") from error
        self.current, self._until = token, time.monotonic() + max(seconds - EARLY, seconds / 2)
        return token

    def _done(self, fetching: asyncio.Future[str]) -> None:
        self._fetching = None
        if not fetching.cancelled():
            fetching.exception()  # seen, also where nobody waits for it any more

    def forget(self, refused: str | None = None) -> bool:
        """The upstream refused it, or `refused`, which may be an older one. Whether the next may be another."""
        if refused is not None and refused != self.current:
            return True
        had, self.current = self.current is not None, None
        return had


async def fetch_token(
    pool: Upstream, form: dict[str, str], more: list[tuple[str, str]] | None = None
) -> tuple[str, float]:
    """The access token and the seconds it is good for (RFC 6749 §5.1). `more`: headers. Raises `DispatchError`."""
    headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("accept", "application/json"),
        ("accept-encoding", "identity"),
        *(more or ()),
    ]
    async with pool.send("POST", "", headers, urlencode(form).encode("ascii")) as upstream:
        body = await upstream.read(MAX_REPLY)
        if upstream.status >= 500:
            raise DispatchError("The provider's tokens cannot be had.")
        try:
            document = parse_object(body) if upstream.status == 200 else {}
        except JsonError:
            document = {}
        token, seconds = document.get("access_token"), document.get("expires_in")
        if not isinstance(token, str) or not token.isprintable() or not token.isascii() or not token:
            raise DispatchError("The provider gave the appliance no token.", code="upstream_refused")
    return token, float(seconds) if isinstance(seconds, int) and 0 < seconds <= MOST_SECONDS else UNSAID_SECONDS
