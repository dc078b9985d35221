"""Rows of values in programs: reads the items below a label that is in a list of names.

Pure, and bounded for each label. `columns.py` asks it for tables, which these are when they run:

* lists, tuples and braces of one length: `[["id", "imei"], [1, "…"]]`, `COLUMNS = ("id", "imei")` and
  `ROWS = [(1, "…")]`, `parametrize("id,imei", [(1, "…")])`;
* a structure of Go and its literals: `struct { id int; imei string }{{1, "…"}}`;
* SQL: `SELECT '…' AS imei`, and the rows of its `UNION`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mastio_redaction.labels.cells import MAX_HEAD, Line, Piece, is_head, labelled, strip

Found = tuple[list[Line], int]
"""The labelled cells of a table, and where it ends."""

_FLAT = re.compile(r"\s{0,40}[\[({]([^\[\](){}]{1,4000})[\])}]")
_LISTS = re.compile(r"\s{0,8},?\s{0,8}(?:['\"](?i:rows|data|values|records)['\"]\s{0,3}:\s{0,8}\[)?(?=\s{0,40}\[)")
_ASSIGNED = re.compile(
    r"\s{0,8};?\s{0,8}(?:(?:const|let|var|val|final|static)\s){0,2}[A-Za-z_]\w{0,30}(?:\s?:\s?[\w\[\], ]{1,40})?"
    r"\s{0,3}:?=\s{0,3}(?:new )?[\w\[\]]{0,20}[\[({](?=\s{0,40}[\[({])"
)
_PASSED = re.compile(r"['\"],\s{0,8}\[(?=\s{0,40}[\[(])")
_NEXT = re.compile(r"\s{0,8},\s{0,8}(?=\s{0,40}[\[({])")
_STRING = re.compile(r"\s*(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^,'\"]*))\s*(?:,|\Z)")
_NAMES = re.compile(r"[A-Za-z_]\w{0,39}(?:, ?[A-Za-z_]\w{0,39}){1,15}")

_STRUCT = re.compile(r"struct\s?\{([^{}]{1,1000})\}\s{0,3}\{")
_MEMBER = re.compile(r"[ \t]{0,16}([A-Za-z_]\w{0,39})[ \t]{1,16}[^\n;]{1,60}(?:[\n;]|\Z)")

_IS_COLUMN = re.compile(r"\bAS\s{1,4}[\"`\[]?\w{0,40}\Z", re.IGNORECASE)
_SELECT = re.compile(r"\bSELECT\s", re.IGNORECASE)
_COLUMN = re.compile(
    r"(?:'((?:[^'\n]|'')*)'|[^,']{1,60}?)\s{1,4}AS\s{1,4}[\"`\[]?(\w{1,40})[\"`\]]?\s{0,4}(,)?", re.IGNORECASE
)
_UNION = re.compile(r"\s{1,8}UNION(?:\s{1,4}ALL)?\s{1,8}SELECT\s{1,8}", re.IGNORECASE)
_SELECTED = re.compile(r"N?'((?:[^'\n]|'')*)'|([^\s,'][^,'\n;]{0,60})")


def read_program_rows(text: str, place: int) -> Found | None:
    """The table whose head has the label that ends at `place`; None where there is no such table."""
    return _lists(text, place) or _structure(text, place) or _selected(text, place)


def items(text: str, start: int, end: int, item: re.Pattern[str] = _STRING) -> Iterator[Piece]:
    """The items of a row, which commas part."""
    at = start
    while at < end and (match := item.match(text, at, end)) is not None:
        group = match.lastindex or 3
        yield strip(text, *match.span(group))
        at = match.end()


def _lists(text: str, place: int) -> Found | None:
    first = max(place - MAX_HEAD, 0)
    opening = max(text.rfind(mark, first, place) for mark in "[({")
    if opening < 0:
        return None
    head = _FLAT.match(text, opening)
    if head is not None and head.end() >= place:
        names = [text[a:b] for a, b in items(text, *head.span(1))]
        between = _LISTS.match(text, head.end()) if text[opening] == "[" else None
        between = between or _ASSIGNED.match(text, head.end())
    else:
        names, between = _names_passed(text, opening, place)
    if between is None or len(names) < 2 or not all(map(is_head, names)):
        return None
    return _rows(text, between.end(), names)


def _names_passed(text: str, opening: int, place: int) -> tuple[list[str], re.Match[str] | None]:
    """The names in a string that a call gets before its rows."""
    at = opening + 1
    while text[at : at + 1] in ("'", '"', " ", "\n"):
        at += 1
    said = _NAMES.match(text, at, at + MAX_HEAD) if at < place else None
    if said is None or said.end() < place:
        return [], None
    return said[0].replace(" ", "").split(","), _PASSED.match(text, said.end())


def _rows(text: str, at: int, names: Sequence[str]) -> Found | None:
    lines: list[Line] = []
    while (row := _FLAT.match(text, at)) is not None:
        cells = list(items(text, *row.span(1)))
        if len(cells) > 1 and cells[-1][0] == cells[-1][1]:  # a comma behind the last item
            cells.pop()
        if len(cells) != len(names):
            break
        lines += labelled(names, cells)
        between = _NEXT.match(text, row.end())
        at = between.end() if between is not None else row.end()
        if between is None:
            break
    return (lines, at) if lines else None


def _structure(text: str, place: int) -> Found | None:
    begin = text.rfind("struct", max(place - MAX_HEAD, 0), place)
    head = _STRUCT.match(text, begin, begin + MAX_HEAD) if begin >= 0 else None
    if head is None or head.end() < place:
        return None
    return _rows(text, head.end(), [member[1] for member in _MEMBER.finditer(head[1].lstrip("\n"))])


def _selected(text: str, place: int) -> Found | None:
    if _IS_COLUMN.search(text, max(place - 48, 0), place) is None:
        return None
    select = None
    for select in _SELECT.finditer(text, max(place - MAX_HEAD, 0), place):  # noqa: B007 - the last one
        pass
    if select is None:
        return None
    lines: list[Line] = []
    names: list[str] = []
    at = select.end()
    while len(names) < 64 and (column := _COLUMN.match(text, at)) is not None:
        names.append(column[2])
        if column.start(1) >= 0:
            lines += labelled(names[-1:], [column.span(1)])
        at = column.end()
        while column[3] and text[at : at + 1].isspace():
            at += 1
        if not column[3]:
            break
    while (union := _UNION.match(text, at - 1)) is not None or (union := _UNION.match(text, at)) is not None:
        cells = []
        at = union.end()
        for cell in _SELECTED.finditer(text, at, at + MAX_HEAD):
            cells.append(strip(text, *cell.span(cell.lastindex or 0)))
            at = cell.end()
            if len(cells) == len(names):
                break
        if len(cells) != len(names):
            break
        lines += labelled(names, cells)
    return (lines, at) if lines else None
