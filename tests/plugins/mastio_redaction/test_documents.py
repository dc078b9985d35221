"""Labelled values are found in documents of every layout, and ordinary programs, logs and manuals are left alone."""

from __future__ import annotations

import argparse
import ftplib
import getpass
import http.client
import imaplib
import json
import netrc
import smtplib
import ssl
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

from mastio_redaction.catalogue import BY_NAME, CATALOGUE, DEFAULT
from mastio_redaction.engine import Engine
from support.redaction.documents import LAYOUTS
from support.redaction.labelled import SEED, SHARE, Score, find, measure, table, texts
from support.redaction.spellings import KINDS, TYPE_OF

ENGINE = Engine(CATALOGUE)
ROOT = Path(__file__).parents[3]
HARMLESS = (ROOT / "tests" / "support" / "redaction" / "harmless.txt").read_text("utf-8").splitlines()
BARE = {"dash behind", "equals sign", "it is", "no longer", "please use"}
"""Layouts in which nothing but nearness connects label and value: good for values with a check digit."""


@pytest.fixture(scope="module")
def score() -> Score:
    return measure(ENGINE, texts(SEED, SHARE), DEFAULT)


def test_the_documents_are_as_many_as_promised() -> None:
    assert len(KINDS) >= 70 and len(LAYOUTS) >= 120
    assert {TYPE_OF.get(kind, kind) for kind in KINDS} <= BY_NAME.keys()


def test_structured_values_are_found(score: Score) -> None:
    assert score.whole.values > 3_500
    assert score.whole.recall >= 0.98, score.missed
    assert score.whole.named >= 0.97 * score.whole.values
    assert score.precision >= 0.995, score.wrong


def test_types_of_the_default_are_taken_out(score: Score) -> None:
    assert score.default.recall >= 0.985, score.missed


def test_no_layout_is_poor(score: Score) -> None:
    poor = {name: tally.recall for name, tally in score.layouts.items() if tally.values >= 10 and tally.recall < 0.85}
    assert poor.keys() <= BARE, poor


def test_no_kind_is_poor(score: Score) -> None:
    poor = {name: tally.recall for name, tally in score.kinds.items() if tally.recall < 0.88}
    assert poor.keys() <= {"USERNAME"}, poor


def test_the_table_of_the_docs_is_what_is_measured(score: Score) -> None:
    page = (ROOT / "docs" / "redaction.md").read_text("utf-8")
    assert table(score) in page, "run scripts/redaction-corpus --write"


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_lines_are_left_alone(text: str) -> None:
    assert find(ENGINE, text.replace("%%", "\n")) == []


MODULES = (argparse, ftplib, getpass, http.client, imaplib, netrc, smtplib, ssl, tarfile)
THERE = {"EMAIL_ADDRESS", "PERSON", "IP_ADDRESS", "STREET_ADDRESS"}
"""What authors write into their programs."""


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_programs_are_left_alone(module: ModuleType) -> None:
    source = Path(str(module.__file__)).read_text("utf-8")
    assert [hit for hit in find(ENGINE, source) if hit[1] not in THERE] == []


def test_a_lock_file_is_left_alone() -> None:
    packages = {
        f"node_modules/pack{n}": {
            "version": f"{n}.{n * 7 % 13}.{n % 10}",
            "resolved": f"https://registry.npmjs.org/pack{n}/-/pack{n}-{n}.0.1.tgz",
            "integrity": f"sha512-{n:064x}{n * 31:022x}==",
            "engines": {"node": ">=18.0.0"},
            "bin": {"login": "bin/login.js"},
        }
        for n in range(1, 200)
    }
    text = json.dumps({"name": "app", "lockfileVersion": 3, "packages": packages}, indent=2)
    assert find(ENGINE, text) == []
