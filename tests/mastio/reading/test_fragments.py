"""JSON in pieces: whichever way it is cut, inspectors see its texts, and what comes out is JSON."""

from __future__ import annotations

import json
import random

import pytest

from mastio.exchange.errors import DispatchError
from mastio.reading.fragments import MAX_BARE, JsonText, PlainText


class Spelling:
    """A filter that holds everything back, and gives it out changed."""

    def __init__(self, seen: list[str], change: dict[str, str]) -> None:
        self.seen, self.change, self.held = seen, change, ""

    def feed(self, text: str) -> str:
        self.held += text
        return ""

    def close(self) -> str:
        self.seen.append(self.held)
        return self.change.get(self.held, self.held)


class Through:
    def feed(self, text: str) -> str:
        return text

    def close(self) -> str:
        return ""


VALUE = {
    "to": 'a"b\\c\n\u00e9\U0001f600',
    "n": 4111111111111111,
    "small": 12,
    "t": [True, None, 1.5],
    "e": "",
    "Z\u0041": "/",
}
SPELT = [
    json.dumps(VALUE),
    json.dumps(VALUE, ensure_ascii=False, indent=2),
    json.dumps(VALUE).replace("/", "\\/").replace("to", "\\u0074o"),
]
TEXTS = ["to", VALUE["to"], "n", "4111111111111111", "small", "t", "e", "", "ZA", "/"]


def run(pieces: list[str], change: dict[str, str]) -> tuple[str, list[str]]:
    seen: list[str] = []
    channel = JsonText(lambda name: [Spelling(seen, change)])
    return "".join(map(channel.feed, pieces)) + channel.close(), seen


@pytest.mark.parametrize("raw", SPELT)
def test_cut_anywhere_its_texts_are_seen_whole(raw: str) -> None:
    for cut in range(len(raw) + 1):
        out, seen = run([raw[:cut], raw[cut:]], {})
        assert (json.loads(out), seen) == (VALUE, TEXTS)
    out, seen = run(list(raw), {"4111111111111111": "<CARD>", "to": 'q"', VALUE["to"]: "\\"})
    assert seen == TEXTS
    assert json.loads(out) == {'q"': "\\", **{k: v for k, v in VALUE.items() if k != "to"}, "n": "<CARD>"}


@pytest.mark.parametrize("raw", SPELT)
def test_what_nobody_changes_stays_as_it_was_written(raw: str) -> None:
    for cut in range(len(raw) + 1):
        channel = JsonText(lambda name: [Through()])
        assert channel.feed(raw[:cut]) + channel.feed(raw[cut:]) + channel.close() == raw


def test_what_is_no_json_is_looked_at_all_the_same() -> None:
    out, seen = run(["my card is 4111 11", "11 1111 1111"], {"my card is 4111 1111 1111 1111": "<X>"})
    assert (seen, out) == (["my card is 4111 1111 1111 1111"], "<X>")
    out, seen = run(["  \n", "CVV: 2", "11, {}"], {})
    assert (seen, out) == (["CVV: 211, {}"], "  \nCVV: 211, {}")
    out, seen = run(['{"a": "brok', "en \\"], {})
    assert (seen, out) == (["a", "broken \\"], '{"a": "broken \\\\')
    with pytest.raises(DispatchError):
        run(["{" + "x" * (MAX_BARE + 1)], {})


def test_random_bytes_never_fail_otherwise() -> None:
    rng = random.Random(5)
    for _ in range(3000):
        raw = "".join(rng.choice('{}[],:"\\u0d8e1 \nab') for _ in range(rng.randrange(1, 30)))
        cut = rng.randrange(len(raw) + 1)
        channel = JsonText(lambda name: [Through()])
        assert channel.feed(raw[:cut]) + channel.feed(raw[cut:]) + channel.close() == raw


def test_filters_take_turns() -> None:
    seen: list[str] = []
    text = PlainText([Spelling(seen, {"ab": "cd"}), Spelling(seen, {"cd": "ef"})])
    assert text.feed("a") + text.feed("b") == ""
    assert (text.close(), seen) == ("ef", ["ab", "cd"])


@pytest.mark.parametrize("size", [1, 3, 100])
def test_each_value_is_seen_under_its_name(size: int) -> None:
    opened: list[str] = []

    def open_filters(name: str) -> list[Through]:
        opened.append(name)
        return [Through()]

    raw = '{"im\\u0065i" : "490154203237518","l":["a",{"k":4901542032375180,"z":"b"},"c"],"' + "n" * 300 + '":"d"}'
    channel = JsonText(open_filters)
    for at in range(0, len(raw), size):
        channel.feed(raw[at : at + size])
    assert opened == ["", "imei", "", "l", "", "k", "", "z", "", "", ""]


def test_a_name_without_quotes_is_a_name() -> None:
    opened: list[str] = []

    def open_filters(name: str) -> list[Through]:
        opened.append(name)
        return [Through()]

    channel = JsonText(open_filters)
    assert "".join(map(channel.feed, ["{cv", 'v: "21', '1"}'])) + channel.close() == '{cvv: "211"}'
    assert opened[-1] == "cvv"
