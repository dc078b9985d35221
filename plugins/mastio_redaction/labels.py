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
from typing import Literal, NamedTuple, get_args

from mastio.decoding import View

from .cells import MAX_LABEL, NOUN, Line, Piece, label_start, noun_end
from .checks import is_strong_password
from .columns import Tables
from .records import MAX_VALUE, read_list, read_members, read_row, value_at

BETWEEN_TEXTS = "\x9f"
"""What stands between texts that are scanned together: no label has its value behind it."""

MAX_NAME = 64
"""Characters of a member's name that count as words before its value."""

STRICT = 0.9
"""The least score of a rule with a check digit, or with words that announce nothing else."""

CHECKED = 0.93
"""The least score of a rule with a check digit, or with a form and words of its own."""

ROOM = 8
"""Characters from the end of a label to the end of the next one, at least, if a value is between them."""


Evidence = Literal["form", "words", "far", "part", "near"]
"""How strongly a reading connects labels and values: by its form (a table, markup); by words in a sentence; by a colon
some words away; by a part of a longer name (`cpf_do_cliente`); by standing near each other, no more. `is_likely` says
what each is good for."""


EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)


class Reading(NamedTuple):
    """A view, and what connects labels and values in it."""

    view: View
    by: Evidence


class _Lines(NamedTuple):
    form: list[Line]
    words: list[Line]
    far: list[Line]
    part: list[Line]
    near: list[Line]


def readings(text: str, places: Sequence[int], names: Sequence[int] = ()) -> Iterator[Reading]:
    """`places`: where labels end that no value follows. `names`: where an assignment to a name of several joined words
    ends (`ASSIGNMENT`). One reading for each kind of evidence that is there.
    """
    tables = Tables(text)
    lines = _Lines([], [], [], [], [])
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
        for piece, is_id in read_members(text, place, following):
            (lines.part if is_id else lines.form).append((chain[-1], piece))
        if place - before >= ROOM:
            _read_before(text, start, place, lines)
        before = place
    for place, following in zip(names, (*names[1:], len(text)), strict=False):
        lines.form.extend(_joined(text, place, following))
    for by in EVIDENCE:
        found: list[Line] = getattr(lines, by)
        if found:
            yield Reading(_view(text, found), by)


