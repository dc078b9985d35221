import random

import orjson
import pytest

from mastio.http.strictjson import (
    MAX_DEPTH,
    MAX_WEIGHT,
    Allowance,
    JsonError,
    TooManyValues,
    count_up_to,
    mask_escapes,
    parse,
    parse_object,
    replace_member,
)
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


# --- what it may weigh -----------------------------------------------------------------------------------------------

MANY = {
    "values": b"[" + b"1," * MAX_WEIGHT + b"1]",
    "lists": b"[" + b"[]," * (MAX_WEIGHT // 4) + b"[]]",
    "objects": b"[" + b"{}," * (MAX_WEIGHT // 4) + b"{}]",
    "members": b"{" + b",".join(b'"%d":1' % n for n in range(MAX_WEIGHT // 12)) + b"}",
    "no JSON": b"{}" * (MAX_WEIGHT // 4 + 1),
}


@pytest.mark.parametrize("name", MANY)
def test_many_values_are_refused_before_they_are_parsed(name: str) -> None:
    with pytest.raises(TooManyValues):
        parse(MANY[name], Allowance())


@pytest.mark.parametrize(
    "value",
    [
        {"code": "if (a) { b[0] = {c: 1, d: 2}; }\n" * 100_000},
        {"code": '{"a": [1, 2]}\\' * 100_000},
        ["x", "y" * 1_000_000],
        list(range(500_000)),
    ],
)
def test_what_strings_hold_weighs_nothing(value: object) -> None:
    raw = orjson.dumps(value)
    assert parse(raw, Allowance()) == value
    assert parse(raw) == value


def test_texts_share_an_allowance() -> None:
    allowance = Allowance(100)
    for _ in range(6):
        parse(b'{"a":1}', allowance)
    with pytest.raises(TooManyValues):
        for _ in range(7):
            parse(b'{"a":1}', allowance)


def strings_of(raw: bytes) -> list[tuple[int, int]]:
    """Where strings begin and end, read byte by byte."""
    found, start, at = [], -1, 0
    while at < len(raw):
        if start >= 0 and raw[at] == 0x5C:
            at += 1
        elif raw[at] == 0x22:
            if start >= 0:
                found.append((start, at))
            start = -1 if start >= 0 else at
        at += 1
    return found


@pytest.mark.parametrize("seed", range(20))
def test_masked_quotes_are_those_of_strings(seed: int) -> None:
    """Longer than a piece, with runs of backslashes that pieces end in."""
    draw = random.Random(seed)
    words = ['"', "\\", "a:{", "n" * 1000, "\\" * 9, '\\"', "\\" * draw.choice([70_000, 65_535, 200_001])]
    value = ["".join(draw.choices(words, [5, 5, 5, 5, 5, 5, 1], k=300)) for _ in range(3)]
    raw = orjson.dumps(value)
    masked = mask_escapes(raw)
    assert len(masked) == len(raw) and masked.count(b'"') == 2 * len(value)
    quotes = [n for n in range(len(masked)) if masked[n] == 0x22]
    assert list(zip(quotes[::2], quotes[1::2], strict=True)) == strings_of(raw)
    assert parse(raw) == value
    assert replace_member(orjson.dumps({"a": value, "model": "x"}), "model", "y") == orjson.dumps(
        {"a": value, "model": "y"}
    )


@pytest.mark.parametrize("raw", [b'{"a":' * 100_000, b'[{"":' * 60_000, b"[" * 300_000])
def test_what_is_nested_too_deeply_is_no_json_however_much_it_is(raw: bytes) -> None:
    with pytest.raises(JsonError) as refusal:
        parse(raw, Allowance())
    assert not isinstance(refusal.value, TooManyValues)


def test_brackets_in_strings_are_not_nested() -> None:
    raw = b'["' + b"[" * 1000 + b'"' + b",{}" * 400_000 + b"]"
    with pytest.raises(TooManyValues):
        parse(raw, Allowance())


def test_counting_ends_above_the_most() -> None:
    """A call of C code over ten megabytes would hold the interpreter for twenty milliseconds."""
    raw = b"a,[b," * 100_000
    assert count_up_to(10**6, raw, b",", b"[") == 300_000
    assert 1000 < count_up_to(1000, raw, b",", b"[") < 50_000
    assert count_up_to(5, b"", b",") == 0
    allowance = Allowance(1000)
    with pytest.raises(TooManyValues):
        parse(b"[" + b"{}," * 3_000_000 + b"{}]", allowance)
    assert allowance.left == 1000
