"""The name of a JSON value whose own member does not name it.

Pure. A value's own name helps to recognise it: `{"imei": …}`. Documents also name a value by a member beside it
(`{"name": "IMEI", "value": …}`, `{"type": "imei", "number": …}`), by the member that its object is in
(`{"imei": {"value": …}}`), by the first row of a table (`[["id", "IMEI"], [1, …]]`), by the columns of its rows
(`{"columns": […], "rows": […]}`), or by the item before it (`["IMEI", …]`).
"""

from __future__ import annotations

import re
from typing import Any

LONGEST = 40
"""The most characters of a name."""

LONGEST_QUESTION = 120

MOST_DIGITS = 2

MOST_COLUMNS = 200

MOST_ROW_DIGITS = 4
"""The most digits of a member that numbers a row: `{"imei": {"0": …, "1": …}}`."""

_KINDS = (
    "field", "attribute", "attr", "param", "parameter", "property", "prop", "item", "entry", "column", "variable",
    "entity",
)  # fmt: skip
"""Words that combine with `name`, `key`, `label` or `value` to the name of a member: `field_name`, `fieldValue`."""


def _of_kinds(word: str) -> tuple[str, ...]:
    return tuple(name for kind in _KINDS for name in (f"{kind}_{word}", f"{kind}{word.capitalize()}"))


NAMING = (
    "id", "path", "title", "caption", "prompt", "header", "question", "parameter", "attribute", "property",
    "column", "col", "variable", "var", "env", "category", "tag", "entity", "name", "field", "label", "key", "system",
    "kind", "type",
    *_of_kinds("name"), *_of_kinds("key"), *_of_kinds("label"),
)  # fmt: skip
"""Members that name what stands beside them, the most telling last."""

_RANKS = {member: rank for rank, member in enumerate(NAMING)}

_FORMS = "string text number integer int float boolean bool object array list null date input hidden env"
FORMS = frozenset(_FORMS.split())
"""Types of JSON and of forms, which name nothing."""

VALUES = frozenset((
    "value", "val", "v", "content", "text", "data", "answer", "default", "raw", "values", "input", "example",
    "response", "old", "new", "from", "to", "before", "after", "previous", "current", "original", "normalized",
    "expected", "actual",
    "S", "N", "stringValue", "integerValue", "doubleValue", "string_value", "int_value", *_of_kinds("value"),
))  # fmt: skip
NUMBERS = frozenset(("number", "num", "no", "nr", "id", "identifier", "code"))
HOLDERS = VALUES | NUMBERS
"""Members that hold a value and do not say what it is."""

IDS = frozenset(("id", "code"))
"""The members of `HOLDERS` that usually number the object itself, not the thing that it names."""

_LABEL = re.compile(r"[^\W\d_]{2,24}|(?:[^\W\d_]{1,24}[ _-]){1,3}(?i:numbers?|num|no|nr|nummer|numero|id|code)")
"""One word, or several words of which the last means a number: `NHS number` matches, `NHS trust` does not."""

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")

_NUMBER = re.compile(r"(?=(?:[^0-9]*[0-9]){5})[0-9A-Za-z][0-9A-Za-z .-]{5,28}[0-9A-Za-z]")
"""A value that may have a check digit: 7 to 30 characters with at least five digits. Paths do not match, and UUIDs are
too long."""

HEADS = (
    "columns", "headers", "header", "fields", "schema", "cols", "head", "keys", "names", "labels", "column_names",
    "columnNames", "field_names", "fieldNames",
)  # fmt: skip
_ALL_HEADS = frozenset(HEADS)
ROWS = frozenset((
    "rows", "data", "values", "records", "body", "vals", "items", "entries", "cells", "results", "tuples", "row",
))  # fmt: skip

Heads = tuple[str, ...]


def find_names(value: dict[str, Any]) -> tuple[str, ...]:
    """The names that members of an object give to its value, the most telling last; none or two at most."""
    there = value.keys() & _RANKS.keys()
    if not there:
        return ()
    names = [
        name for member in sorted(there, key=_RANKS.__getitem__)
        if (name := _said_by(value[member])) and name.lower() not in FORMS
    ]  # fmt: skip
    return tuple(dict.fromkeys(names[-2:]))


def _said_by(value: Any) -> str:
    """The name that a naming member holds, perhaps in an object (`{"type": {"text": "IMEI"}}`)."""
    if type(value) is dict:
        value = next((value[member] for member in ("text", "display", "name", "code") if member in value), "")
    return value.rstrip("?: ").rpartition("/")[2] if _is_name(value) else ""


def is_holder(member: str) -> bool:
    """True if a member holds a value without naming it: `value`, or the number of a row."""
    return member in HOLDERS or (member.isdigit() and len(member) <= MOST_ROW_DIGITS)


def name_inside(names: tuple[str, ...], member: str, own: str, value: Any) -> str:
    """The name that an object gives to one of its members in `HOLDERS`; "" if it gives none.

    `names`: the result of `find_names` for the object. `own`: the name of the object. `value`: the value of the member.
    The id of an object has a name only if that name is exact and the value may have a check digit. The name is then a
    part of a longer one, so that only the check digit can confirm the value.
    """
    if member in IDS:
        label = names[-1] if names else own
        return f"{label}_of_object_{member}" if _is_number(value) and _is_exact(label) else ""
    if names or not own or member in VALUES or member.isdigit():
        return " ".join(names) or own
    return f"{own} {member}"


def _is_number(value: Any) -> bool:
    text = str(value) if type(value) is int else value
    return type(text) is str and len(text) <= LONGEST and _NUMBER.fullmatch(text) is not None


def _is_exact(label: str) -> bool:
    return len(label) <= LONGEST and _LABEL.fullmatch(_HUMP.sub("_", label)) is not None


def find_heads(value: dict[str, Any]) -> Heads:
    """The names of the columns that an object gives to its rows."""
    if _ALL_HEADS.isdisjoint(value):
        return ()
    return next((heads for member in HEADS if (heads := read_heads(value.get(member)))), ())


def read_heads(row: Any) -> Heads:
    """The names of columns in the first row of a table: strings, or objects with a name. () if the row is not such a
    row."""
    if type(row) is not list or not 0 < len(row) <= MOST_COLUMNS:
        return ()
    heads = tuple(_head_of(item) for item in row)
    return heads if all(heads) else ()


def _head_of(item: Any) -> str:
    """The name of a column: a string, or an object with a name or with nothing else."""
    if type(item) is not dict:
        return item if _is_name(item) else ""
    if len(item) == 1:
        return _said_by(next(iter(item.values())))
    return " ".join(find_names(item))


def is_row(row: list[Any], heads: Heads) -> bool:
    """True if a list is the only row of a table, and not a list of rows."""
    return len(row) == len(heads) > 1 and all(type(item) is not list and type(item) is not dict for item in row)


def is_pair(row: list[Any]) -> bool:
    """True if the first item of a row names the second, the third the fourth, and so on."""
    if len(row) == 2:
        return _is_name(row[0]) and type(row[1]) in (str, int)
    if len(row) % 2 or not 0 < len(row) <= MOST_COLUMNS or not all(map(_is_name, row[::2])):
        return False
    values = row[1::2]
    return sum(not _is_name(value) for value in values) * 2 > len(values)


def _is_name(value: Any) -> bool:
    """True if a value may be a name, or a question that names its answer. Values have more digits."""
    if type(value) is not str or not 0 < len(value) <= (LONGEST_QUESTION if value[-1:] == "?" else LONGEST):
        return False
    return value.isalpha() or sum(c.isdigit() for c in value) <= MOST_DIGITS
