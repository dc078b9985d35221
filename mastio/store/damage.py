"""Reads rows of which some may be damaged, so that one damaged row hides no other one.

A column's type may refuse the value in one row, and then the driver's whole result cannot be read. The rows are read
one by one in that case, and a `DamagedRow` stands for each one that cannot be read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Column, Connection, Row, Select

log = logging.getLogger("mastio.store")

T = TypeVar("T")

DAMAGE = (ValueError, TypeError, KeyError, AttributeError)
"""What decoding a damaged row raises."""


class DamagedRow(NamedTuple):
    """Stands for a row that cannot be read. `name` is the value of its key."""

    name: str


AnyRow = Row[Any] | DamagedRow


def read_rows(
    connection: Connection, statement: Select[Any], key: Column[Any], parameters: Mapping[str, Any] | None = None
) -> list[AnyRow]:
    """The rows of `statement`, in its order. `key` is a unique column of its table."""
    try:
        return list(connection.execute(statement, parameters).all())
    except DAMAGE:
        names = connection.execute(statement.with_only_columns(key), parameters).scalars().all()
    rows: list[AnyRow] = []
    for name in names:
        try:
            rows.append(connection.execute(statement.where(key == name), parameters).one())
        except DAMAGE:
            rows.append(DamagedRow(str(name)))
    return rows


def decode_good(rows: Iterable[AnyRow], decode: Callable[[Row[Any]], T], what: str) -> tuple[list[T], frozenset[str]]:
    """The values of the rows that can be read, and the keys of those that cannot. The latter are named in the
    appliance's log; what they described is unknown, and so refused."""
    good: list[T] = []
    lost: set[str] = set()
    for row in rows:
        try:
            if not isinstance(row, DamagedRow):
                good.append(decode(row))
                continue
        except DAMAGE:
            pass  # their text may repeat a secret
        name = str(row[0])
        log.error("a row of %s is damaged and is left out: %s", what, name)
        lost.add(name)
    return good, frozenset(lost)
