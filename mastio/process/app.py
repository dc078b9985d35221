"""The composition root: settings, stores, plugins and pipeline become one ASGI callable. Only the two programs import
it: `mastio.process.data_plane` and `mastio.control.program`, which contain the differences between them.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cryptography import x509
from sqlalchemy import make_url

from mastio.exchange.errors import BadRequest, ConfigurationError, MastioError
from mastio.exchange.inspection import Finding
from mastio.exchange.target import parse_base_url
from mastio.exchange.values import Action, Entry, Plane, Principal, RequestHead, Route
from mastio.host.host_memory import HostMemory
from mastio.host.in_step import InStep
from mastio.host.lag import LoopLag
from mastio.host.liveness import Liveness
from mastio.host.metrics import MeasuredGauge, Telemetry
from mastio.http.edge import read_edge_headers
from mastio.http.problem import render
from mastio.http.routes import RouteTable, routes_of_plane
from mastio.operating.expiry import measure
from mastio.operating.probes import HEALTH, JSON, Readiness
from mastio.outbound.connector import OwnEndpoints
from mastio.outbound.resolver import Resolver
from mastio.outbound.upstream import Pools
from mastio.pipeline.admission import Admission, Shares
from mastio.pipeline.order import Pipeline
from mastio.pipeline.refusal_rate import Refusals
from mastio.pki.following import FollowedAuthority
from mastio.pki.public import PublicAuthority
from mastio.plugin.collection import Collection
from mastio.plugin.hooks import Hooks
from mastio.plugin.loading import collections_of, open_plugins, refuse
from mastio.plugin.services import Services, Worker
from mastio.process.plan import Plan, read_plan, secret_folders
from mastio.settings import CONTROL_SLOT, Settings
from mastio.store.api_keys import ApiKeyStore
from mastio.store.approvals import StoredApprovals
from mastio.store.holds import HoldStore
from mastio.store.hot import HotDirectory
from mastio.store.leases import LeaseStore
from mastio.store.once import Once
from mastio.store.secrets.file_keys import FileKeys
from mastio.store.secrets.key_sources import open_keys
from mastio.store.sql.changes import Change
from mastio.store.sql.engine import Database
from mastio_primitives.asgi import Receive, Send, send_response

MAX_HEADERS = 107
"""The most headers of a request: a hundred of the caller's, and those that the edge adds."""

POSTGRESQL = 5432
"""The port of a database whose URL has none."""


class App:
    """The outermost ASGI callable: edge headers, exact route, then the pipeline. The body is not read here."""

    def __init__(self, table: RouteTable, pipeline: Pipeline, in_step: InStep, edge_secret: bytes) -> None:
        self._table = table
        self._pipeline = pipeline
        self._in_step = in_step
        self._edge_secret = edge_secret
        self.requests = 0
        """The number of requests so far. A worker whose number does not change is idle."""

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        self.requests += 1
        if scope["path"] == "/health" and scope["method"] == "GET":
            await send_response(send, 200, list(JSON), HEALTH)  # the cheapest answer there is
            return
        request_id = secrets.token_hex(16)
        path = scope["raw_path"].decode("latin-1")
        try:
            certificate, address = read_edge_headers(scope["headers"], self._edge_secret)
        except MastioError as error:
            await _turn_away(error, request_id, send)
            return
        wrong: MastioError | None = None
        try:
            route, params = self._table.find(scope["method"], path)
            if len(scope["headers"]) > MAX_HEADERS:
                raise BadRequest("There are more than a hundred headers.", code="headers_too_large")
        except MastioError as error:
            known = self._table.any_at(path)
            if known is None:
                await _turn_away(error, request_id, send)
                return
            route, params, wrong = known, {}, error
        head = RequestHead(
            request_id,
            scope["method"],
            path,
            scope["query_string"],
            params,
            scope["headers"],
            route,
            certificate,
            address,
        )
        if wrong is not None:
            await self._pipeline.refuse(head, wrong, send)
            return
        if self._in_step.is_behind:
            await self._in_step.catch_up()
        await self._pipeline.run(head, receive, send)


async def _turn_away(error: MastioError, request_id: str, send: Send) -> None:
    """Refuses a request that matches no route. It has no dialect and no kind, so it is not recorded."""
    status, headers, body = render("problem", error, request_id)
    await send_response(send, status, [*headers, (b"x-request-id", request_id.encode("ascii"))], body)


