"""The two distributions fit each other, their locks, and what their code imports."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import mastio
import mastio_client
from support.code_map import read_code

ROOT = Path(__file__).parent.parent
OPTIONAL = {"httpx2", "uvloop"}
"""Libraries of the client that are used where they are: SDKs bring the one, the extra `fast` the other."""


def project(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def names(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in requirements}


SERVER, CLIENT = project("."), project("client")


def test_both_have_one_version_and_the_server_asks_for_it() -> None:
    assert SERVER["version"] == CLIENT["version"] == mastio.__version__ == mastio_client.__version__
    assert f"mastio-client=={CLIENT['version']}" in SERVER["dependencies"]


def test_the_client_asks_for_all_that_it_imports_and_nothing_of_the_server() -> None:
    code = read_code()
    own = {module.name.partition(".")[0] for module in code.client}
    imported = {name.partition(".")[0] for module in code.client for name in module.names()}
    libraries = {canonicalize_name(name) for name in imported - own - sys.stdlib_module_names}
    assert libraries - OPTIONAL == names(CLIENT["dependencies"])


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_has_versions_and_hashes_and_no_address(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert not re.search(r"https?:|file:|--index|--find-links|--trusted| @ |^-e|^/", text, re.MULTILINE)
    blocks = re.findall(r"(?m)^[a-zA-Z0-9][^\n]*(?:\n    [^\n]*)*", text)
    assert len(blocks) > 10
    for block in blocks:
        assert re.match(r"[\w.-]+==\S+ ", block) and "--hash=sha256:" in block, block


def test_the_lock_has_what_both_ask_for() -> None:
    locked = names(re.findall(r"(?m)^([\w.-]+)==", (ROOT / "requirements.lock").read_text("utf-8")))
    assert names([*SERVER["dependencies"], *CLIENT["dependencies"]]) - {"mastio-client"} <= locked
    assert "mastio-client" not in locked, "it is installed from its folder"
