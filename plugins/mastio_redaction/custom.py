"""The administrator's additions: expressions, dictionaries, values that always or never count. Pure.

Its own automaton, over UTF-8 and with the start of each match, so that an expression of any alphabet works and none can
be slow: what would need backtracking does not compile and is refused with a sentence.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import hyperscan

from mastio.reading import decoding

NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
MAX_TERMS = 50_000
MAX_EXPRESSION = 2_000
MAX_DISTANCE = 2
MAX_WIDTH = 256
"""What spans more, and has spaces inside, is found in whole texts only."""


class CustomError(ValueError):
    """An addition that cannot be used. The text is a sentence."""


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Terms that are values of one type. `distance` is how many letters may be wrong."""

    type: str
    terms: tuple[str, ...]
    distance: int = 0


@dataclass(frozen=True, slots=True)
class Custom:
    """All that an administrator adds. Letters match in either case, except in expressions that say otherwise."""

    expressions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Type to expressions."""

    dictionaries: tuple[Dictionary, ...] = ()
    always: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Type to values."""

    never: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.expressions or self.dictionaries or self.always or self.never)


def _plain(text: str) -> str:
    view = decoding.fold(text)
    return (text if view is None else view.text).lower()


def _note(number: int, start: int, end: int, _flags: int, events: Any) -> None:
    events.append((number, start, end))


class CustomAutomaton:
    """The automaton of a `Custom`. Raises `CustomError` for what does not compile."""

    def __init__(self, custom: Custom) -> None:
        self._never = frozenset(map(_plain, custom.never))
        self._kinds: list[tuple[str, float, str | None, int]] = []
        """For each expression: type, score, and for a fuzzy term the term and its distance."""
        expressions: list[bytes] = []
        flags: list[int] = []
        ext: list[tuple[int, ...]] = []
        for kind, expression, score, term, distance in _expressions(custom):
            self._kinds.append((kind, score, term, distance))
            expressions.append(expression)
            flags.append(_FUZZY if distance else _EXPRESSION if term is None else _TERM)
            ext.append(_distance(distance))
        self._database: Any = None
        if expressions:
            self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
            try:
                self._database.compile(
                    expressions=expressions,
                    ids=list(range(len(expressions))),
                    elements=len(expressions),
                    flags=flags,
                    ext=ext,
                )
            except hyperscan.error as error:
                raise CustomError(f"The expressions cannot be compiled together: {error}") from error
        self._local = threading.local()
        self.width = _width(custom)
        """Characters of the longest of those that may have a space inside, `MAX_WIDTH` at most."""

    def is_never(self, value: str) -> bool:
        return value.lower() in self._never

    def find(self, subject: str) -> Iterator[tuple[int, int, str, float]]:
        """Hits in a folded text: start, end, type, score."""
        if self._database is None:
            return
        raw = subject.encode("utf-8", "replace")
        events: list[tuple[int, int, int]] = []
        self._database.scan(raw, _note, 0, events, self._scratch())
        longest: dict[tuple[int, int], int] = {}
        for number, start, end in events:
            if end > longest.get((number, start), start):
                longest[number, start] = end
        places = _Utf8Offsets(raw, len(raw) == len(subject))
        done: dict[int, int] = {}
        for (number, first), last in sorted(longest.items(), key=lambda item: item[0][1]):
            if first < done.get(number, 0):
                continue
            kind, score, term, distance = self._kinds[number]
            start, end = places.at(first), places.at(last)
            if term is not None and not (distance or (_is_edge(subject, start) and _is_edge(subject, end))):
                continue
            if term is not None and distance:
                near = _nearest(subject, start, end, term, distance)
                if near is None:
                    continue
                start, end = near
            if self.is_never(subject[start:end]):
                continue
            done[number] = last
            yield start, end, kind, score

    def _scratch(self) -> Any:
        try:
            return self._local.scratch
        except AttributeError:
            self._local.scratch = hyperscan.Scratch(self._database)
            return self._local.scratch


_TERM = hyperscan.HS_FLAG_UTF8 | hyperscan.HS_FLAG_CASELESS | hyperscan.HS_FLAG_SOM_LEFTMOST
_EXPRESSION = hyperscan.HS_FLAG_UTF8 | hyperscan.HS_FLAG_SOM_LEFTMOST
_FUZZY = hyperscan.HS_FLAG_CASELESS | hyperscan.HS_FLAG_SOM_LEFTMOST


def _distance(distance: int) -> tuple[int, int, int, int, int, int]:
    """As `hs_expr_ext_t`: flags, least and greatest offset, least length, edit and Hamming distance."""
    flag = hyperscan.HS_EXT_FLAG_EDIT_DISTANCE if distance else 0
    return (flag, 0, 0, 0, distance, 0)


