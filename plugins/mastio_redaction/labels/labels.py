"""Readings of a text that put each value right after its label, as `label: value`.

Pure. The rules of the catalogue know a label and the value right after it. People also write the label at the head of a
column, in markup, a few words before the value, or behind it in parentheses. `readings` is called with the places where
a label ended and no value followed. It returns views (`mastio.reading.decoding.View`) in which the value does follow,
with the way back to the original places. Work and output are linear in the text.

Layouts:

* columns: the label is in the head of a table (`columns.py`);
* apart: markup, quotes or brackets between label and value, a list of values, or another member of the label's record
  (`records.py`);
* prose: a few words and a verb between them (`The IMEI of my phone is …`), a question and its answer, or the label
  behind the value (`… (IMEI)`, `… is my IMEI`). Words are weak evidence: see `is_likely`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, get_args

from mastio.reading.decoding import View
from mastio_redaction.checks.digits import is_iso_date, is_strong_password
from mastio_redaction.labels.ahead import READERS, near, read_second
from mastio_redaction.labels.behind import beginnings, read_asserted, read_behind
from mastio_redaction.labels.cells import Evidence, Line, label_start
from mastio_redaction.labels.columns import Tables
from mastio_redaction.labels.fragments import Fragments
from mastio_redaction.labels.records import MAX_VALUE, read_list, read_members, read_row, value_at
from mastio_redaction.labels.scan import read_ahead, read_back

MAX_NAME = 64
"""Characters of a member's name that count as words before its value."""

STRICT = 0.9
"""The least score of a rule with a check digit, or with words that announce nothing else."""

CHECKED = 0.93
"""The least score of a rule with a check digit, or with a form and words of its own."""

ROOM = 8
"""Characters from the end of a label to the end of the next one, at least, if a value is between them."""


EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)


class Reading(NamedTuple):
    """A view, and what connects labels and values in it."""

    view: View
    by: Evidence


class _Lines(NamedTuple):
    form: list[Line]
    words: list[Line]
    loose: list[Line]
    far: list[Line]
    part: list[Line]
    near: list[Line]


def readings(text: str, places: Sequence[int], names: Sequence[int] = ()) -> Iterator[Reading]:
    """`places`: where labels end that no value follows. `names`: where an assignment to a name of several joined words
    ends (`ASSIGNMENT`). One reading for each kind of evidence that is there.
    """
    tables = Tables(text)
    fragments = Fragments(text)
    lines = _Lines([], [], [], [], [], [])
    ends = sorted(set(places))
    before = -ROOM
    chain: list[str] = []
    for place, following in zip(ends, (*ends[1:], len(text) + ROOM), strict=False):
        cells = [(split_words(name), piece) for name, piece in tables.read(place)]
        lines.form.extend(cells)
        lines.form.extend((split_words(name), piece) for name, piece in fragments.read(place))
        lines.part.extend(_first_words(cells))
        is_phrase = place - before < ROOM or _PHRASE.fullmatch(text, before, place) is not None
        start = label_start(text, place, 0 if is_phrase else before)
        is_chained = place - before < ROOM and _OTHER_NAME.search(text, before, place) is None
        chain = [*chain[-2:], text[start:place]] if is_chained else [text[start:place]]
        is_in_table = tables.has(place)
        if following - place >= ROOM:
            _read_after(text, chain, start, place, following, lines)
            for by, piece in () if is_in_table else read_ahead(text, place, following):
                getattr(lines, by).extend((label, piece) for label in chain)
        for piece, is_weak in read_members(text, place, following):
            (lines.part if is_weak else lines.form).append((chain[-1], piece))
        if place - before >= ROOM:
            for by, line in read_behind(text, start, place):
                getattr(lines, by).append(line)
            for _, end in () if is_in_table else read_back(text, place):
                lines.loose.extend((text[start:place], piece) for piece in beginnings(text, end))
        before = place
    for place, following in zip(names, (*names[1:], len(text)), strict=False):
        for by, line in _joined(text, place, following):
            getattr(lines, by).append(line)
    for by in EVIDENCE:
        found: list[Line] = getattr(lines, by)
        if found:
            yield Reading(_view(text, found), by)


def _read_after(text: str, chain: Sequence[str], start: int, place: int, following: int, lines: _Lines) -> None:
    """Adds what may be the value of labels that stand close together, the last of which ends at `place`."""
    for by, read in READERS:
        pieces = tuple(read(text, start, place, following))
        if pieces:
            getattr(lines, by).extend((label, piece) for piece in pieces for label in chain)
            break
    else:
        by = "near"
    if by != "form":
        lines.near.extend((label, piece) for piece in near(text, place, following) for label in chain)
    lines.form.extend(read_list(text, chain[-1], place))
    for line in read_row(text, chain[-1], start, place):
        (lines.form if _is_word(text[slice(*line[1])]) else lines.words).append(line)


_OTHER_NAME = re.compile(r"\x9f|['\"][ ]?,\s{0,3}['\"](?i:id|code)\Z")
"""Between two labels of which the first one names nothing behind the second one: the end of a text, or an id beside
it, as in `{"name": "token", "id": …}`."""

_PHRASE = re.compile(r"[A-Za-z _-]{1,24}")
"""Between two labels that are words of one: `social insurance`."""

_FIRST_WORD = re.compile(r"[ '\"]?([A-Za-z]{2,20})[ _-](?=[A-Za-z])")


def _first_words(lines: Iterable[Line]) -> Iterator[Line]:
    """The cells below heads of several words, with the first of them as a label."""
    for name, piece in lines:
        match = _FIRST_WORD.match(name)
        if match is not None:
            yield match[1], piece


