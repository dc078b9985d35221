"""Tables in a text: reads the cells below a label that is in the head of a table.

Pure. Knows CSV with commas, semicolons or tabs, one value on each line, Markdown and psql tables, columns aligned by
spaces, HTML tables, and SQL `INSERT … (columns) VALUES (values)`. `labels.py` says why. Work is linear in the text:
each table is read once, and a line is looked at for few of its labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

MAX_LABEL = 40
"""Characters of a label, and of the head of a column."""

MIN_VALUE = 2
"""Characters of the shortest value, an age."""

MAX_TRIES = 4
"""Labels of one line that may be in the head of a table, until one is."""

MAX_HEAD = 2_000
"""Characters of a table's head."""


Piece = tuple[int, int]
Line = tuple[str, Piece]
"""A label, and the place of what may begin with its value."""


NOUN = r"(?:[ _.-]?(?i:numbers?|num|nbr|no|nr|nummer|numero|numer|code|id|key|value|card)(?![A-Za-z0-9])\.?){0,2}"
"""What may follow a label as a part of it."""

_NOUN_AT = re.compile(NOUN)


_LABEL_EDGE = re.compile(r"[\n\t,;|<>()\[\]{}\"`=*\x9f]")


def label_start(text: str, place: int, before: int) -> int:
    """Where the words of a label begin: at most `MAX_LABEL` characters before its end, on its line, in its cell, and
    after the label `before` it.
    """
    first = max(place - MAX_LABEL, before, 0)
    window = text[first:place]
    edge = max((match.end() for match in _LABEL_EDGE.finditer(window)), default=0)
    if edge == 0 and first:  # not in the midst of a word
        edge = window.find(" ") + 1
    return first + edge


def noun_end(text: str, place: int) -> int:
    match = _NOUN_AT.match(text, place)
    return match.end() if match is not None else place


_CELLS: dict[str, re.Pattern[str]] = {
    mark: re.compile(rf'[ ]*"((?:[^"\n]|"")*)"[ ]*(?={re.escape(mark)}|\Z)|([^{re.escape(mark)}\n]*)')
    for mark in ",;\t|"
}
_ALIGNED = re.compile(r"\S+(?: \S+)*")
_ROW = re.compile(r"<(/?)(t[rdh]|table)\b[^<>]{0,200}>", re.IGNORECASE)
_TAGS = re.compile(r"(?:<[^<>\n]{1,100}>|\s)*")
_VALUES = re.compile(r"\s{0,8}\bVALUES\s{0,8}", re.IGNORECASE)
_TUPLE = re.compile(r"\s{0,8},?\s{0,8}\(((?:'(?:[^'\n]|'')*'|\"[^\"\n]*\"|[^()'\"])*)\)")
_ITEM = re.compile(r"\s*(?:'((?:[^'\n]|'')*)'|\"([^\"\n]*)\"|([^,'\"]*))\s*(?:,|\Z)")
_RULE = re.compile(r"[\s|:+=-]*")
"""A line that only draws: `|---|:--:|`."""


class Tables:
    """The tables of a text. Each is read once, from its head, with every column: the other columns of a head may have
    labels too.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._until = -1
        self._line_end = -1
        self._tries = 0

    def read(self, place: int) -> list[Line]:
        """The cells of the table whose head has a label that ends at `place`; none where there is no such table."""
        if place <= self._until:
            return []
        text = self._text
        if place > self._line_end:
            line_end = text.find("\n", place, place + MAX_HEAD)
            self._line_end = line_end if line_end >= 0 else place + MAX_HEAD
            self._tries = 0
        line_end = self._line_end
        self._tries += 1
        if self._tries > MAX_TRIES:
            return []
        found = None
        if text[line_end : line_end + 1] == "\n":
            found = _delimited(text, place, line_end)
        if found is None:
            found = _html(text, place)
        if found is None:
            found = _sql(text, place)
        if found is None:
            return []
        lines, self._until = found
        return lines


Found = tuple[list[Line], int]
"""The labelled cells of a table, and where it ends."""


def _delimited(text: str, place: int, end: int) -> Found | None:
    start = text.rfind("\n", max(place - MAX_HEAD, 0), place) + 1
    if start == 0 and place > MAX_HEAD:
        return None
    mark = _mark_of(text, start, place, end)
    if mark is None:
        return None
    head = list(_split(text, start, end, mark))
    if not all(_is_head(text[a:b]) for a, b in head) or _is_row(text, start, mark, len(head)):
        return None
    lines: list[Line] = []
    names = [text[a:b] for a, b in head]
    at = end + 1
    while at < len(text):
        stop = _line_end(text, at)
        if stop - at > 100_000:
            break
        if _RULE.fullmatch(text, at, stop):
            if stop == at and lines:
                break
        else:
            cells = _aligned(text, at, stop, head) if mark == "  " else list(_split(text, at, stop, mark))
            if len(cells) < 2 <= len(head):
                break
            if len(head) == 1 and not _is_entry(text[at:stop].strip()):
                break
            lines += _labelled(names, cells)
        at = stop + 1
    return (lines, at - 1) if lines else None


def _labelled(names: Sequence[str], cells: Iterable[Piece]) -> Iterator[Line]:
    """The cells that are long enough for a value, each with the name of its column."""
    for name, (start, end) in zip(names, cells, strict=False):
        if name and end - start >= MIN_VALUE:
            yield name, (start, end)


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _mark_of(text: str, start: int, place: int, end: int) -> str | None:
    """What separates the label's cell from the next one, or from the one before it. "" for a line of one cell."""
    after = text[noun_end(text, place) : end].lstrip("\"' _")
    rest = after.lstrip(" ")
    before = text[start : label_start(text, place, start)].rstrip("\"' ")
    for mark in "\t|;,":
        if rest.startswith(mark) or (not rest.strip() and before.endswith(mark)):
            return mark
    if "  " in text[place : place + 3] or (not rest.strip() and "  " in text[start:place].strip()):
        return "  "
    words = text[noun_end(text, place) : end]
    for mark in "\t|;,":  # the label is followed by another word of its cell
        at = words.find(mark)
        if 0 <= at <= 24 and mark in text[start:end]:
            return mark
    return "" if not words.strip(" \r\"'#:") and place - start <= MAX_LABEL else None


