"""Records in a text: reads the values that a label in a list, a row or another member of the record announces.

Pure, and bounded for each label. `labels.py` calls it where a label ends and no value follows at once:

* list: `"imei": ["…", "…"]`, or the items of YAML below `imei:`;
* row: the cells of a line whose first cell is the label;
* members: `"imei": {"country": "DE", "value": "…"}`, `{"type": "imei", "number": "…"}`, also with the value first, and
  the same in YAML, XML and HTML forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from mastio_redaction.labels.cells import NOUN, Line, Piece, noun_end, strip

MAX_VALUE = 160
"""Characters of a value that is read after a label outside a table."""

MAX_CELLS = 16
"""Cells of a row, and items of a list."""

_REACH = 200
"""Characters between a label and the member that has its value."""

_HOLDERS: dict[str, Literal["value", "number", "id"]] = {
    **dict.fromkeys(("value", "val", "content", "text", "data", "answer", "default"), "value"),
    **dict.fromkeys(("number", "num", "no", "nr", "nummer", "numero", "identifier"), "number"),
    "id": "id",
}  # fmt: skip
"""Members that hold a value and do not say what it is."""

_COLLECTION = r"c|vec!|list|set|tuple|array|Array|listOf|setOf|(?:[A-Za-z]{1,12}\.){1,2}(?:of|asList)"
_LIST = re.compile(
    rf"(?>{NOUN})['\"]?[ \t]{{0,3}}(?:[:=]{{1,2}}>?|,|(?i:in))[ \t]{{0,3}}(?:{_COLLECTION})?"
    r"[\[(](?P<items>[^\[\](){}]{2,600})[\])]"
)
_ITEM = re.compile(r"['\"]([^'\"\n]{2,160})['\"]|([^\s,'\"][^,'\"\n]{1,80})")
_BULLETS = re.compile(
    rf"(?>{NOUN})['\"]?[ \t]{{0,3}}:[ \t\r]{{0,3}}\n"
    rf"(?P<items>(?:[ \t]{{0,24}}- [^\n]{{1,160}}(?:\n|\Z)){{1,{MAX_CELLS}}})"
)
_BULLET = re.compile(r"- ['\"]?([^'\"\n]{2,160})")

_ROW = re.compile(rf"(?>{NOUN})\.?[ \"'*`:]*(?P<mark>[,;\t|])")
_LINE_BEGIN = re.compile(r"(?:\A|\n)[ \t|\"'*`>-]{0,12}\Z")
_TAGS = re.compile(r"(?:[^<>\n]{0,24}(?:</[A-Za-z]{1,8}>\s{0,20}){1,3})(?=<td)", re.IGNORECASE)
_ROW_BEGIN = re.compile(r"<tr[^<>]{0,40}>\s{0,20}<t[hd][^<>]{0,40}>(?:<[^<>]{1,30}>|\s){0,4}\Z", re.IGNORECASE)
_CELL = re.compile(r"<td\b[^<>]{0,100}>(?:<[^<>\n]{1,60}>|\s)*([^<>]{2,160})", re.IGNORECASE)

_ASSIGNED = re.compile(r"[:=]>?\s{0,3}['\"]?")
_MOST_MEMBERS = 6
"""Members of a record that are looked at for one label."""

_SPACES = frozenset((" ", "\t", ":", "\r", "\n"))
_BETWEEN_NAMES = re.compile(r"[<>\n{},\x9f]")
_NAMERS = ("name", "key", "label", "field", "type", "kind", "title", "system", "code")
_REST_OF_NAME = re.compile(
    r"(?<=_)(?!(?:numbers?|num|no|nr|id|value|code)\b)[A-Za-z]{2,20}(?:_[A-Za-z]{1,20}){0,3}(?=['\"])"
)
_HAS_OWN = re.compile(r"[ \t]{0,4}[:=]>?[ \t]{0,4}[^\s{\[]")
"""After a name of a member: its value, which is no record."""

_LINE_END = re.compile(r"[\n}\[\]<>\x9f]")
_RECORD_END = re.compile(r"[}\[\]<>\x9f]|\n[ \t]*(?:\r?\n|- )|;\s*\n")
_ELEMENT_END = re.compile(r"[}\[\]\x9f]|\n[ \t]*\r?\n|</(?:tr|dict|record|row|div)>|<label", re.IGNORECASE)
_NO_VALUE = frozenset(("", " ", "\n", "'", '"', "{", "["))
_BREAK = re.compile(r"[\s,;|<&\x9f]")


def value_at(text: str, start: int, following: int) -> Piece:
    """The piece that may begin with a value: up to the end of the line, or of the label that is `following`."""
    end = min(start + MAX_VALUE, len(text))
    if start < following < end:
        if not _BREAK.search(text, start, following):  # a label stands where the value would be
            return start, start
        end = following
    line = text.find("\n", start, end)
    return start, line if line >= 0 else end


def read_list(text: str, label: str, place: int) -> Iterator[Line]:
    """The items of a list that is called as the label says."""
    opens = text.find("[", place, place + 40) >= 0 or text.find("(", place, place + 40) >= 0
    match, item = _LIST.match(text, place, place + 660) if opens else None, _ITEM
    if match is None:
        match, item = _BULLETS.match(text, place, place + 2_000), _BULLET
    if match is None:
        return
    start, end = match.span("items")
    for count, found in enumerate(item.finditer(text, start, end)):
        if count == MAX_CELLS:
            return
        yield label, found.span(found.lastindex or 0)


def read_row(text: str, label: str, start: int, place: int) -> Iterator[Line]:
    """The cells of a row whose first cell is the label."""
    match = _ROW.match(text, place, place + 60)
    if match is not None:
        if _LINE_BEGIN.search(text, max(start - 60, 0), start) is None:
            return
        at, mark = match.end(), match["mark"]
        end = text.find("\n", at, at + 1_000)
        end = end if end >= 0 else min(at + 1_000, len(text))
        for _ in range(MAX_CELLS):
            stop = text.find(mark, at, end)
            yield label, strip(text, at, stop if stop >= 0 else end)
            if stop < 0:
                return
            at = stop + 1
        return
    tags = _TAGS.match(text, place, place + 120)
    if tags is None or _ROW_BEGIN.search(text, max(start - 80, 0), start) is None:
        return
    end = text.find("</tr", place, place + 1_000)
    for count, cell in enumerate(_CELL.finditer(text, tags.end(), end if end >= 0 else place + 1_000)):
        if count == MAX_CELLS:
            return
        yield label, cell.span(1)


def read_members(text: str, place: int, following: int) -> Iterator[tuple[Piece, bool]]:
    """The member that has the value, in a record that has the label as a name or in another member; and whether that is
    weak: the label is a part of a longer name, or the member is called `id`, often no more than a name in a program.
    """
    rest = _REST_OF_NAME.match(text, place)
    start, end = _rest_of_record(text, rest.end() if rest is not None else place)
    if start < end:
        held, is_id = _find_held(text, start, end, is_element=text[start] == "<")
        if held >= 0:
            yield value_at(text, held, following), is_id or rest is not None
    named = _naming_member(text, place)
    if named >= 0:
        first = max(named - _REACH, 0)
        window = text[first:named]
        first += max(map(window.rfind, ("{", "<", "}", "\n\n", "\x9f"))) + 1
        held, is_id = _find_held(text, first, named)
        if held >= 0 and not is_id:
            yield value_at(text, held, named), False


def _rest_of_record(text: str, place: int) -> Piece:
    """The members after the label that ends at `place`; an empty piece if there are none."""
    start = noun_end(text, place)
    follows = text[start : start + 1]
    if follows in (",", ";") and _naming_member(text, place) >= 0:  # `Field: IMEI, Value: …`
        ends = _LINE_END
    elif follows == "<":
        ends = _ELEMENT_END
    elif follows in ("'", '"') and _HAS_OWN.match(text, start + 1) is not None:
        return start, start
    elif follows in ("'", '"') or (follows in _SPACES and text.find("\n", start, start + 8) >= 0):
        ends = _RECORD_END
    else:
        return start, start
    end = min(start + _REACH, len(text))
    stop = ends.search(text, start, end)
    return start, stop.start() if stop is not None else end


def _find_held(text: str, start: int, end: int, *, is_element: bool = False) -> tuple[int, bool]:
    """The start of the first member's value, and True if that member is an `id`; -1 if no member holds a value. `value`
    takes precedence over `number`, and that over `id`.
    """
    first: dict[str, int] = {}
    for count, match in enumerate(_ASSIGNED.finditer(text, start, end)):
        if count == _MOST_MEMBERS:
            break
        at = match.start()
        word = _MEMBER.search(text, max(at - 14, start), at)
        kind = _HOLDERS.get(word[1].lower()) if word is not None else None
        if kind is not None and kind not in first:
            first[kind] = -1 if text[match.end() : match.end() + 1] in _NO_VALUE else match.end()
            if kind == "value":
                break
    for wanted in ("value",) if is_element else ("value", "number", "id"):
        if wanted in first:
            return first[wanted], wanted == "id"
    return -1, False


_MEMBER = re.compile(r"(?<![A-Za-z0-9-])([A-Za-z]{2,10})['\"]?[ \t]{0,2}\Z")


def _naming_member(text: str, place: int) -> int:
    """The start of the member whose value is the label that ends at `place` and names the value beside it; -1 if there
    is none.
    """
    first = max(place - 44, 0)
    assigned = max(text.rfind(":", first, place), text.rfind("=", first, place))
    if assigned < 0 or _BETWEEN_NAMES.search(text, assigned + 1, place) is not None:
        return -1
    end = assigned
    while end > first and text[end - 1] in "'\" ":
        end -= 1
    name = text[max(end - 9, 0) : end].lower()
    if not name.endswith(_NAMERS):
        return -1
    while end and (text[end - 1].isalnum() or text[end - 1] == "_"):
        end -= 1
        if assigned - end > 24:
            return -1
    return end
