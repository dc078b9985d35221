"""A value in JSON is called what its writer calls it, wherever the document says it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mastio.reading.document import Document
from mastio.strictjson import parse

IMEI = "352099001761481"
API = frozenset(("messages", "role", "content", "name", "value", "data"))


def called(document: Any, names: frozenset[str] = frozenset()) -> dict[str, str]:
    """What each text is called."""
    raw = json.dumps(document).encode()
    return {passage.text: passage.name for passage in Document(raw, parse(raw), names).passages}


@pytest.mark.parametrize(
    "document",
    [
        {"IMEI": IMEI},
        {"name": "IMEI", "value": IMEI},
        {"value": IMEI, "label": "IMEI"},
        {"field": "IMEI", "value": int(IMEI)},
        [{"key": "other", "value": "x"}, {"key": "IMEI", "value": IMEI}],
        [["id", "IMEI"], ["one", IMEI]],
        [["id", "IMEI"], ["one", "x"], ["two", int(IMEI)]],
        {"columns": ["id", "IMEI"], "rows": [["one", IMEI]]},
        {"columns": [{"name": "id"}, {"name": "IMEI"}], "data": [["one", IMEI]]},
        {"data": [["one", IMEI]], "headers": ["id", "IMEI"]},
        ["IMEI", IMEI],
        [["other", "x y"], ["IMEI", IMEI]],
        {"IMEI": {"value": IMEI, "checked": True}},
        {"IMEI": [{"value": IMEI}]},
        {"IMEI": [IMEI, "x y"]},
        {"type": "IMEI", "value": int(IMEI)},
        {"kind": "IMEI", "id": IMEI, "country": "XX"},
        {"value": IMEI, "type": {"text": "IMEI"}},
        {"name": "IMEI", "type": "string", "value": IMEI},
        {"field_name": "IMEI", "field_value": IMEI},
        {"attributeName": "IMEI", "attributeValue": int(IMEI)},
        {"identifier": [{"system": "urn:imei", "value": IMEI}]},
    ],
    ids=json.dumps,
)
def test_a_value_has_the_name_that_the_document_gives_it(document: Any) -> None:
    assert called(document)[IMEI] in ("IMEI", "x y", "urn:imei")


def test_a_number_is_called_as_its_object_is() -> None:
    assert called({"passport": {"number": "C01X00T47", "country": "DE"}})["C01X00T47"] == "passport number"
    assert called({"type": "passport", "number": "C01X00T47"})["C01X00T47"] == "passport"
    assert called({"type": "string", "number": "C01X00T47"})["C01X00T47"] == "number"


def test_the_most_telling_member_stands_next_to_the_value() -> None:
    assert called({"type": "ssn", "name": "Anna", "value": "x1"})["x1"] == "Anna ssn"


@pytest.mark.parametrize(
    "document",
    [
        {"messages": [{"role": "user", "name": "password", "content": "a long walk"}]},
        {"messages": [["id", "IMEI"], ["one", "text"]]},
    ],
)
def test_members_of_an_api_name_nothing(document: Any) -> None:
    assert set(called(document, API).values()) == {""}


@pytest.mark.parametrize(
    "document",
    [
        [["id", 7], ["one", 2, "x1"]],
        [[], ["x1"]],
        {"columns": "id", "rows": [["x1"]]},
        ["a" * 41, "x1"],
        {"columns": ["id"], "rows": ["x1"]},
    ],
)
def test_odd_tables_are_read_without_names(document: Any) -> None:
    assert called(document)["x1"] in ("", "rows")


def test_every_text_is_read_once_and_in_its_place() -> None:
    raw = json.dumps({"columns": ["id", "IMEI"], "rows": [["one", IMEI, "more"], ["two"]]}).encode()
    document = Document(raw, parse(raw), frozenset())
    texts = [leaf.text for leaf in document.leaves]
    assert sorted(texts) == sorted(["columns", "rows", "id", "IMEI", "one", IMEI, "more", "two"])
    assert json.loads(document.replace({texts.index(IMEI): "gone"}))["rows"] == [["one", "gone", "more"], ["two"]]
