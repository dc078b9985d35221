"""The route table: every path of the appliance as data. The edge's locations are rendered from it (`mastio.http.edge`).
Pure.

A path is matched as the bytes that came, never decoded: `/v1/%6dodels` is not `/v1/models`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from mastio.exchange.errors import BadRequest, ConfigurationError
from mastio.exchange.values import OPEN, Plane, Role, Route

OPERATOR: frozenset[Role] = frozenset({"operator"})
AGENT: frozenset[Role] = frozenset({"agent"})
SIGNED_IN: frozenset[Role] = frozenset({"operator", "auditor"})
"""Every person with a token: an admin is an operator and an auditor."""

_JSON = ("application/json",)

CORE: tuple[Route, ...] = (
    Route(
        "/health",
        ("GET", "HEAD"),
        OPEN,
        "probe.health",
        "The appliance answers",
        recorded="none",
        limit=0,
        produces=_JSON,
        plane="data",
    ),
    Route(
        "/livez",
        ("GET", "HEAD"),
        OPEN,
        "probe.live",
        "The process is alive",
        recorded="none",
        limit=0,
        produces=_JSON,
        plane="data",
    ),
    Route(
        "/readyz",
        ("GET", "HEAD"),
        OPEN,
        "probe.ready",
        "Every part is usable",
        recorded="none",
        limit=0,
        produces=_JSON,
        parameters=(("exclude", "`control`: whether agents are served, whatever becomes of control"),),
        plane="data",
    ),
    Route(
        "/metrics",
        ("GET",),
        OPERATOR,
        "operate.metrics",
        "Prometheus metrics",
        produces=("text/plain",),
        plane="data",  # so that it can be seen that control is down
    ),
    Route("/openapi.json", ("GET",), SIGNED_IN, "operate.openapi", "This surface as OpenAPI", produces=_JSON),
    Route("/docs", ("GET",), SIGNED_IN, "operate.docs", "This surface as a page", produces=("text/html",)),
    Route("/v1/agents/self", ("GET",), AGENT, "agent.self", "The caller's own identity", produces=_JSON),
)

_PARAMETER = re.compile(r"\{([a-z_]+)(\.\.\.)?\}")
_ODD_PATH = re.compile(r"%2[ef]|%5c|%00|//|/\.\.?(/|$)|\\", re.IGNORECASE)


def path_pattern(path: str) -> str:
    """A regular expression, in the syntax that Python and nginx (PCRE) share, for a path with parameters."""
    pieces = []
    position = 0
    for match in _PARAMETER.finditer(path):
        pieces.append(re.escape(path[position : match.start()]))
        pieces.append(f"(?<{match[1]}>.+)" if match[2] else f"(?<{match[1]}>[^/]+)")
        position = match.end()
    return "^" + "".join(pieces) + re.escape(path[position:]) + "$"


def routes_of_plane(routes: Iterable[Route], plane: Plane) -> tuple[Route, ...]:
    """The routes that the program of this plane serves."""
    return tuple(route for route in routes if route.plane == plane)


def find_mixed_paths(routes: Iterable[Route]) -> list[str]:
    """The paths whose routes are of two planes: the edge chooses by the path, so one of them would not be reached."""
    planes: dict[str, set[Plane | None]] = {}
    for route in routes:
        planes.setdefault(route.path, set()).add(route.plane)
    return [path for path, found in planes.items() if len(found) > 1]


class RouteTable:
    """Finds the route of a request. Built once; raises `ConfigurationError` when two rows claim one method and path."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(routes)
        self._exact: dict[str, dict[str, Route]] = {}
        self._patterns: list[tuple[re.Pattern[str], dict[str, Route]]] = []
        by_path: dict[str, dict[str, Route]] = {}
        for route in self.routes:
            rows = by_path.setdefault(route.path, {})
            for method in route.methods:
                if method in rows:
                    raise ConfigurationError(f"Two routes claim {method} {route.path}.", "Check the active plugins.")
                rows[method] = route
        for path, rows in by_path.items():
            if "{" in path:
                self._patterns.append((re.compile(path_pattern(path).replace("(?<", "(?P<")), rows))
            else:
                self._exact[path] = rows

    def any_at(self, path: str) -> Route | None:
        """A route of this path, whatever its method: in whose dialect a wrong method is refused."""
        found = (rows for pattern, rows in self._patterns if pattern.match(path))
        rows = self._exact.get(path) or next(found, None)
        return next(iter(rows.values())) if rows else None

    def find(self, method: str, path: str) -> tuple[Route, Mapping[str, str]]:
        """The route and its parameters. Raises `BadRequest`: 400 for an odd path, 404, 405."""
        rows = self._exact.get(path)
        params: Mapping[str, str] = {}
        if rows is None:
            if _ODD_PATH.search(path):
                raise BadRequest("The path has encoded or empty segments.", code="invalid_path")
            for pattern, candidates in self._patterns:
                if match := pattern.match(path):
                    rows, params = candidates, match.groupdict()
                    break
        if rows is None:
            raise BadRequest("There is nothing at this path.", code="not_found")
        route = rows.get(method)
        if route is None:
            allow = ", ".join(sorted(rows))
            raise BadRequest(
                "The method is not one of this path.", code="method_not_allowed", headers=(("Allow", allow),)
            )
        return route, params
