"""Decoded readings of a text, for values that a pattern would miss. Each maps back to the original.

Pure, for whatever inspects texts. A value may be written with full-width digits, with characters that nobody sees,
with letters of another alphabet that look alike, in percent or JSON escapes, in base64. Each reading is a `View`: a
text, and for every span of it the span of the original that has to go when it does.

`fold` is the cheap one and is always meant to be applied; what is looked for by words has to be folded the same way.
`decoded` finds everything else. Work and output are linear in the text, and the depth is bounded.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from html.entities import html5

from mastio.reading.numbers import write_plain

MAX_DEPTH = 3
"""Encodings within encodings that `decoded` follows."""

_CACHED = 20_000
"""Code points whose folding is remembered. More than any language needs; what comes after is computed each time."""


class View:
    """A reading of a text.

    `how` names the ways it was decoded, outermost first. Changes are kept as four parallel lists: where the changed
    piece stands here, and where in the original. Between them the two texts are the same, only shifted.
    """

    __slots__ = ("_ends", "_from", "_outer", "_starts", "_to", "how", "text")

    def __init__(self, text: str, how: tuple[str, ...] = ()) -> None:
        self.text = text
        self.how = how
        self._outer: View | None = None
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._from: list[int] = []
        self._to: list[int] = []

    def change(self, start: int, end: int, origin: int, origin_end: int) -> None:
        """`[start, end)` here stands for `[origin, origin_end)` there. To be called in order of place."""
        self._starts.append(start)
        self._ends.append(end)
        self._from.append(origin)
        self._to.append(origin_end)

    def within(self, outer: View) -> View:
        """Itself, a view of `outer`'s text, as a view of what `outer` is a view of."""
        self._outer = outer
        self.how = (*outer.how, *self.how)
        return self

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The least span of the original that covers `[start, end)` here, which must not be empty."""
        if self._starts:
            start, end = self._place(start)[0], self._place(end - 1)[1]
        return (start, end) if self._outer is None else self._outer.span(start, end)

    def _place(self, at: int) -> tuple[int, int]:
        """The piece of the original that the character at `at` stands for."""
        found = bisect_right(self._starts, at) - 1
        if found < 0:
            return at, at + 1
        if at < self._ends[found]:
            return self._from[found], self._to[found]
        there = at - self._ends[found] + self._to[found]
        return there, there + 1


# --- folding -----------------------------------------------------------------------------------------------------


def _look_alikes() -> dict[str, str]:
    """Letters of other alphabets that are drawn as Latin ones. Written as pairs so that a slip is seen."""
    pairs = (
        "аa вb сc ԁd еe ѕs іi јj кk ӏl мm нh оo рp ԛq тt уy хx ѵv ѡw һh "
        "АA ВB СC ЕE НH ІI ЈJ КK МM ОO РP ЅS ТT ѴV ХX УY ԚQ ԜW ЬB ӀI "
        "ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX αa γy ιi κk νv οo ρp τt υu χx ϲc ϳj ϹC ϺM "
        "օo սu ոn հh ցg զq ԼL ՕO ՍU ՏS ɑa ɡg ɩi ıi ʏy ᴀa ʙb ᴄc ᴅd ᴇe ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ʀr ᴛt ᴜu ᴠv ᴡw ᴢz"
    )
    return {pair[0]: pair[1] for pair in pairs.split()}


_LOOK_ALIKE = _look_alikes() | {
    **dict.fromkeys("‐‑‒–—―−﹘﹣－⁃", "-"),
    **dict.fromkeys("‘’‚‛ʼ′＇", "'"),
    **dict.fromkeys("“”„‟″＂«»", '"'),
    **dict.fromkeys("\u2028\u2029\u0085", "\n"),
    **dict.fromkeys("․。．｡", "."),
    "∕": "/",
    "⁄": "/",
    "∶": ":",
    "…": "…",
}

_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Default-ignorable characters whose category does not say so. U+00AD and the bidi controls are in Cf."""

_MARKS = ((0x300, 0x36F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F))
_LETTERS_WITH_ACCENTS = 0x0590
"""Below: Latin, Greek, Cyrillic, Armenian. Marks of other scripts are part of what a word means."""


def _is_mark(code: int) -> bool:
    return any(low <= code <= high for low, high in _MARKS)


