"""The rules of docs/architecture.md, each as a function from the map of the code to what violates it.

`tests/test_architecture.py` holds them against the project, `tests/test_architecture_planted.py` against sources that
break them. A rule names no module that it excuses, except where one module has a task that no other one may have.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from support.code_map import IMPORTING, CodeMap, Module, dotted, find_cycle

VERBS = "mastio.cli"
"""The package of the command line, whose verbs may show what a plugin offers."""

NOT_FOR_PLUGINS = {"mastio.cli", "mastio.control", "mastio_client", "mastio_client.cli", "mastio_client.shim"}
"""Packages of programs: what plugins and the core are put together in."""

FOR_OTHERS = {"mastio.plugin.collection_command", "mastio.plugin.collection_model"}
"""Modules that plugins of others use (`mastio/plugin/template/`), and none of the appliance's own does."""

ROOTS = {
    "mastio.bring_up.compose", "mastio.bring_up.demo", "mastio.bring_up.native", "mastio.control.program",
    "mastio.process.app", "mastio.process.data_plane", "mastio.process.forked", "mastio.process.prepare",
    "mastio.process.worker",
}  # fmt: skip
"""Composition roots: nothing but another root, or the command line, imports them."""

LOADERS = {
    "mastio.plugin.loading": "importlib.metadata.entry_points",
    "mastio.cli": "importlib.metadata.entry_points",
    "mastio.process.forked": "runpy",
}
"""Who loads code that it does not name: the one place that loads plugins, and the one that runs a forked program."""

MOST_FILES = 15
"""Modules in one folder; a reader takes in no more at a glance."""

LIBRARIES_THAT_LOAD = ("importlib", "imp", "pkgutil", "runpy", "zipimport")
HARMLESS = ("importlib.metadata.version", "importlib.resources")


def find_plugins_in_plugins(code: CodeMap) -> list[str]:
    """A plugin imports no other plugin."""
    return [
        f"{module.name} imports the plugin {other}"
        for module in code.plugins
        for other in _plugins_of(code, module)
        if code.package_of(other) != code.package_of(module.name)
    ]


def find_plugins_in_core(code: CodeMap) -> list[str]:
    """The core imports no plugin; its command line may (see `find_plugins_in_verbs`)."""
    return [
        f"{module.name} imports the plugin {other}"
        for module in code.core
        if code.package_of(module.name) != VERBS
        for other in _plugins_of(code, module)
    ]


def find_plugins_in_verbs(code: CodeMap) -> list[str]:
    """Verbs that belong into a plugin: each import of a plugin by the command line."""
    return [
        f"{module.name} imports the plugin {other}"
        for module in code.core
        if code.package_of(module.name) == VERBS
        for other in _plugins_of(code, module)
    ]


def find_core_closed_to_plugins(code: CodeMap) -> list[str]:
    """A plugin imports of core and client what is pure or says `For plugins.`, and nothing of a program's package."""
    found = []
    for module in code.plugins:
        for other in code.all_arrows(module.name):
            ours = code.modules[other]
            is_command = module.name.split(".")[1:2] == ["commands"]
            if ours.path.startswith("plugins/") or (is_command and ours.path.startswith("client/")):
                continue
            is_program = code.package_of(other) in NOT_FOR_PLUGINS
            if not ours.says_for_plugins and (is_program or not (ours.says_pure or code.is_pure(other))):
                found.append(f"{module.name} imports {other}, which is not for plugins")
    return found


def find_openings_for_nobody(code: CodeMap) -> list[str]:
    """A module of the core says `For plugins.` when a plugin imports it and it is not pure."""
    used = FOR_OTHERS | {other for module in code.plugins for other in code.all_arrows(module.name)}
    return [
        f"{module.name} says that it is for plugins, and {'is pure' if module.name in used else 'none imports it'}"
        for module in code.product
        if module.says_for_plugins and (module.name not in used or code.is_pure(module.name))
    ]


def find_roots_imported(code: CodeMap) -> list[str]:
    """Nothing but another composition root, or the command line, imports one."""
    return [
        f"{module.name} imports the composition root {other}"
        for module in code.product
        if module.name not in ROOTS and code.package_of(module.name) != VERBS
        for other in code.all_arrows(module.name) & ROOTS
    ]


def find_tests_in_product(code: CodeMap) -> list[str]:
    """The product imports nothing of its tests."""
    return [
        f"{module.name} imports {name}"
        for module in code.product
        for name in module.names()
        if name.split(".")[0] in ("support", "tests", "pytest", "conftest")
    ]


def find_server_in_client(code: CodeMap) -> list[str]:
    """The client's distribution imports nothing of the appliance and its plugins."""
    own = {module.name for module in code.client}
    return [
        f"{module.name} imports {name}"
        for module in code.client
        for name in sorted({*code.all_arrows(module.name), *module.names(), *module.by_text})
        if name.startswith("mastio") and not any(_is_in(name, (one,)) for one in own)
    ]


