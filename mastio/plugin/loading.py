"""Find, order, check and open the active plugins. First-party and third-party ones come through the same door.

*Installed* is an entry point in the group `mastio.plugins`; *active* is a name in `plugins.active`. An active plugin
that is missing or broken stops the start.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from pydantic import ValidationError

from mastio.exchange.errors import ConfigurationError
from mastio.exchange.values import Route
from mastio.plugin.collection import Collection
from mastio.plugin.hooks import Hooks, Plugin, PluginSettings
from mastio.plugin.services import Services
from mastio.settings import Settings, describe

GROUP = "mastio.plugins"


@dataclass(frozen=True, slots=True)
class Active:
    """A plugin with its checked settings, in its place in the order."""

    plugin: Plugin
    settings: PluginSettings


def find_plugins(settings: Settings) -> tuple[list[Active], list[str]]:
    """The active plugins in order, and every problem: missing, broken, listed twice, settings wrong or for nobody."""
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    active: list[Active] = []
    problems = []
    for name in settings.plugins.active:
        if name not in installed:
            problems.append(f"plugins.active: the plugin {name} is not installed.")
            continue
        try:
            plugin = installed[name].load()
        except (ImportError, AttributeError) as error:
            problems.append(f"plugins.active: the plugin {name} cannot be loaded ({error}).")
            continue
        if not isinstance(plugin, Plugin) or plugin.name != name:
            problems.append(f"plugins.active: {name} is not a plugin of that name.")
            continue
        try:
            active.append(Active(plugin, plugin.settings.model_validate(settings.sections.get(name, {}))))
        except ValidationError as error:
            problems += describe(name, error)
    names = list(settings.plugins.active)
    problems += [
        f"plugins.active: {name} is listed twice." for name in sorted({n for n in names if names.count(n) > 1})
    ]
    problems += [f"{name}: no active plugin has this section." for name in settings.sections if name not in names]
    return active, problems


def routes_of(core: Iterable[Route], active: Iterable[Active]) -> tuple[Route, ...]:
    """The whole route table: the core's rows, then each plugin's in order, those of its collections first."""
    rows = list(core)
    for item in active:
        for collection in item.plugin.collections:
            rows += collection.routes()
        rows += item.plugin.routes
    return tuple(rows)


def collections_of(active: Iterable[Active]) -> tuple[Collection[Any], ...]:
    """The collections of all active plugins."""
    return tuple(collection for item in active for collection in item.plugin.collections)


@asynccontextmanager
async def open_plugins(active: Iterable[Active], services: Services) -> AsyncIterator[list[tuple[str, Hooks]]]:
    """Open every plugin in order and close them in reverse. Raises `ConfigurationError` naming the one that cannot."""
    async with AsyncExitStack() as stack:
        opened: list[tuple[str, Hooks]] = []
        for item in active:
            hooks = await stack.enter_async_context(item.plugin.setup(item.settings, services))
            opened.append((item.plugin.name, hooks))
        yield opened


def sections_of(active: Iterable[Active]) -> Mapping[str, PluginSettings]:
    """The checked settings by plugin, for showing them."""
    return {item.plugin.name: item.settings for item in active}


def refuse(problems: list[str]) -> None:
    """Raises `ConfigurationError` with all of `problems`, if there are any."""
    if problems:
        raise ConfigurationError("The settings have problems:\n  " + "\n  ".join(problems), "Correct mastio.toml.")
