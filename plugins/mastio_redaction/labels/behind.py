"""Finds the values that stand before a label: `943 476 5919 (NHS number)`, `… is my IMEI`, or a number near it.

Pure, and bounded for each label.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mastio_redaction.labels.cells import MAX_LABEL, NEAR, NOUN, Evidence, Line, Piece

_BRACKET = re.compile(r"[ \t][(\[](?P<label>[^()\[\]\n]{0,30})\Z")
_MANY = """
my the our his her their your a an mein meine die der das unser unsere sein seine ihr ihre mon ma le la notre mi su el
il mio mia lo het de mijn o meu minha moj moje moja
"""
_ARTICLES = frozenset(_MANY.split())
_ARTICLE = rf"(?:{'|'.join(sorted(_ARTICLES))})"
_MINE = re.compile(
    rf",?[ \t](?i:is|was|as|ist|war|als|est|comme|es|era|como|e|come|to)[ \t](?i:{_ARTICLE})[ \t]"
    r"(?P<label>[^()\[\]\n,;]{0,30})\Z"
)
_EQUALS = re.compile(r"[ \t][=-][ \t](?P<label>[^()\[\]\n,;=\x9f-]{0,30}(?:-[A-Za-z]{1,12})?)\Z")
_ENDS_LINE = re.compile(rf"(?>{NOUN})\.?[ \t\r]{{0,4}}(?:\n|\x9f|\Z)")
"""`… = IMEI`, `… - IMEI` at the end of a line."""

_GROUP = re.compile(r"[^\s,;()]*\d[^\s,;()]*|[A-Z]{2,11}|[A-Z][a-z]{2,8}")


def read_behind(text: str, start: int, place: int) -> Iterator[tuple[Evidence, Line]]:
    """The possible values before the label from `start` to `place`: in brackets, in one sentence with it, or near
    it."""
    asserted = read_asserted(text, start)
    if asserted is not None:
        yield "form", (text[start:place], asserted)
        return
    first = max(start - 40, 0)
    by: Evidence = "words"
    if text[start - 2 : start] in (" (", " ["):
        end = start - 2
    else:
        bracket = max(text.rfind(" (", first, place), text.rfind(" [", first, place))
        if bracket >= 0:
            match = _BRACKET.match(text, bracket, place)
        else:
            is_said = not _ARTICLES.isdisjoint(text[first:place].lower().split())
            match = _MINE.search(text, first, place) if is_said else None
        if match is None and _ENDS_LINE.match(text, place) is not None:
            match = _EQUALS.search(text, max(place - MAX_LABEL - 4, 0), place)
        if match is not None:
            end, start = match.start(), match.start("label")
        else:
            end, by = _number_before(text, place), "near"
            if end < 0:
                return
    for piece in beginnings(text, end):
        yield by, (text[start:place], piece)


_ASSERTED = re.compile(
    r"(?i:assert|expect|equal|verify)\w{0,24}\(\s{0,20}(?P<quote>['\"])(?P<v>[^'\"\n]{2,120})(?P=quote),\s{0,20}[\w.()]{0,40}\Z"
)


def read_asserted(text: str, start: int) -> Piece | None:
    """The value that a test expects of the expression whose last name begins at `start`: `assertEqual("…",
    user.imei)`."""
    first = max(start - 200, 0)
    if max(text.rfind('",', first, start), text.rfind("',", first, start)) < 0:
        return None
    match = _ASSERTED.search(text, first, start)
    return match.span("v") if match is not None else None


def beginnings(text: str, end: int) -> Iterator[Piece]:
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
    """The end of the last number before a label that may be its value; -1 if none is near."""
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
