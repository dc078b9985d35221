"""A value in JSON is called what its writer calls it, wherever the document says it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mastio.http.strictjson import parse
from mastio.reading.document import Document
from support.cpu_cost import cost, verify_linear

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
    assert called(document)[IMEI] in ("IMEI", "x y", "urn:imei", "IMEI_of_object_id")


def test_a_number_is_called_as_its_object_is() -> None:
    assert called({"passport": {"number": "C01X00T47", "country": "DE"}})["C01X00T47"] == "passport number"
    assert called({"type": "passport", "number": "C01X00T47"})["C01X00T47"] == "passport"
    assert called({"type": "string", "number": "C01X00T47"})["C01X00T47"] == "number"


@pytest.mark.parametrize("value", ["7c9e6679-7425-40de-944b-e07fc1f90ae7", "projects/p1/secrets/one-2345678", "short1"])
def test_the_id_of_an_object_is_called_as_the_object_only_where_it_may_be_a_number(value: str) -> None:
    assert called({"type": "NHS", "id": value})[value] == "id"
    assert called({"secret": {"id": value}})[value] == "id"
    assert called({"type": "NHS", "number": value})[value] == "NHS"


@pytest.mark.parametrize("label", ["NHS trust", "nhsTrust", "nhs_trust", "NHS1", "a long list of words"])
def test_the_id_of_an_object_has_an_exact_name_or_none(label: str) -> None:
    assert called({"name": label, "code": "9434765919"})["9434765919"] == "code"
    told = called({"name": label, "type": "nhs_number", "code": 9434765919})
    assert told["9434765919"] == "nhs_number_of_object_code"


def test_the_names_of_an_object_are_looked_for_once() -> None:
    members = dict.fromkeys(("id", "code", "content", "text", "value"), "words")
    many = [{**members, "name": "x", "n": number} for number in range(400)]
    few = [{"a": "words", "b": "words", "c": "words", "d": "words", "e": "words", "f": "x", "n": 1}] * 400
    verify_linear(lambda: called(many[:40]), lambda: called(many))
    assert cost(lambda: called(many)) < 3 * cost(lambda: called(few))


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
