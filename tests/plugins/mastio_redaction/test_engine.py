"""The engine: places, readings, overlaps, several texts at once, and work that grows with the text and no faster."""

import base64
import sys
import threading
import urllib.parse
from random import Random

import pytest

from mastio_redaction.catalogue import CATALOGUE
from mastio_redaction.custom import Custom, CustomError, Dictionary
from mastio_redaction.engine import Engine, Span
from support.redaction.values import VALUES
from support.redaction.words import WORDS

ENGINE = Engine(CATALOGUE)
CARD = "4111 1111 1111 1111"
IBAN = "DE89 3704 0044 0532 0130 00"


def pieces(text: str, engine: Engine = ENGINE) -> list[tuple[str, str]]:
    return [(span.type, text[span.start : span.end]) for span in engine.find(text)]


@pytest.mark.parametrize(
    "written",
    [
        CARD.translate({ord(str(digit)): chr(0xFF10 + digit) for digit in range(10)}),
        CARD.translate({ord(str(digit)): chr(0x660 + digit) for digit in range(10)}),
        CARD.replace("1", "\u200b1"),
        CARD.replace(" ", "\u00a0"),
        CARD.replace(" ", "\u2011"),
        "\u202e".join(CARD),
        urllib.parse.quote(CARD),
        "".join(f"%{byte:02X}" for byte in CARD.encode()),
        "".join(f"&#{ord(character)};" for character in CARD),
        "".join(f"\\u{ord(character):04X}" for character in CARD),
        CARD.replace("1", "\x001"),
    ],
)
def test_a_hidden_value_is_found_where_it_is_written(written: str) -> None:
    text = f"Größe é: {written} – fin"
    assert pieces(text) == [("CREDIT_CARD", written)]
    (span,) = ENGINE.find(text)
    assert span.how


@pytest.mark.parametrize(
    "encode",
    [lambda raw: base64.b64encode(raw).decode(), lambda raw: base64.urlsafe_b64encode(raw).decode(), bytes.hex],
)
def test_a_hit_in_a_run_takes_the_run(encode: object) -> None:
    run = encode(f"card {CARD} of somebody".encode())  # type: ignore[operator]
    ((kind, piece),) = pieces(f"here: {run} thanks")
    assert kind == "CREDIT_CARD"
    assert piece in run and len(piece) >= len(run) - 8


def test_a_value_hidden_twice_is_found() -> None:
    run = base64.b64encode(urllib.parse.quote("mail=anna@example.com;", safe="").encode()).decode()
    (span,) = ENGINE.find(f"x {run} y")
    assert span.type == "EMAIL_ADDRESS" and span.how == ("base64", "escape")


def test_of_those_that_overlap_one_is_left_over_all_their_places() -> None:
    text = "see https://anna:Wint3r2024@example.com/x now"
    assert pieces(text) == [("CONNECTION_STRING", "https://anna:Wint3r2024@example.com/x")]


def test_only_the_types_that_matter_are_looked_at() -> None:
    text = f"see https://anna:Wint3r2024@example.com and {CARD}"
    spans = ENGINE.find(text, only={"EMAIL_ADDRESS"})
    assert [(span.type, text[span.start : span.end]) for span in spans] == [("EMAIL_ADDRESS", "Wint3r2024@example.com")]
    assert ENGINE.find(text, only=()) == []


def test_the_name_of_a_text_counts_as_words_before_it() -> None:
    assert ENGINE.find("hunter2x9") == []
    assert ENGINE.find("hunter2x9", name="password") == [Span(0, 9, "PASSWORD", 0.85)]
    assert ENGINE.find("hunter2x9", name="anna@example.com") == []


def test_several_texts_are_as_each_by_itself() -> None:
    random = Random(7)
    texts = ["", "nothing", "Größe", "\x9f"]
    for kind, make in VALUES.items():
        texts.append(f"{random.choice(WORDS.get(kind, ('',)))}{make(random)}")
    random.shuffle(texts)
    assert ENGINE.find_all(texts) == [ENGINE.find(text) for text in texts]
    assert ENGINE.find_all([]) == []


def test_a_value_does_not_reach_from_one_text_into_the_next() -> None:
    assert ENGINE.find_all(["4111 1111", "1111 1111", "password:", "hunter2x9", "anna@", "example.com"]) == [[]] * 6
    assert ENGINE.find_all(["hunter2x9", "1"], names=["password", "password"]) == [[Span(0, 9, "PASSWORD", 0.85)], []]


def test_an_expression_that_takes_anything_stays_in_its_text() -> None:
    engine = Engine(CATALOGUE, Custom(expressions={"REST": (r"secret:[^!]*!",)}))
    assert [len(spans) for spans in engine.find_all(["secret:a", "b!", "secret:c!"])] == [0, 0, 1]


