"""Labels and cells: where a label begins and ends in a text, and what a cell of a table is. Pure.

`columns.py` and `grid.py` read tables by it, `records.py` and `labels.py` everything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

MAX_LABEL = 40
"""Characters of a label, and of the head of a column."""

MIN_VALUE = 2
"""Characters of the shortest value, an age."""

MAX_HEAD = 2_000
"""Characters of a table's head."""

BETWEEN_TEXTS = "\x9f"
"""What stands between texts that are scanned together: no label has its value behind it."""

NEAR = 48
"""Characters between a label and a value that are near each other."""

Piece = tuple[int, int]
Line = tuple[str, Piece]
"""A label, and the place of what may begin with its value."""

NOUN = (
    r"(?:[ _.+-]{0,2}(?i:numbers?|num|nbr|no|nr|nummer|numero|numer|n\.o|n(?=[.\xb0])"
    r"|code|id|key|value|card|broj|numarasi)"
    r"(?![A-Za-z0-9])[.\xb0]?){0,2}(?: ?#(?![A-Za-z0-9]))?"
    r"(?:(?:_|(?<=_))\d{1,2}(?![A-Za-z0-9]))?"
)
"""What may follow a label as a part of it."""

Evidence = Literal["form", "words", "loose", "far", "part", "near"]
"""How strongly a reading connects labels and values: by its form (a table, markup); by words in a sentence; by words
that announce a value some words away, or say behind it what it is; by a colon some words away; by a part of a longer
name (`cpf_do_cliente`); by standing near each other, no more. `is_likely` says what each is good for."""

_NOUN_AT = re.compile(NOUN)


_LABEL_EDGE = re.compile(r"[\n\t,;|<>()\[\]{}\"`=*&\x9f]")


def label_start(text: str, place: int, before: int) -> int:
    """The start of a label's words: at most `MAX_LABEL` characters before its end, on its line, in its cell, and
    after the label `before` it.
    """
    first = max(place - MAX_LABEL, before, 0)
    window = text[first:place]
    edge = 0
    for match in _LABEL_EDGE.finditer(window):
        edge = match.end()
    if edge == 0 and first:  # not in the midst of a word
        edge = window.find(" ") + 1
    return first + edge


def noun_end(text: str, place: int) -> int:
    match = _NOUN_AT.match(text, place)
    return match.end() if match is not None else place


def labelled(names: Sequence[str], cells: Iterable[Piece]) -> Iterator[Line]:
    """The cells that are long enough for a value, each with the name of its column."""
    for name, (start, end) in zip(names, cells, strict=False):
        if name and end - start >= MIN_VALUE:
            bracket = _IN_BRACKETS.match(name) if name[-1] == ")" else None
            if bracket is not None:  # `Social security number (SSN)`
                yield bracket[2], (start, end)
                name = bracket[1]
            yield name, (start, end)


_IN_BRACKETS = re.compile(r"([^()]{2,40}?) ?\(([^()]{2,40})\)")


def strip(text: str, start: int, end: int) -> Piece:
    """A cell without the spaces, quotes and marks around it."""
    while start < end and text[start] in " \t\r\"'`*":
        start += 1
    while end > start and text[end - 1] in " \t\r\"'`*":
        end -= 1
    return start, end


def is_head(cell: str) -> bool:
    """True if a cell may be the name of a column: it is no value, and contains none (`name: value`)."""
    return len(cell) <= MAX_LABEL and not _NO_HEAD.search(cell) and sum(c.isdigit() for c in cell) <= 4


_NO_HEAD = re.compile(r"@|[:=].")


def is_last_cell(text: str, place: int) -> bool:
    """True if the label that ends at `place` has other cells before it on its line: the next line is no value of it."""
    start = label_start(text, place, 0)
    return text[max(start - 3, 0) : start].rstrip("\"' ")[-1:] in _CELL_MARKS


_CELL_MARKS = frozenset((",", ";", "|", "\t"))
