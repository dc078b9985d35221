"""The modules of the project as their sources describe them: who imports whom, what has effects, whose package it is.

`tests/test_architecture.py` holds the rules against this map, and `scripts/docs` writes its table from it. Each file is
parsed once. A map can be made of any sources, so that the rules themselves can be tested.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

FOLDERS = ("mastio", "plugins", "client", "tests/support")
"""Where the modules of the map are. Modules of the last are named `support.…`, as tests import them."""

EFFECTS = (
    "aiodns", "aiohttp", "aiosqlite", "alembic", "anyio", "apsw", "asyncio", "asyncpg", "awscrt", "concurrent",
    "contextvars", "ctypes", "fastapi", "fcntl", "gc", "getpass", "glob", "http.client", "http.server", "httpx",
    "httpx2", "importlib", "logging", "mmap", "multiprocessing", "os", "pathlib", "prometheus_client", "pwd", "pycares",
    "pyreqwest", "random", "resource", "runpy", "select", "selectors", "shutil", "signal", "smtplib", "socket",
    "socketserver", "sqlalchemy", "sqlite3", "ssl", "starlette", "subprocess", "sys", "tempfile", "termios", "time",
    "urllib.request", "uvicorn", "uvloop",
)  # fmt: skip
"""Libraries that reach outside the process, wait, share state, or know the time. A pure module imports none of them."""

BUILTINS = {"open", "input", "print"}
"""Builtins that a pure module does not call."""

EFFECT_NAMES = {
    "io.open", "datetime.date.today", "datetime.datetime.now", "datetime.datetime.today", "datetime.datetime.utcnow",
    "secrets.choice", "secrets.randbelow", "secrets.randbits", "secrets.token_bytes", "secrets.token_hex",
    "secrets.token_urlsafe", "threading.Condition", "threading.Event", "threading.Lock", "threading.RLock",
    "threading.Semaphore", "threading.Thread", "threading.Timer", "uuid.uuid1", "uuid.uuid4",
}  # fmt: skip
"""What a pure module does not use of libraries that are otherwise values."""

SAYS_PURE = re.compile(r"(?:^|[.;] |\n)Pure\b(?! \|)")
"""The sentence of a module's docstring with which it promises to be pure."""

SAYS_FOR_PLUGINS = "For plugins."
"""The sentence of a module's docstring that opens it to plugins."""

IMPORTING = {"importlib.import_module", "importlib.__import__", "__import__", "builtins.__import__"}
"""Calls that load a module by a text."""


@dataclass(frozen=True, slots=True)
class Module:
    """One file: its dotted name, its path in the project, and what its source says."""

    name: str
    path: str
    lines: int
    doc: str
    nodes: tuple[ast.AST, ...]
    """Every node of its tree, the tree itself first."""
    imports: tuple[tuple[str, str], ...]
    """What it imports, absolute: the module, and the name that is taken from it or no name."""
    calls: frozenset[str]
    """The dotted names of what it calls, with the names of its imports written out."""
    uses: frozenset[str]
    """The dotted names of what it uses of its imports, called or handed on."""
    by_text: tuple[str, ...]
    """The modules that it loads by a text. One that ends with `*` is a beginning, and `*` alone could be any."""

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")

    @property
    def says_pure(self) -> bool:
        return SAYS_PURE.search(self.doc) is not None

    @property
    def says_for_plugins(self) -> bool:
        return SAYS_FOR_PLUGINS in " ".join(self.doc.split())

    def effects(self) -> set[str]:
        """What it has with which a pure module would not be one."""
        return self.effect_libraries() | (self.calls & BUILTINS) | {name for name in self.uses if _has_effect(name)}

    def effect_libraries(self) -> set[str]:
        """The libraries with effects that it imports, as dotted names."""
        return {name for name in self.names() if _has_effect(name) and name not in EFFECT_NAMES}

    def names(self) -> Iterator[str]:
        """All that it imports, as dotted names; what is taken from a module comes with that module's name before it."""
        return (f"{module}.{name}" if name else module for module, name in self.imports)

    def has(self, *kinds: type[ast.AST]) -> bool:
        return any(isinstance(node, kinds) for node in self.nodes)