def _split(text: str, start: int, end: int, mark: str) -> Iterator[Piece]:
    """The cells of a line, without quotes and spaces around them."""
    if mark == "":
        yield _strip(text, start, end)
        return
    if mark == "  ":
        for match in re.finditer(_ALIGNED, text[start:end]):
            yield start + match.start(), start + match.end()
        return
    at = start
    while at <= end:
        found = _CELLS[mark].match(text, at, end)
        if found is None:  # it matches the empty text as well
            return
        yield _strip(text, *(found.span(1) if found.start(1) >= 0 else found.span(2)))
        at = found.end() + 1


def _aligned(text: str, start: int, end: int, head: Sequence[Piece]) -> list[Piece]:
    """The cells of a line of aligned columns: one for each head where there are as many."""
    cells = list(_split(text, start, end, "  "))
    if len(cells) < len(head):  # a narrow gap joined two cells
        cells = [(start + m.start(), start + m.end()) for m in re.finditer(r"\S+", text[start:end])]
    return cells


def _strip(text: str, start: int, end: int) -> Piece:
    while start < end and text[start] in " \t\r\"'`*":
        start += 1
    while end > start and text[end - 1] in " \t\r\"'`*":
        end -= 1
    return start, end


def _is_head(cell: str) -> bool:
    """Whether a cell may be the name of a column."""
    return len(cell) <= MAX_LABEL and "@" not in cell and sum(c.isdigit() for c in cell) <= 4


def _is_entry(line: str) -> bool:
    """Whether a line may be a row of a table of one column: a word, or a few with a digit."""
    return " " not in line or (len(line) <= 32 and any(c.isdigit() for c in line))


def _is_row(text: str, start: int, mark: str, count: int) -> bool:
    """Whether the line before is a row of the same table, so that this one is no head."""
    if start == 0 or mark == "":
        return False
    end = start - 1
    before = text.rfind("\n", 0, end) + 1
    if before and _RULE.fullmatch(text, before, end):  # the line under a head of Markdown, or above any head
        end = before - 1
        before = text.rfind("\n", 0, end) + 1
    if end - before > MAX_HEAD or _RULE.fullmatch(text, before, end):
        return False
    if count < 2 or len(list(_split(text, before, end, mark))) != count:
        return False
    return mark != "," or ", " not in text[before:end]


def _html(text: str, place: int) -> Found | None:
    """A table of HTML whose head has the label. The label's cell must end right after it."""
    close = re.compile(r"[^<>\n]{0,24}(?:</[a-z]{1,8}>\s{0,20}){0,3}</t[hd]>", re.IGNORECASE).match(
        text, place, place + 160
    )
    if close is None:
        return None
    start = max(text.rfind("<tr", 0, place), text.rfind("<TR", 0, place))
    if start < 0 or place - start > MAX_HEAD:
        return None
    rows: list[list[Piece]] = []
    cell = -1
    end = len(text)
    for match in _ROW.finditer(text, start):
        closing, tag = match[1], match[2].lower()
        if cell >= 0 and tag != "table":  # any tag of a row or a cell ends a cell
            rows[-1].append((cell, match.start()))
            cell = -1
        if tag == "tr" and not closing:
            rows.append([])
        elif tag in ("td", "th") and not closing and rows:
            cell = match.end()
        elif tag == "table":
            end = match.start()
            break
    if cell >= 0 and end == len(text):  # a stream that has not ended yet
        rows[-1].append((cell, end))
    if len(rows) < 2 or not rows[0]:
        return None
    trimmed = [[_trim(text, *cell) for cell in row] for row in rows]
    head = trimmed[0]
    if not all(_is_head(text[a:b]) for a, b in head):
        return None
    if len(head) == 2 and _has_row_labels(text, start, place, trimmed):
        return None
    names = [text[a:b] for a, b in head]
    return [line for row in trimmed[1:] for line in _labelled(names, row)], end


