"""What is written in another way is read as what it says, and what it says leads back to where it stands."""

import base64
import json
import urllib.parse
from html import escape

import pytest

from mastio.reading.decoding import MAX_DEPTH, View, decoded, fold, unescape

VALUE = "john@example.com"


def spans_of(view: View, value: str, original: str) -> str:
    """The piece of the original that `value`, found in the view, comes from."""
    at = view.text.index(value)
    start, end = view.span(at, at + len(value))
    return original[start:end]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("４１１１-１１１１", "4111-1111"),
        ("4111\u200b1111\ufeff", "41111111"),
        ("\u202e4111\u2066 1", "4111 1"),
        ("٤١١١ ४१११", "4111 4111"),
        ("①②③", "123"),
        ("jоhn@ехаmрlе.соm", "john@example.com"),
        ("ϹΑΚΕ", "CAKE"),
        ("𝓳𝓸𝓱𝓷", "john"),
        ("José Müller", "Jose Muller"),
        ("Jose\u0301", "Jose"),
        ("4\u03361\u0336", "41"),
        ("a\u00a0b\u3000c", "a b c"),
        ("12–34—5", "12-34-5"),
        ("so\u00adft", "soft"),
        ("ﬁne", "fine"),
        ("한국", "한국"),
        ("हिन्दी", "हिन्दी"),
    ],
)
def test_folding(written: str, read: str) -> None:
    view = fold(written)
    assert (written if view is None else view.text) == read
    assert fold(read) is None or read == written


@pytest.mark.parametrize("text", ["", "plain", "4111 1111\x00\x7f", "日本語", "…"])
def test_what_folds_to_itself_has_no_view(text: str) -> None:
    assert fold(text) is None


def test_every_character_folds_to_what_folds_to_itself() -> None:
    for code in [*range(0x80, 0xD800), *range(0xE000, 0x10FFFF, 97)]:
        view = fold(chr(code))
        assert view is None or fold(view.text) is None, hex(code)


def test_a_span_of_the_folded_text_is_the_span_that_was_written() -> None:
    text = "\u200bnaïve ﬁ 41\u200b\u200b11\u200b, ½ ü"
    view = fold(text)
    assert view is not None
    assert view.text == "naive fi 4111, 1/2 u"
    assert spans_of(view, "naive", text) == "naïve"
    assert spans_of(view, "4111", text) == "41\u200b\u200b11"
    assert spans_of(view, "i 4", text) == "ﬁ 4"
    assert spans_of(view, "/", text) == "½"
    assert spans_of(view, "u", text) == "ü"


@pytest.mark.parametrize("late", ["ö", "’", "я"])
def test_the_ways_of_folding_agree(late: str) -> None:
    """Latin-1, few distinct characters, many: one result."""
    text = "é" * 3 + late + "".join(map(chr, range(0x400, 0x430)))
    view, alone = fold(text), fold(text[:4])
    assert view is not None and alone is not None
    assert view.text.startswith(alone.text)


@pytest.mark.parametrize(
    "written",
    [
        "jo\x00hn@exam\x7fple.com",
        urllib.parse.quote(VALUE),
        "".join(f"%{byte:02x}" for byte in VALUE.encode()),
        VALUE.replace("@", "&#64;").replace(".", "&period;"),
        "".join(f"&#x{ord(character):X};" for character in VALUE),
        "".join(f"\\u{ord(character):04x}" for character in VALUE),
        "".join(f"\\x{ord(character):02x}" for character in VALUE),
        "\\u{6a}ohn\\u{40}example.com",
        urllib.parse.quote(urllib.parse.quote(VALUE)),
        escape(VALUE.replace("@", "&#64;")),
        urllib.parse.quote("jоhn@example.com"),
        base64.b64encode(VALUE.encode()).decode(),
        base64.b64encode(VALUE.encode()).decode().rstrip("="),
        base64.urlsafe_b64encode(f"{VALUE}?>?".encode()).decode(),
        base64.b64encode(urllib.parse.quote(VALUE).encode()).decode(),
        base64.b64encode(base64.b64encode(VALUE.encode())).decode(),
        base64.b64encode(VALUE.encode("utf-16-le")).decode(),
        base64.encodebytes((VALUE * 12).encode()).decode().strip(),
        VALUE.encode().hex(),
        VALUE.encode().hex().upper(),
        "".join(chr(0xE0000 + ord(character)) for character in VALUE),
    ],
)
def test_the_value_is_read_and_leads_back_to_all_of_it(written: str) -> None:
    text = f"say {written} twice"
    views = [view for view in decoded(text) if VALUE in view.text]
    assert views
    for view in views:
        piece = spans_of(view, VALUE, text)
        assert piece.startswith(written[:4]) and text.index(piece) == 4
        assert piece == written or written.startswith(piece)