def name_of(path: str) -> str:
    """The dotted name of the file at a path: `plugins/mastio_llm/dialects/sse.py` is `mastio_llm.dialects.sse`."""
    parts = path.removesuffix(".py").split("/")
    parts = parts[1:] if parts[0] in ("plugins", "client", "tests") else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _has_effect(name: str) -> bool:
    return name in EFFECT_NAMES or any(name == one or name.startswith(f"{one}.") for one in EFFECTS)


def dotted(node: ast.AST) -> str:
    """`a.b.c` of a name or an attribute; empty where it begins with something else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def parse(path: str, source: str) -> Module:
    """The module at `path`. Raises `SyntaxError`."""
    tree = ast.parse(source)
    name = name_of(path)
    nodes = tuple(ast.walk(tree))
    imports: list[tuple[str, str]] = []
    local: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                imports.append((alias.name, ""))
                top = alias.name.split(".")[0]
                local |= {alias.asname: alias.name} if alias.asname else {top: top}
        elif isinstance(node, ast.ImportFrom):
            module = _base(name, path.endswith("__init__.py"), node)
            imports += [(module, alias.name) for alias in node.names]
            local |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in node.names}
    called: list[tuple[str, ast.Call]] = []
    uses: set[str] = set()
    for node in nodes:
        said = dotted(node.func if isinstance(node, ast.Call) else node)
        first, dot, rest = said.partition(".")
        if isinstance(node, ast.Call) and said:
            called.append((local.get(first, first) + dot + rest, node))
        elif first in local:
            uses.add(local[first] + dot + rest)
    by_text = tuple(_text(node) for said, node in called if said in IMPORTING)
    doc = ast.get_docstring(tree) or ""
    calls = frozenset(said for said, _ in called)
    return Module(name, path, source.count("\n"), doc, nodes, tuple(imports), calls, frozenset(uses), by_text)


def _base(name: str, is_package: bool, node: ast.ImportFrom) -> str:
    """The absolute name of the module in `from … import`."""
    if not node.level:
        return node.module or ""
    parts = name.split(".")
    parts = parts[: len(parts) - node.level + is_package]
    return ".".join([*parts, node.module] if node.module else parts)


def _text(call: ast.Call) -> str:
    """What is loaded by a call: the text, its constant beginning and `*`, or `*` alone."""
    given = call.args[0] if len(call.args) == 1 and not call.keywords else None
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return given.value
    if isinstance(given, ast.JoinedStr) and given.values and isinstance(begin := given.values[0], ast.Constant):
        return f"{begin.value}*"
    return "*"


class CodeMap:
    """All modules of a project by their names, and the arrows between them."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        """`sources`: the source of each file by its path from the project's root. Raises `SyntaxError`."""
        self.modules = {(module := parse(path, source)).name: module for path, source in sources.items()}
        self.arrows = {name: self._of_ours(module.imports) for name, module in self.modules.items()}
        """The modules of ours that each module imports, without its own packages."""
        self.late = {name: self._by_text(module.by_text) for name, module in self.modules.items()}
        """The modules of ours that each module loads by a text."""
        self._reached: dict[str, frozenset[str]] = {}

    def _of_ours(self, imports: Iterable[tuple[str, str]]) -> frozenset[str]:
        found = ((f"{module}.{name}", module) for module, name in imports)
        return frozenset(one for pair in found for one in [next((x for x in pair if x in self.modules), "")] if one)

    def _by_text(self, texts: Iterable[str]) -> frozenset[str]:
        return frozenset(
            name for text in texts if text != "*" for name in self.modules
            if name == text or (text.endswith("*") and name.startswith(text[:-1]))
        )  # fmt: skip

    @property
    def product(self) -> list[Module]:
        """The modules of the appliance, without those of its tests."""
        return [module for module in self.modules.values() if not module.path.startswith("tests/")]

    @property
    def core(self) -> list[Module]:
        return [module for module in self.product if module.path.startswith("mastio/")]

    @property
    def plugins(self) -> list[Module]:
        return [module for module in self.product if module.path.startswith("plugins/")]

    @property
    def client(self) -> list[Module]:
        """The modules of the distribution `mastio-client`."""
        return [module for module in self.product if module.path.startswith("client/")]

    def all_arrows(self, name: str) -> frozenset[str]:
        return self.arrows[name] | self.late[name]

    def reached(self, name: str) -> frozenset[str]:
        """All modules that a module imports, and what those import, and so on; itself too."""
        if name not in self._reached:
            seen: set[str] = set()
            ahead = [name]
            while ahead:
                one = ahead.pop()
                if one not in seen:
                    seen.add(one)
                    ahead += self.all_arrows(one)
            self._reached[name] = frozenset(seen)
        return self._reached[name]

    def effects(self, name: str) -> set[str]:
        """What a module reaches with which it is not pure: `mastio.host.aside: threading`."""
        return {f"{one}: {effect}" for one in self.reached(name) for effect in self.modules[one].effects()}

    def is_pure(self, name: str) -> bool:
        """Whether neither a module nor what it imports, directly or not, has effects."""
        return not any(self.modules[one].effects() for one in self.reached(name))

    def package_of(self, name: str) -> str:
        """A folder of the core or of the client, their own files, a plugin, or the tests' support."""
        top, _, rest = name.partition(".")
        if rest == "__main__":
            return f"{top}.cli"
        folder = ".".join(name.split(".")[:2])
        is_folder = folder in self.modules and self.modules[folder].is_package
        return folder if is_folder and self.modules[folder].path.startswith(("mastio/", "client/")) else top

    def packages(self) -> dict[str, list[Module]]:
        found: dict[str, list[Module]] = defaultdict(list)
        for name in sorted(self.modules):
            found[self.package_of(name)].append(self.modules[name])
        return dict(found)

    def package_arrows(self) -> dict[tuple[str, str], int]:
        """How many imports lead from one package to another."""
        return Counter(
            (self.package_of(name), self.package_of(other))
            for name in self.modules for other in self.all_arrows(name)
            if self.package_of(name) != self.package_of(other)
        )  # fmt: skip


