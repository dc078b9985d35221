"""Reads rows of which some may be damaged, so that one damaged row hides no other one.

A column's type may refuse the value in one row, and then the driver's whole result cannot be read. The rows are read
one by one in that case, and a `DamagedRow` stands for each one that cannot be read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Column, ColumnElement, Connection, LargeBinary, Row, Select, cast

from mastio.exchange.errors import BadRequest

log = logging.getLogger("mastio.store")

T = TypeVar("T")

DAMAGE = (ValueError, TypeError, KeyError, AttributeError)
"""The exceptions that decoding a damaged row raises."""


class DamagedRow(NamedTuple):
    """Stands for a row that cannot be read. `name` is the value of its key."""

    name: str


AnyRow = Row[Any] | DamagedRow


def read_rows(
    connection: Connection, statement: Select[Any], key: Column[Any], parameters: Mapping[str, Any] | None = None
) -> list[AnyRow]:
    """The rows of `statement`, in its order. `key` is a unique column of its table. Errors of the database are raised:
    nothing is known of any row then."""
    try:
        return list(connection.execute(statement, parameters).all())
    except DAMAGE:
        pass
    try:
        return _read_each(connection, statement, key, parameters)
    except DAMAGE:  # a key is itself damaged
        return _read_each(connection, statement, cast(key, LargeBinary), parameters)


def _read_each(
    connection: Connection, statement: Select[Any], key: ColumnElement[Any], parameters: Mapping[str, Any] | None
) -> list[AnyRow]:
    one = statement.limit(None).offset(None)
    rows: list[AnyRow] = []
    for name in connection.execute(statement.with_only_columns(key), parameters).scalars().all():
        try:
            row = connection.execute(one.where(key == name), parameters).one_or_none()
        except DAMAGE:
            row = DamagedRow(show_key(name))  # type: ignore[assignment]
        if row is not None:
            rows.append(row)
    return rows


def show_key(name: Any) -> str:
    """The key of a damaged row, as text."""
    return bytes(name).decode(errors="replace") if isinstance(name, bytes | memoryview) else str(name)


def decode_good(rows: Iterable[AnyRow], decode: Callable[[Any], T], what: str) -> tuple[list[T], frozenset[str]]:
    """The values of the rows that can be read, and the keys of those that cannot. The latter are named in the
    appliance's log; what they described is unknown, and so refused. `decode` raises one of `DAMAGE` for a
    `DamagedRow` too, unless it has a value for one."""
    good: list[T] = []
    lost: set[str] = set()
    for row in rows:
        try:
            good.append(decode(row))
        except DAMAGE:  # their text may repeat a secret
            name = show_key(row[0])
            log.error("a row of %s is damaged and is left out: %s", what, name)
            lost.add(name)
    return good, frozenset(lost)


def verify_name(row: AnyRow) -> str:
    """The name of a row. Raises `TypeError` for one that is no text."""
    if not isinstance(row.name, str):
        raise TypeError("a name that is no text")
    return row.name


def decode_one(row: AnyRow, decode: Callable[[Any], T]) -> T:
    """Raises `BadRequest` (conflict) for a damaged row."""
    try:
        return decode(row)
    except DAMAGE:
        pass  # their text may repeat a secret
    raise BadRequest(f"The row of {show_key(row[0])} in the database is damaged.", code="conflict")
