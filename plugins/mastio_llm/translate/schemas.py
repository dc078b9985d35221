"""Google's own kind of schema as JSON Schema. Pure.

It is OpenAPI's of old: types in capitals, `nullable` instead of a type, whole numbers written as strings.
"""

from __future__ import annotations

import re
from typing import Any

from mastio_llm.translate.checks import an_object, flag, invalid, objects, refuse, text, texts, whole
from mastio_llm.translate.hints import names

TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
SAME = ("title", "description", "pattern", "minimum", "maximum", "default", "required", "additionalProperties")

_SNAKE = re.compile(r"_([a-z])")


def read_schema(value: object, *, closed: bool) -> dict[str, Any]:
    """`closed`: objects have no other members than the schema names, which the other APIs want to be told."""
    given = an_object(value, "A schema")
    made: dict[str, Any] = {}
    for spelt, inner in given.items():
        name = _SNAKE.sub(lambda match: match[1].upper(), spelt)
        if inner is None or name in names("gemini schema") or name == "nullable":
            continue
        if name == "type":
            made["type"] = _type(inner)
        elif name == "format":
            if inner != "enum":
                made["format"] = text(inner, "A schema's format")
        elif name == "enum":
            made["enum"] = list(texts(inner, "A schema's enum"))
        elif name in COUNTS:
            made[name] = _count(inner)
        elif name == "items":
            made["items"] = read_schema(inner, closed=closed)
        elif name == "anyOf":
            made["anyOf"] = [read_schema(one, closed=closed) for one in objects(inner, "A schema's anyOf")]
        elif name == "properties":
            properties = an_object(inner, "A schema's properties")
            made["properties"] = {key: read_schema(one, closed=closed) for key, one in properties.items()}
        elif name in SAME:
            made[name] = inner
        else:
            raise refuse(f"The member {spelt[:64]!r} of a schema")
    if closed and made.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return _nullable(made) if flag(given.get("nullable"), "A schema's nullable") else made


def _nullable(made: dict[str, Any]) -> dict[str, Any]:
    if "type" not in made:
        return {"anyOf": [made, {"type": "null"}]}
    if "enum" in made:
        made["enum"] = [*made["enum"], None]
    return {**made, "type": [made["type"], "null"]}


def _type(value: object) -> str:
    kind = text(value, "A schema's type").lower()
    if kind not in TYPES:
        raise invalid("A schema's type")
    return kind


def _count(value: object) -> int:
    """A whole number, which Google's JSON also writes as a string."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    count = whole(value, "A count in a schema")
    if count is None or count < 0:
        raise invalid("A count in a schema")
    return count
