"""Tables in a text: reads the cells below a label that is in the head of a table.

Pure. Knows CSV with commas, semicolons or tabs (also with line ends in quoted cells), one value on each line, Markdown,
psql, drawn, wiki and LaTeX tables, columns aligned by spaces, HTML tables (`grid.py`), lists of lists in JSON, and SQL
`INSERT … (columns) VALUES (values)`. `labels.py` says why. Work is linear in the text: each table is read once, and a
line is looked at for few of its labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from mastio_redaction.labels.cells import (
    MAX_HEAD,
    MAX_LABEL,
    Line,
    Piece,
    is_head,
    label_start,
    labelled,
    noun_end,
    strip,
)
from mastio_redaction.labels.grid import Grids
from mastio_redaction.labels.program_rows import Found, items, read_program_rows

MAX_CELL_LINES = 24
"""Lines of a record with line ends in it."""

MAX_TRIES = 4
"""Labels of one line that may be in the head of a table, until one is."""

_MARKS = "\t|;,&^~"
_CELLS: dict[str, re.Pattern[str]] = {
    mark: re.compile(rf'[ ]*"((?:[^"]|"")*)"[ \r]*(?={re.escape(mark)}|\Z)|([^{re.escape(mark)}]*)') for mark in _MARKS
}
_DRAWN = str.maketrans(
    "\u2502\u2503\u2551\u2500\u2501\u2550\u253c\u256c\u254b\u256a\u256b\u251c\u2524\u2560\u2563\u255f\u2562\u255e\u2561"
    "\u250c\u252c\u2510\u2514\u2534\u2518\u2554\u2566\u2557\u255a\u2569\u255d",
    "|||---+++++||||||||" + "+" * 12,
)
"""Lines and crossings of drawn tables, as in tables of letters."""
_WIKI_HEAD = re.compile(r"\n!")
_LATEX_END = re.compile(r"\\\\(?:[ \t]{0,8}\\hline)?(?=[ \t\r]{0,8}(?:\n|\Z))")
_LATEX_MARK = re.compile(
    r"\\(?:textbf|textit|emph|multicolumn\{\d\}\{[^{}]{1,12}\})\{|\}|\\(?:top|mid|bottom)rule|\\hline"
)
_JIRA_HEAD = re.compile(r"^\|\|[^\n]{1,2000}\|\|[ \r]*$", re.MULTILINE)
_LIST_ROW = re.compile(r"[ \t]{0,24}\* - [^\n]*(?:\n[ \t]{1,26}- [^\n]*)*(?:\n|\Z)")
_LIST_CELL = re.compile(r"- ([^\n]*)")
_COPY = re.compile(r"\s{0,8}FROM\s{1,8}stdin[^\n]{0,80};[ \r]*\n", re.IGNORECASE)
_SELECT = re.compile(r"\s{0,40}SELECT\s{1,40}((?>'(?:[^'\n]|'')*'|[^;'])*)", re.IGNORECASE)
_ALIGNED = re.compile(r"\S+(?: \S+)*")
_VALUES = re.compile(r"\s{0,40}\bVALUES\s{0,40}", re.IGNORECASE)
_TUPLE = re.compile(r"\s{0,40},?\s{0,40}\(((?>(?:'(?:[^'\n]|'')*'|\"[^\"\n]*\"|\([^()'\"\n]{0,80}\)|[^()'\"])*))\)")
_ITEM = re.compile(r"\s*(?:[NEB]?'((?:[^'\n]|'')*)'|\"([^\"\n]*)\"|([^,'\"]*))\s*(?:,|\Z)")
_ASSIGNS = frozenset((":", "="))
_RULE = re.compile(r"[\s|:+=-]*")
"""A line that only draws: `|---|:--:|`."""


_INTRO = re.compile(
    r"[ \t]{0,4}(?:(?:#|--|//|;|%|\*)[ \t]{0,3}(?:[A-Za-z ]{2,20}:[ \t]{0,3})?"
    r"|(?i:columns?|cols|fields|headers?|head|spalten|felder|colonnes|columnas|colonne|campi|kolommen|colunas)"
    r"[ \t]{0,2}:[ \t]{0,3})"
)
"""What stands before the head of a table on its line: `# columns: `."""


class Tables:
    """The tables of a text. Each is read once, from its head, with every column: the other columns of a head may have
    labels too.
    """

    def __init__(self, text: str) -> None:
        self._text = _plain(text)
        self._grids = Grids(self._text)
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
        found = _sql(text, place) or read_program_rows(text, place) or _list_table(text, place)
        if found is None and text[line_end : line_end + 1] == "\n":
            found = _delimited(text, place, line_end)
        if found is None:
            found = self._grids.read(place)
        if found is None:
            return []
        lines, self._until = found
        return lines

    def has(self, place: int) -> bool:
        """True if a place is in the last table that was read."""
        return place <= self._until


def _plain(text: str) -> str:
    """The text with the marks of drawn and wiki tables as those of Markdown, each in its place."""
    if "\u2502" in text or "\u2503" in text or "\u2551" in text:
        text = text.translate(_DRAWN)
    if "{|" in text:
        text = _WIKI_HEAD.sub("\n|", text.replace("!!", "||"))
    if "\\\\" in text:
        text = _LATEX_MARK.sub(_blank, _LATEX_END.sub(_blank, text))
    if "\n||" in text or text.startswith("||"):
        text = _JIRA_HEAD.sub(lambda match: match[0].replace("||", " |"), text)
    return text


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _delimited(text: str, place: int, end: int) -> Found | None:
    if text[place : place + 3].lstrip("\"' ")[:1] in _ASSIGNS:
        return None
    start = text.rfind("\n", max(place - MAX_HEAD, 0), place) + 1
    if start == 0 and place > MAX_HEAD:
        return None
    mark = _mark_of(text, start, place, end)
    if mark is None:
        return None
    intro = _INTRO.match(text, start, place) if mark else None
    start = intro.end() if intro is not None else start
    head = list(_split(text, start, end, mark))
    if not all(is_head(text[a:b]) for a, b in head) or _is_row(text, start, mark, len(head)):
        return None
    if mark == "," and head[-1][0] == head[-1][1]:  # the arguments of a call, or a list
        return None
    lines: list[Line] = []
    names = [text[a:b] for a, b in head]
    at = end + 1
    records = _Records(text, mark)
    is_loose = mark == "|" and len(names) > 2 and not names[0] and names[-1] != ""
    loose: list[Piece] = []
    while at < len(text):
        stop = records.end(at)
        if stop - at > 100_000:
            break
        if _RULE.fullmatch(text, at, stop):
            if stop == at and lines and not (mark == "|" and text[stop + 1 : stop + 2] == "|"):
                break
        else:
            cells = _aligned(text, at, stop, head) if mark == "  " else list(_split(text, at, stop, mark))
            if len(cells) < 2 <= len(head):
                break
            if is_loose and len(cells) == 2 and cells[0][0] == cells[0][1]:  # AsciiDoc: each cell on a line
                loose.append(cells[1])
                if len(loose) < len(names) - 1:
                    at = stop + 1
                    continue
                cells, loose = [cells[0], *loose], []
            if len(head) == 1 and not _is_entry(text[at:stop].strip()):
                break
            lines += labelled(names, cells)
        at = stop + 1
    return (lines, at - 1) if lines else None


class _Records:
    """The ends of the records of a delimited table: at the end of a line, or of a later one that ends a quoted cell."""

    def __init__(self, text: str, mark: str) -> None:
        self._text = text
        self._quoted = mark != "" and mark in ",;\t|" and '"' in text

    def end(self, start: int) -> int:
        text = self._text
        stop = first = _line_end(text, start)
        if not self._quoted or text.count('"', start, stop) % 2 == 0:
            return first
        for _ in range(MAX_CELL_LINES):
            if stop >= len(text) or stop - start > MAX_HEAD:
                break
            line = stop + 1
            stop = _line_end(text, line)
            if text.count('"', line, stop) % 2:
                return stop
        self._quoted = False  # inches, and no quotes
        return first


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _mark_of(text: str, start: int, place: int, end: int) -> str | None:
    """The separator between the label's cell and the next or the previous one. "" for a line of one cell."""
    after = text[noun_end(text, place) : end].lstrip("\"' _.")
    rest = after.lstrip(" ")
    before = text[start : label_start(text, place, start)].rstrip("\"' ")
    for mark in _MARKS:
        if rest.startswith(mark) or (not rest.strip() and before.endswith(mark)):
            return mark
    if "  " in text[place : place + 3] or (not rest.strip() and "  " in text[start:place].strip()):
        return "  "
    words = text[noun_end(text, place) : end]
    for mark in _MARKS:  # the label is followed by another word of its cell
        at = words.find(mark)
        if 0 <= at <= 24 and mark in text[start:end]:
            return mark
    return "" if not words.strip(" \r\"'#:") and place - start <= MAX_LABEL else None


