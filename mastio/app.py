"""The composition root: settings, stores, plugins and pipeline become one ASGI callable. Nothing imports this but
what starts a worker.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from cryptography import x509
from sqlalchemy import make_url

from mastio.admission import Admission, Shares
from mastio.approvals import StoredApprovals
from mastio.collection import Collection
from mastio.control.application import build as build_control
from mastio.control.context import Verifiers
from mastio.control.routes import ROUTES as CONTROL_ROUTES
from mastio.edge import read_edge_headers, server_names
from mastio.errors import BadRequest, ConfigurationError, MastioError
from mastio.exchange import Action, Entry, Principal, RequestHead
from mastio.expiry import measure
from mastio.hooks import Hooks
from mastio.host_memory import HostMemory
from mastio.in_step import InStep
from mastio.inprocess import InProcess, read_control, read_judged
from mastio.inspection import Finding
from mastio.lag import LoopLag
from mastio.operating import HEALTH, JSON, Operating
from mastio.pipeline import Pipeline
from mastio.pki.authority import DAY, Authority
from mastio.pki.following import FollowedAuthority
from mastio.plan import read_plan, secret_folders
from mastio.plugins import collections_of, open_plugins, refuse
from mastio.problem import render
from mastio.refusals import Refusals
from mastio.resolver import Resolver
from mastio.routes import RouteTable
from mastio.services import Services, Worker
from mastio.settings import Settings
from mastio.store.control import ControlStore
from mastio.store.engine import Database
from mastio.store.hot import HotDirectory
from mastio.store.key_sources import open_keys
from mastio.store.leases import LeaseStore
from mastio.store.once import Once
from mastio.target import parse_base_url
from mastio.telemetry import Telemetry
from mastio.upstream import Pools
from mastio.upstream_connector import Own
from mastio.whoami import KIND as SELF
from mastio.whoami import Whoami, read_self
from mastio_primitives.asgi import Receive, Send, send_response

MAX_HEADERS = 107
"""A hundred of the caller's, and those that the edge adds."""

POSTGRESQL = 5432
"""The port where the URL of a database has none."""


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


