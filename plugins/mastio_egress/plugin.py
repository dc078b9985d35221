"""Dispatches `egress.http`: HTTP to the connections that an admin described, with a credential that no agent sees.

README.md has the map.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mastio.exchange.values import Role, Route
from mastio.plugin.hooks import Hooks, Plugin, PluginSettings
from mastio.plugin.services import Services
from mastio_egress.calls import KIND, Calls
from mastio_egress.collection import CONNECTIONS
from mastio_egress.connections.registry import ConnectionRegistry
from mastio_egress.rates import Rates

AGENT: frozenset[Role] = frozenset({"agent"})

METHODS = (
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS",
    "PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "REPORT", "SEARCH",
)  # fmt: skip
"""All that the server's parser knows and that go to an origin; TRACE would show the credential."""

MAX_BODY = 16 * 1024 * 1024 * 1024
"""Bytes. Bodies go on as they arrive; a connection's own limit is less."""

ROUTES = tuple(
    Route(path, METHODS, AGENT, KIND, summary, limit=MAX_BODY, streams=True, produces=("*/*",), consumes=("*/*",))
    for path, summary in (
        ("/v1/egress/{connection}/{path...}", "HTTP to a connection, with its credential"),
        ("/v1/egress/{connection}/", "HTTP to a connection's base URL, with its credential"),
    )
)


class Settings(PluginSettings):
    """Connections are objects of the control plane: `docs/egress.md`."""


@asynccontextmanager
async def setup(settings: Settings, services: Services) -> AsyncIterator[Hooks]:
    registry = ConnectionRegistry(services)
    services.directory.on_change(registry.reload)
    calls = Calls(registry, services.permits, services.note)
    rates = Rates(services.directory)
    yield Hooks(
        intake={KIND: calls.take_in}, read={KIND: calls.read}, reserve=rates.reserve, dispatch={KIND: calls.dispatch}
    )


plugin = Plugin(name="egress", settings=Settings, setup=setup, routes=ROUTES, collections=(CONNECTIONS,))