def _expressions(custom: Custom) -> Iterator[tuple[str, bytes, float, str | None, int]]:
    """Type, expression, score, and the term with its distance."""
    for kind, expressions in custom.expressions.items():
        for expression in expressions:
            check_expression(kind, expression)
            yield kind, expression.encode(), 0.9, None, 0
    for kind, values in custom.always.items():
        for value in _terms(kind, values):
            yield kind, _literal(value), 1.0, value, 0
    for dictionary in custom.dictionaries:
        if not 0 <= dictionary.distance <= MAX_DISTANCE:
            raise CustomError(f"The distance of the dictionary for {dictionary.type} must be 0, 1 or 2.")
        for term in _terms(dictionary.type, dictionary.terms):
            if dictionary.distance:
                if len(term) < 4 * dictionary.distance or not term.isascii():
                    raise CustomError(
                        f"A term of the dictionary for {dictionary.type} is too short or not of Latin letters, "
                        f"so it cannot be looked for with {dictionary.distance} wrong letters."
                    )
                yield dictionary.type, re.escape(term).encode(), 0.8, term, dictionary.distance
            else:
                yield dictionary.type, _literal(term), 0.85, term, 0


_SPACED = re.compile(r"\s|\.|\\[sSWDpPxXhHvNR]|\[\^|\[:")
"""Of an expression that may match a space."""


def _width(custom: Custom) -> int:
    widths = [0]
    for expressions in custom.expressions.values():
        widths += [_expression_width(expression) for expression in expressions if _SPACED.search(expression)]
    for values in custom.always.values():
        widths += [len(_plain(value)) for value in values if len(value.split()) > 1]
    for dictionary in custom.dictionaries:
        widths += [
            len(_plain(term)) + dictionary.distance
            for term in dictionary.terms
            if dictionary.distance or len(term.split()) > 1
        ]
    return min(max(widths), MAX_WIDTH)


def _expression_width(expression: str) -> int:
    """The most characters that it takes, where its parts say so."""
    if re.search(r"[*+]|,\}", expression):
        return MAX_WIDTH
    return len(expression) + sum(int(most) for most in re.findall(r"(\d+)\}", expression))


def _terms(kind: str, values: Iterable[str]) -> list[str]:
    if not NAME.fullmatch(kind):
        raise CustomError("The name of a type is capital letters, digits and underscores.")
    terms = [_plain(value.strip()) for value in values]
    if len(terms) > MAX_TERMS or not all(terms):
        raise CustomError(f"The list for {kind} has an empty value or more than {MAX_TERMS}.")
    return list(dict.fromkeys(terms))


def verify_values(kind: str, values: Iterable[str]) -> None:
    """Judge a list of values without compiling it. Raises `CustomError`."""
    _terms(kind, values)


def _literal(term: str) -> bytes:
    plain = (c if c.isalnum() or c.isspace() or ord(c) > 127 else "\\" + c for c in term)
    return re.sub(r"\s+", r"\\s+", "".join(plain)).encode()


def check_expression(kind: str, expression: str) -> None:
    """Raises `CustomError` where the expression cannot be used."""
    if not NAME.fullmatch(kind):
        raise CustomError("The name of a type is capital letters, digits and underscores.")
    if not 0 < len(expression) <= MAX_EXPRESSION:
        raise CustomError(f"An expression for {kind} is empty or longer than {MAX_EXPRESSION} characters.")
    try:
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(expressions=[expression.encode()], ids=[0], elements=1, flags=[_EXPRESSION])
    except (hyperscan.error, UnicodeEncodeError) as error:
        raise CustomError(
            f"An expression for {kind} cannot be used: {str(error).split(';')[0].rstrip('.')}."
        ) from error


class _Utf8Offsets:
    """Places in UTF-8 as places in the text."""

    def __init__(self, raw: bytes, same: bool) -> None:
        self._raw = raw
        self._same = same
        self._known = (0, 0)

    def at(self, offset: int) -> int:
        if self._same:
            return offset
        known, place = self._known if self._known[0] <= offset else (0, 0)
        place += len(self._raw[known:offset].decode("utf-8", "replace"))
        self._known = (offset, place)
        return place


def _nearest(subject: str, start: int, end: int, term: str, distance: int) -> tuple[int, int] | None:
    """The whole words around a fuzzy match that are nearest to `term`, if they are near enough."""
    best: tuple[int, int, int] | None = None
    starts = [at for at in range(max(start - distance, 0), start + distance + 1) if _is_edge(subject, at)]
    ends = [at for at in range(max(end - distance, 0), min(end + distance, len(subject)) + 1) if _is_edge(subject, at)]
    for first in starts:
        for last in ends:
            if last - first < len(term) - distance:
                continue
            far = edit_distance(subject[first:last].lower(), term, distance)
            if far <= distance and (best is None or far < best[0]):
                best = (far, first, last)
    return None if best is None else best[1:]


_WITHOUT_SPACES = "\u2e80"
"""From here on, scripts that put no spaces between words."""


def _is_edge(text: str, at: int) -> bool:
    """True if a word may begin or end at `at`."""
    if not 0 < at < len(text):
        return True
    before, behind = text[at - 1], text[at]
    return not (before.isalnum() and behind.isalnum()) or max(before, behind) >= _WITHOUT_SPACES


def edit_distance(one: str, other: str, most: int) -> int:
    """Letters to insert, drop or change to make one of the other; `most + 1` where it is more than `most`."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    row = list(range(len(other) + 1))
    for index, letter in enumerate(one, 1):
        above, row[0] = row[0], index
        for column, wanted in enumerate(other, 1):
            above, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, above + (letter != wanted))
        if min(row) > most:
            return most + 1
    return row[-1]