def _split(text: str, start: int, end: int, mark: str) -> Iterator[Piece]:
    """The cells of a line, without quotes and spaces around them."""
    if mark == "":
        yield strip(text, start, end)
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
        yield strip(text, *(found.span(1) if found.start(1) >= 0 else found.span(2)))
        at = found.end() + 1


def _aligned(text: str, start: int, end: int, head: Sequence[Piece]) -> list[Piece]:
    """The cells of a line of aligned columns: one for each head where there are as many."""
    cells = list(_split(text, start, end, "  "))
    if len(cells) < len(head):  # a narrow gap joined two cells
        cells = [(start + m.start(), start + m.end()) for m in re.finditer(r"\S+", text[start:end])]
    if len(cells) == len(head) + 1 and text[slice(*cells[0])].isdigit():  # the number of the row has no name
        return cells[1:]
    return cells


def _is_entry(line: str) -> bool:
    """True if a line may be a row of a table of one column: a word, or a few with a digit."""
    return " " not in line or (len(line) <= 32 and any(c.isdigit() for c in line))


def _is_row(text: str, start: int, mark: str, count: int) -> bool:
    """True if the line before is a row of the same table, so that this one is no head."""
    if start == 0 or mark == "":
        return False
    end = start - 1
    before = text.rfind("\n", 0, end) + 1
    if before and _RULE.fullmatch(text, before, end):  # the line under a head of Markdown, or above any head
        end = before - 1
        before = text.rfind("\n", 0, end) + 1
    if end - before > MAX_HEAD or _RULE.fullmatch(text, before, end) or not text[before:end].strip(" \r" + mark):
        return False
    if count < 2 or len(list(_split(text, before, end, mark))) != count:
        return False
    return mark != "," or ", " not in text[before:end]


