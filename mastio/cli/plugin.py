"""`mastio plugin new NAME`: write a plugin with its tests, to begin from."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from importlib import resources
from keyword import iskeyword
from pathlib import Path

from mastio.cli import VERBS
from mastio.exchange.errors import ConfigurationError
from mastio.settings import CORE_SECTIONS, DEFAULT_PLUGINS

NAME = re.compile(r"[a-z][a-z0-9]{0,31}")

TAKEN = frozenset({"client", "mastio", "objects", "policies", "primitives"})
"""Names of packages of ours, and of a collection whose verb is another word."""

PLACE = "@{name}"
"""Stands for the name of the plugin."""

FILES: Mapping[str, str] = {
    "pyproject.toml": "pyproject.txt",
    "README.md": "README.txt",
    "mastio_@{name}/__init__.py": "__init__.txt",
    "mastio_@{name}/plugin.py": "plugin.txt",
    "mastio_@{name}/settings.py": "settings.txt",
    "mastio_@{name}/collection.py": "collection.txt",
    "mastio_@{name}/commands.py": "commands.txt",
    "mastio_@{name}/rule.py": "rule.txt",
    "tests/test_@{name}.py": "tests.txt",
}
"""The files of a new plugin, and the templates in `mastio/plugin/template/` that they are made from."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    new = verbs.add_parser("new", help="write a plugin with its tests", description="Write a plugin with its tests.")
    new.add_argument("name", help="lower-case letters and digits")
    new.add_argument("--folder", type=Path, metavar="DIR", help="where to write it (default: ./mastio-NAME)")


def run(args: argparse.Namespace) -> int:
    folder = args.folder or Path(f"mastio-{args.name}")
    written = write_plugin(args.name, folder)
    print("\n".join(f"wrote {file}" for file in written))
    print(f'Next: pip install -e {folder}, and add "{args.name}" to plugins.active in mastio.toml.')
    return 0


def write_plugin(name: str, folder: Path) -> list[Path]:
    """Write the files and return their paths. Raises `ConfigurationError`; an existing folder is never written over."""
    if not NAME.fullmatch(name):
        raise ConfigurationError(f"{name} is no name of a plugin.", "Use lower-case letters and digits.")
    if iskeyword(name) or any(name in names for names in (VERBS, CORE_SECTIONS, DEFAULT_PLUGINS, TAKEN)):
        raise ConfigurationError(f"The name {name} is taken.", "Choose another one.")
    templates = resources.files("mastio.plugin") / "template"
    written = []
    try:
        folder.mkdir(parents=True)
        for path, template in FILES.items():
            file = folder / path.replace(PLACE, name)
            file.parent.mkdir(exist_ok=True)
            text = (templates / template).read_text("utf-8")
            file.write_text(text.replace(PLACE, name), "utf-8")
            written.append(file)
    except FileExistsError as error:
        raise ConfigurationError(f"{folder} is there already.", "Give another --folder.") from error
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be written.", "Check --folder.") from error
    return written
