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
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from mastio.decoding import View

from .cells import NOUN, Line, Piece, label_start, noun_end
from .checks import is_strong_password
from .columns import Tables
from .records import MAX_VALUE, read_list, read_members, read_row, value_at

MAX_NAME = 64
"""Characters of a member's name that count as words before its value."""

STRICT = 0.9
"""The score of a rule with a check digit, or with words that announce nothing else."""

ROOM = 8
"""Characters from the end of a label to the end of the next one, at least, if a value is between them."""


Evidence = Literal["form", "words", "far", "part"]
"""How strongly a reading connects labels and values: by its form (a table, markup); by words in a sentence; by a colon
some words away; by a part of a longer name (`cpf_do_cliente`). `is_likely` says what each is good for."""


class Reading(NamedTuple):
    """A view, and what connects labels and values in it."""

    view: View
    by: Evidence


class _Lines(NamedTuple):
    form: list[Line]
    words: list[Line]
    far: list[Line]
    part: list[Line]


def readings(text: str, places: Sequence[int], names: Sequence[int] = ()) -> Iterator[Reading]:
    """`places`: where labels end that no value follows. `names`: where an assignment to a name of several joined words
    ends (`ASSIGNMENT`). One reading for each kind of evidence that is there.
    """
    tables = Tables(text)
    lines = _Lines([], [], [], [])
    ends = sorted(set(places))
    before = -ROOM
    chain: list[str] = []
    for place, following in zip(ends, (*ends[1:], len(text) + ROOM), strict=False):
        cells = tables.read(place)
        lines.form.extend(cells)
        lines.part.extend(_first_words(cells))
        start = label_start(text, place, before if place - before >= ROOM else 0)
        chain = [*chain[-2:], text[start:place]] if place - before < ROOM else [text[start:place]]
        if following - place >= ROOM:
            _read_after(text, chain, start, place, following, lines)
        lines.form.extend(read_members(text, chain[-1], place, following))
        if place - before >= ROOM:
            lines.words.extend(_before_label(text, start, place))
        before = place
    for place, following in zip(names, (*names[1:], len(text)), strict=False):
        lines.form.extend(_joined(text, place, following))
    by: Evidence
    for by, found in (("form", lines.form), ("words", lines.words), ("far", lines.far), ("part", lines.part)):
        if found:
            yield Reading(_view(text, found), by)


def _read_after(text: str, chain: Sequence[str], start: int, place: int, following: int, lines: _Lines) -> None:
    """Adds what may be the value of labels that stand close together, the last of which ends at `place`."""
    piece = _apart(text, start, place, following)
    into = lines.form
    if piece is None:
        piece, into = _after_words(text, place, following), lines.words
    if piece is None:
        piece, into = _far(text, place, following), lines.far
    if piece is None:
        piece, into = _after_name(text, place, following), lines.part
    if piece is not None:
        into.extend((label, piece) for label in chain)
    lines.form.extend(read_list(text, chain[-1], place))
    for line in read_row(text, chain[-1], start, place):
        (lines.form if _is_word(text[slice(*line[1])]) else lines.words).append(line)


_FIRST_WORD = re.compile(r"[ '\"]?([A-Za-z]{2,20})[ _-](?=[A-Za-z])")


def _first_words(lines: Iterable[Line]) -> Iterator[Line]:
    """The cells below heads of several words, with the first of them as a label."""
    for name, piece in lines:
        match = _FIRST_WORD.match(name)
        if match is not None:
            yield match[1], piece


def is_last_cell(text: str, place: int) -> bool:
    """Whether the label that ends at `place` has other cells before it on its line: the next line is no value of it."""
    start = label_start(text, place, 0)
    return text[max(start - 3, 0) : start].rstrip("\"' ")[-1:] in _CELL_MARKS


_CELL_MARKS = frozenset((",", ";", "|", "\t"))


def _is_word(cell: str) -> bool:
    """Whether a cell is one word of letters and digits."""
    return " " not in cell and any(c.isdigit() for c in cell) and any(c.isalpha() for c in cell)