def find_cycle(arrows: Mapping[str, Iterable[str]]) -> list[str]:
    """A cycle of a graph, its first node again at the end; empty where there is none."""
    done: set[str] = set()
    for start in arrows:
        path: list[tuple[str, Iterator[str]]] = [(start, iter(arrows[start]))] if start not in done else []
        while path:
            node, ahead = path[-1]
            following = next(ahead, None)
            names = [name for name, _ in path]
            if following is None:
                done.add(node)
                path.pop()
            elif following in names:
                return [*names[names.index(following) :], following]
            elif following not in done:
                path.append((following, iter(arrows.get(following, ()))))
    return []


@functools.cache
def read_code() -> CodeMap:
    """The map of this project."""
    files = (file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py")))
    return CodeMap({file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in files})


NOT_CORE: set[str] = set()
"""Packages below `mastio/` that are no part of the core."""


def lines_of_core(code: CodeMap) -> int:
    return sum(module.lines for module in code.core if code.package_of(module.name) not in NOT_CORE)


def describe_packages(code: CodeMap) -> str:
    """The packages as a table in Markdown. Lines are rounded up to hundreds, so that the table seldom changes."""
    arrows = code.package_arrows()
    rows = []
    for package, modules in sorted(code.packages().items()):
        pure = sum(code.is_pure(module.name) for module in modules)
        others = sorted(other for one, other in arrows if one == package)
        lines = _hundreds(sum(module.lines for module in modules))
        shown = ", ".join(f"`{other}`" for other in others) or "–"
        named = "tests/support" if package == "support" else package
        rows.append(f"| `{named}` | {len(modules)} | {pure} | {lines:,} | {shown} |")
    head = ["| package | files | of them pure | lines | imports |", "|---|--:|--:|--:|---|"]
    without = " and ".join(f"`{package}`" for package in sorted(NOT_CORE))
    apart = f", but for {without}" if without else ""
    core = f"The core is `mastio` with its folders{apart}: {_hundreds(lines_of_core(code)):,} lines."
    return "\n".join([*head, *rows, "", f"{core} Lines are rounded up to hundreds."])


def _hundreds(lines: int) -> int:
    return -(-lines // 100) * 100
