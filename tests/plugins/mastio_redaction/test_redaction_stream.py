"""A stream says the same as the whole text, however it is cut, and holds back no more than it has to."""

import base64
import sys
import urllib.parse
from random import Random

import pytest

from mastio_redaction.catalogue import CATALOGUE
from mastio_redaction.custom import Custom, Dictionary
from mastio_redaction.engine import Engine
from mastio_redaction.stream import MAX_BLOCK, MAX_TOKEN, UNREADABLE, Settled, Stream
from support.redaction.people import LANGUAGES, address, person
from support.redaction.values import VALUES
from support.redaction.words import WORDS

ENGINE = Engine(CATALOGUE)
Found = list[tuple[int, int, str]]


def whole(text: str, engine: Engine = ENGINE) -> Found:
    return [(span.start, span.end, span.type) for span in engine.find(text)]


def stream(pieces: list[str], engine: Engine = ENGINE, name: str = "") -> tuple[str, Found]:
    """What comes out, and where in it the values are."""
    channel = Stream(engine, name=name)
    settled: list[Settled] = [part for piece in pieces for part in channel.feed(piece)] + channel.close()
    assert channel.held == 0
    text, spans = "", []
    for part in settled:
        spans += [(span.start + len(text), span.end + len(text), span.type) for span in part.spans]
        text += part.text
    return text, spans


def cut_everywhere(text: str, engine: Engine = ENGINE) -> None:
    expected = (text, whole(text, engine))
    assert expected[1], f"nothing is found in {text!r}"
    for at in range(len(text) + 1):
        assert stream([text[:at], text[at:]], engine) == expected, text[:at]
    assert stream(list(text), engine) == expected
    random = Random(text)
    for _ in range(20):
        cuts = sorted(random.choices(range(len(text) + 1), k=5))
        assert stream([text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)], engine) == expected


@pytest.mark.parametrize("name", sorted(VALUES))
def test_no_cut_lets_a_value_through(name: str) -> None:
    for seed in range(2):
        random = Random(f"{name}{seed}")
        words = random.choice(WORDS.get(name, ("",)))
        cut_everywhere(f"Note that {words}{VALUES[name](random)} is on file, and more.")
        cut_everywhere(f"{words}{VALUES[name](random)}")


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_and_addresses_of_every_language(language: str) -> None:
    for seed in range(4):
        cut_everywhere(f"The letter by {person(Random(seed), language)} was read.")
        cut_everywhere(f"They live at {address(Random(seed), language)}, and so on.")


CARD, MAIL = "4111 1111 1111 1111", "anna.k@example.org"
HIDDEN = [
    CARD.translate({ord(str(digit)): chr(0xFF10 + digit) for digit in range(10)}),
    CARD.replace("1", "\u200b1"),
    CARD.replace("1", "\x001"),
    CARD.replace(" ", "\u00a0"),
    urllib.parse.quote(CARD),
    urllib.parse.quote(urllib.parse.quote(MAIL)),
    "".join(f"&#{ord(character)};" for character in MAIL),
    "".join(f"\\u{ord(character):04x}" for character in MAIL),
    base64.b64encode(f"mail {MAIL} now".encode()).decode(),
    base64.b64encode(f"mail {MAIL} now".encode("utf-16-le")).decode(),
    base64.encodebytes(f"{'x' * 50} {MAIL} {'y' * 50}".encode()).decode().strip(),
    MAIL.encode().hex(),
    "аnnа.k@example.org",
]


@pytest.mark.parametrize("written", HIDDEN)
def test_no_cut_lets_a_hidden_value_through(written: str) -> None:
    cut_everywhere(f"Grüße: {written} – and more.")


def test_a_key_is_swallowed_from_its_beginning_to_its_end() -> None:
    key = VALUES["PRIVATE_KEY"](Random(1))
    channel = Stream(ENGINE)
    begin = key[: key.index("\n") + 1]
    assert [part.text for part in channel.feed(f"this is it:\n{begin}")] == ["this is it:\n"]
    assert channel.feed("QUJD" * 20) == []
    (block, after) = [*channel.feed("\n-----END PRIVATE KEY-----\nthat was "), *channel.close()]
    assert block.spans[0][:3] == (0, len(block.text), "PRIVATE_KEY")
    assert block.text.endswith("-----END PRIVATE KEY-----") and after.text == "\nthat was "