def _is_word(cell: str) -> bool:
    """True if a cell is one word of letters and digits."""
    return " " not in cell and any(c.isdigit() for c in cell) and any(c.isalpha() for c in cell)


def is_likely(kind: str, score: float, value: str, by: Evidence) -> bool:
    """True if a value of a reading is taken. A weak rule needs more than letters. By words alone, a value needs digits,
    or a strict rule that found it in capitals, or has to look like a password. Far from its label, a number needs a
    strict rule or eight digits. A part of a name is good for strict rules only, and nearness for stricter ones.
    """
    if score < 0.75 and value.replace("_", "").isalpha():
        return False
    if by == "form":
        return True
    digits = sum(c.isdigit() for c in value)
    if by == "near":
        return score >= CHECKED and digits >= 5
    if by == "loose":
        return _is_telling(kind, score, value, digits)
    if score < STRICT and (by == "part" or (by == "far" and digits < 8 and not any(c.isalpha() for c in value))):
        return False
    if digits < 3:
        if value.isupper():
            return len(value) >= 5 and (digits > 0 or score >= STRICT)
        return score >= 0.8 and is_strong_password(value)
    return digits >= 4 or score >= 0.8 or not value.isdigit()


_FREE = frozenset(("PASSWORD", "USERNAME"))
"""Types of values of any form."""


def _is_telling(kind: str, score: float, value: str, digits: int) -> bool:
    """True if the form of a value says that it is no word and no date."""
    if kind in _FREE:
        is_name = kind == "USERNAME" and digits > 0 and len(value) >= 6 and ("." in value or "_" in value)
        return is_name or is_strong_password(value)
    if digits >= 4:
        return score >= STRICT or not is_iso_date(value)
    if value.isupper() and len(value) >= 6:
        return digits >= 2 or (score >= STRICT and len(value) >= 8 and value.isalnum())
    return False


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


MAX_QUESTION = 160
"""Characters of a question that are read before its answer."""

MAX_ANSWER = 200
"""Characters of an answer that is read after its question."""


def read_before(name: str, text: str, previous: str) -> str:
    """The words that count as standing before a text: the name of the text, or the question that
    the text `previous` ends with.
    """
    if name:
        return f"{split_words(name[-MAX_NAME:])}: "
    if len(text) > MAX_ANSWER or not previous[-3:].rstrip().endswith("?"):
        return ""
    question = previous[-MAX_QUESTION:].rstrip()
    return question[max(question.rfind(end) for end in "\n.!") + 1 :] + "\n"


_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def split_words(name: str) -> str:
    """A name with its words apart, the last one in the singular: `customerImeis` as `customer Imei`."""
    if name[-1:] == "s" and _PLURAL.search(name) is not None:
        name = name[:-1]
    return name if name.islower() else _HUMP.sub(" ", name)


_PLURAL = re.compile(
    r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))(?:[A-Za-z][a-z]{2,30}(?<![sjui])(?<!ire)|(?i:no|id|nr))s\Z"
)
"""A name whose last word is in the plural. Short ones (`nhs`) and many in `is`, `us`, `ss` are not."""


ASSIGNMENT = r"[a-z0-9][A-Z][A-Za-z0-9]{1,40}(?:['\"]?\s{0,2}[:=]|\(['\"]|>|['\"][ ,;|\t]|\(\)[ ]?\))"
"""Expression of the automaton: the end of a name such as `customerImei`, and what follows where it names a value: an
assignment, a call with a string (`setImei("…")`), the end of a tag, or of a string."""

_JOINED = re.compile(
    r"([A-Za-z0-9]{2,60})(?:['\"]?\s{0,2}[:=]|\(['\"]|>|(?P<string>['\"][ ,;|\t])|(?P<call>\(\)[ ]?\)))\Z"
)
_SETTERS = ("set ", "with ", "add ", "put ", "use ", "new ")
_OPENING = re.compile(r"[=>]?\s{0,3}(?:[A-Za-z&][\w.<>\[\]]{0,24}\s{0,2}=\s{0,2})?(?:[bfruLN@$]{1,2}(?=['\"]))?['\"`]?")
_REST_OF_TAG = re.compile(r"['\"](?: [\w:.-]{1,24}=['\"][^'\"<>\n]{0,40}['\"]){0,3} ?>\s{0,20}")
_OPENING_TAGS = re.compile(r"(?:\s{0,20}</?[A-Za-z]{1,12}>){0,2}")


def _joined(text: str, place: int, following: int) -> Iterator[tuple[Evidence, Line]]:
    """The value that a name announces. What follows the name ends at `place`; its words, apart, are the label."""
    match = _JOINED.search(text, max(place - 66, 0), place)
    opening = _OPENING.match(text, place)
    if match is None or opening is None:
        return
    label = split_words(match[1])
    if match["call"]:  # assertEquals("…", user.getImei())
        piece = read_asserted(text, match.start())
        if piece is not None:
            yield "form", (label, piece)
    elif text[place - 2] == "(" and not label.startswith(_SETTERS):  # getText("user.name")
        yield "loose", (label, value_at(text, place, following))
    elif match["string"]:
        yield from (
            ("form", (label, piece)) for piece, is_weak in read_members(text, match.end(1), following) if not is_weak
        )
        second = read_second(text, match.start(), match.end(1))
        if second is not None:
            yield "form", (label, second)
        tag = _REST_OF_TAG.match(text, match.end(1), place + 120)
        if tag is not None:
            yield "form", (label, value_at(text, tag.end(), following))
    elif text[place - 1] == ">":
        tags = _OPENING_TAGS.match(text, place)
        start = tags.end() if tags is not None else place
        end = text.find("<", start, start + MAX_VALUE)
        if end >= 0:
            yield "form", (label, (start, end))
    else:
        yield "form", (label, value_at(text, opening.end(), following))
