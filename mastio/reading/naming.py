"""What the writer of a JSON document calls a value whose member does not say it.

Pure. A value's own name helps to recognise it: `{"imei": …}`. Documents also name a value by a member beside it
(`{"name": "IMEI", "value": …}`), by the first row of a table (`[["id", "IMEI"], [1, …]]`), by the columns of
its rows (`{"columns": […], "rows": […]}`), or by the item before it (`["IMEI", …]`).
"""

from __future__ import annotations

from typing import Any

LONGEST = 40
"""Characters of a name."""

MOST_COLUMNS = 200

NAMING = ("name", "key", "label", "field", "title", "header", "question", "parameter", "attribute")
VALUES = frozenset(("value", "val", "content", "text", "data", "answer", "default"))
HEADS = ("columns", "headers", "header", "fields", "schema")
ROWS = frozenset(("rows", "data", "values", "records"))

Heads = tuple[str, ...]


def find_name(value: dict[str, Any]) -> str:
    """The name that a member of an object gives to its value; "" where it has none."""
    return next((str(value[member]) for member in NAMING if _is_name(value.get(member))), "")


def find_heads(value: dict[str, Any]) -> Heads:
    """The names of the columns that an object gives to its rows."""
    return next((heads for member in HEADS if (heads := read_heads(value.get(member)))), ())


def read_heads(row: Any) -> Heads:
    """The names of columns in the first row of a table: strings, or objects with a name. () where it is no such row."""
    if type(row) is not list or not 0 < len(row) <= MOST_COLUMNS:
        return ()
    heads = tuple(find_name(item) if type(item) is dict else item if _is_name(item) else "" for item in row)
    return heads if all(heads) else ()


def is_pair(row: list[Any]) -> bool:
    """Whether the first item of a row names the second one."""
    return len(row) == 2 and _is_name(row[0]) and type(row[1]) in (str, int)


def _is_name(value: Any) -> bool:
    return type(value) is str and 0 < len(value) <= LONGEST and not value.isdigit()