def test_a_key_without_an_end_is_bounded() -> None:
    channel = Stream(ENGINE)
    channel.feed("-----BEGIN PRIVATE KEY-----\n")
    for _ in range(200):
        assert channel.feed("QUJD" * 250 + "\n") == []
        assert channel.held <= 2 * MAX_BLOCK
    (block,) = channel.close()
    assert len(block.text) <= MAX_BLOCK + 100
    assert [span.type for span in block.spans] == ["PRIVATE_KEY"]


def test_the_end_of_a_key_that_was_too_long_is_still_seen() -> None:
    channel = Stream(ENGINE)
    channel.feed("-----BEGIN PRIVATE KEY-----\n" + "QUJD" * MAX_BLOCK + "\n-----END PRI")
    parts = [*channel.feed("VATE KEY-----\nhello "), *channel.close()]
    assert parts[-1].text == "\nhello "


def test_a_token_without_an_end_is_reported_and_the_rest_of_it_dropped() -> None:
    channel = Stream(ENGINE)
    settled = channel.feed("see ")
    for _ in range(40):
        settled += channel.feed("a1-b2" * 100)
        assert channel.held <= MAX_TOKEN + 500
    settled += channel.feed("tail and then anna.k@example.org ") + channel.close()
    first, run, rest = settled[0], settled[1], "".join(part.text for part in settled[2:])
    assert first.text == "see "
    assert [(span.start, span.end, span.type) for span in run.spans] == [(0, len(run.text), UNREADABLE)]
    assert len(run.text) <= MAX_TOKEN + 500
    assert rest == " and then anna.k@example.org "
    assert [span.type for part in settled[2:] for span in part.spans] == ["EMAIL_ADDRESS"]


def test_the_name_of_a_channel_counts_as_words_before_it() -> None:
    assert stream(["hunt", "er2x9"], name="password") == ("hunter2x9", [(0, 9, "PASSWORD")])
    assert stream(["hunt", "er2x9"]) == ("hunter2x9", [])


def test_what_an_administrator_added_is_held_back_too() -> None:
    custom = Custom(
        expressions={"CASE": (r"Case File [0-9]{3} of [A-Z]{2}",)},
        dictionaries=(Dictionary("PROJECT", ("blue bird rising",)), Dictionary("NAME", ("nightingale",), 2)),
        always={"VIP": ("zaphod beeblebrox", "東京 タワー")},
    )
    engine = Engine(CATALOGUE, custom)
    for value in ("Case File 123 of AB", "blue bird rising", "nihgtingale", "zaphod beeblebrox", "東京 タワー"):
        cut_everywhere(f"this is about {value} and nothing else", engine)


PROSE = (
    "The committee met on Tuesday to review the plans for the new library. Several members asked whether the building "
    "would be ready before winter, and the architect said that most of the work could be done by October. In 2024 the "
    'town spent 3.5 million on repairs; the roof alone cost about 400,000. "We want people to feel at home," she said, '
    '"and that takes time." The old bridge stays closed. Visitors from New York and San Francisco arrive daily.\n'
    "Der Ausschuss traf sich am Dienstag, um über die Pläne für die neue Bücherei zu beraten. Das Dach allein hat etwa "
    "400.000 Euro gekostet. Le comité s’est réuni mardi pour examiner les plans; la toiture a coûté cher.\n"
)


@pytest.mark.parametrize("size", [1, 4, 11])
def test_clean_prose_is_hardly_held_back(size: int) -> None:
    channel, held = Stream(ENGINE), []
    for at in range(0, len(PROSE), size):
        channel.feed(PROSE[at : at + size])
        held.append(channel.held)
    held.sort()
    assert held[len(held) // 2] <= 16
    assert held[len(held) * 99 // 100] <= 64


@pytest.mark.parametrize("piece", ["a", "1", "1 ", "A ", "%41", "\u200b", "QUFB", "-----BEGIN ", "é", "a@", "\\u0041"])
def test_work_grows_with_the_stream_and_no_faster(piece: str) -> None:
    counts = []
    for length in (1_000, 4_000):
        channel, count = Stream(ENGINE), 0

        def note(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(note)
        for _ in range(length):
            channel.feed(piece)
        channel.close()
        sys.setprofile(None)
        counts.append(count)
    assert counts[1] <= 6 * counts[0]
