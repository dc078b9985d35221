"""The words of policies are those of the parts that find: redaction's classes and detectors' names."""

from __future__ import annotations

import re

import pytest

from mastio.cedar.schema import DATA_CLASSES, DETECTORS
from mastio_detectors.settings import CLASSES
from mastio_policy.classes import classes_of
from mastio_policy.shipped import read_shipped
from mastio_redaction.catalogue import CATALOGUE as TYPES


def test_every_detector_has_a_score() -> None:
    assert set(CLASSES) == set(DETECTORS)


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
def test_every_type_has_its_data_class(kind) -> None:  # type: ignore[no-untyped-def]
    assert kind.cls in DATA_CLASSES
    assert kind.cls in classes_of(f"{kind.cls}.{kind.name}") and kind.cls in classes_of(f"pii.{kind.name}") | {kind.cls}


def test_labels_that_shipped_policies_name_are_found_by_somebody() -> None:
    known = {f"{kind.cls}.{kind.name}" for kind in TYPES} | {f"pii.{kind.name}" for kind in TYPES}
    (cards,) = (one for one in read_shipped() if one.name == "no-card-data")
    named = re.findall(r'"((?:financial|pii)\.[A-Z_]+)"', cards.cedar)
    assert named and set(named) <= known
