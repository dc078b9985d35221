"""A value is recognised by its label wherever the label stands: in tables, markup, prose, before and behind it."""

from __future__ import annotations

from random import Random

import orjson
import pytest

from mastio.exchange.inspection import Passage
from mastio.reading.document import Document
from mastio_redaction.catalogue import CATALOGUE
from mastio_redaction.engine import Engine
from mastio_redaction.inspector import PIECE, Finder
from mastio_redaction.matched_policies import Side
from mastio_redaction.stream import Stream
from support.cpu_cost import verify_linear
from support.redaction.layouts import LAYOUTS, write
from support.redaction.values import VALUES
from support.redaction.words import WORDS

ENGINE = Engine(CATALOGUE)
LABELS = {
    **WORDS,
    "SECRET": ("aws_secret_access_key", "api_key"),
    "NL_BSN": ("BSN",),
    "DE_TAX_ID": ("Steuer-ID", "steuer_id"),
    "PASSWORD": ("password", "Passwort", "passphrase"),
}
ONLY_BEFORE = {"AGE", "HTTP_AUTHORIZATION"}
"""Types whose values are too short, or whose label is a part of them."""


def labels_of(kind: str) -> list[str]:
    names = {label.strip(" :=.").removesuffix(" is").strip() for label in LABELS[kind]}
    return sorted(names - {"call", "born on", "exp", "see"})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_value_is_found_by_its_label_in_every_layout(layout: str) -> None:
    random = Random(layout)
    missed, count = [], 0
    for kind in sorted(LABELS.keys() - ONLY_BEFORE):
        for label in labels_of(kind):
            values = VALUES[kind](random), VALUES[kind](random)
            text = write(layout, label, *values)
            found = ENGINE.find(text)
            for value in values:
                count += 1
                at = text.index(value)
                if not any(span.start <= at and span.end >= at + len(value) for span in found):
                    missed.append(f"{kind}: {value} in {text!r}")
    assert len(missed) <= count // 100, missed


@pytest.mark.parametrize("layout", ["csv", "semicolons", "tabs", "markdown", "psql", "html", "html with lines"])
@pytest.mark.parametrize("kind", ["PASSWORD", "IMEI", "NL_BSN", "US_NPI"])
def test_a_table_that_comes_in_pieces_is_read_with_its_head(kind: str, layout: str) -> None:
    random = Random(kind)
    values = VALUES[kind](random), VALUES[kind](random)
    text = write(layout, labels_of(kind)[0], *values)

    between = {"csv": "1,-,x\n", "semicolons": "1;-;x\n", "tabs": "1\t-\tx\n"}.get(layout, "| 1 | - | x |\n")
    if layout.startswith("html"):
        between = "<tr><td>1</td><td>-</td></tr>\n"
    if layout == "psql":
        between = "  1 | - | x\n"
    at = text.index(values[1])
    line = text.rfind("<tr>" if layout.startswith("html") else "\n", 0, at) + (0 if layout.startswith("html") else 1)
    long = text[:line] + between * 60 + text[line:]
    stream = Stream(ENGINE)
    settled = [part for character in long for part in stream.feed(character)] + stream.close()
    found = {part.text[span.start : span.end] for part in settled for span in part.spans}
    assert found == set(values)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
