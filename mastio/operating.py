"""What the operator looks at: probes, metrics, the surface as OpenAPI and as a page. Core routes, dispatched here."""

from __future__ import annotations

import html
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import orjson

from mastio import __version__
from mastio.errors import Unavailable
from mastio.exchange import Action, Message, Principal, Recorded, Reply, RequestHead, Route
from mastio.hooks import Dispatch, Read, Ready
from mastio.telemetry import CONTENT_TYPE, Telemetry

JSON = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
HEALTH = orjson.dumps({"status": "ok", "version": __version__})

Check = Callable[[], Awaitable[str | None]]


def read_nothing(head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
    return Action(head.route.kind, "Appliance", "self"), Message(raw=b"")


DESCRIBED = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})
"""Methods that OpenAPI 3.1 has a place for (§4.8.9)."""


def _describe_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{([a-z_]+)\}", path)
    ]


class Operating:
    """Dispatches `probe.*` and `operate.*`."""

    def __init__(
        self, routes: Sequence[Route], telemetry: Telemetry, control_openapi: Callable[[], dict[str, Any]],
    ) -> None:  # fmt: skip
        self._routes = routes
        self._telemetry = telemetry
        self._control_openapi = control_openapi
        self.checks: list[Ready] = []

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
        return Reply(200, list(JSON), orjson.dumps(self._openapi()))

    async def docs(self, recorded: Recorded) -> Reply:
        """The surface as a plain page without script or external asset."""
        rows = "".join(
            f"<tr><td>{' '.join(route.methods)}</td><td><code>{html.escape(route.path)}</code></td>"
            f"<td>{', '.join(sorted(route.requires)) or 'open'}</td><td>{html.escape(route.summary)}</td></tr>"
            for route in self._routes
        )
        page = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Mastio</title>'
            f"<h1>Mastio {__version__}</h1><table><tr><th>Method<th>Path<th>Who<th>Meaning</tr>{rows}</table></html>"
        )
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-security-policy", b"default-src 'none'")]
        return Reply(200, headers, page.encode())

    def _openapi(self) -> dict[str, Any]:
        """The route table as OpenAPI 3.1, with the control plane's typed models where it has them."""
        document = self._control_openapi()
        paths: dict[str, Any] = {}
        for route in self._routes:
            name = route.path.replace("...}", "}")
            for method in [method.lower() for method in route.methods if method in DESCRIBED]:
                known = document["paths"].get(name, {}).get(method)
                paths.setdefault(name, {})[method] = known or {
                    "summary": route.summary,
                    "parameters": _describe_parameters(name),
                    "responses": {"default": {"description": "See docs/errors.md for the error codes."}},
                }
                paths[name][method]["x-requires"] = sorted(route.requires)
        return {**document, "info": {"title": "Mastio", "version": __version__}, "paths": paths}