def find_effects(code: CodeMap) -> list[str]:
    """A module that says that it is pure imports no library with effects."""
    return [
        f"{module.name} says that it is pure, and imports {name}"
        for module in code.product
        if module.says_pure
        for name in sorted(module.effect_libraries())
    ]


def find_effects_reached(code: CodeMap) -> list[str]:
    """Modules that say that they are pure, and have an effect by a call or by another module."""
    return [
        f"{module.name} says that it is pure, and reaches {', '.join(sorted(code.effects(module.name)))}"
        for module in code.product
        if module.says_pure and not code.is_pure(module.name)
    ]


def find_unsaid_purity(code: CodeMap) -> list[str]:
    """A module that decides something and is pure says so. One with coroutines waits for somebody else's effects."""
    return [
        f"{module.name} is pure and does not say so in its docstring: `Pure.`"
        for module in code.product
        if code.is_pure(module.name)
        and not module.says_pure
        and module.has(ast.FunctionDef)
        and not module.has(ast.AsyncFunctionDef, ast.Await)
    ]


def find_module_cycles(code: CodeMap) -> list[str]:
    """No module imports itself by way of others."""
    cycle = find_cycle(code.arrows)
    return [" → ".join(cycle)] if cycle else []


def find_package_cycles(code: CodeMap) -> list[str]:
    """No package imports itself, directly or by way of others."""
    arrows: dict[str, list[str]] = {name: [] for name in code.packages()}
    for one, other in code.package_arrows():
        arrows[one].append(other)
    cycle = find_cycle(arrows)
    return [" → ".join(cycle)] if cycle else []


def find_full_folders(code: CodeMap) -> list[str]:
    """No folder of the product has more than fifteen modules of its own."""
    counts = Counter(module.path.rpartition("/")[0] for module in code.product)
    return [f"{folder} has {count} files" for folder, count in counts.items() if count > MOST_FILES]


def find_imports_in_functions(code: CodeMap) -> list[str]:
    """Every import stands at the top of its module."""
    return [
        f"{module.name}: {node.name} imports"
        for module in code.product
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and any(isinstance(inner, ast.Import | ast.ImportFrom) for inner in ast.walk(node))
    ]  # fmt: skip


def find_hidden_loading(code: CodeMap) -> list[str]:
    """A module that is loaded by a text is ours and named by the text, so that every rule sees it as an import."""
    found = []
    for module in code.product:
        found += [
            f"{module.name} loads a module that its text does not name: {text}"
            for text in module.by_text
            if text == "*" or not any(_fits(text, name) for name in code.modules)
        ]
        allowed = LOADERS.get(module.name, " ")
        found += [
            f"{module.name} imports {name}"
            for name in module.names()
            if name != "importlib" and name not in IMPORTING and _is_in(name, LIBRARIES_THAT_LOAD)
            and not _is_in(name, (*HARMLESS, allowed))
        ]  # fmt: skip
        found += [f"{module.name} calls {name}" for name in sorted(module.calls & {"exec", "eval", "compile"})]
        mentions = list(_mentions(module))
        if len(mentions) != len(module.by_text) or "sys.modules" in mentions:
            found.append(f"{module.name} has a way to load modules in its hands: {', '.join(mentions)}")
    return found


def find_loading_by_text(code: CodeMap) -> list[str]:
    """Each import that is written as a text."""
    return [f"{module.name} loads {text}" for module in code.product for text in module.by_text]


def _plugins_of(code: CodeMap, module: Module) -> Iterator[str]:
    """The modules of plugins that a module imports or names in a text, also of plugins that are not in the map."""
    yield from sorted(one for one in code.all_arrows(module.name) if code.modules[one].path.startswith("plugins/"))
    for name in sorted(set(module.names()) | set(module.by_text)):
        if name.split(".")[0] not in code.modules and name.startswith("mastio_"):
            yield name


def _fits(text: str, name: str) -> bool:
    return name.startswith(text[:-1]) if text.endswith("*") else name == text


def _is_in(name: str, ones: Iterable[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in ones)


def _mentions(module: Module) -> Iterator[str]:
    """Where the source has a way to load modules: its name, or the module that it is in."""
    local = {alias.asname or alias.name: f"importlib.{alias.name}" for node in module.nodes
             if isinstance(node, ast.ImportFrom) and node.module == "importlib" for alias in node.names}  # fmt: skip
    library = {alias.asname or alias.name for node in module.nodes if isinstance(node, ast.Import)
               for alias in node.names if alias.name == "importlib"}  # fmt: skip
    for node in module.nodes:
        if isinstance(node, ast.Name) and (node.id in library or local.get(node.id, node.id) in IMPORTING):
            yield node.id
        elif isinstance(node, ast.Attribute) and dotted(node) in ("sys.modules", "builtins.__import__"):
            yield dotted(node)