def _fold_character(character: str) -> str:
    """Returns the characters that one character is compared as: none, itself, or a few others."""
    known = _LOOK_ALIKE.get(character)
    if known is not None:
        return known
    code = ord(character)
    if character in _UNSEEN or unicodedata.category(character) == "Cf" or 0xE0000 <= code <= 0xE0FFF:
        return ""
    if _is_mark(code):
        return ""
    digit = unicodedata.digit(character, None)
    if digit is not None:
        return str(digit)
    folded = []
    for part in unicodedata.normalize("NFKC", character):
        if unicodedata.combining(part) and _is_mark(ord(part)):
            continue
        base = unicodedata.normalize("NFD", part)[0]
        if ord(base) < _LETTERS_WITH_ACCENTS or base == part:
            part = base
        folded.append(_LOOK_ALIKE.get(part, part))
    return "".join(folded)


class _Folding(dict[int, str]):
    """A table for `str.translate` that fills itself."""

    def __init__(self) -> None:
        super().__init__((code, chr(code)) for code in range(128))
        self.uneven: set[str] = set()
        """Characters seen that become none or several."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        folded = _fold_character(character)
        if len(self) < _CACHED:
            self[code] = folded
        if len(folded) != 1 and len(self.uneven) < _CACHED:
            self.uneven.add(character)
        return folded


_FOLDING = _Folding()


def fold(text: str) -> View | None:
    """`text` as patterns should read it, or None where that is `text` itself.

    Compatibility forms become plain (NFKC), accents go, what nobody sees goes (zero-width, bidi controls, variation
    selectors, tags), digits of every script become 0-9, and letters that look Latin become Latin.
    """
    if text.isascii():
        return None
    folded = _translate(text)
    if folded == text:
        return None
    view = View(folded, ("fold",))
    if len(_FOLDING) >= _CACHED or not _FOLDING.uneven.isdisjoint(text):
        _record_uneven(view, text)
    return view


_LATIN = bytes(ord(to) if len(to := _fold_character(chr(code))) == 1 and to < "\x80" else code for code in range(256))
_LATIN_UNEVEN = re.compile("[\xad\xbc-\xbe]")
_NOT_ASCII = re.compile("[^\x00-\x7f]+")


def _translate(text: str) -> str:
    """`text` with every character folded; three ways to the same, since `str.translate` is slow off ASCII."""
    if _LATIN_UNEVEN.search(text) is None:
        try:
            return text.encode("latin-1").translate(_LATIN).decode("latin-1")
        except UnicodeEncodeError:
            pass
    distinct = set("".join(_NOT_ASCII.findall(text)))
    if len(distinct) > 24:
        return text.translate(_FOLDING)
    for character in distinct:
        text = text.replace(character, _FOLDING[ord(character)])
    return text


def _record_uneven(view: View, text: str) -> None:
    """Records in the view each position where folding changed the length. A removed character belongs to the one before
    it."""
    shift = 0
    for at, character in enumerate(text):
        if character < "\x80":
            continue
        length = len(_FOLDING[ord(character)])
        if length != 1:
            view.change(at + shift, at + shift + length, at, at + 1)
            shift += length - 1


# --- escapes -----------------------------------------------------------------------------------------------------

_X = "[0-9A-Fa-f]"
_ESCAPE = re.compile(
    rf"(?P<percent>%[2-7]{_X}|%0[9AaDd]|%[C-Fc-f]{_X}(?:%[89ABab]{_X}){{1,3}})"
    rf"|(?P<entity>&(?:\#[0-9]{{1,7}}|\#[Xx]{_X}{{1,6}}|[A-Za-z][A-Za-z0-9]{{1,31}});)"
    rf"|(?P<json>\\u[Dd][89ABab]{_X}{{2}}\\u[Dd][C-Fc-f]{_X}{{2}}|\\u{_X}{{4}}|\\x{_X}{{2}}|\\u\{{{_X}{{1,6}}\}}"
    r"|\\[nrt\"'/\\])"
    r"|(?P<control>[\x00-\x08\x0e-\x1f\x7f])"
)
_ESCAPED = re.compile(r"[%&\\\x00-\x08\x0e-\x1f\x7f]")
_SHORT = {"n": "\n", "r": "\r", "t": "\t"}


def _unescape_one(match: re.Match[str]) -> str:
    """Returns the text that an escape stands for; the escape itself if it is not valid."""
    text = match[0]
    if match.lastgroup == "control":
        return ""
    if match.lastgroup == "percent":
        return bytes.fromhex(text.replace("%", "")).decode("utf-8", "replace")
    if match.lastgroup == "json":
        if len(text) == 2:
            return _SHORT.get(text[1], text[1])
        if len(text) == 12:  # two halves of one character
            high, low = int(text[2:6], 16), int(text[8:], 16)
            return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
        return _character(int(text[2:].strip("{}"), 16), text)
    if text[1] == "#":
        return _character(int(text[3:-1], 16) if text[2] in "xX" else int(text[2:-1]), text)
    return html5.get(text[1:], text)


def _character(code: int, otherwise: str) -> str:
    return chr(code) if code < 0xD800 or 0xE000 <= code <= 0x10FFFF else otherwise


def unescape(text: str) -> View | None:
    """`text` with percent, HTML and backslash escapes replaced by what they stand for, once, and without controls.

    None where that is `text` itself.
    """
    if _ESCAPED.search(text) is None:
        return None
    view = View("", ("escape",))
    pieces: list[str] = []
    done = length = 0
    for match in _ESCAPE.finditer(text):
        start, end = match.span()
        plain = _unescape_one(match)
        if plain == match[0]:
            continue
        pieces += (text[done:start], plain)
        length += start - done
        view.change(length, length + len(plain), start, end)
        length += len(plain)
        done = end
    if not pieces:
        return None
    pieces.append(text[done:])
    view.text = "".join(pieces)
    return view


_PAIR = re.compile(
    r"(?:(?<=[?&])|(?<![^\s\"']))[\w.%\[\]-]{1,80}=[\w%.+*-]{1,400}(?=&)|(?<=&)[\w.%\[\]-]{1,80}=[\w%.+*-]{1,400}"
)


def _read_form(text: str) -> View | None:
    """`text` with spaces for the `+` in the values of a form or query; None where it has none."""
    if "+" not in text or "&" not in text:
        return None
    spaced = _PAIR.sub(lambda pair: pair[0].replace("+", " "), text)
    return None if spaced == text else View(spaced, ("escape",))


# --- runs --------------------------------------------------------------------------------------------------------

QUAD = "[C-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]"
"""Four characters of base64 that stand for three legible characters of ASCII: each byte is below 128, the first one is
no control but tab and line ends. One in nine of random ones is, so three in a row are hardly ever chance."""

WIDE_QUADS = "[C-Za-f][AQgw][AB][A-Za-z0-9+/_-]A[A-H][AEIMQUYcgkosw048]A"
"""Eight that stand for three characters of UTF-16, little endian."""

HEX_PAIR = "(?:[2-7][0-9A-Fa-f]|0[9ADad])"

SPACED_HEX = (rf"\b(?:{HEX_PAIR}[ :,-]?){{8}}", rf"0[xX]{HEX_PAIR}, ?0[xX]{HEX_PAIR}, ?0")
"""Regular expressions for the start of separated bytes in hex: `34 31 31 31`, `3431 3131`, `0x34, 0x31`."""

CODES = r"(?:\d{2,3}[,; ] ?){8}\d\d"
"""Regular expression for the start of a list of character codes: `52, 49, 49`."""

FORM_SPACE = r"=[A-Za-z0-9%._-]{1,40}\+[A-Za-z0-9%._-]"
"""Regular expression for a form value with a space (`application/x-www-form-urlencoded`)."""

BASE32 = r"\b[A-Z2-7]{20}"

EXPONENT = r"(?:[0-9]{1,20}\.[0-9]{5,30}|[0-9]{8,20})[eE][+-]?[0-9]{1,2}"
"""A number with an exponent and so many digits that it could be somebody's."""