async def test_a_long_table_keeps_its_head(mark: str) -> None:
    random = Random(mark)
    values = [VALUES["PASSWORD"](random) for _ in range(5 * PIECE // 20)]
    rows = "\n".join(mark.join((f"{row:06}", value, "x")) for row, value in enumerate(values))
    text = mark.join(("id", "password", "note")) + "\n" + rows
    (found,), _ = await Finder(ENGINE, None).find_all([Passage(text, "user")], Side())
    assert [text[span.start : span.end] for span in found] == values


def test_a_label_in_a_cell_of_a_labelled_table_counts_too() -> None:
    text = "id,password,note\n1,hunter2A,IMEI (352099001761481)\n2,-,the NHS number of Anna is 9434765919\n"
    found = [text[span.start : span.end] for span in ENGINE.find(text)]
    assert found == ["hunter2A", "352099001761481", "9434765919"]


ORDINARY = (
    "user_id = event['user_id']\nlogin(user)\nself.login(user, passwd)",
    "username = request.user.name; password = base64.b64encode(user_pass)",
    "name: Cache Right\n| name | kind |\n|---|---|\n| Bash | tool |\n| Agent | tool |",
    '{"name": "ExitWorktree", "title": "Workflow"}',
    "git clone git@github.com:example/project.git",
    "assets/parser@2x.png and icon@3x.webp",
    "requires libfoo==1.2.3.4, version 1.2.3.4, Release: 10.0.0.1",
    "| option | default |\n|---|---|\n| password | none |\n| token | required |",
    "POP3 commands:\n  USER name      user(name)\n  PASS string    pass_(string)\n  STAT           stat()",
    "the account of the order has 12 items; the token is short; a pin is used 3 times",
    "| login | when |\n|---|---|\n| never | today |",
    "passwd:         files systemd\ngroup:          files systemd",
    "const customerId = order.customer.id; const apiToken = await getToken();",
    "Set the password (at least 12 characters) and the PIN (4 digits).",
)


@pytest.mark.parametrize("text", ORDINARY)
def test_programs_and_manuals_are_left_alone(text: str) -> None:
    assert [(text[span.start : span.end], span.type) for span in ENGINE.find(text)] == []


IMEI, OTHER = "352099001761481", "354184682410786"
APART = {
    "a cell with line ends": f'id,note,imei\n1,"a\nb, c\n\nd",{IMEI}\n2,"e",{OTHER}\n',
    "a cell with a quote": f'id,note,imei\n1,5" pipe,{IMEI}\n2,x,{OTHER}\n',
    "spans": "<table><tr><th rowspan=2>site</th><th colspan=2>device</th></tr><tr><th>IMEI</th><th>year</th></tr>"
    f'<tr><td rowspan="2">Leeds</td><td>{IMEI}</td><td>1</td></tr><tr><td>{OTHER}</td><td>2</td></tr></table>',
    "a wide head": f'<table><tr><th colspan="2">who</th><th>IMEI</th></tr><tr><td>a</td><td>b</td><td>{IMEI}</td></tr>'
    f"<tr><td>c</td><td>d</td><td>{OTHER}</td></tr></table>",
    "a row": f"| IMEI | {IMEI} | {OTHER} |",
    "a list": f'"imei": ["{IMEI}", "{OTHER}"]',
    "items": f"imei:\n  - {IMEI}\n  - '{OTHER}'\n",
    "an inner value": f'{{"imei": {{"make": "x", "value": "{IMEI}"}}, "imei2": {{"number": {OTHER}}}}}',
    "a member beside it": f'x: {{"type": "imei", "number": "{IMEI}"}}, {{"value": "{OTHER}", "kind": "imei"}}',
    "pairs of YAML": f"- name: imei\n  value: {IMEI}\n- name: imei\n  value: '{OTHER}'\n",
    "a form": f'<label for="a">IMEI</label><input id="a" value="{IMEI}"><input name="imei" id="b" value="{OTHER}">',
    "lists of lists": f'x: [["id", "imei"], [1, "{IMEI}"], [2, "{OTHER}"]]',
    "columns and rows": f'x: {{"columns": ["id", "imei"], "rows": [[1, "{IMEI}"], [2, "{OTHER}"]]}}',
    "a question": f"What is the IMEI of it?\nBob: sure, {IMEI}\nIMEI?\n- {OTHER}\n",
    "a request": f"Tell me your IMEI, please.\nBob: it is {IMEI}\nYour IMEI:\n[10:22] Bob: {OTHER}\n",
    "a drawn table": f"│ id │ IMEI │\n├────┼──────┤\n│ 1 │ {IMEI} │\n│ 2 │ {OTHER} │\n",
    "a wiki table": f"{{|\n! id !! IMEI\n|-\n| 1 || {IMEI}\n|-\n| 2 || {OTHER}\n|}}",
    "LaTeX": f"id & IMEI \\\\ \\hline\n1 & {IMEI} \\\\\n2 & {OTHER} \\\\\n",
    "SQL in lines": f"INSERT INTO t (\n  `id`,\n  `imei`\n) VALUES\n  (NULL, '{IMEI}'),\n  (now(), '{OTHER}');",
    "calls": f'phone.setImei("{IMEI}"); fields.put("imei", "{OTHER}");',
    "marks": f"imei ........ {IMEI}\nimei                  : {OTHER}",
    "subscripts": f"row['imei'] = '{IMEI}'; assert row[\"imei\"] == \"{OTHER}\"",
    "a longer name": f"imei_do_cliente = {IMEI}; imei of the device: {OTHER}",
    "near": f"for the imei please use {IMEI}. He gave {OTHER} as his IMEI.",
    "behind": f"{IMEI} is my IMEI. {OTHER} - IMEI\n",
}


@pytest.mark.parametrize("name", APART)
def test_a_label_is_seen_where_it_stands(name: str) -> None:
    text = APART[name]
    assert {text[span.start : span.end] for span in ENGINE.find(text)} == {IMEI, OTHER}
    twin = text.replace(IMEI, "352099001761482").replace(OTHER, "354184682410787")  # other check digits
    assert ENGINE.find(twin) == []


@pytest.mark.parametrize("name", sorted(APART.keys() - {"calls"}))
def test_without_a_label_nothing_is_seen(name: str) -> None:
    text = APART[name].replace("IMEI", "SHIP").replace("imei", "ship")
    assert ENGINE.find(text) == []


@pytest.mark.parametrize(
    "question", ["What is your IMEI?", "Hello. May I have your IMEI, please?", "And the IMEI number?\n"]
)
async def test_an_answer_is_read_with_the_question_of_the_message_before(question: str) -> None:
    texts = [question, f"sure, it is {IMEI}", f"and {OTHER}"]
    found = ENGINE.find_all(texts)
    assert [[text[span.start : span.end] for span in spans] for text, spans in zip(texts, found, strict=True)] == [
        [],
        [IMEI],
        [],
    ]
    passages = [Passage(text, "user") for text in ("x" * 20_000, *texts)]
    long, _ = await Finder(ENGINE, None).find_all(passages, Side())
    assert long[1:] == found


@pytest.mark.parametrize(
    "texts",
    [
        ["What is your IMEI.", IMEI],
        ["Your IMEI:", IMEI],
        ["What is your order number?", IMEI],
        ["IMEI?", "x " * 200 + IMEI],
        ["IMEI?", "", IMEI],
    ],
)
def test_a_message_that_answers_no_question_is_read_alone(texts: list[str]) -> None:
    assert not any(ENGINE.find_all(texts))


def test_a_heading_of_a_row_is_no_value_of_the_line_before() -> None:
    text = "ticket,when,password\n7001,today,hunter2A\n7002,now,Str0ngOne\n"
    assert [text[span.start : span.end] for span in ENGINE.find(text)] == ["hunter2A", "Str0ngOne"]


def test_a_table_does_not_lend_its_labels_to_what_follows() -> None:
    text = "id,password\n1,hunter2A\n\nThe rest is prose, kept as it was1.\n"
    assert [text[span.start : span.end] for span in ENGINE.find(text)] == ["hunter2A"]


@pytest.mark.parametrize(
    "unit",
    [
        "imei ", "imei,", "imei\n", "**imei**", "| imei | x |\n", "a,bb,cc\n", "<tr><td>imei</td></tr>", " (imei)",
        "1 is my imei ", "imei of my ", "aImeiBCd: ", "(imei) VALUES (1) ", "token = ", "password a b is ", 'imei """',
        "imei<b><b>", "imei  x  y\n", "name: ", "1 2 3 4 (nhs) ", "imei\n---\n", "imei [[[", "password\nx1\n", "aBaB=",
        "imei,a\n1,2\n\n", "<table><tr><td>imei</td>", 'imei,"x\n', '"imei": [1, ', '"imei": {"a": ', "imei / imei ",
        '{"type": "imei", "a": 1, ', "imei:\n - 12\n", "your imei.\nBob: ", "imei?\n",
        '<td colspan="24">imei</td></tr><tr>',
        "imei_a_b_c ", "12345 12345 - imei ", '--imei "" ', 'imei", "', "<label>imei</label><input ", "imei & a \\\\\n",
        "[[imei, 1], ",
        "<td>imei</td>", "imei 1 ", "imei 1a 2b ", 'a.imei("x") ', "(imei) VALUES (a ", "(imei) VALUES ('x",
        "name: imei\n", "fooBar>", 'fooBar" ', 'setImei("', "1,imei,\n", "\u2502 imei \u2502\n",
        "<tr><td>imei</td><td>imei</td></tr>\n", "<tr><td>imei</td><td>see label on box</td></tr>",
        "<tr><td>imei</td><td>a@b.example</td><td>2</td></tr>\n",
        "<tr><th>imei</th></tr>\n", "<td>imei</td>\n<td>x=1</td>",
    ],
)  # fmt: skip
def test_the_cost_grows_with_the_length(unit: str) -> None:
    head = "imei,password,token\n"
    little, much = head + unit * (1_500 // len(unit)), head + unit * (15_000 // len(unit))
    verify_linear(lambda: ENGINE.find(little), lambda: ENGINE.find(much))


@pytest.mark.parametrize("document", [
    {"name": "token", "id": "7c9e6679-7425-40de-944b-e07fc1f90ae7"},
    {"kind": "secret", "name": "db-credentials", "id": "projects/p1/secrets/db-credentials-8842"},
    {"name": "API key", "type": "secret", "id": "key_8842hhYY12ab99"},
    {"type": "account", "id": "12345678"}, {"type": "passport", "id": "12345678"},
    {"name": "password", "code": "Hunter2A1"},
    {"name": "password reset", "id": 12345678}, {"secret": {"id": "7c9e6679-7425-40de-944b-e07fc1f90ae7"}},
    {"name": "NHS trust", "id": "9434765919"},
])  # fmt: skip
def test_the_id_of_what_has_a_label_is_no_value_of_it(document: dict[str, object]) -> None:
    assert found_in(document) == []


@pytest.mark.parametrize("document", [
    {"type": "NHS", "id": "9434765919"}, {"name": "NHS number", "id": 9434765919}, {"nhs": {"code": "9434765919"}},
])  # fmt: skip
def test_an_id_with_a_check_digit_is_a_value_of_the_label_beside_it(document: dict[str, object]) -> None:
    assert found_in(document) == ["UK_NHS"]


def found_in(document: dict[str, object]) -> list[str]:
    passages = Document(orjson.dumps(document), document, frozenset()).passages
    found = ENGINE.find_all([one.text for one in passages], names=[one.name for one in passages])
    return [span.type for spans in found for span in spans]