def test_escapes_lead_back_to_the_least_piece() -> None:
    text = "a=1&mail=j%6fhn%40example.com&b=%C3%BC&smile=\\ud83d\\ude00 end"
    view = unescape(text)
    assert view is not None
    assert view.text == "a=1&mail=john@example.com&b=ü&smile=😀 end"
    assert spans_of(view, VALUE, text) == "j%6fhn%40example.com"
    assert spans_of(view, "ü", text) == "%C3%BC"
    assert spans_of(view, "😀", text) == "\\ud83d\\ude00"
    assert spans_of(view, "end", text) == "end"


def test_a_run_behind_something_that_looks_like_one_is_read() -> None:
    run = base64.b64encode(f"mail {VALUE} now".encode()).decode()
    for before in ("/v1/", "/data/", "x", "ab", "abc", "abcd"):
        assert any(VALUE in view.text for view in decoded(before + run)), before


@pytest.mark.parametrize("late", ["", "x", "xy", "xyz"])
def test_a_long_run_is_read_where_it_is_legible(late: str) -> None:
    run = base64.b64encode((f"mail {VALUE} now. " * 400 + "ü").encode()).decode()
    assert any(VALUE in view.text for view in decoded(late + run))


def test_text_within_a_short_record_is_read() -> None:
    record = b"\x00\xff\x08" + VALUE.encode() + b"\xff\xfe\x01\x80"
    assert any(VALUE in view.text for view in decoded(base64.b64encode(record).decode()))


@pytest.mark.parametrize(
    "text",
    [
        "plain words and a number 4111",
        "/usr/local/lib/python3/site-packages/module/file",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "123e4567-e89b-12d3-a456-426614174000",
        "a-rather-long-identifier-in-kebab-case",
        "100 % of R&D, 5 %zz &nosuch; \\q",
        "%ff%fe",
    ],
)
def test_what_is_not_encoded_has_no_reading(text: str) -> None:
    assert [view.text for view in decoded(text)] == []


def test_the_depth_is_bounded() -> None:
    text = VALUE
    for _ in range(MAX_DEPTH):
        text = urllib.parse.quote(text, safe="")
        assert any(VALUE in view.text for view in decoded(text))
    text = urllib.parse.quote(text.replace("%", "%25"), safe="")
    assert not any(VALUE in view.text for view in decoded(text))


@pytest.mark.parametrize(
    "text",
    [
        "%25" * 40_000,
        "A" * 100_000,
        "QUFB" * 30_000,
        base64.b64encode(base64.b64encode(base64.b64encode(b"text " * 9000))).decode(),
        "&amp;" * 20_000,
        "41" * 50_000,
        "\\u0041" * 20_000,
        ("A" * 60 + "\n") * 1_500,
        json.dumps("\u00e9" * 20_000),
    ],
)
def test_the_output_is_bounded_by_the_input(text: str) -> None:
    assert sum(len(view.text) for view in decoded(text)) <= 2 * MAX_DEPTH * len(text)
