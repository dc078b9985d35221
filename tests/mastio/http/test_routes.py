from dataclasses import replace
from pathlib import Path

import pytest

from mastio.exchange.errors import BadRequest, ConfigurationError
from mastio.exchange.values import OPEN, Plane, Role, Route
from mastio.http.routes import RouteTable, find_mixed_paths, routes_of_plane
from mastio.process.plan import CORE_ROUTES, read_plan

TABLE = RouteTable(
    [
        Route("/a", ("GET",), OPEN, "a", ""),
        Route("/a", ("POST",), OPEN, "b", ""),
        Route("/a/{id}", ("GET",), OPEN, "c", ""),
        Route("/a/{id}/go", ("POST",), OPEN, "d", ""),
        Route("/w/{rest...}", ("GET",), OPEN, "e", ""),
    ]
)


@pytest.mark.parametrize(
    ("method", "path", "kind", "params"),
    [
        ("GET", "/a", "a", {}),
        ("POST", "/a", "b", {}),
        ("GET", "/a/x.y-1", "c", {"id": "x.y-1"}),
        ("POST", "/a/1/go", "d", {"id": "1"}),
        ("GET", "/w/x/y", "e", {"rest": "x/y"}),
    ],
)
def test_found(method: str, path: str, kind: str, params: dict[str, str]) -> None:
    route, found = TABLE.find(method, path)
    assert (route.kind, dict(found)) == (kind, params)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/", "not_found"),
        ("GET", "/A", "not_found"),
        ("GET", "/a/", "not_found"),
        ("GET", "/%61", "not_found"),
        ("DELETE", "/a", "method_not_allowed"),
        ("get", "/a", "method_not_allowed"),
        ("GET", "/a%2fb", "invalid_path"),
        ("GET", "/a/%2E%2e/b/c", "invalid_path"),
        ("GET", "/x//a", "invalid_path"),
        ("GET", "/x/../a/b/c", "invalid_path"),
        ("GET", "/a\\b", "invalid_path"),
        ("GET", "/w%00", "invalid_path"),
    ],
)
def test_refused(method: str, path: str, code: str) -> None:
    with pytest.raises(BadRequest) as refused:
        TABLE.find(method, path)
    assert refused.value.code == code


def test_two_claims_stop_the_start() -> None:
    row = Route("/a", ("GET",), OPEN, "a", "")
    with pytest.raises(ConfigurationError):
        RouteTable([row, row])


@pytest.mark.parametrize(
    ("requires", "plane"),
    [
        (set(), "control"), ({"admin"}, "control"), ({"operator", "auditor"}, "control"),
        ({"agent"}, "data"), ({"agent", "auditor"}, "data"),
    ],
)  # fmt: skip
def test_what_an_agent_may_call_is_of_the_data_plane(requires: set[Role], plane: Plane) -> None:
    assert Route("/a", ("GET",), frozenset(requires), "a", "").plane == plane
    for stated in ("control", "data"):
        assert Route("/a", ("GET",), frozenset(requires), "a", "", plane=stated).plane == stated


def test_one_path_has_one_plane() -> None:
    agent: frozenset[Role] = frozenset({"agent"})
    mixed = [Route("/a", ("GET",), OPEN, "a", ""), Route("/a", ("POST",), agent, "b", "")]
    assert find_mixed_paths([*mixed, Route("/b", ("GET",), agent, "c", "")]) == ["/a"]
    assert find_mixed_paths([mixed[0], replace(mixed[1], plane="control")]) == []


def test_a_plugin_with_a_mixed_path_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Route("/v1/agents/self", ("DELETE",), frozenset({"admin"}), "agent.self", "")
    monkeypatch.setattr("mastio.process.plan.CORE_ROUTES", (*CORE_ROUTES, wrong))
    _, problems = read_plan(Path("/nowhere"))
    assert problems == ["plugins.active: the routes of /v1/agents/self are of two planes."]


def test_each_plane_has_its_routes() -> None:
    """What differs from the derivation is named here, each with a reason where the route is."""
    routes = read_plan(Path("/nowhere"))[0].routes
    control, data = routes_of_plane(routes, "control"), routes_of_plane(routes, "data")
    assert {*control, *data} == {*routes} and not {*control} & {*data}
    derived = [Route(r.path, r.methods, r.requires, r.kind, "") for r in routes]
    stated = {one.path for one, other in zip(routes, derived, strict=True) if one.plane != other.plane}
    probes, renewals = {"/health", "/livez", "/readyz", "/metrics"}, {"/v1/agents/self/renew"}
    assert stated == probes | renewals | {"/.well-known/est/simplereenroll"}
    assert {"/oauth/token", "/v1/agents/self", "/v1/chat/completions"} <= {route.path for route in data}
    assert all(not route.path.startswith("/v1/admin/") for route in data)
