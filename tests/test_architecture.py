"""The architecture rules of docs/architecture.md, one test for each: import directions, purity, plugins, ways out.

What a rule says is derived from the code (`support.code_map`, `support.code_rules`). That each can fail is tested in
`test_architecture_planted.py`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable

import pytest

from mastio.settings import DEFAULT_PLUGINS
from support import code_rules, code_rules_of_effects
from support.code_map import ROOT, CodeMap, lines_of_core, read_code

HELD = [
    code_rules.find_plugins_in_plugins,
    code_rules.find_plugins_in_core,
    code_rules.find_core_closed_to_plugins,
    code_rules.find_openings_for_nobody,
    code_rules.find_roots_imported,
    code_rules.find_tests_in_product,
    code_rules.find_server_in_client,
    code_rules.find_effects,
    code_rules.find_unsaid_purity,
    code_rules.find_module_cycles,
    code_rules.find_package_cycles,
    code_rules.find_full_folders,
    code_rules.find_imports_in_functions,
    code_rules.find_hidden_loading,
    code_rules_of_effects.find_unlisted_ways_out,
    code_rules_of_effects.find_outside_in_workers,
    code_rules_of_effects.find_secrets_made_when_loaded,
    code_rules_of_effects.find_ed25519_loaded_elsewhere,
    code_rules_of_effects.find_broad_excepts,
    code_rules_of_effects.find_missing_docstrings,
]

NOT_YET: list[tuple[Callable[[CodeMap], list[str]], int]] = [
    (code_rules.find_effects_reached, 17),
    (code_rules.find_loading_by_text, 8),
    (code_rules.find_plugins_in_verbs, 14),
]
"""Rules that do not hold yet, and how often each is broken. A number may only become smaller."""

CORE_LINES = 25_000
"""An upper bound that may only become smaller, in steps of a thousand; the target is 17,000."""


@pytest.mark.parametrize("rule", HELD, ids=lambda rule: rule.__name__)
def test_a_rule_holds(rule: Callable[[CodeMap], list[str]]) -> None:
    assert rule(read_code()) == [], rule.__doc__


@pytest.mark.parametrize(("rule", "bound"), NOT_YET, ids=lambda value: getattr(value, "__name__", ""))
def test_a_rule_is_not_broken_more_often(rule: Callable[[CodeMap], list[str]], bound: int) -> None:
    found = rule(read_code())
    assert len(found) <= bound, [*found, rule.__doc__]
    assert len(found) == bound, f"now {len(found)}: write this number into NOT_YET, so that it stays"


def test_the_map_has_all_of_the_code() -> None:
    code = read_code()
    assert len(code.core) > 180 and len(code.plugins) > 200 and len(code.client) > 30
    assert {
        "mastio.process.app",
        "mastio_llm.dialects.sse",
        "mastio.cli.completion",
        "support.code_map",
    } <= code.modules.keys()
    assert code.arrows["mastio_redaction.labels.labels"] >= {"mastio_redaction.labels.cells"}, (
        "relative imports are followed"
    )


def test_the_core_does_not_grow() -> None:
    assert CORE_LINES - 2000 < lines_of_core(read_code()) <= CORE_LINES


def test_the_base_imports_nothing() -> None:
    """`errors` and `exchange` stand below all others."""
    arrows = read_code().arrows
    shared = {"mastio_primitives.codes", "mastio_primitives.errors"}
    assert all(not arrows[name] for name in ("mastio.exchange.inspection", *shared))
    assert arrows["mastio.exchange.errors"] == shared
    assert arrows["mastio.exchange.values"] <= {"mastio.exchange.errors", "mastio.exchange.inspection"}


def test_every_way_out_exists() -> None:
    inside = {one.path for one in read_code().product if not code_rules_of_effects.is_outside(one.name)}
    assert inside >= code_rules_of_effects.WAYS_OUT.keys() >= code_rules_of_effects.CONNECTING


def test_every_folder_of_plugins_is_a_plugin_that_is_installed_and_active_by_default() -> None:
    """The folders are the list. Settings add the order, and the packaging the names of the entry points."""
    names = {module.name.removeprefix("mastio_") for module in read_code().plugins if "." not in module.name}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert sorted(DEFAULT_PLUGINS) == sorted(names)
    assert project["entry-points"]["mastio.plugins"] == {name: f"mastio_{name}.plugin:plugin" for name in names}
