"""The cache directives of a request's `Cache-Control` header (RFC 9111 §5.2.1), and their effect.

Pure. Directives that are not named here, and parameters of those that take none, are passed over (§5.2.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mastio.exchange.values import AnswerInputs

AnsweredKinds = Literal["deterministic", "all", "off"]
"""The questions that are answered from the cache: those that have one answer, every one, none."""

LONGEST = 2**31
"""Seconds. RFC 9111 §1.2.2: a greater number means this one."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """The directives of one request. `max_age` in seconds; None: any age."""

    no_store: bool = False
    no_cache: bool = False
    only_if_cached: bool = False
    max_age: int | None = None


def read_wishes(values: Iterable[bytes]) -> Wishes:
    """From every value of the header. Of two ages the smaller counts; one that is no number counts as 0 (§4.2.1)."""
    names: set[bytes] = set()
    ages: list[int] = []
    for directive in b",".join(values).split(b","):
        name, equals, value = directive.partition(b"=")
        name = name.strip().lower()
        names.add(name)
        if name == b"max-age":
            digits = value.strip().strip(b'"') if equals else b""
            ages.append(min(int(digits.lstrip(b"0")[:11] or 0), LONGEST) if digits.isdigit() else 0)
    return Wishes(b"no-store" in names, b"no-cache" in names, b"only-if-cached" in names, min(ages, default=None))


def forbids_keeping(values: Iterable[bytes]) -> bool:
    """True if the `Cache-Control` of a reply has `no-store` (§5.2.2.5)."""
    return read_wishes(values).no_store


@dataclass(frozen=True, slots=True)
class Course:
    """The steps for one question: look for an answer, keep the one that comes, or only look.

    `max_age`: the oldest answer that will do, seconds; None: any that is kept.
    """

    look: bool
    keep: bool
    only: bool = False
    max_age: int | None = None

    @property
    def is_bypass(self) -> bool:
        return not (self.look or self.keep or self.only)


def choose(answers: AnsweredKinds, question: AnswerInputs | None, wishes: Wishes) -> Course:
    """Choose what is done with a call. A caller who names an age, or wants only a stored answer, accepts one that is
    not reproducible."""
    if answers == "off" or question is None or wishes.no_store:
        return Course(look=False, keep=False, only=wishes.only_if_cached)
    fits = answers == "all" or question.has_one_answer or bool(wishes.max_age)
    look = (fits or wishes.only_if_cached) and not wishes.no_cache and wishes.max_age != 0
    return Course(look, fits, wishes.only_if_cached, wishes.max_age)