def is_likely(score: float, value: str, by: Evidence) -> bool:
    """Whether a value of a reading is taken. A weak rule needs more than letters. By words alone, a value needs digits,
    or a strict rule that found it in capitals, or has to look like a password. Far from its label, a number needs a
    strict rule or eight digits. A part of a name is good for strict rules only.
    """
    if score < 0.75 and value.isalpha():
        return False
    if by == "form":
        return True
    digits = sum(c.isdigit() for c in value)
    if score < STRICT and (by == "part" or (by == "far" and digits < 8 and not any(c.isalpha() for c in value))):
        return False
    if digits < 3:
        if value.isupper():
            return len(value) >= 5 and (digits > 0 or score >= STRICT)
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


MAX_QUESTION = 160
"""Characters of a question that are read before its answer."""

MAX_ANSWER = 200
"""Characters of an answer that is read after its question."""


def read_before(name: str, text: str, previous: str) -> str:
    """What is read before a text, so that it counts as words before a value: the name of the text, or the question that
    the text `previous` ends with.
    """
    if name:
        return f"{split_words(name[-MAX_NAME:])}: "
    if len(text) > MAX_ANSWER or not previous[-3:].rstrip().endswith(("?", ":")):
        return ""
    question = previous[-MAX_QUESTION:].rstrip()
    return question[max(question.rfind(end) for end in "\n.!") + 1 :] + "\n"


_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def split_words(name: str) -> str:
    """A name with its words apart: `customerImei` as `customer Imei`."""
    return name if name.islower() else _HUMP.sub(" ", name)


ASSIGNMENT = r"[a-z0-9][A-Z][A-Za-z0-9]{1,40}(?:['\"]?\s{0,2}[:=]|\(['\"]|>|['\"][ ,])"
"""Expression of the automaton: the end of a name such as `customerImei`, and what follows where it names a value: an
assignment, a call with a string (`setImei("…")`), the end of a tag, or of a string."""

_JOINED = re.compile(r"([A-Za-z0-9]{2,60})(?:['\"]?\s{0,2}[:=]|\(['\"]|>|(?P<string>['\"][ ,]))\Z")
_OPENING = re.compile(r"[=>]?\s{0,3}['\"`]?")
_OPENING_TAGS = re.compile(r"(?:\s{0,20}</?[A-Za-z]{1,12}>){0,2}")


def _joined(text: str, place: int, following: int) -> Iterator[Line]:
    """The value that a name announces which ends with what follows it at `place`, with the words of the name apart as its
    label.
    """
    match = _JOINED.search(text, max(place - 66, 0), place)
    opening = _OPENING.match(text, place)
    if match is None or opening is None:
        return
    label = split_words(match[1])
    if match["string"]:
        yield from read_members(text, label, match.end(1), following)
    elif text[place - 1] == ">":
        tags = _OPENING_TAGS.match(text, place)
        start = tags.end() if tags is not None else place
        end = text.find("<", start, start + MAX_VALUE)
        if end >= 0:
            yield label, (start, end)
    else:
        yield label, value_at(text, opening.end(), following)


# --- apart and prose -----------------------------------------------------------------------------------------------

_MARK = r"[ \t\r]+|</?[A-Za-z][^<>\n]{0,80}>|&(?:nbsp|quot|gt|lt);|[*_`'\"]"
_BETWEEN = (
    rf"(?>(?:{_MARK}){{0,12}})(?P<line>\n[ \t]{{0,24}}(?>(?:<[^<>\n]{{1,80}}>){{0,4}}))?"
    rf"(?P<mark>(?>(?:\][ \t]?(?:=|:)|[:=>|(\[]|->|\.{{3,}}|_{{3,}}|(?<= )-(?= )|\u2192)"
    rf"(?:[ \t]+|{_MARK}|[(\[:>=]){{0,8}}))?(?(line)|(?(mark)|(?<=[>*`(\[])))"
    rf"(?>(?:{_MARK}){{0,6}})(?=[^\s<>|)\]])"
)
"""Marks between a label and its value. One of them must be more than space."""

