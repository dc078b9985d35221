"""The docs say what the code does: derived tables, links, commands, the README's limits."""

import importlib.util
import re
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from mastio.cli import VERBS
from mastio.plugin.hooks import Hooks
from mastio_primitives.codes import CODES

ROOT = Path(__file__).parent.parent
PLACES = ("*.md", "docs/**/*.md", "operate/**/*.md", "plugins/*/*.md", "client/*.md", "nginx/*.md", "scripts/**/*.md")
FOLDERS = ("mastio", "plugins", "client")
PAGES = sorted(page for place in PLACES for page in ROOT.glob(place))


def load_docs_script() -> ModuleType:
    loader = SourceFileLoader("docs_script", str(ROOT / "scripts" / "docs"))
    spec = importlib.util.spec_from_loader("docs_script", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["docs_script"] = module
    loader.exec_module(module)
    return module


DOCS = load_docs_script()


@pytest.mark.parametrize("name", DOCS.TABLES)
def test_the_derived_tables_are_up_to_date(name: str) -> None:
    page, table = DOCS.TABLES[name]
    text = (ROOT / page).read_text("utf-8")
    assert DOCS.insert(text, name, table()) == text, f"run scripts/docs: {page} is not what the code says"


def test_every_code_is_raised_somewhere() -> None:
    """A word of the vocabulary that nobody says is dead."""
    sources = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py") if p.name != "codes.py"]
    said = "\n".join(path.read_text("utf-8") for path in sources)
    defaults = re.findall(r'default_code = "(\w+)"', (ROOT / "mastio" / "exchange" / "errors.py").read_text("utf-8"))
    assert [code for code in CODES if f'"{code}"' not in said and code not in defaults] == []


def test_every_code_that_is_raised_is_in_the_vocabulary() -> None:
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            for code in re.findall(r'code="(\w+)"', path.read_text("utf-8")):
                assert code in CODES, f"{path.name} raises {code}"


def test_the_plugin_page_names_every_hook() -> None:
    text = (ROOT / "docs" / "plugins.md").read_text("utf-8")
    for hook in Hooks.__dataclass_fields__:
        assert f"`{hook}" in text, f"docs/plugins.md does not mention {hook}"


def test_the_example_plugin_of_the_docs_runs() -> None:
    """The sample of docs/plugins.md is executed as it stands."""
    text = (ROOT / "docs" / "plugins.md").read_text("utf-8")
    sample = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert sample is not None
    namespace: dict[str, object] = {"__name__": "sample"}
    exec(compile(sample[1], "docs/plugins.md", "exec"), namespace)
    assert namespace["plugin"].name == "office_hours"  # type: ignore[attr-defined]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8")):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_exist(page: Path) -> None:
    for verb in re.findall(r"(?:^|\$ |`)mastio ([a-z][a-z-]+)", page.read_text("utf-8"), re.MULTILINE):
        assert verb in VERBS, f"{page.name} names mastio {verb}"


def test_the_readme_is_short_and_has_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert text.count("\n") <= 150
    assert "./deploy.sh up --demo" in text and "./scripts/test" in text
    assert text.index("./deploy.sh up --demo") < text.index("./scripts/test")


def test_the_folder_map_is_true() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    for name in re.findall(r"^- `([a-z_./]+)`", text, re.MULTILINE):
        assert (ROOT / name).exists(), f"README.md names {name}"


def test_the_readme_says_what_each_folder_of_the_kernel_has() -> None:
    folders = {path.name for path in (ROOT / "mastio").iterdir() if (path / "__init__.py").is_file()}
    named = set(re.findall(r"`(\w+)/`", (ROOT / "README.md").read_text("utf-8")))
    assert folders <= named, folders - named


@pytest.mark.parametrize("package", sorted(path.parent.name for path in (ROOT / "plugins").glob("*/plugin.py")))
def test_the_readme_of_a_plugin_names_its_files(package: str) -> None:
    folder = ROOT / "plugins" / package
    named = (folder / "README.md").read_text("utf-8")
    files = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
    folders = [f"{path.name}/" for path in folder.iterdir() if (path / "__init__.py").is_file()]
    assert [name for name in [*files, *folders] if f"`{name}" not in named and f"/{name}`" not in named] == []
