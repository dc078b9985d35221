"""Tables of HTML: places the cells in a grid, also those that span columns or rows, and names them by the head.

Pure, and linear in the table: a cell spans a bounded number of columns.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from mastio_redaction.labels.cells import MAX_HEAD, Line, Piece, is_head, labelled, strip

MAX_SPAN = 24
"""Columns that one cell is in, at most."""

MAX_COLUMNS = 64

MAX_TRIES = 4
"""Labels of one row, and of one table, that may be in its head, until one is."""

_ROW = re.compile(r"<(/?)(t[rdh]|table)\b([^<>]{0,200})>", re.IGNORECASE)
_SPAN = re.compile(r"\b(col|row)span\s{0,3}=\s{0,3}['\"]?(\d{1,3})", re.IGNORECASE)
_TAGS = re.compile(r"(?:<[^<>\n]{1,100}>|\s)*")
_HEAD_END = re.compile(r"[^<>\n]{0,24}(?:</[a-z]{1,8}>\s{0,20}){0,3}(?:</t[hd]>|\s{0,20}(?=<t[hdr]\b))", re.IGNORECASE)


class _Cell(NamedTuple):
    piece: Piece
    columns: int
    rows: int
    is_head: bool


_Row = list[_Cell]


class Grids:
    """The tables of HTML in a text. Each is taken apart once, and read for few of the labels in it until one is in its
    head."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._start = self._end = -1
        self._is_table = False
        self._rows: list[_Row] = []
        self._begins: list[int] = []
        self._row = -1
        self._row_tries = self._table_tries = 0

    def read(self, place: int) -> tuple[list[Line], int] | None:
        """The labelled cells of a table whose head has a label that ends at `place`, and where the table ends. The
        label's cell must end right after it.
        """
        text = self._text
        if _HEAD_END.match(text, place, place + 160) is None:
            return None
        first = max(place - MAX_HEAD, 0)
        row_start = max(text.rfind("<tr", first, place), text.rfind("<TR", first, place))
        if row_start < 0:
            return None
        if not self._start <= row_start < self._end:
            self._open(max(text.rfind("<table", first, row_start), text.rfind("<TABLE", first, row_start)), row_start)
        number = bisect_right(self._begins, place) - 1
        if number < 0 or number + 1 >= len(self._rows) or self._is_spent(number):
            return None
        if self._rows[number][0].piece[1] <= first or not _has(self._rows[number], place):
            return None
        return self._read_below(number, 0 if self._is_table and self._start > first else number)

    def _open(self, start: int, row_start: int) -> None:
        """Takes apart the table that begins at `start`; -1: from a row on, where none begins in reach."""
        self._is_table = start >= 0
        self._start = start + 1 if start >= 0 else row_start
        self._rows, self._end = _rows_of(self._text, self._start)
        self._begins = [row[0].piece[0] for row in self._rows]
        self._row, self._table_tries = -1, 0

    def _is_spent(self, number: int) -> bool:
        """True if enough labels of this row, or of the table, were looked at."""
        if number != self._row:
            self._row, self._row_tries = number, 0
        self._row_tries += 1
        return self._row_tries > MAX_TRIES or self._table_tries >= MAX_TRIES

    def _read_below(self, number: int, first: int) -> tuple[list[Line], int] | None:
        """The cells below the row `number`, which has a label. `first`: the first row of its head."""
        text, rows = self._text, self._rows
        head = number
        while head + 1 < len(rows) and all(cell.is_head for cell in rows[head + 1]):
            head += 1
        if head == number and not all(is_head(text[slice(*cell.piece)]) for cell in rows[head]):
            return None
        self._table_tries += 1  # from here on, work grows with the table
        if head > number and not all(is_head(text[slice(*cell.piece)]) for cell in rows[head]):
            return None
        if len(rows[head]) == 2 and _has_row_labels(text, rows[head:]):
            return None
        grid = list(_placed(rows[first:]))
        names = _names(text, grid[: head - first + 1])
        if not names:
            return None
        return [line for row in grid[head - first + 1 :] for line in labelled(*_pairs(names, row))], self._end


def _has(row: Iterable[_Cell], place: int) -> bool:
    return any(cell.piece[0] <= place <= cell.piece[1] + 24 for cell in row)


def _rows_of(text: str, start: int) -> tuple[list[_Row], int]:
    """The rows with a cell from `start` on, and where the table ends."""
    rows: list[_Row] = [[]]
    cell, spans, is_head_cell = -1, "", False
    end = len(text)

    def close(at: int) -> None:
        width = {name.lower(): int(count) for name, count in _SPAN.findall(spans)} if "span" in spans.lower() else {}
        columns, down = width.get("col", 1), width.get("row", 1)
        rows[-1].append(_Cell(_trim(text, cell, at), min(max(columns, 1), MAX_SPAN), max(down, 1), is_head_cell))

    for match in _ROW.finditer(text, start):
        closing, tag = match[1], match[2].lower()
        if cell >= 0 and tag != "table":  # any tag of a row or a cell ends a cell
            close(match.start())
            cell = -1
        if tag == "tr" and not closing:
            rows.append([])
        elif tag in ("td", "th") and not closing:
            cell, spans, is_head_cell = match.end(), match[3], tag == "th"
        elif tag == "table":
            end = match.start()
            if cell >= 0 and closing:  # a cell without an end of its own
                close(end)
                cell = -1
            break
    if cell >= 0 and end == len(text):  # a stream that has not ended yet
        close(end)
    return [row for row in rows if row], end


def _placed(rows: Iterable[_Row]) -> Iterator[dict[int, _Cell]]:
    """The cells of each row by their columns, as HTML places them: cells of rows above may reach into it."""
    reach: dict[int, int] = {}
    for row in rows:
        placed: dict[int, _Cell] = {}
        held = {column for column, left in reach.items() if left > 0}
        reach = {column: left - 1 for column, left in reach.items() if left > 1}
        column = 0
        for cell in row:
            while column in held:
                column += 1
            for _ in range(cell.columns):
                if column >= MAX_COLUMNS:
                    break
                placed[column] = cell
                if cell.rows > 1:
                    reach[column] = cell.rows - 1
                column += 1
        yield placed


def _names(text: str, head: Iterable[dict[int, _Cell]]) -> dict[int, str]:
    """The name of each column: that of the lowest cell of the head above it."""
    return {
        column: text[slice(*cell.piece)]
        for row in head
        for column, cell in row.items()
        if cell.piece[0] < cell.piece[1]
    }


def _pairs(names: dict[int, str], row: dict[int, _Cell]) -> tuple[list[str], list[Piece]]:
    """The names of the cells of a row, and where those are. A cell that spans columns is named by the first of them."""
    columns = [column for column in row if column in names and row.get(column - 1) is not row[column]]
    return [names[column] for column in columns], [row[column].piece for column in columns]


def _has_row_labels(text: str, rows: Sequence[_Row]) -> bool:
    """True if a table of two columns has its labels in the first column: no <th>, and names as first cells."""
    if any(cell.is_head for cell in rows[0]):
        return False
    firsts = [text[slice(*row[0].piece)] for row in rows]
    return all(is_head(first) and first and not first.isdigit() for first in firsts)


def _trim(text: str, start: int, end: int) -> Piece:
    """A cell without the tags and spaces that it begins with."""
    match = _TAGS.match(text, start, end)
    start = match.end() if match is not None else start
    stop = text.find("<", start, end)
    return strip(text, start, end if stop < 0 else stop)
