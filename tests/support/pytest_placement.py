"""Decides which tests are pure, in which order modules run, and which worker runs them.

A pytest plugin. The rules:
- A test is `pure` when neither its module nor the support modules that it imports use a process, a socket, a database
  or an appliance. The mark is derived from the imports, so it cannot be forgotten.
- A module runs whole on one worker of pytest-xdist, so that what it opens is opened once. Modules that share an
  expensive fixture of the session run on the same worker (`RESOURCES`). The scheduler is `--dist=loadscope` with these
  groups as scopes; `--dist=loadgroup` of pytest-xdist 3.8 groups nothing under pytest 9.2.
- Modules that cost the most run first, by `costs.json`, so that no worker ends long after the others. Modules that are
  not listed come before all others.
"""

from __future__ import annotations

import ast
import functools
import json
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling

TESTS = Path(__file__).parent.parent
COSTS = Path(__file__).with_name("costs.json")
"""Seconds of each module in a former run, written by `scripts/test --write-costs`."""

EFFECTS = (
    "aiohttp", "alembic", "apsw", "asyncpg", "httpx", "httpx2", "mastio.outbound.upstream", "mastio.process.app",
    "mastio.process.prepare", "mastio.process.supervisor", "mastio.store.control", "mastio.store.hot",
    "mastio.store.sql.engine", "mastio.store.sql.migrate", "mastio_client.enroll", "socket", "sqlite3", "subprocess",
    "threading",
)  # fmt: skip
"""Modules with which a test reaches outside its own process, or opens a database."""

OUTSIDE = {"postgresql", "appliance", "running", "stub", "agent", "served"}
"""Fixtures that do."""

RESOURCES = {"four": "four workers", "impatient": "impatient edge"}
"""Session fixtures that are too expensive to open on each worker, with the group of the modules that use them."""


@functools.cache
def imports_of(file: Path) -> frozenset[str]:
    """The names of the modules that a file imports, those of its imported support modules included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    for name in sorted(found):
        helper = TESTS / f"{name.replace('.', '/')}.py"
        if name.startswith("support.") and helper.is_file() and helper != file:
            found |= imports_of(helper)
    return frozenset(found)


@functools.cache
def is_pure(file: Path) -> bool:
    """Whether nothing that the module imports reaches outside the process."""
    names = imports_of(file)
    return not any(name == effect or name.startswith(f"{effect}.") for name in names for effect in EFFECTS)


@functools.cache
def group_of(module: str) -> str:
    """What runs on one worker together with a module: the users of an expensive fixture, or the module alone."""
    arguments: set[str] = set()
    for node in ast.walk(ast.parse((TESTS.parent / module).read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments.update(argument.arg for argument in node.args.args)
    return next((group for fixture, group in RESOURCES.items() if fixture in arguments), module)


def module_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


class GroupScheduling(LoadScopeScheduling):
    """Gives each worker one group after the other, in the order of the collection."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(module_of(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling:
    config.option.loadscopereorder = False
    return GroupScheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    costs: dict[str, float] = json.loads(COSTS.read_text("utf-8")) if COSTS.exists() else {}
    weights: dict[str, float] = {}
    for module in {module_of(item.nodeid) for item in items}:
        group = group_of(module)
        weights[group] = weights.get(group, 0.0) + costs.get(module, float("inf"))
    for item in items:
        if is_pure(item.path) and not set(getattr(item, "fixturenames", ())) & OUTSIDE:
            item.add_marker(pytest.mark.pure)

    def place(item: pytest.Item) -> tuple[float, str, str]:
        module = module_of(item.nodeid)
        group = group_of(module)
        return -weights[group], group, module

    items.sort(key=place)  # stable: the order within a module stays