@dataclass(frozen=True, slots=True)
class Base:
    """The parts that both programs open before their plugins: plan, keys, database, directory, pools."""

    data: Path
    plan: Plan
    url: str
    keys: FileKeys
    database: Database
    directory: HotDirectory
    pools: Pools
    collections: tuple[Collection[Any], ...]

    @property
    def settings(self) -> Settings:
        return self.plan.settings


class Program(ABC):
    """The part of the application that differs between the control plane and the data plane."""

    plane: Plane

    def load_authority(self, base: Base) -> PublicAuthority:
        """The certificate authority, with the part of it that this program may have: its certificates. Raises
        `ConfigurationError`."""
        return PublicAuthority(base.data, time.time())

    def publisher(self) -> Callable[[], None] | None:
        """The function that writes the files derived from the authority's state. None: another program writes them."""
        return None

    @abstractmethod
    def hooks(self, base: Base, readiness: Readiness, telemetry: Telemetry) -> Hooks:
        """The core's hooks, for the core's routes of this plane."""

    def announce(self, data: Path) -> None:
        """Called when the program is about to serve."""
        return

    def take(self, opened: Sequence[tuple[str, Hooks]]) -> None:
        """Called when the plugins are open."""
        return

    def tasks(self, base: Base, readiness: Readiness, liveness: Liveness) -> Sequence[Coroutine[Any, Any, None]]:
        """The background tasks of this program, which run while the application is open."""
        return ()


@asynccontextmanager
async def open_app(
    data: Path, slot: int, host_memory: HostMemory, program: Program, config: Path | None = None
) -> AsyncIterator[App]:
    """The application of one process, with everything it needs open. Raises `ConfigurationError`."""
    async with _open_base(data, config) as base:
        authority, later = program.load_authority(base), _Later()
        services = _services(base, program, slot, host_memory, authority, later)
        liveness = Liveness(host_memory, services.slots)
        telemetry, readiness = Telemetry(partial(_measure, authority, base.directory, liveness)), Readiness()
        routes = routes_of_plane(base.plan.routes, program.plane)
        core = program.hooks(base, readiness, telemetry)
        async with (
            _follow(authority, program.publisher()) as following,
            open_plugins(base.plan.active, services) as opened,
        ):
            program.take(opened)
            pipeline = _pipeline(base.settings, routes, [("core", core), *opened], services, telemetry)
            later.put(pipeline)
            readiness.checks += [_check_directory(base.directory), following.ready, _check_edge(data)]
            readiness.checks += [hook.ready for _, hook in opened if hook.ready]
            lag = LoopLag(partial(telemetry.lag, _label(slot)))
            async with _run(lag.run(), liveness.run(slot), *program.tasks(base, readiness, liveness)):
                try:
                    in_step = InStep(base.directory, host_memory)
                    edge_secret = base.keys.key("edge").hex().encode("ascii")
                    yield App(RouteTable(routes), pipeline, in_step, edge_secret)
                finally:
                    await pipeline.close()


@asynccontextmanager
async def _follow(authority: PublicAuthority, publish: Callable[[], None] | None) -> AsyncIterator[FollowedAuthority]:
    following = FollowedAuthority(authority, time.time, publish)
    following.start()
    try:
        yield following
    finally:
        await following.close()


