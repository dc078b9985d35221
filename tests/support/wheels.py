"""The project's wheels, built without a network, in environments that have nothing but them and what they depend on.

An environment gets its dependencies as links to those of the running one: only the distributions that the wheels'
metadata name, directly or not. Neither the checkout nor its editable installation is in it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, PathDistribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from mastio.host.automata import KEPT

ROOT = Path(__file__).parents[2]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
OURS = {"mastio", "mastio-client"}


def build(out: Path, *folders: Path) -> list[Path]:
    """A wheel of each folder."""
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(out), *map(str, folders))
    return sorted(out.glob("*.whl"))


def run(*command: str, cwd: Path | None = None, status: int = 0) -> subprocess.CompletedProcess[str]:
    """A command that must end with this status, and does not see the checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MASTIO_", "PYTHON"))}
    done = subprocess.run(command, cwd=cwd, env=kept, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == status, (command, done.stdout, done.stderr)
    return done


class Environment:
    """A virtual environment with these wheels. `extras` are distributions that it gets beside their dependencies."""

    def __init__(self, folder: Path, wheels: Sequence[Path], extras: Iterable[str] = ()) -> None:
        run(sys.executable, "-m", "venv", "--without-pip", str(folder))
        self.folder = folder
        self.python = folder / "bin" / "python"
        self.site = next(folder.glob("lib/python*/site-packages"))
        run(*PIP, "--python", str(self.python), "install", "--no-deps", "--no-index", *map(str, wheels))
        self.borrowed = {one.name: one for one in _needed([*_requirements(self.site), *extras])}
        for one in self.borrowed.values():
            _link(one, self.site)

    def run(self, command: str, *words: str, cwd: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
        """A command of this environment."""
        return run(str(self.folder / "bin" / command), *words, cwd=cwd, status=status)

    def borrow_automata(self) -> None:
        """Those that the running environment has compiled: compiling them takes ten seconds."""
        kept = self.site / "mastio" / "host" / "__pycache__"
        kept.mkdir(exist_ok=True)
        for file in KEPT.glob("automaton-*.hs"):
            shutil.copy(file, kept)

    def size(self, *without: str) -> int:
        """Bytes of all that is installed, compiled files included, but for these distributions."""
        left_out = {item for name in without if name in self.borrowed for item in _tops(self.borrowed[name])}
        return sum(
            file.stat().st_size
            for item in self.site.iterdir()
            if item.name not in left_out
            for file in ([item] if item.is_file() else item.rglob("*"))
            if file.is_file()
        )


def _requirements(site: Path) -> list[str]:
    """What the installed wheels ask for."""
    return [line for info in site.glob("*.dist-info") for line in PathDistribution(info).requires or []]


def _needed(requirements: Iterable[str]) -> Iterator[Distribution]:
    """The distributions of the running environment that these requirements lead to, each once."""
    seen: set[tuple[str, frozenset[str]]] = set()
    ahead = [(Requirement(line), "") for line in requirements]
    while ahead:
        wanted, extra = ahead.pop()
        key = (wanted.name.lower().replace("_", "-"), frozenset(wanted.extras))
        is_asked = wanted.marker is None or wanted.marker.evaluate({"extra": extra})
        if not is_asked or key in seen or key[0] in OURS:
            continue
        seen.add(key)
        try:
            found = distribution(wanted.name)
        except PackageNotFoundError:  # what needs it fails by itself
            continue
        yield found
        for one in {"", *wanted.extras}:
            ahead += [(Requirement(line), one) for line in found.requires or []]


def _tops(found: Distribution) -> set[str]:
    """The names that a distribution has in `site-packages`."""
    tops = {file.parts[0] for file in found.files or [] if file.parts[0] not in ("..", "__pycache__")}
    assert tops, found.name
    return tops


def _link(found: Distribution, site: Path) -> None:
    for name in _tops(found):
        source = Path(str(found.locate_file(name)))
        if not (site / name).exists():
            (site / name).symlink_to(source)
