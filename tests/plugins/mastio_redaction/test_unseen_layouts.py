"""Labels reach values in further layouts of programs, tables and letters; marks between groups are read."""

from __future__ import annotations

from time import thread_time

import pytest

from mastio_redaction.catalogue import CATALOGUE, DEFAULT
from mastio_redaction.engine import Engine
from support.redaction.labelled import find

ENGINE = Engine(CATALOGUE)
IMEI, BSN, NPI, SORT, ABA = "356938035643809", "993128282", "1284852179", "29-58-74", "322279399"
CARD, IBAN = ("4111", "1111", "1111", "1111"), ("DE89", "3704", "0044", "0532", "0130", "00")
KEY = "lsLwyfXDmqUAAogubWoF/clqKAq/GHhIRC9o/Bo3"

FOUND = {
    "a name between": (f"Die IMEI von Sven Schmidt ist {IMEI}.", IMEI),
    "AsciiDoc, a cell on each line": (
        f"|===\n|Name |BSN |Sort code\n\n|Ann\n|{BSN}\n|{SORT}\n|Bob\n|{BSN}\n|{SORT}\n|===",
        SORT,
    ),
    "head behind a comment mark": (
        f"# columns: cpr, routing_no, name\n131154-3501, {ABA}, x\n131154-3501, {ABA}, y",
        ABA,
    ),
    "head below a title": (f"Export;;\n;;\nCustomer;Sort code;Note\nAnn;{SORT};x\nBob;{SORT};y", SORT),
    "tuples": (
        f'COLUMNS = ("name", "sort_code")\nROWS = [\n    ("Ann", "{SORT}"),\n    ("Bob", "58-49-71"),\n]',
        "58-49-71",
    ),
    "parameters of a test": (f'@parametrize("name,sort_code", [\n    ("a", "{SORT}"),\n])', SORT),
    "structure of Go": (
        f'tests := []struct {{\n\tname string\n\tsortCode string\n}}{{\n\t{{"a", "{SORT}"}},\n'
        '\t{"b", "58-49-71"},\n}',
        "58-49-71",
    ),
    "columns of SELECT": (f"SELECT '{SORT}' AS sort_code, 'x' AS note UNION ALL\nSELECT '58-49-71', 'y'", "58-49-71"),
    "expected by a test": (f'assertEquals("{SORT}", account.getSortCode());', SORT),
    "expected of a member": (f'self.assertEqual("{NPI}", doctor.npi)', NPI),
    "what an object is made of": (f'aws_secret_access_key: String::from("{KEY}"),', KEY),
    "second argument": ("storage.setItem('cardPin', '4465');", "4465"),
    "key of a database": (f"Key (sort_code)=({SORT}) already exists.", SORT),
    "block of a test": (f'let(:sort_code) {{ "{SORT}" }}', SORT),
    "field of a test": (f"fill_in 'Sort code', with: '{SORT}'", SORT),
    "several in SQL": (f"WHERE sort_code IN ('{SORT}', '58-49-71')", "58-49-71"),
    "values of which one tells its type": (
        '{"rijksregisternummer": ["62.03.15-074.23", "62031507423"]}',
        "62031507423",
    ),
    "vector of R": (f'd <- data.frame(sort_code = c("{SORT}", "58-49-71"))', "58-49-71"),
    "row of values, one of which tells its type": ("CPF,563.199.037-75,55696709206", "55696709206"),
    "prompt": ("? License plate › QQ29 GXU", "QQ29 GXU"),
    "password that is a common word": ('{"password": "letmein", "n": 1}', "letmein"),
    "plural": (f'{{"routing_nos": ["{ABA}"]}}', ABA),
    "two columns without a head": (f"Name                    Ann\nSort code               {SORT}", SORT),
    "number sign": (f"- NPI #\n  - {NPI}", NPI),
    "n.": ("Cartella clinica n. MR1999469", "MR1999469"),
    "markup behind a verb": ("Your security code is <em>791</em>.", "791"),
    "on file": ("The SWIFT/BIC on file QALWUS33XXX is right.", "QALWUS33XXX"),
    "a line before the answer": (f"[10:01] Ann: can you send me the NPI?\n[10:02] Tom: sure\n[10:02] Tom: {NPI}", NPI),
    "speaker of a transcript": ("00:25 AGENT  Thanks. Hospital number?\n00:31 CALLER 71492858", "71492858"),
    "form with plus signs": ("a=1&Social+Insurance+Number=559%20432%20828", "559%20432%20828"),
    "form with brackets": ("user%5Bvat_number%5D=DE433690072&user%5Babn%5D=1", "DE433690072"),
    "compound": ("Wir haben das Initialpasswort Tulpe1934 gesetzt.", "Tulpe1934"),
    "user name in a sentence": ("Il nome utente è m.rossi7.", "m.rossi7"),
    "Basic credentials of letters": (
        "Basic dXNlcjpteVpTejVPUVBxVUpJNkhNdWRpYg==",
        "dXNlcjpteVpTejVPUVBxVUpJNkhNdWRpYg==",
    ),
    "driver in a URL": ("x=postgresql+psycopg2://u:s3cretpw9x@pg:5432/x", "s3cretpw9x"),
}