@asynccontextmanager
async def open_app(data: Path, slot: int, host_memory: HostMemory, config: Path | None = None) -> AsyncIterator[App]:
    """One worker's app, with everything it needs open. Raises `ConfigurationError`."""
    plan, problems = read_plan(data, config)
    refuse(problems)
    settings = plan.settings
    url = settings.database_url(data)
    keys = open_keys(data, settings.secrets)
    authority = Authority.load(data, settings.server.trust_domain, time.time())
    following = FollowedAuthority(authority, time.time)
    database = Database(url)
    collections, folders = collections_of(plan.active), secret_folders(data)
    directory = HotDirectory(database, keys, collections=collections, secret_folders=folders)
    store = ControlStore(database, keys, refresh=directory.refresh, collections=collections, secret_folders=folders)
    upstream = settings.upstream
    pools = Pools(own(settings, url), Resolver(upstream.resolvers, upstream.resolve_seconds))
    worker = Worker(node_name(data), slot, secrets.token_hex(8))
    await directory.start()
    following.start()
    pipeline: Pipeline | None = None

    async def permits(principal: Principal, action: Action, findings: Sequence[Finding]) -> bool:
        return pipeline is not None and await pipeline.permits(principal, action, findings)

    opened_pipeline = asyncio.Event()

    async def note(entry: Entry, principal: Principal | None = None, action: Action | None = None) -> int:
        await opened_pipeline.wait()  # plugins are opened before the pipeline is
        assert pipeline is not None
        return await pipeline.note(entry, principal, action)

    services = Services(
        data=data,
        public_url=settings.server.public_url,
        trust_domain=settings.server.trust_domain,
        database_url=url,
        directory=directory,
        keys=keys,
        worker=worker,
        workers=settings.server.workers,
        slots=settings.server.slots,
        host_memory=host_memory,
        upstreams=pools,
        trust=authority.trust,
        once=Once(database),
        leases=LeaseStore(database, worker),
        permits=permits,
        note_api_key_uses=store.api_keys.mark_used,
        approvals=StoredApprovals(store.holds, directory, keys.key("audit-digest"), time.time),
        note=note,
        now=time.time,
    )
    telemetry = Telemetry(partial(measure, authority, directory, time.time))
    verifiers = Verifiers()
    administration = build_control(
        store=store, collections=collections, directory=directory, verifiers=verifiers, authority=authority,
        public_url=settings.server.public_url,
        trust_domain=settings.server.trust_domain, leaf_seconds=settings.pki.leaf_hours * 3600, now=time.time,
        pending_seconds=settings.pki.pending_hours * 3600, server_names=tuple(server_names(settings)),
        server_seconds=settings.pki.server_days * DAY,
        four_eyes_seconds=settings.admin.four_eyes_seconds if settings.admin.four_eyes else None,
        claim_seconds=settings.admin.claim_seconds, examine=partial(pools.examine, connects=False),
    )  # fmt: skip
    operating = Operating(plan.routes, telemetry, administration.openapi)
    try:
        async with open_plugins(plan.active, services) as opened:
            for _, hook in opened:
                verifiers.add(hook.verify, hook.in_force)
            core = _core_hooks(administration, operating, Whoami(directory), settings, collections)
            pipeline = Pipeline(
                plan.routes, [("core", core), *opened], services, telemetry, settings.server.max_in_flight,
                admission=Admission(_shares(settings)),
                refusals=Refusals(settings.server.refusal_burst, settings.server.refusals_per_second),
            )  # fmt: skip
            opened_pipeline.set()
            operating.checks += [_check_directory(directory), following.ready, _check_edge(data)]
            operating.checks += [hook.ready for _, hook in opened if hook.ready]
            lagging = asyncio.create_task(LoopLag(partial(telemetry.lag, slot)).run(), name="loop-lag")
            try:
                in_step = InStep(directory, host_memory)
                yield App(RouteTable(plan.routes), pipeline, in_step, keys.key("edge").hex().encode("ascii"))
            finally:
                lagging.cancel()
                await pipeline.close()
    finally:
        await pools.close()
        await following.close()
        await directory.close()
        await database.close()


def own(settings: Settings, database_url: str) -> Own:
    """The addresses of the appliance itself, its workers and its database included. No upstream may have one of
    them."""
    public = parse_base_url(settings.server.public_url)
    ports = {settings.edge.port, public.port}
    for listen in (settings.server.listen, settings.edge.app):
        first = listen.rpartition(":")[2]
        if first.isdecimal():
            ports.update(int(first) + slot for slot in settings.server.slots)
    database = make_url(database_url)
    if not database_url.startswith("sqlite"):
        ports.add(database.port or POSTGRESQL)
    return Own(frozenset(ports), frozenset({(public.host, public.port)}))


def node_name(data: Path) -> str:
    """The name of this data folder among replicas of one log."""
    file = data / "db" / "node"
    try:
        return file.read_text("ascii").strip()
    except OSError as error:
        raise ConfigurationError("The data folder has no node name.", "Run ./deploy.sh up.") from error


def _core_hooks(
    administration: Any,
    operating: Operating,
    whoami: Whoami,
    settings: Settings,
    collections: Sequence[Collection[Any]],
) -> Hooks:
    public = parse_base_url(settings.server.public_url)
    door = InProcess(administration, (public.host, public.port))
    kinds = {*(route.kind for route in CONTROL_ROUTES), *(one.kind for one in collections)}
    return Hooks(
        read={
            **dict.fromkeys(kinds, read_control),
            **{one.kind: read_judged(one.judge) for one in collections if one.judge is not None},
            **operating.reads(),
            SELF: read_self,
        },
        dispatch={**dict.fromkeys(kinds, door.dispatch), **operating.dispatches(), SELF: whoami.dispatch},
    )


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