_BASE64 = re.compile(rf"(?:{QUAD}(?:\r?\n)?){{3,}}")
_BEFORE = re.compile("[A-Za-z0-9+/_-]{4}")
_AFTER = re.compile("[A-Za-z0-9+/_-]{1,4}={0,2}")
_WIDE = re.compile(rf"(?:{WIDE_QUADS}){{2,}}[A-Za-z0-9+/]{{0,7}}={{0,2}}")
_EXPONENT = re.compile(rf"(?<![0-9A-Za-z.]){EXPONENT}(?![0-9A-Za-z])")
_HEX = re.compile(rf"(?<![0-9A-Fa-f]){HEX_PAIR}{{8,}}|(?<=0[xX]){HEX_PAIR}{{8,}}")
_PAIRS = rf"(?:0[xX])?(?:{HEX_PAIR}){{1,4}}"
_CODE = "(?:3[2-9]|[4-9][0-9]|1[01][0-9]|12[0-6])"
_GROUPS = re.compile(r"[0-9][0-9A-Fa-fxX]{1,8}(?:(?:, ?|[;: -])[0-9][0-9A-Fa-fxX]{1,8}){4,}")
_SPACED_HEX = re.compile(rf"(?<![0-9A-Za-z]){_PAIRS}(?:(?:, ?|[ :-]){_PAIRS}){{4,}}(?![0-9A-Za-z])")
_CODES = re.compile(rf"(?<![0-9A-Za-z.]){_CODE}(?:(?:[,;] ?| ){_CODE}){{8,}}(?![0-9A-Za-z.])")
_BASE32 = re.compile(r"(?<![0-9A-Za-z+/_-])[A-Z2-7]{20,}+(?:={1,6}|(?![0-9A-Za-z+/_-]))")
_NO_HEX = re.compile("0[xX]|[^0-9A-Fa-f]+")
_TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
_DIGITS = str.maketrans("-_", "+/", "\r\n=")


