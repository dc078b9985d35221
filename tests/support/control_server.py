"""A control plane behind real TLS, for the commands that talk to one. It checks admin tokens and nothing else."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

import pytest
import uvicorn

from mastio.control import application
from mastio.exchange.errors import AuthenticationError, MastioError
from mastio.exchange.values import STRANGER, Principal
from mastio.http.problem import render
from mastio.pki.authority import Authority
from mastio.process.plan import secret_folders
from mastio.store.admins import hash_admin_token
from mastio.store.control import ControlStore, bootstrap
from mastio.store.hot import HotDirectory
from mastio.store.secrets.file_keys import FileKeys
from mastio.store.sql.engine import Database
from mastio.store.sql.migrate import upgrade
from support.collections import COLLECTIONS

TRUST_DOMAIN = "world.test"


@dataclass(frozen=True, slots=True)
class Served:
    """`data` has the bootstrap.json of this appliance."""

    data: Path
    base_url: str
    ca_sha256: str

    @property
    def ca_file(self) -> Path:
        return self.data / "ca" / "ca.crt"


class Door:
    """Knows admin tokens, and answers errors as the appliance does."""

    def __init__(self, app: Any, keys: FileKeys, directory: HotDirectory) -> None:
        self._app = app
        self._keys = keys
        self._directory = directory

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        try:
            principal = self._principal(dict(scope["headers"]).get(b"authorization"))
            if scope["path"].startswith("/v1/admin/") and principal is STRANGER:
                raise AuthenticationError("An admin token is needed.")
            scope["state"] = {"principal": principal, "request_id": "r"}
            await self._app(scope, receive, send)
        except MastioError as error:
            status, headers, body = render("problem", error, "r")
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    def _principal(self, value: bytes | None) -> Principal:
        if value is None:
            return STRANGER
        hashed = hash_admin_token(self._keys, value.decode().removeprefix("Bearer "))
        admin = self._directory.admins.get(hashed)
        if admin is None:
            raise AuthenticationError("The admin token is not known.", code="invalid_admin_token")
        return Principal(admin.name, frozenset({admin.role}))


@contextmanager
def serve(data: Path) -> Iterator[Served]:
    """An appliance of this test, on a free port of the loopback, until the context is left."""
    url = f"sqlite+aiosqlite:///{data}/db/control.sqlite"
    upgrade(url)
    FileKeys(data).ensure()
    authority = Authority.ensure(data, TRUST_DOMAIN, time())
    authority.issue_server(["localhost", "127.0.0.1"], time())
    door = socket.create_server(("127.0.0.1", 0))
    base_url = f"https://localhost:{door.getsockname()[1]}"
    config = uvicorn.Config(
        app="unused", ssl_certfile=str(data / "edge" / "server.crt"), ssl_keyfile=str(data / "edge" / "server.key"),
        lifespan="off", log_level="error",
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(_run(server, config, door, data, url, base_url)))
    thread.start()
    known = {"base_url": base_url, "ca_file": "ca/ca.crt", "admin_token_file": str(data / "secrets" / "admin-token")}
    (data / "bootstrap.json").write_text(json.dumps(known))
    try:
        while not server.started:
            assert thread.is_alive()
        yield Served(data, base_url, authority.root_sha256)
    finally:
        server.should_exit = True
        thread.join()
        door.close()


async def _run(
    server: uvicorn.Server, config: uvicorn.Config, door: socket.socket, data: Path, url: str, base_url: str
) -> None:
    keys = FileKeys(data)
    database = Database(url)
    directory = HotDirectory(database, keys, collections=COLLECTIONS, secret_folders=secret_folders(data))
    store = ControlStore(
        database, keys, refresh=directory.refresh, collections=COLLECTIONS, secret_folders=secret_folders(data)
    )
    await directory.start()
    await bootstrap(store, data, {})
    app = application.build(
        store=store, collections=COLLECTIONS, directory=directory, public_url=base_url,
        authority=Authority.load(data, TRUST_DOMAIN, time()), trust_domain=TRUST_DOMAIN, leaf_seconds=86_400, now=time,
    )  # fmt: skip
    config.app = Door(app, keys, directory)
    await server.serve([door])
    await directory.close()
    await database.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One appliance for all tests of a module; each test uses names of its own."""
    with serve(tmp_path_factory.mktemp("data")) as running:
        yield running
