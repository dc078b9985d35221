"""Of what type attributes of agents are, told from how policies use them. Pure.

An operator gives agents attributes of any name; the schema has to say of what type they are. Each use says it: what is
compared with a number is one, what is asked for a member is a set. Where uses contradict each other the first counts,
and the schema refuses the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mastio.cedar.paths import chain_of
from mastio.cedar.schema import FACTS, HEADERS, Type
from mastio.cedar.zones import is_of_zone

_NUMBERS = frozenset({"<", "<=", ">", ">=", "+", "-", "*", "neg"})
_SETS = frozenset({"contains", "containsAll", "containsAny", "isEmpty"})
_TRUTHS = frozenset({"&&", "||", "!"})

Use = tuple[tuple[str, ...], Type]


def find_types(policies: Iterable[Mapping[str, Any]]) -> dict[tuple[str, ...], Type]:
    """By the path below `principal`; those of which nothing can be told are left out."""
    types: dict[tuple[str, ...], Type] = {}
    for policy in policies:
        for condition in policy["conditions"]:
            for path, kind in (*_use(condition["body"], "Bool"), *_uses(condition["body"])):
                types.setdefault(path, kind)
    return types


def _uses(expression: Any) -> Iterator[Use]:
    if isinstance(expression, list):
        for item in expression:
            yield from _uses(item)
    elif isinstance(expression, dict) and "Value" not in expression:
        for operator, parts in expression.items():
            if isinstance(parts, dict):
                yield from _uses_of(operator, parts)
                yield from _uses(list(parts.values()))
            else:
                yield from _uses(parts)


def _uses_of(operator: str, parts: Mapping[str, Any]) -> Iterator[Use]:
    sides = [parts[name] for name in ("left", "right", "arg") if name in parts]
    if operator in _NUMBERS:
        for side in sides:
            yield from _use(side, "Long")
    elif operator in _TRUTHS:
        for side in sides:
            yield from _use(side, "Bool")
    elif operator in _SETS:
        yield from _use(sides[0], "Set<String>")
        for side in sides[1:]:
            yield from _use(side, "String" if operator == "contains" else "Set<String>")
    elif operator == "like":
        yield from _use(sides[0], "String")
    elif operator in ("==", "!="):
        for side, other in (sides, sides[::-1]):
            kind = _type_of(other)
            if kind is not None:
                yield from _use(side, kind)
    elif operator == "if-then-else":
        yield from _use(parts["if"], "Bool")


def _use(expression: Any, kind: Type) -> Iterator[Use]:
    chain = chain_of(expression)
    if chain is not None and chain[0] == "principal" and chain[1]:
        yield chain[1], kind


def _type_of(expression: Any) -> Type | None:
    """Of a literal, a set, or a fact."""
    if not isinstance(expression, dict):
        return None
    if "Value" in expression:
        value = expression["Value"]
        if isinstance(value, list):
            return "Set<String>"
        return {bool: "Bool", int: "Long", str: "String"}.get(type(value))  # type: ignore[return-value]
    if "Set" in expression:
        return "Set<String>"
    if expression.keys() & {"+", "-", "*", "neg"}:
        return "Long"
    chain = chain_of(expression)
    if chain is None:
        return None
    if chain[0] == "context" and chain[1][:1] == (HEADERS,):
        return "String"
    if chain[0] == "context" and is_of_zone(".".join(chain[1])):
        return "Long"
    fact = FACTS.get(".".join(chain[1]))
    if chain[0] == "context":
        return None if fact is None else fact.type
    return "String" if chain == ("principal", ("name",)) or chain[0] == "resource" else None
