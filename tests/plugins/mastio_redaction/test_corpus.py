"""The engine is as good on the labelled texts as the docs say and as was promised, and on texts that nobody saw."""

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from mastio_redaction.catalogue import BY_NAME, CATALOGUE, DEFAULT
from mastio_redaction.engine import Engine
from support.redaction.corpus import SEED, Count, Labelled, corpus, measure, table
from support.redaction.people import LANGUAGES
from support.redaction.values import VALUES

ROOT = Path(__file__).parents[3]
ENGINE = Engine(CATALOGUE)
TEXTS = corpus()


def total(counts: dict[str, Count], structured: bool) -> Count:
    chosen = [count for kind, count in counts.items() if BY_NAME[kind].structured is structured]
    return Count(
        sum(count.values for count in chosen),
        sum(count.found for count in chosen),
        sum(count.right for count in chosen),
        sum(count.wrong for count in chosen),
    )


def test_the_corpus_is_what_it_says() -> None:
    assert corpus(SEED) == TEXTS
    assert len(TEXTS) >= 3000
    forms = {text.form for text in TEXTS}
    assert forms >= {"code", "json", "csv", "log", "negative", *(f"prose {language}" for language in LANGUAGES)}
    assert sum(not text.labels for text in TEXTS) >= 1000
    values = [label[2] for text in TEXTS for label in text.labels]
    assert all(values.count(kind) >= 30 for kind in VALUES)
    for text in TEXTS:
        assert all(0 <= start < end <= len(text.text) for start, end, _ in text.labels)


@pytest.mark.parametrize("seed", [SEED, 1, 2])
def test_structured_types_and_secrets_are_found_and_hardly_anything_else(seed: int) -> None:
    counts, wrong = measure(TEXTS if seed == SEED else corpus(seed), ENGINE.find)
    whole = total(counts, structured=True)
    assert whole.recall >= 0.98 and whole.precision >= 0.98, wrong
    poor = [kind for kind, count in counts.items() if BY_NAME[kind].structured and count.recall < 0.9]
    assert poor == []  # (a Danish number may be a valid Finnish one, and the other way round)


def test_the_table_of_the_docs_is_what_is_measured() -> None:
    path = ROOT / "scripts" / "redaction-corpus"
    loader = SourceFileLoader("redaction_corpus_script", str(path))
    spec = importlib.util.spec_from_loader("redaction_corpus_script", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["redaction_corpus_script"] = module
    loader.exec_module(module)
    counts, _ = measure(TEXTS, ENGINE.find)
    made = table(counts, {kind.name: (kind.cls, kind.structured) for kind in CATALOGUE}, DEFAULT)
    assert module.BEGIN + made + module.END in module.PAGE.read_text("utf-8"), "run scripts/redaction-corpus --write"


def test_a_miss_and_a_wrong_hit_count() -> None:
    texts = [Labelled("anna at example.com", ((0, 4, "PERSON"),), "x"), Labelled("4111 1111 1111 1111", (), "x")]
    counts, wrong = measure(texts, ENGINE.find)
    assert (counts["PERSON"].recall, counts["CREDIT_CARD"].precision) == (0.0, 0.0)
    assert len(wrong) == 2