@asynccontextmanager
async def _run(*coroutines: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run these in the background while this is open."""
    tasks = [asyncio.create_task(one) for one in coroutines]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()


def _pipeline(
    settings: Settings,
    routes: Sequence[Route],
    plugins: Sequence[tuple[str, Hooks]],
    services: Services,
    telemetry: Telemetry,
) -> Pipeline:
    server = settings.server
    return Pipeline(
        routes,
        plugins,
        services,
        telemetry,
        server.max_in_flight,
        admission=Admission(_shares(settings)),
        refusals=Refusals(server.refusal_burst, server.refusals_per_second),
    )


@asynccontextmanager
async def _open_base(data: Path, config: Path | None) -> AsyncIterator[Base]:
    plan, problems = read_plan(data, config)
    refuse(problems)
    settings = plan.settings
    url = settings.database_url(data)
    keys = open_keys(data, settings.secrets)
    database = Database(url)
    collections = collections_of(plan.active)
    directory = HotDirectory(database, keys, collections=collections, secret_folders=secret_folders(data))
    pools = Pools(own(settings, url), Resolver(settings.upstream.resolvers, settings.upstream.resolve_seconds))
    await directory.start()
    try:
        yield Base(data, plan, url, keys, database, directory, pools, collections)
    finally:
        await pools.close()
        await directory.close()
        await database.close()


class _Later:
    """Access to the pipeline for its own plugins, which are opened before the pipeline exists."""

    def __init__(self) -> None:
        self._pipeline: Pipeline | None = None
        self._opened = asyncio.Event()

    def put(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._opened.set()

    async def permits(self, principal: Principal, action: Action, findings: Sequence[Finding]) -> bool:
        return self._pipeline is not None and await self._pipeline.permits(principal, action, findings)

    async def note(self, entry: Entry, principal: Principal | None = None, action: Action | None = None) -> int:
        await self._opened.wait()
        assert self._pipeline is not None
        return await self._pipeline.note(entry, principal, action)


def _services(
    base: Base, program: Program, slot: int, host_memory: HostMemory, authority: PublicAuthority, later: _Later
) -> Services:
    server, directory, keys = base.settings.server, base.directory, base.keys
    worker = Worker(node_name(base.data), slot, secrets.token_hex(8))
    change = Change(base.database, directory.refresh)
    holds = HoldStore(base.database, change)
    return Services(
        data=base.data,
        public_url=server.public_url,
        trust_domain=server.trust_domain,
        database_url=base.url,
        directory=directory,
        keys=keys,
        worker=worker,
        workers=server.workers,
        slots=server.slots,
        host_memory=host_memory,
        upstreams=base.pools,
        trust=authority.trust,
        once=Once(base.database),
        leases=LeaseStore(base.database, worker),
        permits=later.permits,
        note_api_key_uses=ApiKeyStore(base.database, change, keys).mark_used,
        approvals=StoredApprovals(holds, directory, keys.key("audit-digest"), time.time),
        note=later.note,
        now=time.time,
        plane=program.plane,
    )


def _measure(authority: PublicAuthority, directory: HotDirectory, liveness: Liveness) -> Iterator[MeasuredGauge]:
    yield from measure(authority, directory, time.time)
    yield from liveness.measure()


def _label(slot: int) -> str:
    """The label of a process in the metric of the event loop's lag."""
    return "control" if slot == CONTROL_SLOT else str(slot)


def own(settings: Settings, database_url: str) -> OwnEndpoints:
    """The addresses of the appliance itself, its workers and its database included. No upstream may have one of
    them."""
    public = parse_base_url(settings.server.public_url)
    ports = {settings.edge.port, public.port}
    for listen in (settings.server.listen, settings.edge.app):
        first = listen.rpartition(":")[2]
        if first.isdecimal():
            ports.update(int(first) + slot for slot in (*settings.server.slots, CONTROL_SLOT))
    database = make_url(database_url)
    if not database_url.startswith("sqlite"):
        ports.add(database.port or POSTGRESQL)
    return OwnEndpoints(frozenset(ports), frozenset({(public.host, public.port)}))


def node_name(data: Path) -> str:
    """The name of this data folder among replicas of one log."""
    file = data / "db" / "node"
    try:
        return file.read_text("ascii").strip()
    except OSError as error:
        raise ConfigurationError("The data folder has no node name.", "Run mastio up, or ./deploy.sh up.") from error


def _shares(settings: Settings) -> Shares:
    server = settings.server
    return Shares(
        server.max_in_flight,
        server.admin_in_flight,
        server.open_in_flight,
        server.agent_share,
        server.caller_body_megabytes * 1024 * 1024,
    )


def _check_directory(directory: HotDirectory) -> Any:
    async def check() -> str | None:
        return None if directory.healthy else "database: the control plane's database does not answer"

    return check


def _check_edge(data: Path) -> Any:
    async def check() -> str | None:
        try:
            leaf = x509.load_pem_x509_certificate((data / "edge" / "server.crt").read_bytes())
        except (OSError, ValueError):
            return "edge: the server certificate cannot be read"
        return (
            None if time.time() < leaf.not_valid_after_utc.timestamp() else "edge: the server certificate has expired"
        )

    return check