_APART = re.compile(rf"(?>{NOUN})\.?{_BETWEEN}")
_OF_NAME = re.compile(rf"(?:(?:[ _-]|(?<=_))[A-Za-z]{{1,20}}){{1,4}}{_BETWEEN}")
"""The rest of a longer name, and what follows it: `cpf_do_cliente = …`."""

_OPTION = re.compile(rf"(?>{NOUN})[ =]['\"]?(?=[^\s'\"-])")
_IS_OPTION = re.compile(r"(?:\A|\s)--?[A-Za-z][\w-]{0,40}\Z")

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
_FOR = re.compile(r"(?:[ \t](?:/[ \t]?)?[^\W_][\w'.-]{0,20}){1,6}[ \t]?[:=][ \t]{0,2}[\"'`]?(?=\S)")
"""`IMEI for Anna: …`"""

_CALL = re.compile(r"\([ ]?(?P<quote>['\"])(?P<v>[^'\"\n]{2,160})(?P=quote)[ ]?\)")
_SECOND = re.compile(r"['\"],[ ]?(?P<quote>['\"])(?P<v>[^'\"\n]{2,160})(?P=quote)[ ]?\)")
"""The second argument of a call, where the first one is the label: `put("imei", "…")`."""

_SPEAKER = r"(?:[\[(][^\[\]()\n]{1,24}[\])][ ]?)?(?:<[^<>\n]{1,24}>|[^\W\d][\w .-]{0,30}(?:[ ]?\([^()\n]{1,20}\))?[:>])"
_ASKED = re.compile(
    rf"[^\n?]{{0,40}}(?:\?[\"'*_ \t]{{0,4}}(?:\n[ \t>*-]{{0,12}}){{0,3}}(?:{_SPEAKER})?|[.!:]?[ \t]*\n[ \t>*-]{{0,12}}{_SPEAKER})"
    r"[ \t*_]{0,4}(?>(?:[^\W\d_][^\W\d_'-]{0,20}[,:.!;]?[ \t]){0,8})[\"'`(*]{0,3}(?=[^\s<>])"
)
"""The rest of a question, who answers, and words before the answer."""


def _apart(text: str, start: int, place: int, following: int) -> Piece | None:
    if text[place : place + 1] == "(":
        called = _CALL.match(text, place, place + 170)  # password("…"), and not login(user)
        return called.span("v") if called is not None else None
    match = _APART.match(text, place, place + 400)
    if match is not None and match.end() > place:
        if match["mark"] is None and match["line"] is not None and is_last_cell(text, place):
            return None
        return value_at(text, match.end(), following)
    if _IS_OPTION.search(text, max(place - 44, 0), place) is not None:
        option = _OPTION.match(text, place, place + 40)
        if option is not None:
            return value_at(text, option.end(), following)
    if text[start - 1 : start] == "(" or text[start - 2 : start - 1] == "(":
        second = _SECOND.match(text, place, place + 200)
        return second.span("v") if second is not None else None
    return None


def _after_words(text: str, place: int, following: int) -> Piece | None:
    noun = noun_end(text, place)
    for begin in (place, noun) if noun > place else (place,):
        if text[begin : begin + 1] in _WORD_FOLLOWS:
            match = _WORDS.match(text, begin, begin + 140)
            if match is not None:
                return value_at(text, match.end(), following)
    place = noun
    if text[place : place + 1] in _LINE_FOLLOWS:
        match = _ASKED.match(text, place, place + 240)
        if match is not None:
            return value_at(text, match.end(), following)
    return None


def _far(text: str, place: int, following: int) -> Piece | None:
    place = noun_end(text, place)
    match = _FOR.match(text, place, place + 140) if text[place : place + 1] in _SPACE else None
    return value_at(text, match.end(), following) if match is not None else None


def _after_name(text: str, place: int, following: int) -> Piece | None:
    match = _OF_NAME.match(text, place, place + 140)
    return value_at(text, match.end(), following) if match is not None else None


_SPACE = frozenset((" ", "\t"))
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
