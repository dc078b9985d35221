"""The appliance's whole surface, described: as OpenAPI and as a page. Core routes of the control plane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from mastio import __version__
from mastio.exchange.values import Recorded, Reply, Route
from mastio.host import aside
from mastio.http.openapi import describe
from mastio.http.openapi_page import PAGE_POLICY, write_page
from mastio.operating.probes import JSON, read_nothing
from mastio.plugin.hooks import Dispatch, Read


class Surface:
    """Dispatches `operate.openapi` and `operate.docs`. `routes` are those of both planes."""

    def __init__(self, routes: Sequence[Route], control_openapi: Callable[[], dict[str, Any]]) -> None:
        self._routes = routes
        self._control_openapi = control_openapi
        self._written: tuple[bytes, bytes] | None = None
        """As OpenAPI and as a page, once somebody has asked: it is the same as long as the process lives."""

    def reads(self) -> Mapping[str, Read]:
        return dict.fromkeys(self.dispatches(), read_nothing)

    def dispatches(self) -> Mapping[str, Dispatch]:
        return {"operate.openapi": self.openapi, "operate.docs": self.docs}

    async def openapi(self, recorded: Recorded) -> Reply:
        return Reply(200, list(JSON), (await self._write_once())[0])

    async def docs(self, recorded: Recorded) -> Reply:
        """The surface as a plain page without script or external asset."""
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-security-policy", PAGE_POLICY)]
        return Reply(200, headers, (await self._write_once())[1])

    async def _write_once(self) -> tuple[bytes, bytes]:
        if self._written is None:  # it takes longer than the event loop may be held
            self._written = await aside.run(False, self._write)
        return self._written

    def _write(self) -> tuple[bytes, bytes]:
        document = describe(self._routes, self._control_openapi(), __version__)
        return orjson.dumps(document), write_page(document).encode()
