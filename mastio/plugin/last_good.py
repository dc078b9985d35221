"""Keeps the last good set of one collection's rows in force while a row in the database is damaged. For plugins.

A set is in force whole or not at all: without the damaged row another set of rules would hold, which no admin has
written. The problem is named in `/readyz`, in the appliance's log, and in the answer to each change meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from mastio.exchange.errors import BadRequest, Unavailable

log = logging.getLogger("mastio.directory")


class Row(Protocol):
    """A row of a collection, as the directory has it."""

    @property
    def name(self) -> str: ...

    @property
    def is_damaged(self) -> bool: ...


R = TypeVar("R", bound=Row)


class LastGood(Generic[R]):
    """`noun` is what one row is called in messages, `nouns` what several are called."""

    def __init__(self, noun: str, nouns: str) -> None:
        self._noun = noun
        self._nouns = nouns
        self.rows: Mapping[str, R] | None = None
        """The rows in force; None: no set has been good since the start."""
        self.problem: str | None = None

    def take(self, rows: Mapping[str, R]) -> bool:
        """Take `rows`, unless one of them is damaged. Returns whether they are other rows than those in force."""
        problem = find_damage(rows.values(), self._noun)
        if problem is not None:
            self.refuse(problem)
            return False
        is_new = self.problem is not None or rows != self.rows
        self.rows, self.problem = dict(rows), None
        return is_new

    def refuse(self, problem: str) -> None:
        """Note why the newest rows are not in force."""
        if problem != self.problem:
            log.error("%s not loaded, the last good ones stay in force: %s", self._nouns, problem)
        self.problem = problem

    def verify_any(self) -> None:
        """Raises `Unavailable` where no set has been good since the start: nothing can be decided without one."""
        if self.rows is None and self.problem is not None:
            raise Unavailable(f"The {self._nouns} cannot be read, so the request was refused.")


def find_damage(rows: Iterable[R], noun: str) -> str | None:
    """One sentence about the first damaged row in the order of their names; None: all are good."""
    names = sorted(row.name for row in rows if row.is_damaged)
    return f"The {noun} {names[0]} is not valid: its row in the database is damaged." if names else None


def verify_whole(row: Row) -> None:
    """Raises `BadRequest` (conflict) for a damaged row: nothing of it can be kept when members are changed."""
    if row.is_damaged:
        message = f"The row of {row.name} in the database is damaged: replace all of it (PUT), or remove it."
        raise BadRequest(message, code="conflict")
