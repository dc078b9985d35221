"""Readings of a text that put each value right after its label, as `label: value`.

Pure. The rules of the catalogue know a label and the value right after it. People also write the label at the head of a
column, in markup, a few words before the value, or behind it in parentheses. `readings` is called with the places where
a label ended and no value followed. It returns views (`mastio.decoding.View`) in which the value does follow, with the
way back to the original places. Work and output are linear in the text.

Layouts:

* columns: the label is in the head of a table (`columns.py`);
* apart: markup, quotes or brackets between label and value, a list of values, or another member of the label's record
  (`records.py`);
* prose: a few words and a verb between them (`The IMEI of my phone is …`), a question and its answer, or the label
  behind the value (`… (IMEI)`, `… is my IMEI`). Words are weak evidence: see `is_likely`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mastio.decoding import View

from .cells import NOUN, Line, Piece, label_start
from .checks import is_strong_password
from .columns import Tables
from .records import MAX_VALUE, read_list, read_members, read_row, value_at

MAX_NAME = 64
"""Characters of a member's name that count as words before its value."""

ROOM = 8
"""Characters from the end of a label to the end of the next one, at least, if a value is between them."""


class Reading(NamedTuple):
    """A view, and whether only words connect labels and values in it (`is_likely`)."""

    view: View
    by_words: bool


def readings(text: str, places: Sequence[int], names: Sequence[int] = ()) -> Iterator[Reading]:
    """`places`: where labels end that no value follows. `names`: where an assignment to a name of several joined words
    ends (`ASSIGNMENT`). One reading for each kind of layout that is there.
    """
    tables = Tables(text)
    columns: list[Line] = []
    apart: list[Line] = []
    prose: list[Line] = []
    ends = sorted(set(places))
    before = -ROOM
    for place, following in zip(ends, (*ends[1:], len(text) + ROOM), strict=False):
        columns += tables.read(place)
        start = label_start(text, place, before if place - before >= ROOM else 0)
        label = text[start:place]
        if following - place >= ROOM:
            if (value := _apart(text, place, following)) is not None:
                apart.append((label, value))
            elif (value := _after_words(text, place, following)) is not None:
                prose.append((label, value))
            apart += read_list(text, label, place)
            for line in read_row(text, label, start, place):
                (prose if text.count(" ", *line[1]) > 2 else apart).append(line)
        apart += read_members(text, label, place, following)
        if place - before >= ROOM:
            prose += _before_label(text, start, place)
        before = place
    for place, following in zip(names, (*names[1:], len(text)), strict=False):
        apart += _joined(text, place, following)
    for lines, by_words in ((columns, False), (apart, False), (prose, True)):
        if lines:
            yield Reading(_view(text, lines), by_words)


def is_likely(score: float, value: str, by_words: bool) -> bool:
    """Whether a value of a reading is taken. A weak rule needs more than letters. By words alone, a value needs digits,
    or a strict rule that found it in capitals.
    """
    if score < 0.75 and value.isalpha():
        return False
    if not by_words:
        return True
    digits = sum(c.isdigit() for c in value)
    if digits < 3:
        if value.isupper():
            return len(value) >= 5 and (digits > 0 or score >= 0.9)
        return score >= 0.8 and is_strong_password(value)
    return digits >= 4 or score >= 0.8 or not value.isdigit()


def _view(text: str, lines: Sequence[Line]) -> View:
    view = View("", ())
    pieces: list[str] = []
    length = 0
    for label, (start, end) in lines:
        head = f"\n{label}: "
        view.change(length, length + len(head), start, start)
        pieces += (head, text[start:end])
        length += len(head) + end - start
    view.text = "".join(pieces)
    return view


_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def split_words(name: str) -> str:
    """A name with its words apart: `customerImei` as `customer Imei`."""
    return name if name.islower() else _HUMP.sub(" ", name)


ASSIGNMENT = r"[a-z0-9][A-Z][A-Za-z0-9]{1,24}(?:['\"]?\s{0,2}[:=]|\(['\"])"
"""Expression of the automaton: the end of a name such as `customerImei`, and what assigns to it, or a call with a string
(`setImei("…")`)."""

_JOINED = re.compile(r"([A-Za-z0-9]{2,60})(?:['\"]?\s{0,2}[:=]|\(['\"])\Z")
_OPENING = re.compile(r"[=>]?\s{0,3}['\"`]?")


def _joined(text: str, place: int, following: int) -> Iterator[Line]:
    """The value that is assigned at `place`, with the words of the name apart as its label."""
    match = _JOINED.search(text, max(place - 66, 0), place)
    opening = _OPENING.match(text, place)
    if match is None or opening is None:
        return
    yield split_words(match[1]), value_at(text, opening.end(), following)


# --- apart and prose -----------------------------------------------------------------------------------------------

_MARK = r"[ \t\r]+|</?[A-Za-z][^<>\n]{0,80}>|&(?:nbsp|quot|gt|lt);|[*_`'\"]"
_APART = re.compile(
    rf"(?>{NOUN})\.?(?>(?:{_MARK}){{0,12}})(?P<line>\n[ \t]{{0,24}}(?>(?:<[^<>\n]{{1,80}}>){{0,4}}))?"
    rf"(?P<mark>(?>(?:\][ \t]?(?:=|:)|[:=>|(\[]|->|\.{{3,}}|_{{3,}}|(?<= )-(?= )|\u2192)"
    rf"(?:[ \t]+|{_MARK}|[(\[:>=]){{0,8}}))?(?(line)|(?(mark)|(?<=[>*`(\[])))"
    rf"(?>(?:{_MARK}){{0,6}})(?=[^\s<>|)\]])"
)
"""Marks between a label and its value. One of them must be more than space."""

