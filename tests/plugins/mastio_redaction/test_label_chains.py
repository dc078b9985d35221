"""A label leads to its value through other words, other alphabets, documents within a text, and spaced digits."""

from __future__ import annotations

import base64
import json
from random import Random

import pytest

from mastio.http.strictjson import parse
from mastio.reading.document import Document
from mastio_redaction.catalogue import CATALOGUE
from mastio_redaction.engine import Engine
from support.cpu_cost import verify_linear
from support.redaction.labelled import find

ENGINE = Engine(CATALOGUE)
CARD = "4111111111111111"


def seen(text: str) -> list[str]:
    return [text[span.start : span.end] for span in ENGINE.find(text)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("\u041c\u043e\u0439 \u043f\u0430\u0440\u043e\u043b\u044c: Hunter2Bx!", "Hunter2Bx!"),
        ("\u0442\u043e\u043a\u0435\u043d: A4wfA6jxEEsJ32DAAzJ7PxuqFJefCbM2", "A4wfA6jxEEsJ32DAAzJ7PxuqFJefCbM2"),
        ("\u6211\u7684\u5bc6\u7801\u662fBlau63-Katze\u3002", "Blau63-Katze"),
        ("\u30d1\u30b9\u30dd\u30fc\u30c8\u756a\u53f7\u306f C01X00T47 \u306b\u306a\u308a\u307e\u3059", "C01X00T47"),
        ("\u59d3\u540d,\u8d26\u53f7\n\u5f20\u4e09,97670180\n", "97670180"),
        ("97670180\u662f\u6211\u7684\u8d26\u53f7", "97670180"),
        ("\ube44\ubc00\ubc88\ud638: Blau63-Katze", "Blau63-Katze"),
    ],
)
def test_labels_of_other_alphabets_are_known(text: str, value: str) -> None:
    assert seen(text) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "\u0417\u0430\u043a\u0430\u0437 97670180 \u0432 \u043e\u0444\u0438\u0441\u0435.",
        "\u8ba2\u535597670180\u5df2\u53d1\u9001",
        "\u30d1\u30b9\u30ef\u30fc\u30c9\u3092\u5fd8\u308c\u307e\u3057\u305f",
    ],
)
def test_other_texts_of_these_alphabets_are_left_alone(text: str) -> None:
    assert seen(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Le numero fiscal que vous avez demande est le suivant : 57533456891",
        "Wijzig het fiscaal nummer van 57533456891 naar 57533456892.",
        "57533456891 es el numero fiscal de mi esposa.",
        "Die neue Steuernummer (seit Mai) lautet 57533456891.",
        'Enter 57533456891 in the "Tax ID" field.',
        "taxId: 57533456891",
    ],
)
def test_words_lead_to_a_value(text: str) -> None:
    assert "57533456891" in seen(text)


@pytest.mark.parametrize(
    "text",
    [
        "The tax ID is required. Order 57533456891 was sent.",
        "def decrypt(pwd):\n    key0 = 305419896\n    key1 = 591751049\n",
        "the password is hashed with SHA256 or PBKDF2_HMAC, and `CRAM-MD5` is not used for it",
        "pass the `DEBUG_COLORS=1` variable",
        'curl -H "Bearer $(cat admin-token)" https://localhost:9443/v1/admin/connections/billing2',
        "SELECT password, account FROM users WHERE created > '2024-01-01';",
    ],
)
def test_words_that_lead_elsewhere_do_not(text: str) -> None:
    assert seen(text) == []


def test_documents_within_a_text_are_read_as_documents() -> None:
    told = {"columns": ["id", "tax id"], "rows": [["one", "57533456891"]], "nested": [{"label": "PIN", "x": "12"}]}
    assert seen(f"Result: {json.dumps(told)} and so on") == ["57533456891"]
    assert seen(f"Result: {json.dumps(told)[:-30]}") == ["57533456891"]
    assert seen(f"Result: {told}") == ["57533456891"]


TABLES = {
    "cells without ends": "<table><tr><th>Id<th>IMEI<th>Year<tr><td>1<td>{v}<td>7</table>",
    "a list table": "   * - Year\n     - IMEI\n   * - 7\n     - {v}\n",
    "heads with two bars": "||Year||IMEI||\n|7|{v}|\n",
    "rows to copy": "COPY t (id, imei, year) FROM stdin;\n1\t{v}\t7\n\\.\n",
    "a selected row": "INSERT INTO t (id, imei)\nSELECT 1, '{v}';",
    "an alias": "SELECT '{v}' AS imei, 7 AS year;",
    "numbered rows": "     year     imei\n0    2024     {v}\n1    2024     {v}\n",
    "LaTeX": "\\toprule\nYear & \\textbf{{IMEI}} \\\\\n\\midrule\n7 & {v} \\\\\n",
    "carets": "ID^IMEI^YEAR\n1^{v}^7\n",
}


