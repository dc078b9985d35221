"""The list of `scripts/mutations` fits the code: each defect can be made, and its tests are there."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
MUTATIONS: list[dict[str, Any]] = tomllib.loads((ROOT / "tests" / "mutations.toml").read_text("utf-8"))["mutation"]
AREAS = {"pipeline", "identity", "policy", "audit", "redaction", "limits", "llm", "egress"}
MEMBERS = {"name", "area", "file", "old", "new", "tests"}


def test_there_are_enough_of_them_in_each_area() -> None:
    count = Counter(one["area"] for one in MUTATIONS)
    assert count.keys() == AREAS and count.total() >= 60 and min(count.values()) >= 6


def test_no_name_is_there_twice() -> None:
    assert [name for name, times in Counter(one["name"] for one in MUTATIONS).items() if times > 1] == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[one["name"] for one in MUTATIONS])
def test_a_mutation_can_be_made(mutation: dict[str, Any]) -> None:
    old, new = mutation["old"], mutation["new"]
    assert mutation.keys() == MEMBERS and old != new and "\n" not in old + new
    source = (ROOT / mutation["file"]).read_text("utf-8")
    assert source.count(old) == 1, f"{mutation['file']} has it {source.count(old)} times: {old}"
    ast.parse(source.replace(old, new))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[one["name"] for one in MUTATIONS])
def test_the_tests_of_a_mutation_are_there(mutation: dict[str, Any]) -> None:
    assert mutation["tests"]
    for test in mutation["tests"]:
        file, *names = test.partition("[")[0].split("::")
        tree = ast.walk(ast.parse((ROOT / file).read_text("utf-8")))
        known = {node.name for node in tree if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
        assert known.issuperset(names), f"{file} has no {names}"
