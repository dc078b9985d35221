import orjson
import pytest

from mastio.strictjson import MAX_DEPTH, JsonError, parse, parse_object, replace_member
from support.vectors import vectors


def test_json_test_suite() -> None:
    """Every must-refuse file is refused; every must-accept file is accepted unless it has a duplicate member."""
    files = sorted((vectors("jsontestsuite") / "test_parsing").glob("*.json"))
    wrong = []
    for file in files:
        try:
            parse(file.read_bytes())
            accepted = True
        except JsonError:
            accepted = False
        expected = {"y": "duplicated" not in file.name, "n": False}.get(file.name[0], accepted)
        if accepted != expected:
            wrong.append(file.name)
    assert wrong == []
    assert len(files) > 300


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"a":1,"\\u0061":2}',
        '[{"b":{"a":1,"a":1}}]',
        '{"a":"x:y","a":"\\"}:"}',
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        "[" * 100_000,
        "NaN",
        '{"a":NaN}',
        '"\\ud800"',
        '"\ud800"',
        "{\0}\0",
        "\ufeff{}",
        "",
    ],
)
def test_refuses(text: str) -> None:
    with pytest.raises(JsonError):
        parse(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    "value",
    [
        {"a": "x:y", "b": '"}:{"', "c": [{"a": 1}, {"a": 2}], "d": "\\"},
        {"": {"": {"": []}}},
        [[[[1]]]],
        "a:b",
        {"long": "x" * 100_000 + ':"'},
    ],
)
def test_accepts(value: object) -> None:
    assert parse(orjson.dumps(value)) == value


def test_object_only() -> None:
    with pytest.raises(JsonError):
        parse_object(b"[]")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"model":"a","x":1}', b'{"model":"new/name","x":1}'),
        (b'{ "x" : {"model":"inner"}, "model" :  "a\\"b" }', b'{ "x" : {"model":"inner"}, "model" :  "new/name" }'),
        (b'{"mod\\u0065l":"a"}', b'{"mod\\u0065l":"new/name"}'),
        (b'{"y":"model","model":"m","z":["model"]}', b'{"y":"model","model":"new/name","z":["model"]}'),
    ],
)
def test_replaces_one_member_and_no_other_byte(raw: bytes, expected: bytes) -> None:
    assert replace_member(raw, "model", "new/name") == expected
    assert parse_object(expected)["model"] == "new/name"


@pytest.mark.parametrize("raw", [b'{"x":{"model":"a"}}', b'{"model":1}', b"{}"])
def test_replaces_only_what_is_there(raw: bytes) -> None:
    with pytest.raises(KeyError):
        replace_member(raw, "model", "b")
