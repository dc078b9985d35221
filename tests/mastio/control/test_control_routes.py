"""The application's routes are the rows of the route table: no more, no fewer."""

from __future__ import annotations

import pytest
from fastapi.routing import APIRoute

from mastio.exchange.values import OPEN
from mastio.http.control_routes import ROUTES as OWN
from support.collections import COLLECTIONS
from support.control_plane import World

ROUTES = (*OWN, *(route for one in COLLECTIONS for route in one.routes()))


def test_fastapi_has_exactly_the_rows_of_the_table(world: World) -> None:
    rows = sorted((route.path.replace("...}", ":path}"), method) for route in ROUTES for method in route.methods)
    assert all(isinstance(route, APIRoute) for route in world.app.routes)
    served = sorted((r.path, m) for r in world.app.routes if isinstance(r, APIRoute) for m in r.methods)
    assert served == rows
    assert len(set(rows)) == len(rows)


def test_who_may_call_what() -> None:
    for route in ROUTES:
        if route.path.startswith("/v1/admin/"):
            collection = route.path.split("/")[3]
            is_identity = collection in {"enrollments", "enrollment-tokens", "agents"} and "*" not in route.path
            assert route.requires == {"operator" if is_identity else "admin"}
        elif route.kind in ("agent.self", "agent.renew"):
            assert route.requires == {"agent"}
        else:
            assert route.requires == OPEN and route.kind in (
                "enrollment.request", "enrollment.poll", "discovery", "pki",
            )  # fmt: skip


def test_what_is_recorded() -> None:
    for route in ROUTES:
        expected = {"enrollment.poll": "refusals", "discovery": "none", "pki": "none"}.get(route.kind, "all")
        assert route.recorded == expected


def test_openapi_describes_every_route_and_no_secret_comes_out(world: World) -> None:
    document = world.app.openapi()
    described = {(path, method.upper()) for path, item in document["paths"].items() for method in item}
    rows = {(r.path.replace("...}", "}"), m) for r in ROUTES for m in r.methods if m != "HEAD"}
    assert {(path.replace(":path}", "}"), method) for path, method in described} == rows
    answer = document["components"]["schemas"]["ProviderAnswer"]["properties"]
    assert not {"api_key", "api_key_file"} & set(answer)


@pytest.mark.parametrize(("method", "path"), [("GET", "/nope"), ("GET", "/v1/agents/self/renew"), ("GET", "/docs")])
async def test_a_path_that_the_front_door_should_have_stopped_is_refused(world: World, method: str, path: str) -> None:
    assert (await world.call(method, path)).status_code in (404, 405)
