"""The collections of the appliance's own plugins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mastio.exchange.values import Route
from mastio.http.control_routes import ROUTES as CONTROL_ROUTES
from mastio.plugin.collection import Collection
from mastio_detectors.collection import DETECTORS
from mastio_egress.collection import CONNECTIONS
from mastio_limits.collection import BUDGETS
from mastio_llm.collection import PROVIDERS
from mastio_policy.collection import POLICIES
from mastio_redaction.collection import REDACTION

COLLECTIONS: tuple[Collection[Any], ...] = (POLICIES, BUDGETS, DETECTORS, REDACTION, PROVIDERS, CONNECTIONS)

ROUTES: tuple[Route, ...] = (*CONTROL_ROUTES, *(route for one in COLLECTIONS for route in one.routes()))
"""The routes of the control plane's application."""


class Described(SimpleNamespace):
    """A directory whose attributes are the objects of collections, and whatever else a test needs."""

    def objects(self, collection: str) -> Any:
        return getattr(self, collection, {})

    def find_removed(self, target_type: str, target: str) -> None:
        return None
