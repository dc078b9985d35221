"""What a worker keeps for a connection is let go when nobody uses it any more."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from mastio_egress.connections.connection import ConnectionCredential, ConnectionRow
from mastio_egress.connections.registry import ConnectionRegistry
from support.collections import Described

OPTIONS = {"token_url": "https://login.example/token", "client_id": "robot"}
OAUTH = ConnectionCredential("oauth", "a-secret-of-the-client", OPTIONS)
ROW = ConnectionRow("api", "https://api.example", OAUTH, redirects=True, redirect_hosts=("files.example",))


class Pool:
    def __init__(self, url: str) -> None:
        self.url = url
        self.closed = 0

    async def close(self) -> None:
        self.closed += 1


class World:
    def __init__(self) -> None:
        self.pools: list[Pool] = []
        self.connections = {"api": ROW}
        directory = Described(connections=self.connections)
        services: Any = SimpleNamespace(directory=directory, upstreams=SimpleNamespace(open=self._open))
        self.registry = ConnectionRegistry(services)

    def _open(self, url: str, *_: object) -> Pool:
        self.pools.append(Pool(url))
        return self.pools[-1]

    async def change(self, *rows: ConnectionRow) -> None:
        self.connections.clear()
        self.connections.update({row.name: row for row in rows})
        self.registry.reload()
        await asyncio.sleep(0)

    def closed(self) -> set[str]:
        return {pool.url for pool in self.pools if pool.closed}


ALL = {"https://api.example", "https://login.example/token", "https://files.example:443"}


async def test_all_pools_of_a_deleted_connection_are_closed() -> None:
    world = World()
    opened = world.registry.find("api")
    assert opened is not None
    opened.find_pool("https://files.example:443")
    await world.change(ROW)
    assert world.registry.find("api") is opened and not world.closed()
    await world.change()
    assert world.registry.find("api") is None and world.closed() == ALL


async def test_who_uses_one_that_was_changed_keeps_it_to_the_end() -> None:
    world = World()
    opened = world.registry.find("api")
    assert opened is not None
    opened.begin()
    opened.begin()
    await world.change(ConnectionRow("api", "https://api.example"))
    await opened.leave()
    assert not world.closed()
    await opened.leave()
    assert world.closed() == {"https://api.example", "https://login.example/token"}