def _sql(text: str, place: int) -> Found | None:
    opening = text.rfind("(", max(place - MAX_HEAD, 0), place)
    closing = text.find(")", place, place + MAX_HEAD)
    if opening < 0 or closing < 0:
        return None
    head = [name.strip(" \t\r\n\"'`[]") for name in text[opening + 1 : closing].split(",")]
    values = _VALUES.match(text, closing + 1)
    if values is None:
        return _copied(text, closing + 1, head)
    lines: list[Line] = []
    at = values.end()
    while (row := _TUPLE.match(text, at)) is not None:
        lines += labelled(head, items(text, *row.span(1), _ITEM))
        at = row.end()
    return (lines, at) if lines else None


def _copied(text: str, at: int, head: Sequence[str]) -> Found | None:
    """The rows of `COPY … FROM stdin`, or the one of `INSERT … SELECT`."""
    selected = _SELECT.match(text, at, at + MAX_HEAD)
    if selected is not None:
        return list(labelled(head, items(text, *selected.span(1), _ITEM))), selected.end()
    copied = _COPY.match(text, at, at + 120)
    if copied is None:
        return None
    lines: list[Line] = []
    at = copied.end()
    while at < len(text) and not text.startswith("\\.", at):
        stop = _line_end(text, at)
        if text.find("\t", at, stop) < 0 < len(head) - 1:
            break
        lines += labelled(head, _split(text, at, stop, "\t"))
        at = stop + 1
    return (lines, at - 1) if lines else None


def _list_table(text: str, place: int) -> Found | None:
    """A table of reStructuredText whose rows are lists, the first of which has the label."""
    first = text.rfind("* - ", max(place - MAX_HEAD, 0), place)
    if first < 0:
        return None
    head = _LIST_ROW.match(text, text.rfind("\n", 0, first) + 1, first + MAX_HEAD)
    if head is None or head.end() < place:
        return None
    names = [cell[1].strip() for cell in _LIST_CELL.finditer(head[0])]
    lines: list[Line] = []
    at = head.end()
    while len(names) > 1 and (row := _LIST_ROW.match(text, at, at + MAX_HEAD)) is not None:
        lines += labelled(names, (strip(text, *cell.span(1)) for cell in _LIST_CELL.finditer(text, at, row.end())))
        at = row.end()
    return (lines, at) if lines else None


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
    """True if a line is a row of a table of one column, or its head."""
    stripped = line.strip()
    return bool(stripped) and len(stripped) <= MAX_LABEL