@pytest.mark.parametrize(("text", "value"), FOUND.values(), ids=FOUND)
def test_a_label_reaches_its_value(text: str, value: str) -> None:
    assert any(value in hit for hit, _ in find(ENGINE, text)), find(ENGINE, text)


@pytest.mark.parametrize(
    "text", ["Czech birth number: 8708010047", "Tax ID: 927 86 0743", "Norwegian birth number 28077719999"]
)
def test_numbers_of_states_are_found_under_more_names(text: str) -> None:
    assert {kind for _, kind in find(ENGINE, text)} & DEFAULT


@pytest.mark.parametrize("mark", ["/", " / ", "  ", " - ", "_", "** **"])
def test_a_card_is_found_with_marks_between_its_groups(mark: str) -> None:
    assert [kind for _, kind in find(ENGINE, f"Paid with {mark.join(CARD)} on Monday.")] == ["CREDIT_CARD"]


@pytest.mark.parametrize("mark", [".", "/", "_", "  ", " - ", "\n"])
def test_an_iban_is_found_with_marks_between_its_groups(mark: str) -> None:
    assert (mark.join(IBAN), "IBAN_CODE") in find(ENGINE, f"Pay to {mark.join(IBAN)}\n")


@pytest.mark.parametrize(
    "text",
    [
        "1024/4111/1111/1111/1111/2048",
        "4111|1111|1111|1111",
        "4111  1111  1111  1111\n4222  2222  2222  2222",
        "sensor,x,y,z\na,0.67001960,0.75614349,9.90560583\nb,-0.38820324,0.34295310,9.50257041",
        "NAME   READY   AGE\napi    1/1     54d\nweb    1/1     56d",
        "login: see the wiki\nlogin: Log in",
        "fr.auth.password=Mot de passe\nes.auth.password=Contrase\xf1a",
        "DOI 10.4867/j.cell.2024.94.711",
        "batch 68853630, exp. 10/26",
        'assertEquals("expected text", page.getPassword());',
        'password = os.getenv("DB_PASSWORD")\ntoken: Error("Invalid token 1234")',
        "def connect(user, password):\n    return (user, 1), (host, 2)",
        '<div class="cell">93-57-2711</div>',
        "struct point { int x; int y; } points[] = {{1, 2}, {3, 4}};",
    ],
)
def test_what_only_looks_like_it_is_left_alone(text: str) -> None:
    assert find(ENGINE, text) == []


@pytest.mark.parametrize(
    "unit", ["4|", "4///", "4111  1111  ", "DE89.3704.", 'ssn, ("a", ', "AS iban SELECT '", "struct { iban string }{"]
)
def test_work_grows_with_the_text(unit: str) -> None:
    def cost(length: int) -> float:
        text = unit * (length // len(unit))
        began = thread_time()
        ENGINE.find(text)
        return thread_time() - began

    cost(1_000)
    small, large = min(cost(10_000) for _ in range(3)), min(cost(40_000) for _ in range(2))
    assert large < 10 * small + 0.01
