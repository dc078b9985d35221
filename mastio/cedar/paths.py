"""The facts that a policy reads, and the values that it can tell apart: found in Cedar's JSON form. Pure.

A policy that only asks whether `context.request.bytes` is greater than 1000 cannot tell 10 from 20. Whoever remembers
decisions may do so by what policies can tell apart, so every look says what it was compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

_ORDERS = ("<", "<=", ">", ">=", "==", "!=")
_MEMBERS = ("contains", "containsAll", "containsAny")


class Look(NamedTuple):
    """One place where a policy looks at `variable.path`. `against`: the literals that it is compared with, which is
    all that matters of it there; None: it may matter altogether."""

    variable: str
    path: tuple[str, ...]
    against: tuple[Any, ...] | None = None


def looks_of(policy: dict[str, Any]) -> Iterator[Look]:
    """Every look of a policy's conditions."""
    for condition in policy["conditions"]:
        yield from looks_in(condition["body"])


def looks_in(expression: Any) -> Iterator[Look]:
    """Every look of an expression."""
    if isinstance(expression, list):
        for item in expression:
            yield from looks_in(item)
        return
    if not isinstance(expression, dict) or "Value" in expression:
        return
    chain = chain_of(expression)
    if chain is not None:
        yield Look(*chain)
        return
    for operator, parts in expression.items():
        if operator == "has":
            chain = chain_of(parts["left"])
            if chain is not None:
                yield Look(chain[0], (*chain[1], parts["attr"]))
                continue
        compared = _comparison(operator, parts)
        if compared is not None:
            yield compared
        elif isinstance(parts, dict):
            yield from looks_in(list(parts.values()))
        else:
            yield from looks_in(parts)


def _comparison(operator: str, parts: Any) -> Look | None:
    """A look at one fact beside literals only."""
    if operator not in _ORDERS and operator not in _MEMBERS:
        return None
    left, right = chain_of(parts["left"]), chain_of(parts["right"])
    if operator in _ORDERS:
        chain, literals = (left, _literals(parts["right"])) if left else (right, _literals(parts["left"]))
        if chain is None or literals is None or len(literals) != 1 or type(literals[0]) is not int:
            return None
        return Look(*chain, tuple(literals))
    if left is None:
        return None
    literals = _literals(parts["right"])
    if literals is None or not all(isinstance(literal, str) for literal in literals):
        return None
    return Look(*left, tuple(literals))


def _literals(expression: Any) -> list[Any] | None:
    if not isinstance(expression, dict):
        return None
    if "Value" in expression:
        value = expression["Value"]
        return value if isinstance(value, list) else [value]
    if "neg" in expression:
        below = _literals(expression["neg"]["arg"])
        return None if below is None or type(below[0]) is not int else [-below[0]]
    if "Set" not in expression:
        return None
    found = []
    for item in expression["Set"]:
        below = _literals(item)
        if below is None:
            return None
        found += below
    return found


def chain_of(expression: Any) -> tuple[str, tuple[str, ...]] | None:
    """`a.b.c` as its variable and the names behind it."""
    names: list[str] = []
    while isinstance(expression, dict):
        if "Var" in expression:
            return expression["Var"], tuple(reversed(names))
        below = expression.get(".")
        if below is None:
            return None
        names.append(below["attr"])
        expression = below["left"]
    return None
