"""The plan of an appliance: its checked settings, its active plugins and its whole route table.

Every program that needs to know what will run reads it: a worker, `mastio check`, the preparation of a data folder.
Nothing is opened here, and the control plane's application is not loaded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mastio.exchange.values import Route
from mastio.http.control_routes import ROUTES as CONTROL_ROUTES
from mastio.http.routes import CORE, find_mixed_paths
from mastio.plugin.loading import Active, find_plugins, routes_of, sections_of
from mastio.settings import CORE_SECTIONS, Settings, read_settings

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
    routes = routes_of(CORE_ROUTES, active)
    mixed = [f"plugins.active: the routes of {path} are of two planes." for path in find_mixed_paths(routes)]
    return Plan(settings, active, routes), problems + more + mixed


def describe_settings(plan: Plan) -> dict[str, dict[str, Any]]:
    """The effective settings by section, as plain JSON. They name files for secrets; a password in a URL is hidden."""
    settings: dict[str, Any] = {name: getattr(plan.settings, name).model_dump(mode="json") for name in CORE_SECTIONS}
    settings["database"]["url"] = re.sub(r"(://[^:/@]+):[^@]*@", r"\1:***@", settings["database"]["url"])
    return settings | {name: section.model_dump(mode="json") for name, section in sections_of(plan.active).items()}


def find_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The differences between two sets of settings, a line each: `edge.port: 9443 → 9500`."""
    lines = []
    for section in sorted({*before, *after}):
        old, new = before.get(section, {}), after.get(section, {})
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                said = (json.dumps(one, ensure_ascii=False) for one in (old.get(key), new.get(key)))
                lines.append(f"{section}.{key}: {' → '.join(said)}")
    return lines


def secret_folders(data: Path) -> tuple[Path, ...]:
    """The folders in which secret files of providers and connections may be, apart from the appliance's own keys."""
    return (data / "secrets" / "providers", data / "secrets" / "connections", Path("/run/secrets"))
