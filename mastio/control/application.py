"""The control plane: enrolment, administration and discovery, as a FastAPI application behind the front door.

Nothing here authenticates, authorizes or records: the pipeline has done it, from the same `routes.ROUTES` that this
application's routes are made of. One thing alone is proven here, because it needs the database: that who picks a
decision up holds the key of the request.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.types import ASGIApp

from mastio import __version__
from mastio.control.admin.admins import AdminsRouter
from mastio.control.admin.agents import AgentsRouter
from mastio.control.admin.api_keys import ApiKeysRouter
from mastio.control.admin.collections import CollectionRouter
from mastio.control.admin.four_eyes import FourEyes, carry_out
from mastio.control.admin.holds import HoldsRouter
from mastio.control.admin.keys import KeysRouter
from mastio.control.admin.reachable import Examine
from mastio.control.bodies import refuse_body, refuse_route, route_taking
from mastio.control.context import Context, Verifiers
from mastio.control.discovery import DiscoveryRouter
from mastio.control.endpoints import Endpoint, Endpoints, Router
from mastio.control.enrollment.decisions import EnrollmentsRouter
from mastio.control.enrollment.est import EstRouter
from mastio.control.enrollment.requests import EnrollmentRouter
from mastio.exchange.records import Directory
from mastio.exchange.values import Route
from mastio.http.control_routes import ROUTES
from mastio.pki.authority import SERVER_SECONDS, Authority
from mastio.plugin.collection import Collection
from mastio.store.control import ControlStore


class ControlPlane(FastAPI):
    """FastAPI without its outermost layers: an exception passes to whoever called, instead of becoming a 500."""

    def build_middleware_stack(self) -> ASGIApp:
        return ExceptionMiddleware(AsyncExitStackMiddleware(self.router), handlers=self.exception_handlers)


def build(
    *,
    store: ControlStore,
    collections: Sequence[Collection[Any]] = (),
    directory: Directory,
    authority: Authority,
    public_url: str,
    trust_domain: str,
    leaf_seconds: float,
    now: Callable[[], float],
    server_names: tuple[str, ...] = ("localhost",),
    server_seconds: float = SERVER_SECONDS,
    pending_seconds: float = 86_400.0,
    grace_seconds: float = 172_800.0,
    max_pending: int = 1000,
    four_eyes_seconds: float | None = None,
    claim_seconds: float = 86_400.0,
    verifiers: Verifiers | None = None,
    examine: Examine | None = None,
) -> FastAPI:
    """The application. The front door puts `principal` and `request_id` into `scope["state"]`.

    Raises `MastioError`s to its caller instead of answering them. Durations in seconds: of a leaf, of an undecided
    request, of an old leaf after a renewal, of a change that waits for another admin (None: none waits), of a
    new admin's one-time code after the approval. `examine`: see `mastio.control.admin.reachable`.
    """
    context = Context(
        store=store,
        directory=directory,
        authority=authority,
        public_url=public_url,
        trust_domain=trust_domain,
        leaf_seconds=leaf_seconds,
        server_names=server_names,
        server_seconds=server_seconds,
        pending_seconds=pending_seconds,
        grace_seconds=grace_seconds,
        max_pending=max_pending,
        now=now,
        verifiers=verifiers or Verifiers(),
        claim_seconds=claim_seconds,
        examine=examine,
    )
    app = ControlPlane(
        title="Mastio",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        exception_handlers={RequestValidationError: refuse_body, HTTPException: refuse_route},
    )
    endpoints = _endpoints(context, app, collections)
    four_eyes = None if four_eyes_seconds is None else FourEyes(context, four_eyes_seconds)
    for route in (*ROUTES, *(route for one in collections for route in one.routes())):
        for method in route.methods:
            endpoint = endpoints[method, route.path]  # a row that nobody answers is a `KeyError` at start
            _add(app, route, method, endpoint if four_eyes is None else four_eyes.guard(route.kind, endpoint))
    return app


def _endpoints(context: Context, app: FastAPI, collections: Sequence[Collection[Any]]) -> Endpoints:
    endpoints: dict[tuple[str, str], Endpoint] = {}
    judges = {one.kind: one.judge for one in collections if one.judge is not None}
    routers: tuple[Router, ...] = (
        *(CollectionRouter(one, context) for one in collections),
        EnrollmentRouter(context),
        EstRouter(context),
        EnrollmentsRouter(context),
        AgentsRouter(context),
        ApiKeysRouter(context),
        AdminsRouter(context),
        KeysRouter(context),
        HoldsRouter(context, functools.partial(carry_out, app, judges)),
        DiscoveryRouter(context),
    )
    for router in routers:
        endpoints.update(router.endpoints())
    return endpoints


def _add(app: FastAPI, route: Route, method: str, endpoint: Endpoint) -> None:
    """One row of the route table becomes one route."""
    app.router.add_api_route(
        route.path.replace("...}", ":path}"),
        endpoint.call,
        methods=[method],
        status_code=endpoint.status,
        responses={status: {"model": model} for status, model in endpoint.more.items()},
        summary=route.summary,
        include_in_schema=method != "HEAD",
        route_class_override=route_taking(endpoint.takes),
    )