def _debase64(run: str) -> bytes:
    digits = run.translate(_DIGITS)
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    return base64.b64decode(digits + "=" * (-len(digits) % 4))


def _debase32(run: str) -> str:
    """RFC 4648, without what is left of a last byte."""
    run = run[: len(run) - (len(run) % 8 in (1, 3, 6))]
    return base64.b32decode(run + "=" * (-len(run) % 8)).decode("latin-1")


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """Legible base64, with the four digits before and after, which may have a legible byte too."""
    done = 0
    for match in _BASE64.finditer(text):
        start, end = match.span()
        if start - 4 >= done and _BEFORE.match(text, start - 4, start):
            start -= 4
        after = _AFTER.match(text, end)
        done = end = after.end() if after else end
        yield start, end


def _runs(text: str) -> list[View]:
    """Legible stretches of base64, base32, hex, codes of characters and tag characters, and numbers with an exponent,
    wherever they begin. A hit in one means all of it."""
    found = [
        _whole(_debase64(text[start:end]).decode("utf-8", "replace"), "base64", start, end)
        for start, end in _stretches(text)
    ]
    for match in _WIDE.finditer(text):
        raw = _debase64(match[0])
        found.append(_whole(raw[: len(raw) & ~1].decode("utf-16-le", "replace"), "base64", *match.span()))
    for match in _HEX.finditer(text):
        found.append(_whole(bytes.fromhex(match[0]).decode("ascii"), "hex", *match.span()))
    for groups in _GROUPS.finditer(text):
        found += _read_groups(text, *groups.span())
    for match in _BASE32.finditer(text):
        plain = _debase32(match[0].rstrip("="))
        if plain.isascii() and plain.isprintable():
            found.append(_whole(plain, "base32", *match.span()))
    for match in _EXPONENT.finditer(text):
        found.append(_whole(write_plain(match[0]), "exponent", *match.span()))
    if not text.isascii():
        for match in _TAGS.finditer(text):
            found.append(_whole("".join(chr(ord(tag) - 0xE0000) for tag in match[0]), "tags", *match.span()))
    return found


def _read_groups(text: str, start: int, end: int) -> Iterator[View]:
    """Bytes in hex and codes of characters in groups of digits."""
    for match in _SPACED_HEX.finditer(text, start, end):
        yield _whole(bytes.fromhex(_NO_HEX.sub("", match[0])).decode("ascii"), "hex", *match.span())
    for match in _CODES.finditer(text, start, end):
        codes = match[0].replace(",", " ").replace(";", " ").split()
        yield _whole(bytes(map(int, codes)).decode("ascii"), "codes", *match.span())


def _whole(plain: str, how: str, start: int, end: int) -> View:
    view = View(plain, (how,))
    view.change(0, len(plain), start, end)
    return view


def decoded(text: str) -> list[View]:
    """Every other reading of `text`, with the readings of those, `MAX_DEPTH` deep. Each is folded.

    A text without escapes or runs has none. The spans of every view are spans of `text`.
    """
    found: list[View] = []
    level: list[View] = [View(text)]
    for _ in range(MAX_DEPTH):
        below: list[View] = []
        for outer in level:
            for inner in (unescape(outer.text), _read_form(outer.text), *_runs(outer.text)):
                if inner is None:
                    continue
                below.append(inner.within(outer))
        found += below
        level = below
        if not below:
            break
    return [folded.within(view) if (folded := fold(view.text)) is not None else view for view in found]
