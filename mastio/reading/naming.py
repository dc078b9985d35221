"""What the writer of a JSON document calls a value whose member does not say it.

Pure. A value's own name helps to recognise it: `{"imei": …}`. Documents also name a value by a member beside it
(`{"name": "IMEI", "value": …}`, `{"type": "imei", "number": …}`), by the member that its object is in
(`{"imei": {"value": …}}`), by the first row of a table (`[["id", "IMEI"], [1, …]]`), by the columns of its rows
(`{"columns": […], "rows": […]}`), or by the item before it (`["IMEI", …]`).
"""

from __future__ import annotations

from typing import Any

LONGEST = 40
"""Characters of a name."""

MOST_DIGITS = 2

MOST_COLUMNS = 200

_KINDS = ("field", "attribute", "attr", "param", "parameter", "property", "prop", "item", "entry", "column", "variable")
"""Of what there are names and values: `field_name`, `fieldValue`."""


def _of_kinds(word: str) -> tuple[str, ...]:
    return tuple(name for kind in _KINDS for name in (f"{kind}_{word}", f"{kind}{word.capitalize()}"))


NAMING = (
    "title", "header", "question", "parameter", "attribute", "name", "field", "label", "key", "system", "kind", "type",
    *_of_kinds("name"), *_of_kinds("key"), *_of_kinds("label"),
)  # fmt: skip
"""Members that name what stands beside them, the most telling last."""

_FORMS = "string text number integer int float boolean bool object array list null date input hidden env"
FORMS = frozenset(_FORMS.split())
"""Types of JSON and of forms, which name nothing."""

VALUES = frozenset(("value", "val", "content", "text", "data", "answer", "default", *_of_kinds("value")))
NUMBERS = frozenset(("number", "num", "no", "nr", "id", "identifier", "code"))
HOLDERS = VALUES | NUMBERS
"""Members that hold a value and do not say what it is."""

HEADS = ("columns", "headers", "header", "fields", "schema")
ROWS = frozenset(("rows", "data", "values", "records"))

Heads = tuple[str, ...]


def find_name(value: dict[str, Any]) -> str:
    """The name that members of an object give to its value; "" where they give none."""
    names = [name for member in NAMING if (name := _said_by(value.get(member))).lower() not in FORMS and name]
    return " ".join(dict.fromkeys(names[-2:]))


def _said_by(value: Any) -> str:
    """The name that a naming member holds, perhaps in an object (`{"type": {"text": "IMEI"}}`)."""
    if type(value) is dict:
        value = next((value[member] for member in ("text", "display", "name", "code") if member in value), "")
    return str(value) if _is_name(value) else ""


def name_inside(value: dict[str, Any], member: str, own: str) -> str:
    """The name that an object, which is called `own`, gives to a member of `HOLDERS`; "" where it gives none."""
    found = find_name(value)
    if found or not own or member in VALUES:
        return found or own
    return f"{own} {member}"


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
    """A value of its own has more digits than a name."""
    return type(value) is str and 0 < len(value) <= LONGEST and sum(c.isdigit() for c in value) <= MOST_DIGITS
