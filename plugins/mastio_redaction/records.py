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

from .cells import NOUN, Line, Piece, noun_end, strip

MAX_VALUE = 160
"""Characters of a value that is read after a label outside a table."""

MAX_CELLS = 16
"""Cells of a row, and items of a list."""

_REACH = 200
"""Characters between a label and the member that has its value."""

_VALUE = r"(?i:value|val|content|text|data|answer)"
_NUMBER = r"(?i:number|num|no|nr|nummer|numero|identifier)"
_ID = r"(?i:id)"
_HOLDS = r"['\"]?\s{0,3}[:=]>?\s{0,3}['\"]?"
_IS_MEMBER = r"(?<![A-Za-z0-9-])"

_LIST = re.compile(rf"(?>{NOUN})['\"]?[ \t]{{0,3}}[:=]{{1,2}}>?[ \t]{{0,3}}[\[(](?P<items>[^\[\](){{}}]{{2,600}})[\])]")
_ITEM = re.compile(r"['\"]([^'\"\n]{2,160})['\"]|([^\s,'\"][^,'\"\n]{1,80})")
_BULLETS = re.compile(rf"(?>{NOUN})['\"]?[ \t]{{0,3}}:[ \t\r]{{0,3}}\n(?P<items>(?:[ \t]{{0,24}}- [^\n]{{1,160}}(?:\n|\Z)){{1,{MAX_CELLS}}})")
_BULLET = re.compile(r"- ['\"]?([^'\"\n]{2,160})")

_ROW = re.compile(rf"(?>{NOUN})\.?[ \"'*`:]*(?P<mark>[,;\t|])")
_LINE_BEGIN = re.compile(r"(?:\A|\n)[ \t|\"'*`>-]{0,12}\Z")
_TAGS = re.compile(r"(?:[^<>\n]{0,24}(?:</[A-Za-z]{1,8}>\s{0,20}){1,3})(?=<td)", re.IGNORECASE)
_CELL = re.compile(r"<td\b[^<>]{0,100}>(?:<[^<>\n]{1,60}>|\s)*([^<>]{2,160})", re.IGNORECASE)

_INSIDE = rf"(?>{NOUN})(?:['\"]|[ \t]{{0,3}}:?[ \t\r]{{0,3}}(?=\n))(?P<between>[^}}\[\]<>\x9f]{{0,{_REACH}}}?){_IS_MEMBER}"
_BEFORE_MEMBER = (
    re.compile(rf"{_INSIDE}{_VALUE}{_HOLDS}"),
    re.compile(rf"(?>{NOUN})(?=<)(?P<between>[^}}\[\]\x9f]{{0,{_REACH}}}?){_IS_MEMBER}(?i:value){_HOLDS}"),
    re.compile(rf"{_INSIDE}{_NUMBER}{_HOLDS}"),
)
"""The rest of a record up to its value: in the same element, in a later one, and where only a number is named."""

_ID_INSIDE = re.compile(rf"{_INSIDE}{_ID}{_HOLDS}")

_IN_RECORD, _IN_ELEMENT = (_BEFORE_MEMBER[0], _BEFORE_MEMBER[2]), (_BEFORE_MEMBER[1],)
_SPACES = frozenset((" ", "\t", ":", "\r", "\n"))
_BETWEEN_NAMES = re.compile(r"[<>\n{},\x9f]")
_NAMERS = ("name", "key", "label", "field", "type", "kind", "title", "system", "code")
_MEMBER_AT = re.compile(rf"{_IS_MEMBER}(?:{_VALUE}|{_NUMBER}){_HOLDS}")
_NO_VALUE = frozenset(("", " ", "\n", "'", '"', "{", "["))
_OTHER_RECORD = re.compile(r"\n[ \t]*(?:\r?\n|- )|</(?:tr|dict|record|row|div)>|<label|;\s*\n", re.IGNORECASE)


_BREAK = re.compile(r"[\s,;|<]")


def value_at(text: str, start: int, following: int) -> Piece:
    """What may begin with a value: up to the end of the line, or of the label that is `following`."""
    end = min(start + MAX_VALUE, len(text))
    if start < following < end:
        if not _BREAK.search(text, start, following):  # a label stands where the value would be
            return start, start
        end = following
    line = text.find("\n", start, end)
    return start, line if line >= 0 else end


def read_list(text: str, label: str, place: int) -> Iterator[Line]:
    """The items of a list that is called as the label says."""
    match, item = _LIST.match(text, place, place + 660), _ITEM
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
    if tags is None:
        return
    end = text.find("</tr", place, place + 1_000)
    for count, cell in enumerate(_CELL.finditer(text, tags.end(), end if end >= 0 else place + 1_000)):
        if count == MAX_CELLS:
            return
        yield label, cell.span(1)


def read_members(text: str, label: str, place: int, following: int) -> Iterator[Line]:
    """The member that has the value, in a record that has the label as a name or in another member."""
    for member in _members_after(text, place):
        match = member.match(text, place, place + _REACH + 40)
        if match is not None and _OTHER_RECORD.search(match["between"]) is None:
            if text[match.end() : match.end() + 1] not in _NO_VALUE:
                yield label, value_at(text, match.end(), following)
            break
    named = _naming_member(text, place)
    if named < 0:
        return
    first = max(named - _REACH, 0)
    window = text[first:named]
    first += max(window.rfind("{"), window.rfind("<"), window.rfind("}"), window.rfind("\n\n"), window.rfind("\x9f")) + 1
    holder = _MEMBER_AT.search(text, first, named)
    if holder is not None:
        yield label, value_at(text, holder.end(), named)


def read_id(text: str, place: int, following: int) -> Iterator[Piece]:
    """The `id` in a record that has the label: often no more than a name in a program."""
    match = _ID_INSIDE.match(text, place, place + _REACH + 40) if _members_after(text, place) is _IN_RECORD else None
    if match is not None and _OTHER_RECORD.search(match["between"]) is None:
        yield value_at(text, match.end(), following)


def _members_after(text: str, place: int) -> tuple[re.Pattern[str], ...]:
    """What may follow the label that ends at `place`."""
    place = noun_end(text, place)
    follows = text[place : place + 1]
    if follows in ("'", '"') or (follows in _SPACES and text.find("\n", place, place + 8) >= 0):
        return _IN_RECORD
    return _IN_ELEMENT if follows == "<" else ()


def _naming_member(text: str, place: int) -> int:
    """Where the member begins whose value is the label that ends at `place`, and that names what stands beside it; -1
    where there is none.
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