_VERB = (
    r"(?:is|was|are|were|equals|reads|being|ist|war|lautet|lauten|heisst|sind|est|etait|sont|es|era|son|e|sono|sao|is|luidt|"
    r"was|to|as|jest|brzmi)"
)
_WORDS = re.compile(
    r"(?:[_-]?[^\W\d_][\w'.-]{0,23})?(?:[ \t]\(?[^\W\d_][\w'-]{0,20}\)?){0,7}?"
    rf"[ \t](?i:{_VERB})(?:[ \t]?:)?[ \t]+"
    r"(?:(?i:now|currently|still|nun|jetzt|maintenant|ahora|adesso|the|le|la|el|il|die|der|das|het|o|a)[ \t])?"
    r"[\"'`(\[]?(?=\S)"
)
_FOR = re.compile(r"(?:[ \t](?:/[ \t]?)?[^\W\d_][\w'.-]{0,20}){1,6}[ \t]?[:=][ \t]{0,2}[\"'`]?(?=\S)")
"""`IMEI for Anna: …`"""


_CALL = re.compile(r"\([ ]?(?P<quote>['\"])(?P<v>[^'\"\n]{2,160})(?P=quote)[ ]?\)")
_SPEAKER = r"(?:[\[(][^\[\]()\n]{1,24}[\])][ ]?)?(?:<[^<>\n]{1,24}>|[^\W\d][\w .-]{0,30}(?:[ ]?\([^()\n]{1,20}\))?[:>])"
_ASKED = re.compile(
    rf"[^\n?]{{0,40}}(?:\?[\"'*_ \t]{{0,4}}(?:\n[ \t>*-]{{0,12}}){{0,3}}(?:{_SPEAKER})?|[.!:]?[ \t]*\n[ \t>*-]{{0,12}}{_SPEAKER})"
    r"[ \t*_]{0,4}(?>(?:[^\W\d_][^\W\d_'-]{0,20}[,:.!;]?[ \t]){0,8})[\"'`(*]{0,3}(?=[^\s<>])"
)
"""The rest of a question, who answers, and words before the answer."""


def _apart(text: str, place: int, following: int) -> Piece | None:
    if text[place : place + 1] == "(" and text[place + 1 : place + 3].strip()[:1] in ("'", '"', ""):
        called = _CALL.match(text, place, place + 170)  # password("…"), and not login(user)
        return called.span("v") if called is not None else None
    if text[place : place + 1] == "(":
        return None
    match = _APART.match(text, place, place + 400)
    return value_at(text, match.end(), following) if match is not None and match.end() > place else None


def _after_words(text: str, place: int, following: int) -> Piece | None:
    follows = text[place : place + 1]
    if follows in _WORD_FOLLOWS:
        match = _WORDS.match(text, place, place + 140) or _FOR.match(text, place, place + 140)
        if match is not None:
            return value_at(text, match.end(), following)
    if follows in _LINE_FOLLOWS:
        match = _ASKED.match(text, place, place + 240)
        if match is not None:
            return value_at(text, match.end(), following)
    return None


_WORD_FOLLOWS = frozenset((" ", "\t", "-", "_"))
_LINE_FOLLOWS = frozenset((" ", "\t", "?", ".", ":", "\n", "!"))


_BRACKET = re.compile(r"[ \t][(\[](?P<label>[^()\[\]\n]{0,30})\Z")
_ARTICLE = (
    r"(?:my|the|our|his|her|their|your|an?|meine?|die|der|das|unsere?|seine?|ihre?|mon|ma|le|la|notre|mi|su|el|il|mio|mia|lo|"
    r"het|de|mijn|o|meu|minha)"
)
_MINE = re.compile(
    rf",?[ \t](?i:is|was|ist|war|est|es|era|e)[ \t](?i:{_ARTICLE})[ \t](?P<label>[^()\[\]\n,;]{{0,30}})\Z"
)
_GROUP = r"(?:[^\s,;()]*\d[^\s,;()]*|[A-Z]{2,11}|[A-Z][a-z]{2,8})"
_TAIL = re.compile(rf"{_GROUP}(?: {_GROUP}){{0,7}}\Z")


def _before_label(text: str, start: int, place: int) -> Iterator[Line]:
    """What may be a value before the label: the groups with a digit that end there, each as a beginning."""
    first = max(start - 40, 0)
    if text[start - 2 : start] in (" (", " ["):
        end = start - 2
    else:
        bracket = max(text.rfind(" (", first, place), text.rfind(" [", first, place))
        match = _BRACKET.match(text, bracket, place) if bracket >= 0 else _MINE.search(text, first, place)
        if match is None:
            return
        end, start = match.start(), match.start("label")
    first = max(end - 64, 0)
    run = _TAIL.search(text[first:end].rstrip())
    if run is None:
        return
    at, stop = first + run.start(), first + run.end()
    while True:
        yield text[start:place], (at, stop)
        space = text.find(" ", at, stop)
        if space < 0:
            return
        at = space + 1