def _read_after(text: str, chain: Sequence[str], start: int, place: int, following: int, lines: _Lines) -> None:
    """Adds what may be the value of labels that stand close together, the last of which ends at `place`."""
    for into, read in (
        (lines.form, lambda: _apart(text, start, place, following)),
        (lines.words, lambda: _called(text, place)),
        (lines.words, lambda: _after_words(text, place, following)),
        (lines.far, lambda: _far(text, place, following)),
        (lines.part, lambda: _after_name(text, place, following)),
        (lines.near, lambda: _near(text, place, following)),
    ):
        pieces = tuple(read())
        if pieces:
            into.extend((label, piece) for piece in pieces for label in chain)
            break
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
    strict rule or eight digits. A part of a name is good for strict rules only, and nearness for stricter ones.
    """
    if score < 0.75 and value.isalpha():
        return False
    if by == "form":
        return True
    digits = sum(c.isdigit() for c in value)
    if by == "near":
        return score >= CHECKED and digits >= 5
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
    if len(text) > MAX_ANSWER or not previous[-3:].rstrip().endswith("?"):
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
_SETTERS = ("set ", "with ", "add ", "put ", "use ", "new ")
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
    if text[place - 2] == "(" and not label.startswith(_SETTERS):  # getText("user.name")
        return
    if match["string"]:
        yield from ((label, piece) for piece, is_id in read_members(text, match.end(1), following) if not is_id)
    elif text[place - 1] == ">":
        tags = _OPENING_TAGS.match(text, place)
        start = tags.end() if tags is not None else place
        end = text.find("<", start, start + MAX_VALUE)
        if end >= 0:
            yield label, (start, end)
    else:
        yield label, value_at(text, opening.end(), following)


# --- apart and prose -----------------------------------------------------------------------------------------------

_MARK = r"[ \t\r]+|</?[A-Za-z][^<>\n]{0,80}>|<!\[CDATA\[|&(?:nbsp|quot|gt|lt);|[*_`'\"]"
_BETWEEN = (
    rf"(?>(?:{_MARK}){{0,12}})(?P<line>\n[ \t]{{0,24}}(?>(?:<[^<>\n]{{1,80}}>){{0,4}}))?"
    rf"(?P<mark>(?>(?:\][ \t]?(?:=|:)|[:=>|(\[]|->|\.{{3,}}|_{{3,}}|#[ ]?:|(?<= )-(?= )|\u2192)"
    rf"(?:[ \t]+|{_MARK}|[(\[:>=]|%[sdr](?=['\"])|(?<=['\"]),){{0,8}}))?(?(line)|(?(mark)|(?<=[>*`(\[])))"
    rf"(?>(?:{_MARK}){{0,6}})(?=[^\s<>|)\]])"
)
"""Marks between a label and its value. One of them must be more than space."""

_APART = re.compile(rf"(?>{NOUN})\.?{_BETWEEN}")
_OF_NAME = re.compile(rf"(?:(?:[ _-]|(?<=_))[A-Za-z]{{1,20}}){{1,4}}{_BETWEEN}")
"""The rest of a longer name, and what follows it: `cpf_do_cliente = …`."""

_BOLD = re.compile(rf"(?>{NOUN})(?:\*\*|__|`|</(?:b|strong|i|em|span|label|code)>)[ \t]{{1,4}}(?=\S)")
"""Words in bold or the like, which are often a label."""

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
_ANSWER = r"[ \t*_]{0,4}(?P<words>)(?>(?:[^\W\d_][^\W\d_'-]{0,20}[,:.!;]?[ \t]){0,8})[\"'`(*]{0,3}(?=[^\s<>])"
_ASKED = re.compile(rf"[^\n?\x9f]{{0,40}}\?[\"'*_ \t]{{0,4}}(?:\n[ \t>*-]{{0,12}}){{0,3}}(?:{_SPEAKER})?{_ANSWER}")
"""The rest of a question, who answers, and words before the answer."""

_YOURS = re.compile(r"(?i)\b(?:your|ihren?|deinen?|votre|ton|tu|su|tuo|suo|seu|sua|uw|jouw|twoj|panski)\b")
_TOLD = re.compile(rf"[^\n?\x9f]{{0,24}}[.!:]?[ \t]*\n[ \t>*-]{{0,12}}{_SPEAKER}{_ANSWER}")
"""The rest of a request, such as `your IMEI, please`, and the same."""


def _apart(text: str, start: int, place: int, following: int) -> Iterator[Piece]:
    """What stands behind marks, as the value of an option (`--imei …`), or as the next argument of a call."""
    if text[place : place + 1] == "(":
        return
    match = _APART.match(text, place, place + 400)
    if match is not None and match.end() > place:
        if match["mark"] is not None or match["line"] is None or not is_last_cell(text, place):
            yield value_at(text, match.end(), following)
        return
    if text.rfind("-", max(place - 44, 0), place) >= 0 and _IS_OPTION.search(text, max(place - 44, 0), place):
        match = _OPTION.match(text, place, place + 40)
    if match is not None:
        yield value_at(text, match.end(), following)
    elif "(" in text[max(start - 2, 0) : start]:
        second = _SECOND.match(text, place, place + 200)
        if second is not None:
            yield second.span("v")


def _called(text: str, place: int) -> Iterator[Piece]:
    """The argument of a call: `password("…")`, and not `login(user)`."""
    called = _CALL.match(text, place, place + 170) if text[place : place + 1] == "(" else None
    if called is not None:
        yield called.span("v")


def _after_words(text: str, place: int, following: int) -> Iterator[Piece]:
    """What a sentence, words in bold, or the answer to a question says. An answer may begin with its value, or with
    other words.
    """
    noun = noun_end(text, place)
    for begin in (place, noun) if noun > place else (place,):
        if text[begin : begin + 1] in _WORD_FOLLOWS:
            match = _WORDS.match(text, begin, begin + 140)
            if match is not None:
                yield value_at(text, match.end(), following)
                return
    match = _BOLD.match(text, place, place + 40)
    if match is not None:
        yield value_at(text, match.end(), following)
        return
    if text[noun : noun + 1] in _LINE_FOLLOWS:
        match = _ASKED.match(text, noun, noun + 240) if text.find("?", noun, noun + 41) >= 0 else None
        if match is None and text.find("\n", noun, noun + 28) >= 0 and _YOURS.search(text, max(noun - 44, 0), noun):
            match = _TOLD.match(text, noun, noun + 240)
        if match is not None:
            yield value_at(text, match.end(), following)
            if match.start("words") < match.end():
                yield value_at(text, match.start("words"), following)


def _far(text: str, place: int, following: int) -> Iterator[Piece]:
    place = noun_end(text, place)
    match = _FOR.match(text, place, place + 140) if text[place : place + 1] in _SPACE else None
    if match is not None:
        yield value_at(text, match.end(), following)


def _after_name(text: str, place: int, following: int) -> Iterator[Piece]:
    match = _OF_NAME.match(text, place, place + 140)
    if match is not None:
        yield value_at(text, match.end(), following)


_SPACE = frozenset((" ", "\t"))
_WORD_FOLLOWS = frozenset((" ", "\t", "-", "_"))
_LINE_FOLLOWS = frozenset((" ", "\t", "?", ".", ":", "\n", "!"))


_BRACKET = re.compile(r"[ \t][(\[](?P<label>[^()\[\]\n]{0,30})\Z")
_ARTICLES = frozenset(
    "my the our his her their your a an mein meine die der das unser unsere sein seine ihr ihre mon ma le la notre mi su el il "
    "mio mia lo het de mijn o meu minha moj moje moja".split()
)
_ARTICLE = rf"(?:{'|'.join(sorted(_ARTICLES))})"
_MINE = re.compile(
    rf",?[ \t](?i:is|was|as|ist|war|als|est|comme|es|era|como|e|come|to)[ \t](?i:{_ARTICLE})[ \t](?P<label>[^()\[\]\n,;]{{0,30}})\Z"
)
_GROUP = re.compile(r"[^\s,;()]*\d[^\s,;()]*|[A-Z]{2,11}|[A-Z][a-z]{2,8}")


def _read_before(text: str, start: int, place: int, lines: _Lines) -> None:
    """Adds what may be a value before the label: in brackets or a sentence with it, or just near it."""
    first = max(start - 40, 0)
    into = lines.words
    if text[start - 2 : start] in (" (", " ["):
        end = start - 2
    else:
        bracket = max(text.rfind(" (", first, place), text.rfind(" [", first, place))
        if bracket >= 0:
            match = _BRACKET.match(text, bracket, place)
        else:
            is_said = not _ARTICLES.isdisjoint(text[first:place].lower().split())
            match = _MINE.search(text, first, place) if is_said else None
        if match is not None:
            end, start = match.start(), match.start("label")
        else:
            end, into = _number_before(text, place), lines.near
            if end < 0:
                return
    into.extend((text[start:place], piece) for piece in _beginnings(text, end))


def _beginnings(text: str, end: int) -> Iterator[Piece]:
    """The groups with a digit, or in capitals, that end at `end`, each as a beginning of a value."""
    while end > 0 and text[end - 1] == " ":
        end -= 1
    start = end
    for _ in range(MAX_GROUPS):
        group = max(text.rfind(" ", max(start - MAX_GROUP, 0), start) + 1, start - MAX_GROUP, 0)
        edge = max(map(text[group:start].rfind, ",;()\n\t\x9f")) + 1
        if _GROUP.fullmatch(text, group + edge, start) is None:
            return
        yield group + edge, end
        if edge or group == 0 or text[group - 1] != " ":
            return
        start = group - 1


MAX_GROUP = 80
"""Characters of one group of a value before its label."""

MAX_GROUPS = 8
"""Groups of a value before its label."""


def _number_before(text: str, place: int) -> int:
    """Where the last number before a label ends that may be its value; -1 where none is near."""
    first = max(place - NEAR - MAX_LABEL, 0)
    if _DIGIT.search(text, first, place) is None:
        return -1
    at = place - 1
    while at >= first and not text[at].isdigit():
        if text[at] in _NEAR_ENDS:
            return -1
        at -= 1
    end = at + 1
    while end < place and text[end].isalnum():
        end += 1
    return end if at >= first and end < place and text[end] != "_" else -1


_DIGIT = re.compile(r"[0-9]")
_NEAR_ENDS = frozenset("\n;\x9f")

NEAR = 48
"""Characters between a label and a value that are near each other."""

_BEGINNING = re.compile(r"(?<![A-Za-z0-9.-])(?=[A-Z]{0,6}[0-9])")


def _near(text: str, place: int, following: int) -> Iterator[Piece]:
    """Where the next numbers after a label begin."""
    end = min(place + NEAR, following, len(text))
    for stop in ("\n\n", BETWEEN_TEXTS):
        at = text.find(stop, place, end)
        end = at if at >= 0 else end
    for count, found in enumerate(_BEGINNING.finditer(text, place, end)):
        if count == 2:
            return
        yield value_at(text, found.start(), len(text))