@pytest.mark.parametrize("table", TABLES)
def test_tables_of_more_programs_are_read(table: str) -> None:
    text = TABLES[table].format(v="352099001761481")
    assert set(seen(text)) == {"352099001761481"}
    assert seen(TABLES[table].format(v="352099001761482")) == []


def test_the_values_of_a_form_are_read_with_their_spaces() -> None:
    assert seen("action=save&nif=165+096+950&submit=1") == ["165+096+950"]
    assert seen("a=1&phone_number=%2B49+30+901829312") == ["%2B49+30+901829312"]
    assert seen("sum = 165+096+950; nif = 165+096+950") == []


SPACED = {
    "tabs": "\t".join(CARD),
    "lines below": "_".join(CARD),
    "groups and lines below": "n = 4111_1111_1111_1111;",
    "groups and tabs": "4111\t1111\t1111\t1111",
    "hex with spaces": CARD.encode().hex(" "),
    "hex with colons": CARD.encode().hex(":"),
    "hex in groups": CARD.encode().hex(" ", 2),
    "hex with prefixes": ", ".join(hex(ord(digit)) for digit in CARD),
    "codes": " ".join(str(ord(digit)) for digit in f"card {CARD}"),
    "codes in a program": f"x = {[ord(digit) for digit in CARD]}",
    "base32": base64.b32encode(f"my card is {CARD}".encode()).decode(),
}


@pytest.mark.parametrize("way", SPACED)
def test_a_card_is_found_however_its_digits_stand_apart(way: str) -> None:
    assert [kind for _, kind in find(ENGINE, SPACED[way])] == ["CREDIT_CARD"]


def test_ordinary_runs_of_digits_are_left_alone() -> None:
    random = Random(7)
    texts = [f"x = {[random.randrange(256) for _ in range(60)]}" for _ in range(100)]
    texts += [random.randbytes(48).hex(":") for _ in range(100)]
    texts += [base64.b32encode(random.randbytes(40)).decode() for _ in range(100)]
    texts += ["\t".join(str(random.randrange(10)) for _ in range(40)) for _ in range(100)]
    texts += [f"{random.getrandbits(128):032x} " * 4 for _ in range(100)]
    found = [(text, hits) for text in texts if (hits := [span.type for span in ENGINE.find(text)])]
    assert [hits for _, hits in found if "CREDIT_CARD" in hits] == []


def test_a_list_of_codes_in_a_document_is_said_to_be_uninspected() -> None:
    def notes(value: object) -> list[str]:
        raw = json.dumps(value).encode()
        return [finding.kind for finding in Document(raw, parse(raw), frozenset()).uninspected]

    assert notes({"x": [ord(digit) for digit in CARD]}) == ["numbers"]
    assert notes({"x": [1, 2, 3] * 8, "y": [32.5] * 20, "z": [ord(digit) for digit in "4111"]}) == []


@pytest.mark.parametrize(
    "unit",
    [
        "imei is said to be ", "imei, 1 ", "12345 is my imei ", '{"imei": {"a": [', '{"name": "imei", "value": 1, ',
        "[[", "{'a': ", "34 31 ", "52, 49, ", "ABCDEFGH", "0x34, 0x31, ", "4_1_", "4\t1\t", "\u5bc6\u7801\u662fa1 ",
        "\u043f\u0430\u0440\u043e\u043b\u044c 1 ", 'imei"\nA: b\n\n', "imei').type('", "imei (a) ",
        "from 1 to 2 imei ", "fooBar: x = ", "* - imei\n  - 1\n", "||imei||\n|1|\n", "(imei) FROM stdin;\n1\n",
        "(imei) SELECT 1, ", "<tr><th>imei<td>1", "a=1+1&",
    ],
)  # fmt: skip
def test_the_cost_grows_with_the_length(unit: str) -> None:
    head = "imei,password,token\n"
    little, much = head + unit * (1_500 // len(unit)), head + unit * (15_000 // len(unit))
    verify_linear(lambda: ENGINE.find(little), lambda: ENGINE.find(much))


RUNS = (
    "A", "A2", "AAAAgD8", "7", "34 ", "34:", "52, ", "0x34, ", "MFRGG", "=A", "&a=b", "?a=b+c&", "a+b&", "+-", "карта ",
    "密码", "--",
)  # fmt: skip
"""Of what a long text may have one after the other: digits of base32 and base64, bytes in hex, codes, pairs, words."""


@pytest.mark.parametrize("end", ["", "a", "!"])
@pytest.mark.parametrize("run", RUNS)
def test_the_cost_of_a_long_run_is_linear(run: str, end: str) -> None:
    """The base64 of an embedding may be thousands of `A` and few other digits."""
    little, much = run * (4_000 // len(run)) + end, run * (40_000 // len(run)) + end
    verify_linear(lambda: ENGINE.find(little), lambda: ENGINE.find(much))
