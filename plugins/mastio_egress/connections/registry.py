"""The connections in force, with what each worker keeps for them: pools, the credential, how replies are searched."""

from __future__ import annotations

import asyncio
import logging
from ssl import SSLContext

from mastio.exchange.errors import DispatchError
from mastio.exchange.target import Target, TargetError, parse_base_url
from mastio.outbound.tls import TlsError, make_context
from mastio.plugin.services import Services, Upstream
from mastio_egress.collection import CONNECTIONS
from mastio_egress.connections.connection import ConnectionRow
from mastio_egress.connections.credentials import Injection, open_injection
from mastio_egress.secret_masking import Needles

log = logging.getLogger("mastio.egress")


class OpenConnection:
    """A connection that can be used. Exchanges under way keep the one that they began with, so that a changed secret
    fails none of them."""

    def __init__(self, services: Services, row: ConnectionRow) -> None:
        """Raises `TargetError` and `TlsError`."""
        self.row = row
        self.target: Target = parse_base_url(row.base_url)
        self._services = services
        tls = open_tls(row)
        self._pool = services.upstreams.open(row.base_url, row.allow_addresses, row.timeouts, tls, row.pin)
        self.injection: Injection = open_injection(services, row)
        self._others: dict[str, Upstream] = {}
        self._needles = Needles(())
        self._searched: tuple[bytes, ...] = ()
        self._users = 0
        self._is_retired = False

    @property
    def origin(self) -> str:
        return self.target.origin

    def find_pool(self, origin: str) -> Upstream:
        """For the connection's own origin, or one that it may be redirected to: there with nobody's certificate."""
        if origin == self.origin:
            return self._pool
        pool = self._others.get(origin)
        if pool is None:
            row = self.row
            try:
                pool = self._services.upstreams.open(origin, row.allow_addresses, row.timeouts)
            except TargetError as error:
                raise DispatchError("The upstream's redirect leads where nothing may go.") from error
            self._others[origin] = pool
        return pool

    @property
    def needles(self) -> Needles:
        """The present secrets to search replies for: tokens change."""
        secrets = self.injection.secrets
        if secrets != self._searched:
            # the last ones as well: a reply may still repeat what it was asked with
            self._needles = Needles(tuple(dict.fromkeys((*secrets, *self._searched))))
            self._searched = secrets
        return self._needles

    def begin(self) -> None:
        """An exchange uses it; call `leave` when that is over."""
        self._users += 1

    async def leave(self) -> None:
        self._users -= 1
        await self._close_unused()

    async def retire(self) -> None:
        """Nobody begins with it any more: its connections are closed when nobody uses them."""
        self._is_retired = True
        await self._close_unused()

    async def _close_unused(self) -> None:
        if self._is_retired and not self._users:
            for pool in (self._pool, *self.injection.pools, *self._others.values()):
                await pool.close()


def open_tls(row: ConnectionRow) -> SSLContext | None:
    """None for what needs no other context than all have. Raises `TlsError`."""
    credential = row.credential
    certificate = credential.secret if credential is not None and credential.kind == "certificate" else None
    if row.ca is None and row.pin is None and certificate is None:
        return None
    return make_context(row.ca, row.pin, certificate)


class ConnectionRegistry:
    """Those of the directory."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._open: dict[str, OpenConnection] = {}
        self._retiring: set[asyncio.Task[None]] = set()
        self.reload()

    def reload(self) -> None:
        """Take the directory's connections; keep what is open of those that did not change."""
        before, self._open = self._open, {}
        for name, row in CONNECTIONS.find_rows(self._services.directory).items():
            known = before.get(name)
            try:
                self._open[name] = (
                    known if known is not None and known.row == row else OpenConnection(self._services, row)
                )
            except (TargetError, TlsError) as error:
                log.error("the connection %s cannot be used: %s", name, error)
        for name, opened in before.items():
            if self._open.get(name) is not opened:
                task = asyncio.ensure_future(opened.retire())
                self._retiring.add(task)
                task.add_done_callback(self._retiring.discard)

    def find(self, name: str) -> OpenConnection | None:
        """None where there is none of this name, or its description is not usable."""
        return self._open.get(name)
