"""The operator's routes: probes, metrics, the API as OpenAPI and as a page. Core routes, dispatched here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import orjson

from mastio import __version__, aside
from mastio.errors import Unavailable
from mastio.exchange import Action, Message, Principal, Recorded, Reply, RequestHead, Route
from mastio.hooks import Dispatch, Read, Ready
from mastio.openapi import describe
from mastio.openapi_page import PAGE_POLICY, write_page
from mastio.telemetry import CONTENT_TYPE, Telemetry

JSON = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
HEALTH = orjson.dumps({"status": "ok", "version": __version__})

Check = Callable[[], Awaitable[str | None]]


def read_nothing(head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
    return Action(head.route.kind, "Appliance", "self"), Message(raw=b"")


class Operating:
    """Dispatches `probe.*` and `operate.*`."""

    def __init__(
        self, routes: Sequence[Route], telemetry: Telemetry, control_openapi: Callable[[], dict[str, Any]],
    ) -> None:  # fmt: skip
        self._routes = routes
        self._telemetry = telemetry
        self._control_openapi = control_openapi
        self.checks: list[Ready] = []
        self._surface: tuple[bytes, bytes] | None = None
        """As OpenAPI and as a page, once somebody has asked: it is the same as long as the worker lives."""

    def reads(self) -> Mapping[str, Read]:
        return dict.fromkeys(self.dispatches(), read_nothing)

    def dispatches(self) -> Mapping[str, Dispatch]:
        return {
            "probe.health": self.health,
            "probe.live": self.health,
            "probe.ready": self.ready,
            "operate.metrics": self.metrics,
            "operate.openapi": self.openapi,
            "operate.docs": self.docs,
        }

    async def health(self, recorded: Recorded) -> Reply:
        return Reply(200, list(JSON), HEALTH)

    async def ready(self, recorded: Recorded) -> Reply:
        """200 when every part is usable. Raises `Unavailable` naming those that are not."""
        said = [problem for check in self.checks if (problem := await check()) is not None]
        if said:
            raise Unavailable(f"Not ready: {'; '.join(said)}.", code="not_ready")
        return Reply(200, list(JSON), orjson.dumps({"status": "ready", "version": __version__}))

    async def metrics(self, recorded: Recorded) -> Reply:
        return Reply(200, [(b"content-type", CONTENT_TYPE)], self._telemetry.render())

    async def openapi(self, recorded: Recorded) -> Reply:
        return Reply(200, list(JSON), (await self._write_once())[0])

    async def docs(self, recorded: Recorded) -> Reply:
        """The surface as a plain page without script or external asset."""
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-security-policy", PAGE_POLICY)]
        return Reply(200, headers, (await self._write_once())[1])

    async def _write_once(self) -> tuple[bytes, bytes]:
        if self._surface is None:  # it takes longer than the event loop may be held
            self._surface = await aside.run(False, self._write)
        return self._surface

    def _write(self) -> tuple[bytes, bytes]:
        document = describe(self._routes, self._control_openapi(), __version__)
        return orjson.dumps(document), write_page(document).encode()
