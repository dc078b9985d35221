"""Each architecture rule can fail: it finds what is planted in a small project, and nothing in it before."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from support import code_rules, code_rules_of_effects
from support.code_map import CodeMap, describe_packages, find_cycle

Rule = Callable[[CodeMap], list[str]]

SOUND = {
    "mastio/__init__.py": '"""The core."""\n',
    "mastio/__main__.py": '"""Starts the command line."""\nfrom mastio.cli import run\n',
    "mastio/process/__init__.py": '"""Processes."""\n',
    "mastio/plugin/__init__.py": '"""The contract."""\n',
    "mastio/pipeline/__init__.py": '"""The order."""\n',
    "mastio/process/app.py": '"""A root."""\nfrom mastio.pki.leaf import weigh\n'
    "from mastio.plugin.hooks import Hooks\n",
    "mastio/cli/__init__.py": '"""Verbs."""\nimport importlib\n'
    'def run(verb: str) -> object:\n    return importlib.import_module(f"mastio.cli.{verb}")\n',
    "mastio/cli/list.py": '"""A verb."""\nfrom mastio_b import plugin\n',
    "client/mastio_client/__init__.py": '"""The client."""\nfrom mastio_client.key import KEY\n',
    "client/mastio_client/key.py": '"""A key."""\nfrom mastio_primitives.ed25519 import load\nKEY = load\n',
    "client/mastio_primitives/__init__.py": '"""Parts."""\n',
    "client/mastio_primitives/ed25519.py": '"""Keys. Pure."""\nfrom x import Ed25519PublicKey\n'
    "def load(raw: bytes) -> object:\n    return Ed25519PublicKey.from_public_bytes(raw)\n",
    "mastio/plugin/hooks.py": '"""The contract. For plugins."""\nimport asyncio\n',
    "mastio/idle.py": '"""Waits."""\nimport time\n',
    "mastio/pki/__init__.py": '"""Certificates."""\n',
    "mastio/pki/leaf.py": '"""Leaves. Pure: the clock is handed in."""\nimport datetime\nfrom .names import NAME\n'
    "def weigh(now: datetime.datetime) -> str:\n    return f'{NAME} {now}'\n",
    "mastio/pki/names.py": '"""Names."""\nNAME = ""\n',
    "mastio/pipeline/order.py": '"""The pipeline."""\ntry:\n    A = 1\nexcept Exception:\n    A = 2\n'
    "try:\n    B = 1\nexcept Exception:\n    B = 2\n",
    "mastio/plugin/loading.py": '"""Loads plugins."""\nfrom importlib.metadata import entry_points\n',
    "mastio/process/worker.py": '"""A worker."""\nimport socket\nfrom mastio.plugin.hooks import Hooks\n',
    "plugins/mastio_a/__init__.py": '"""A plugin."""\nfrom mastio.plugin.hooks import Hooks\n'
    "from .rule import decide\n",
    "plugins/mastio_a/rule.py": '"""A rule. Pure."""\nfrom mastio.pki.leaf import weigh\n'
    "def decide() -> bool:\n    return bool(weigh)\n",
    "plugins/mastio_b/__init__.py": '"""Another one."""\nplugin = 1\n',
}

PURE = '"""A rule. Pure."""\n'

PLANTED: list[tuple[Rule, dict[str, str]]] = [
    (code_rules.find_plugins_in_plugins, {"plugins/mastio_a/x.py": "import mastio_b"}),
    (code_rules.find_plugins_in_plugins, {"plugins/mastio_a/x.py": "from mastio_b import plugin"}),
    (code_rules.find_plugins_in_plugins, {"plugins/mastio_a/x.py": "from mastio_elsewhere.rule import decide"}),
    (
        code_rules.find_plugins_in_plugins,
        {"plugins/mastio_a/x.py": "from importlib import import_module as get\nX = get('mastio_b')"},
    ),
    (code_rules.find_plugins_in_core, {"mastio/x.py": "from mastio_a.rule import decide"}),
    (code_rules.find_plugins_in_core, {"mastio/x.py": "import importlib as i\ni.import_module('mastio_a')"}),
    (code_rules.find_plugins_in_core, {"mastio/x.py": "X = __import__('mastio_a.rule')"}),
    (code_rules.find_core_closed_to_plugins, {"plugins/mastio_a/x.py": "from mastio.idle import wait"}),
    (code_rules.find_core_closed_to_plugins, {"plugins/mastio_a/x.py": "from mastio import idle"}),
    (code_rules.find_core_closed_to_plugins, {"plugins/mastio_a/x.py": "from mastio_client.key import KEY"}),
    (
        code_rules.find_core_closed_to_plugins,
        {"plugins/mastio_a/x.py": "import importlib\nX = importlib.import_module('mastio.idle')"},
    ),
    (code_rules.find_openings_for_nobody, {"mastio/x.py": '"""X. For\nplugins."""\nimport os'}),
    (
        code_rules.find_openings_for_nobody,
        {"mastio/x.py": '"""X. For plugins."""\nX = 1', "plugins/mastio_a/x.py": "from mastio.x import X"},
    ),
    (code_rules.find_roots_imported, {"mastio/x.py": "import mastio.process.app"}),
    (code_rules.find_roots_imported, {"mastio/x.py": "from mastio.process import app"}),
    (code_rules.find_tests_in_product, {"mastio/x.py": "from support.appliance import Appliance"}),
    (code_rules.find_effects, {"mastio/x.py": f"{PURE}import os.path"}),
    (code_rules.find_effects, {"mastio/x.py": f"{PURE}from urllib import request"}),
    (code_rules.find_effects, {"mastio/x.py": '"""A rule.\n\nPure, but for a thread."""\nfrom asyncio import run'}),
    (code_rules.find_effects_reached, {"mastio/x.py": f"{PURE}from mastio.idle import wait"}),
    (
        code_rules.find_effects_reached,
        {"mastio/x.py": f"{PURE}from mastio import y", "mastio/y.py": "from . import idle"},
    ),
    (code_rules.find_effects_reached, {"mastio/x.py": f"{PURE}import datetime as d\nX = d.datetime.now(d.UTC)"}),
    (code_rules.find_effects_reached, {"mastio/x.py": f"{PURE}from datetime import datetime\nX = datetime.now()"}),
    (code_rules.find_effects_reached, {"mastio/x.py": f"{PURE}from secrets import token_hex as t\nX = t()"}),
    (code_rules.find_effects_reached, {"mastio/x.py": f"{PURE}X = open('x')"}),
    (code_rules.find_effects_reached, {"mastio/x.py": f"{PURE}import datetime\nX = datetime.datetime.now"}),
    (
        code_rules.find_effects_reached,
        {"mastio/x.py": f"{PURE}from urllib import parse\nimport urllib\nurllib.request.f()"},
    ),
    (
        code_rules.find_effects_reached,
        {"mastio/x.py": f"{PURE}import importlib\nX = importlib.import_module('mastio.idle')"},
    ),
    (code_rules.find_unsaid_purity, {"plugins/mastio_a/x.py": '"""Impure."""\ndef f() -> None: ...'}),
    (code_rules.find_unsaid_purity, {"mastio/x.py": '"""| `y.py` | a rule. Pure |"""\nclass X:\n def f(self): ...'}),
    (code_rules.find_module_cycles, {"mastio/x.py": "import mastio.y", "mastio/y.py": "from mastio.x import X"}),
    (code_rules.find_module_cycles, {"mastio/pki/names.py": "from .leaf import weigh"}),
    (
        code_rules.find_package_cycles,
        {
            "mastio/x/__init__.py": "import mastio.y.one",
            "mastio/y/__init__.py": "",
            "mastio/y/one.py": "import mastio.z.one",
            "mastio/z/__init__.py": "",
            "mastio/z/one.py": "import mastio.x.two",
            "mastio/x/two.py": "",
        },
    ),
    (code_rules.find_package_cycles, {"mastio/pki/x.py": "import mastio.process.app"}),
    (code_rules.find_full_folders, {f"mastio/pki/x{n}.py": '"""X."""\n' for n in range(15)}),
    (code_rules.find_imports_in_functions, {"mastio/x.py": "def f():\n    import mastio.idle"}),
    (
        code_rules.find_imports_in_functions,
        {"mastio/x.py": "class X:\n async def f(self):\n  if 1:\n   from os import path"},
    ),
    (code_rules.find_hidden_loading, {"mastio/x.py": "import importlib\ndef f(x): importlib.import_module(x)"}),
    (code_rules.find_hidden_loading, {"mastio/x.py": "import importlib\nimportlib.import_module('mastio.' + 'idle')"}),
    (code_rules.find_hidden_loading, {"mastio/x.py": "import importlib\nimportlib.import_module('.idle', 'mastio')"}),
    (code_rules.find_hidden_loading, {"mastio/x.py": "import importlib\nimportlib.import_module('socket')"}),
    (
        code_rules.find_hidden_loading,
        {"mastio/x.py": "import importlib\nX = importlib.import_module\nX('mastio.idle')"},
    ),
    (code_rules.find_hidden_loading, {"mastio/x.py": "import importlib\ngetattr(importlib, 'import_module')('os')"}),
    (code_rules.find_hidden_loading, {"mastio/x.py": "X = __import__\nX('mastio.idle')"}),
    (code_rules.find_hidden_loading, {"mastio/x.py": "import importlib.util"}),
    (code_rules.find_hidden_loading, {"mastio/x.py": "from importlib.metadata import entry_points"}),
    (code_rules.find_hidden_loading, {"mastio/x.py": "import runpy"}),
    (code_rules.find_hidden_loading, {"mastio/x.py": "exec('import mastio.idle')"}),
    (code_rules.find_hidden_loading, {"mastio/x.py": "import sys\nX = sys.modules['mastio.idle']"}),
    (code_rules.find_loading_by_text, {"mastio/x.py": "import importlib\nimportlib.import_module('mastio.idle')"}),
    (code_rules.find_plugins_in_verbs, {"mastio/cli/x.py": "import mastio_a"}),
    (code_rules.find_server_in_client, {"client/mastio_client/x.py": "from mastio.plugin.hooks import Hooks"}),
    (code_rules.find_server_in_client, {"client/mastio_client/x.py": "import mastio_a.rule"}),
    (code_rules.find_server_in_client, {"client/mastio_primitives/x.py": "from mastio import client"}),
    (code_rules.find_server_in_client, {"client/mastio_primitives/x.py": "import mastio_elsewhere"}),
    (code_rules.find_package_cycles, {"client/mastio_primitives/x.py": "from mastio_client.key import KEY"}),
    (code_rules_of_effects.find_unlisted_ways_out, {"mastio/x.py": "import http.client"}),
    (code_rules_of_effects.find_unlisted_ways_out, {"mastio/x.py": "from urllib import request"}),
    (
        code_rules_of_effects.find_unlisted_ways_out,
        {"plugins/mastio_a/x.py": "async def f(x): await x.open_connection()"},
    ),
    (code_rules_of_effects.find_outside_in_workers, {"mastio/plugin/hooks.py": "from mastio.cli import run"}),
    (code_rules_of_effects.find_outside_in_workers, {"plugins/mastio_a/rule.py": "X = 'mastio_client.key'"}),
    (
        code_rules_of_effects.find_outside_in_workers,
        {"mastio/plugin/hooks.py": "from mastio.pki.authority import Authority"},
    ),
    (
        code_rules_of_effects.find_outside_in_workers,
        {"plugins/mastio_a/rule.py": "from fastapi.routing import APIRouter"},
    ),
    (code_rules_of_effects.find_secrets_made_when_loaded, {"mastio/x.py": "import secrets\nX = secrets.token_hex()"}),
    (
        code_rules_of_effects.find_secrets_made_when_loaded,
        {"mastio/x.py": "import uuid\nclass X:\n    def f(self, y=uuid.uuid4()): ..."},
    ),
    (
        code_rules_of_effects.find_ed25519_loaded_elsewhere,
        {"mastio/x.py": "from y import ed25519\ned25519.Ed25519PublicKey.from_public_bytes(b'')"},
    ),
    (code_rules_of_effects.find_ed25519_loaded_elsewhere, {"client/mastio_primitives/ed25519.py": ""}),
    (code_rules_of_effects.find_broad_excepts, {"mastio/x.py": "try:\n    X = 1\nexcept:\n    X = 2"}),
    (code_rules_of_effects.find_broad_excepts, {"mastio/pipeline/order.py": ""}),
    (code_rules_of_effects.find_missing_docstrings, {"mastio/x.py": "X = 1"}),
]

ALREADY: Mapping[str, int] = {
    "find_plugins_in_verbs": 1, "find_loading_by_text": 1, "find_unlisted_ways_out": 0,
}  # fmt: skip
"""What the rules that count find in the sound project."""


@pytest.mark.parametrize(("rule", "changed"), PLANTED, ids=lambda value: getattr(value, "__name__", ""))
def test_a_rule_finds_what_is_planted(rule: Rule, changed: dict[str, str]) -> None:
    before, after = rule(CodeMap(SOUND)), rule(CodeMap(SOUND | changed))
    assert len(before) == ALREADY.get(rule.__name__, 0), before
    assert len(after) > len(before), rule.__doc__


def test_every_rule_is_planted_against() -> None:
    rules = {
        name for module in (code_rules, code_rules_of_effects) for name in vars(module) if name.startswith("find_")
    }
    assert rules - {"find_cycle"} == {rule.__name__ for rule, _ in PLANTED}


def test_a_cycle_is_found_wherever_it_is() -> None:
    assert find_cycle({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}) == []
    assert find_cycle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c", "b"]
    assert find_cycle({"a": [], "b": ["b"]}) == ["b", "b"]


def test_the_table_names_packages_and_their_imports() -> None:
    table = describe_packages(CodeMap(SOUND)).splitlines()
    assert "| `mastio_a` | 2 | 1 | 100 | `mastio.pki`, `mastio.plugin` |" in table
    assert "| `mastio.pki` | 3 | 3 | 100 | – |" in table