def test_threads_do_not_disturb_each_other() -> None:
    text = f"Mail anna@example.com, {CARD}, {IBAN}"
    expected = ENGINE.find(text)
    results: list[bool] = []

    def run() -> None:
        results.append(all(ENGINE.find(text) == expected for _ in range(200)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4


# --- what an administrator adds -----------------------------------------------------------------------------------


def test_expressions_of_any_alphabet() -> None:
    engine = Engine((), Custom(expressions={"STAFF": (r"\bEMP-\d{5}\b", r"[А-Я]{2}-\d+", "日本[0-9]+")}))
    assert pieces("EMP-12345 xEMP-12345 МО-77 und 日本42.", engine) == [
        ("STAFF", "EMP-12345"), ("STAFF", "МО-77"), ("STAFF", "日本42")
    ]  # fmt: skip


def test_a_dictionary_knows_its_terms_however_they_are_written() -> None:
    engine = Engine((), Custom(dictionaries=(Dictionary("PROJECT", ("Blue Bird", "Größe", "C++", "Проект")),)))
    text = "BLUE  bird, grosse, GRÖSSE größe Groß c++ проект bluebirds ПРОЕКТ Ｂｌｕｅ bird"
    assert [piece for _, piece in pieces(text, engine)] == [
        "BLUE  bird",
        "größe",
        "c++",
        "проект",
        "ПРОЕКТ",
        "Ｂｌｕｅ bird",
    ]


def test_a_fuzzy_dictionary_forgives_as_many_letters_as_it_says() -> None:
    one = Engine((), Custom(dictionaries=(Dictionary("NAME", ("Nightingale",), 1),)))
    two = Engine((), Custom(dictionaries=(Dictionary("NAME", ("Nightingale",), 2),)))
    near, far, not_at_all = "x nightingal, y", "x Nihgtingale y", "x Nihgtingael y"
    assert [piece for _, piece in pieces(near, one)] == ["nightingal"]
    assert pieces(far, one) == []
    assert [piece for _, piece in pieces(far, two)] == ["Nihgtingale"]
    assert pieces(not_at_all, two) == []
    assert pieces("fightingales", one) == []


def test_some_values_always_count_and_some_never() -> None:
    engine = Engine(CATALOGUE, Custom(always={"VIP": ("Zaphod B.", "東京")}, never=("Info@example.com",)))
    text = "zaphod b. of 東京都, info@example.com, anna@example.com, Zaphod Br"
    assert pieces(text, engine) == [("VIP", "zaphod b."), ("VIP", "東京"), ("EMAIL_ADDRESS", "anna@example.com")]


def test_what_is_added_is_found_where_it_is_hidden() -> None:
    engine = Engine((), Custom(always={"VIP": ("Zaphod Beeblebrox",)}))
    for written in (
        "Ｚａｐｈｏｄ Beeblebrox",
        "Zaphod%20Beeblebrox",
        base64.b64encode(b"x Zaphod Beeblebrox x").decode(),
    ):
        assert [kind for kind, _ in pieces(f"by {written}.", engine)] == ["VIP"], written


@pytest.mark.parametrize(
    "custom",
    [
        Custom(expressions={"X": ("(",)}),
        Custom(expressions={"X": (r"(.)\1",)}),
        Custom(expressions={"X": ("a*",)}),
        Custom(expressions={"X": ("",)}),
        Custom(expressions={"X": ("a" * 3000,)}),
        Custom(expressions={"X": ("\ud800",)}),
        Custom(expressions={"lower": ("a",)}),
        Custom(dictionaries=(Dictionary("X", ("abc",), 1),)),
        Custom(dictionaries=(Dictionary("X", ("Проектирование",), 1),)),
        Custom(dictionaries=(Dictionary("X", ("abcdefghijkl",), 3),)),
        Custom(dictionaries=(Dictionary("X", (" ",)),)),
        Custom(always={"X": ("",)}),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_sentence(custom: Custom) -> None:
    with pytest.raises(CustomError, match=r"^[A-Z][^\n]*\.$"):
        Engine((), custom)


# --- work ---------------------------------------------------------------------------------------------------------

HOSTILE = {
    "digits": "1 ",
    "digits together": "4111111111111111",
    "ats": "a@a.",
    "ats alone": "@",
    "local parts": "aaaaaaaaaaaaaaaa.",
    "names": "John ",
    "two names": "John Smith ",
    "capitals": "Aa ",
    "keys": "eyJ-eyJhbGciOi",
    "dots": "eyJhbGciOiJh.",
    "begins": "-----BEGIN RSA PRIVATE KEY-----",
    "passwords": "password: ",
    "urls": "http://a:b",
    "colons": "a:",
    "pairs": "ab:cd:",
    "iban": "DE89 3704 ",
    "streets": "12 Rue Street ",
    "rue": "1 rue ",
    "base64": "QUFB",
    "percent": "%41",
    "entities": "&amp;",
    "zero width": "1\u200b",
    "born": "born on born ",
    "secrets": "secret=abcdefghij",
}


class Steps:
    """Counts calls of Python and C functions: how much is done, whatever the machine is doing besides."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> "Steps":
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, *_: object) -> None:
        self.count += 1


@pytest.mark.parametrize("name", HOSTILE)
def test_work_grows_with_the_text_and_no_faster(name: str) -> None:
    counts = []
    for size in (4_000, 16_000):
        text = HOSTILE[name] * (size // len(HOSTILE[name]))
        ENGINE.find(text)
        with Steps() as steps:
            ENGINE.find(text)
        counts.append(steps.count)
    assert counts[1] <= 5 * counts[0] + 200


@pytest.mark.parametrize("name", sorted(set(HOSTILE) - {"begins"}))
def test_a_value_is_found_behind_anything(name: str) -> None:
    """But behind the beginning of a key, which goes on to the end when it has none."""
    text = HOSTILE[name] * 200 + "\n\nMail anna.k@example.org today"
    assert any(text[span.start : span.end].endswith("anna.k@example.org") for span in ENGINE.find(text))
