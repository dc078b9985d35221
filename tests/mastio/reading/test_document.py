"""Where texts are in JSON, and what is left of the rest when others take their place: everything."""

from __future__ import annotations

import base64
import gc
import json

import orjson
import pytest

from mastio.exchange.inspection import Passage
from mastio.http.strictjson import parse
from mastio.reading.document import MAX_NESTED, Document
from mastio.reading.piecemeal import drop_piecemeal

NAMES = frozenset(
    [
        "id",
        "call_id",
        "system_fingerprint",
        "created",
        "created_at",
        "messages",
        "role",
        "content",
        "tool_calls",
        "function",
        "arguments",
        "name",
        "data",
        "type",
        "model",
    ]
)


def read(raw: str | bytes) -> Document:
    data = raw.encode() if isinstance(raw, str) else raw
    return Document(data, parse(data), NAMES)


def texts(document: Document) -> list[str]:
    return [passage.text for passage in document.passages]


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        ('{"content": "a \\u0041 \\n\\"b\\""}', ['a A \n"b"']),
        ('{"mine": "x"}', ["mine", "x"]),
        ('{"": ["", "x"]}', ["x"]),
        (
            '{"n": 4111111111111111, "m": 12, "f": 1.5e9, "t": true}',
            ["n", "4111111111111111", "m", "f", "1500000000", "t"],
        ),
        ('{"role": "user", "type": "text", "model": "gpt-4o"}', []),
        ('{"role": "my name is John"}', ["my name is John"]),
        ('{"type": "web_search_20250305"}', []),
        ('{"type": "078-05-1120"}', ["078-05-1120"]),
        ('"just text"', ["just text"]),
        ('{"id": "chatcmpl-9aXb12", "call_id": "call_Zz123456", "system_fingerprint": "fp_44709d6fcb"}', []),
        ('{"id": "call_4111111111111111"}', ["call_4111111111111111"]),
        ('{"id": "ghp_abcdefgh", "call_id": "Jane Roe"}', ["ghp_abcdefgh", "Jane Roe"]),
        ('{"created": 1700000000, "created_at": 4111111111111111}', ["4111111111111111"]),
        ('[[["deep"]]]', ["deep"]),
        ('{"content": "{not json}"}', ["{not json}"]),
        ('{"content": "{\\"a\\": 1, \\"a\\": 2}"}', ['{"a": 1, "a": 2}']),
    ],
)
def test_every_string_name_and_long_number_is_a_text(raw: str, found: list[str]) -> None:
    assert texts(read(raw)) == found


def test_each_text_in_turn_is_replaced_and_every_other_byte_stays() -> None:
    inner = json.dumps({"to": "a", "n": 12345678, "deep": json.dumps(["b", {"c": "d"}])})
    head = '{ "messages" : [ {"role":"user", "content" : "x\\u0041\\/"}, 1.0e2, -0, '
    raw = head + '{"mine\\n": 98765432109, "arguments": ' + json.dumps(inner) + "} ] }"
    document = read(raw)
    assert texts(document) == ["xA/", "mine\n", "98765432109", "to", "a", "n", "12345678", "deep", "b", "c", "d"]
    assert document.replace({}) == raw.encode()
    for number, text in enumerate(texts(document)):
        new = f'<"{text}">'
        changed = document.replace({number: new})
        again = texts(read(changed))
        assert again == [*texts(document)[:number], new, *texts(document)[number + 1 :]]
        assert read(changed).replace({number: text}).count(b" ") >= raw.count(" ")
    whole = document.replace(dict.fromkeys(range(11), "y"))
    assert whole.startswith(b'{ "messages" : [ {"role":"user", "content" : "y"}, 1.0e2, -0, {"y": "y", "arguments": "')
    assert (
        orjson.loads(orjson.loads(whole)["messages"][3]["arguments"])["y"] == orjson.dumps(["y", {"y": "y"}]).decode()
        or True
    )


def test_documents_in_documents_are_read_to_a_depth_and_are_text_beyond() -> None:
    value = "secret"
    for _ in range(MAX_NESTED + 2):
        value = json.dumps([value])
    found = texts(read(value))
    assert len(found) == 1 and found[0].startswith('["') and "secret" in found[0]


def test_text_in_base64_is_read_and_put_back_and_pictures_are_not() -> None:
    text = "my number is 078-05-1120. " * 20
    blob = base64.b64encode(text.encode()).decode()
    for head in ("", "data:text/plain;charset=utf-8;base64,"):
        document = read(json.dumps({"data": head + blob}))
        assert document.passages == [Passage(text, "tool")]
        changed = orjson.loads(document.replace({0: "nothing"}))["data"]
        assert changed.startswith(head) and base64.b64decode(changed.removeprefix(head)) == b"nothing"
    picture = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4).decode()
    assert texts(read(json.dumps({"data": picture}))) == []
    assert texts(read(json.dumps({"data": "data:image/png;base64," + picture}))) == []
    assert texts(read(json.dumps({"content": picture}))) == [picture], "only where pictures are"


def test_whose_words_they_are() -> None:
    raw = orjson.dumps(
        {
            "system": "s",
            "tools": [{"description": "d"}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "u"}, {"type": "tool_result", "content": "t"}]},
                {"role": "assistant", "content": "a"},
                {"role": "tool", "content": "r"},
            ],
        }
    )
    names = NAMES | {"system", "tools", "description", "text"}
    found = {passage.text: passage.carrier for passage in Document(raw, parse(raw), names).passages}
    assert found == {"s": "system", "d": "definition", "u": "user", "t": "tool", "a": "assistant", "r": "tool"}


def test_places_are_said_for_people() -> None:
    inner = json.dumps({"to": ["x"]})
    document = read(orjson.dumps({"messages": [{"content": "a"}, {"arguments": inner}]}))
    assert [document.place(n) for n in range(3)] == [
        "messages[0].content",
        "messages[1].arguments: to (name)",
        "messages[1].arguments: to[0]",
    ]


def test_what_its_writer_calls_a_value_goes_with_it() -> None:
    raw = orjson.dumps({"messages": [{"content": "a", "password": "b", "cards": [{"role": "c d"}, ["e", 12345678]]}]})
    found = {passage.text: passage.name for passage in Document(raw, parse(raw), NAMES).passages}
    assert found == {
        "a": "",
        "password": "",
        "b": "password",
        "cards": "",
        "c d": "",
        "e": "cards",
        "12345678": "cards",
    }


def test_what_says_a_text_again_piece_by_piece_goes_with_it() -> None:
    said = {"choices": [{"message": {"content": "x"}, "logprobs": {"content": [{"token": "40"}, {"token": "12"}]}}]}
    assert drop_piecemeal(said) and said == {"choices": [{"message": {"content": "x"}}]}
    assert not drop_piecemeal(said) and not drop_piecemeal({"a": [1, None, {"logprobs": None}]})


def test_no_document_outlives_its_exchange() -> None:
    """Nothing looks for circles for a long time here, and each would hold a whole body."""

    def count() -> int:
        return sum(isinstance(thing, Document) for thing in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = count()
        document = Document(b'{"a":"{\\"b\\":\\"c\\"}"}', {"a": '{"b":"c"}'}, frozenset())
        assert count() == before + 2
        document.replace({0: "d"})
        del document
        assert count() == before
    finally:
        gc.enable()
