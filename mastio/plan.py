"""The plan of an appliance: its checked settings, its active plugins and its whole route table.

Every program that needs to know what will run reads it: a worker, `mastio check`, the preparation of a data folder.
Nothing is opened here, and the control plane's application is not loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mastio.control.routes import ROUTES as CONTROL_ROUTES
from mastio.exchange import Route
from mastio.plugins import Active, find_plugins, routes_of
from mastio.routes import CORE
from mastio.settings import Settings, read_settings

CORE_ROUTES: tuple[Route, ...] = (*CORE, *CONTROL_ROUTES)


@dataclass(frozen=True, slots=True)
class Plan:
    """Checked settings, active plugins in their order, and every route."""

    settings: Settings
    active: Sequence[Active]
    routes: tuple[Route, ...]


def read_plan(data: Path, config: Path | None = None) -> tuple[Plan, list[str]]:
    """The plan and every problem with it."""
    settings, problems = read_settings(config or data / "mastio.toml")
    active, more = find_plugins(settings)
    return Plan(settings, active, routes_of(CORE_ROUTES, active)), problems + more


def secret_folders(data: Path) -> tuple[Path, ...]:
    """The folders in which secret files of providers and connections may be, apart from the appliance's own keys."""
    return (data / "secrets" / "providers", data / "secrets" / "connections", Path("/run/secrets"))
