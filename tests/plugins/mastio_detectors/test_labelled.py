"""The labelled texts: their form, and that the table in the docs is what the detectors do."""

from __future__ import annotations

import importlib.util
import json
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from mastio_detectors.analysis.engine import Engine
from mastio_detectors.analysis.signals import CLASSES
from mastio_detectors.analysis.words import LANGUAGES

HERE = Path(__file__).parent / "labelled"
FILES = sorted(HERE.glob("*/*.jsonl"))
MEMBERS = {"text", "class", "category", "language", "carrier", "encoding"}
CARRIERS = {"user", "system", "assistant", "tool", "definition", "other"}
ENCODINGS = set(
    "plain base64 hex percent json html rot13 leet zero-width bidi full-width confusable spaced reversed tags".split()  # noqa: SIM905
)


def load_script() -> ModuleType:
    path = Path(__file__).parents[3] / "scripts" / "detectors"
    loader = SourceFileLoader("detectors_script", str(path))
    spec = importlib.util.spec_from_loader("detectors_script", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["detectors_script"] = module
    loader.exec_module(module)
    return module


SCRIPT = load_script()


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_line_has_the_form(file: Path) -> None:
    for line in file.read_text("utf-8").splitlines():
        row = json.loads(line)
        assert row.keys() == MEMBERS, line
        assert row["text"] and (row["class"] is None or row["class"] in CLASSES), line
        assert row["carrier"] in CARRIERS and row["encoding"] in ENCODINGS and len(row["language"]) == 2, line


def test_the_tuning_half_is_wide_enough() -> None:
    samples = SCRIPT.read("tuning")
    attacks = [sample for sample in samples if sample.kind is not None]
    assert len(attacks) >= 280 and len(samples) - len(attacks) >= 280
    assert all(sum(sample.kind == kind for sample in attacks) >= 40 for kind in CLASSES)
    assert {sample.language for sample in attacks} >= LANGUAGES.keys()
    assert len({sample.encoding for sample in attacks}) >= 10
    assert {sample.carrier for sample in attacks} >= {"user", "tool", "definition", "assistant", "system"}


def test_no_text_is_in_both_halves() -> None:
    tuning = {sample.text for sample in SCRIPT.read("tuning")}
    assert tuning.isdisjoint(sample.text for sample in SCRIPT.read("heldout"))


@pytest.fixture(scope="module")
def judged(engine: Engine) -> dict[str, list[object]]:
    return {half: SCRIPT.judge(engine, SCRIPT.read(half)) for half in SCRIPT.HALVES}


def test_the_table_in_the_docs_is_what_the_detectors_do(judged: dict[str, list[object]]) -> None:
    page = SCRIPT.PAGE.read_text("utf-8")
    assert SCRIPT.insert(page, SCRIPT.table(judged)) == page, "run scripts/detectors --write"


def test_hardly_a_harmless_text_is_suspected(judged: dict[str, list[object]]) -> None:
    harmless = [one for one in judged["tuning"] if one.sample.kind is None]  # type: ignore[attr-defined]
    assert sum(bool(one.found) for one in harmless) <= 0.01 * len(harmless)  # type: ignore[attr-defined]


def test_most_attacks_of_each_class_are_found(judged: dict[str, list[object]]) -> None:
    for kind in CLASSES:
        own = [one for one in judged["tuning"] if one.sample.kind == kind]  # type: ignore[attr-defined]
        assert sum(kind in one.found for one in own) >= 0.9 * len(own), kind  # type: ignore[attr-defined]