def _has_row_labels(text: str, start: int, place: int, rows: Iterable[Sequence[Piece]]) -> bool:
    """Whether a table of two columns has its labels in the first column: no <th>, and names as first cells."""
    if "<th" in text[start : place + 200].lower():
        return False
    firsts = [text[slice(*row[0])] if row else "" for row in rows]
    return all(_is_head(first) and first and not first.isdigit() for first in firsts)


def _trim(text: str, start: int, end: int) -> Piece:
    """A cell without the tags and spaces that it begins with."""
    match = _TAGS.match(text, start, end)
    start = match.end() if match is not None else start
    stop = text.find("<", start, end)
    return _strip(text, start, end if stop < 0 else stop)


def _sql(text: str, place: int) -> Found | None:
    opening = text.rfind("(", max(place - MAX_HEAD, 0), place)
    closing = text.find(")", place, place + MAX_HEAD)
    if opening < 0 or closing < 0:
        return None
    values = _VALUES.match(text, closing + 1)
    if values is None:
        return None
    head = [name.strip(" \t\r\"'`") for name in text[opening + 1 : closing].split(",")]
    lines: list[Line] = []
    at = values.end()
    while (row := _TUPLE.match(text, at)) is not None:
        lines += _labelled(head, _items(text, *row.span(1)))
        at = row.end()
    return (lines, at) if lines else None


def _items(text: str, start: int, end: int) -> Iterator[Piece]:
    at = start
    while at < end and (match := _ITEM.match(text, at, end)) is not None:
        group = match.lastindex or 3
        yield _strip(text, *match.span(group))
        at = match.end()


def find_table_head(head: str, text: str) -> str:
    """The head of the table that `text` ends in, with its line end, to be read before what follows; "" where it ends in
    no table. `head`: of the table that the text before ended in.
    """
    if head.startswith("("):  # of SQL, whose rows the pieces of a text cut
        return _find_statement(text) or (head if ";" not in text else "")
    text = head + text
    table = text.rfind("<table")
    if table >= 0 and "</table" not in text[table:]:
        end = text.find("</tr>", table)
        return text[table : end + 5] + "\n" if 0 <= end - table <= MAX_HEAD else ""
    statement = _find_statement(text)
    if statement:
        return statement
    last = text.rfind("\n")
    return _head_above(text, last) if last > 0 else ""


_INSERT = re.compile(r"\([^()]{1,2000}\)\s{0,8}VALUES\s{0,8}\(", re.IGNORECASE)


def _find_statement(text: str) -> str:
    """The columns of the last SQL statement that has not ended, without the first row."""
    found = max(_INSERT.finditer(text), key=re.Match.start, default=None)
    if found is None or ";" in text[found.end() :]:
        return ""
    return text[found.start() : found.end() - 1]


def _head_above(text: str, end: int) -> str:
    """The first of the lines above `end` that look like the last one; lines that are drawn do not count."""
    start = text.rfind("\n", 0, end) + 1
    while start and _RULE.fullmatch(text, start, end):
        end = start - 1
        start = text.rfind("\n", 0, end) + 1
    line = text[start:end]
    mark = next((mark for mark in "\t|;," if mark in line), "")
    likeness: Callable[[str], bool] | None = partial(_has_cells, mark, line.count(mark)) if mark else None
    if likeness is None:
        count = len(_ALIGNED.findall(line))
        if count > 1:
            likeness = partial(_has_columns, count)
        elif line.strip() and _is_entry(line.strip()):
            likeness = _is_alone
        else:
            return ""
    first = (start, end)
    while start > 0:
        end = start - 1
        start = text.rfind("\n", 0, end) + 1
        if likeness(text[start:end]):
            first = (start, end)
        elif start == end or not _RULE.fullmatch(text, start, end):
            break
    return text[slice(*first)] + "\n" if first[1] - first[0] <= MAX_HEAD else ""


def _has_cells(mark: str, count: int, line: str) -> bool:
    return line.count(mark) == count


def _has_columns(count: int, line: str) -> bool:
    return len(_ALIGNED.findall(line)) == count


def _is_alone(line: str) -> bool:
    """Whether a line is a row of a table of one column, or its head."""
    stripped = line.strip()
    return bool(stripped) and len(stripped) <= MAX_LABEL
