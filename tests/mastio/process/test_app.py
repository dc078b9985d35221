"""The outermost part of a worker: what it turns away before the pipeline, and what it knows of its own addresses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from time import time
from typing import Any, cast

import pytest

from mastio.exchange.errors import ConfigurationError, MastioError
from mastio.exchange.values import OPEN, RequestHead, Route
from mastio.host.in_step import InStep
from mastio.http.routes import RouteTable
from mastio.pipeline.order import Pipeline
from mastio.pki.authority import Authority
from mastio.process.app import MAX_HEADERS, App, _check_edge, node_name, own
from mastio.process.plan import read_plan

SECRET = b"of the edge"
EDGE = [(b"x-edge-secret", SECRET), (b"x-edge-certificate", b""), (b"x-edge-address", b"192.0.2.7")]
ROUTES = (Route("/v1/things/{id}", ("POST",), OPEN, "thing", "A thing"),)
SETTINGS = read_plan(Path("/nowhere"))[0].settings


class Asked:
    """Stands where the pipeline stands, and notes what comes."""

    def __init__(self) -> None:
        self.ran: list[RequestHead] = []
        self.refused: list[tuple[RequestHead, MastioError]] = []

    async def run(self, head: RequestHead, receive: Any, send: Any) -> None:
        self.ran.append(head)

    async def refuse(self, head: RequestHead, error: MastioError, send: Any) -> None:
        self.refused.append((head, error))


class AlwaysInStep:
    """Stands where the revision of the host is compared."""

    def __init__(self) -> None:
        self.is_behind = False

    async def catch_up(self) -> None:
        self.is_behind = False


class World:
    def __init__(self) -> None:
        self.pipeline = Asked()
        self.in_step = AlwaysInStep()
        self.app = App(RouteTable(ROUTES), cast(Pipeline, self.pipeline), cast(InStep, self.in_step), SECRET)
        self.sent: list[Any] = []

    async def call(self, method: str, path: str, headers: list[tuple[bytes, bytes]], kind: str = "http") -> None:
        async def send(message: Any) -> None:
            self.sent.append(message)

        async def receive() -> Any:
            raise AssertionError("the body is not read here")

        scope = {
            "type": kind, "method": method, "path": path, "raw_path": path.encode(), "query_string": b"q=1",
            "headers": headers,
        }  # fmt: skip
        await self.app(scope, receive, send)

    def turned_away(self) -> tuple[int, dict[str, Any]]:
        """Status and body of the one answer, of which the pipeline knows nothing."""
        start, end = self.sent
        headers = dict(start["headers"])
        assert headers[b"content-type"] == b"application/problem+json" and len(headers[b"x-request-id"]) == 32
        assert not self.pipeline.ran and not self.pipeline.refused
        return start["status"], json.loads(end["body"])


@pytest.mark.parametrize(
    "headers", [[], EDGE[1:], [(b"x-edge-secret", b"guessed"), *EDGE[1:]], [*EDGE, EDGE[2]]], ids=str
)
async def test_what_did_not_come_through_the_edge_is_turned_away(headers: list[tuple[bytes, bytes]]) -> None:
    world = World()
    await world.call("POST", "/v1/things/one", headers)
    status, problem = world.turned_away()
    assert (status, problem["code"]) == (400, "bad_request") and "/v1/things" not in json.dumps(problem)


async def test_a_path_of_no_route_is_turned_away() -> None:
    world = World()
    await world.call("POST", "/v1/nothing", EDGE)
    assert world.turned_away()[0] == 404


async def test_a_route_is_run_with_what_the_edge_saw() -> None:
    world = World()
    await world.call("POST", "/v1/things/one", EDGE)
    (head,) = world.pipeline.ran
    assert (head.route, dict(head.params), head.client_address) == (ROUTES[0], {"id": "one"}, "192.0.2.7")
    assert world.sent == [] and world.app.requests == 1


async def test_a_worker_that_is_behind_catches_up_before_it_serves() -> None:
    world = World()
    world.in_step.is_behind = True
    await world.call("POST", "/v1/things/one", EDGE)
    assert not world.in_step.is_behind and len(world.pipeline.ran) == 1


@pytest.mark.parametrize(
    ("method", "more", "code"), [("GET", 0, "method_not_allowed"), ("POST", MAX_HEADERS, "headers_too_large")]
)
async def test_what_is_wrong_at_a_known_path_is_refused_by_the_pipeline(method: str, more: int, code: str) -> None:
    """It is recorded there, in the caller's dialect."""
    world = World()
    await world.call(method, "/v1/things/one", [*EDGE, *((b"x-more-%d" % n, b"") for n in range(more))])
    ((head, error),) = world.pipeline.refused
    assert (head.route, error.code, world.sent) == (ROUTES[0], code, [])


async def test_what_is_no_request_is_not_counted() -> None:
    world = World()
    await world.call("", "/", [], kind="lifespan")
    assert world.sent == [] and world.app.requests == 0
    await world.call("GET", "/health", [])
    assert world.sent[0]["status"] == 200 and world.app.requests == 1, "the probe needs no edge"


@pytest.mark.parametrize("section", ["server", "edge"])
def test_no_upstream_is_a_worker_of_ours(section: str) -> None:
    address = {"listen": "127.0.0.1:9000"} if section == "server" else {"app": "app:9000"}
    changed = replace(SETTINGS, server=SETTINGS.server.model_copy(update={"workers": 3}))
    changed = replace(changed, **{section: getattr(changed, section).model_copy(update=address)})
    ports = own(changed, "sqlite+aiosqlite:////x").ports
    assert ports == {9443, *range(9000, 9006), 9128}, "those for long bodies and control, too"
    database = own(SETTINGS, "postgresql+asyncpg://h/db").ports
    assert database == {9443, 5432} and own(SETTINGS, "postgresql+asyncpg://h:6543/db").ports == {9443, 6543}


def test_a_data_folder_without_a_name_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        node_name(tmp_path)
    assert caught.value.hint == "Run mastio up, or ./deploy.sh up."
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "node").write_text("n-1\n")
    assert node_name(tmp_path) == "n-1"


async def test_a_worker_is_not_ready_without_a_good_certificate_of_the_edge(tmp_path: Path) -> None:
    for name, at in (("old", 1_700_000_000.0), ("new", time())):
        Authority.ensure(tmp_path / name, "test.example", at).issue_server(["localhost"], at)
    assert await _check_edge(tmp_path / "none")() == "edge: the server certificate cannot be read"
    assert await _check_edge(tmp_path / "old")() == "edge: the server certificate has expired"
    assert await _check_edge(tmp_path / "new")() is None
    (tmp_path / "new" / "edge" / "server.crt").write_text("no certificate")
    assert await _check_edge(tmp_path / "new")() == "edge: the server certificate cannot be read"
