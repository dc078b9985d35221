"""From words and shapes to databases: one pass over a text finds every concept in it. Pure.

Words are looked for as literals in a copy of the text where everything that is no letter or digit is a space, so that
a word's ends are spaces; shapes as regular expressions in the text itself. Places are the same in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, NamedTuple

import hyperscan

from mastio.host.automata import open_automaton
from mastio.reading.decoding import fold

Hits = list[tuple[int, int, int]]
"""Number of the literal or shape, start, end; in order of end."""

_SPACES = bytes(byte if byte > 127 or chr(byte).isalnum() else 32 for byte in range(256))
_SIGNS = re.compile("[¿¡…•·\u3000-\u3002\uff0c\u060c\u061f؛]")


class LexiconError(ValueError):
    """A word or a shape cannot be looked for."""


class Name(NamedTuple):
    """The concepts that a hit stands for."""

    concepts: tuple[str, ...]
    wide: int


def prepare(folded: str) -> bytes:
    """A folded text as it is searched: in lower case, with a space before and after."""
    if folded.isascii():
        return b" " + folded.lower().encode("ascii") + b" "
    return b" " + _SIGNS.sub(" ", folded.lower()).encode("utf-8", "replace") + b" "


def spread(data: bytes) -> bytes:
    """`data` with a space for everything that is no letter or digit. Just as long."""
    return data.translate(_SPACES)


def _fold(text: str) -> str:
    view = fold(text)
    return text if view is None else view.text


def _literal(word: str, anywhere: bool) -> bytes:
    whole = _fold(word.removesuffix("*")).lower().strip()
    body = spread(prepare(whole)).strip()
    if not body:
        raise LexiconError(f"The word {word!r} has no letters.")
    return body if anywhere else b" " + body + (b"" if word.endswith("*") else b" ")


def _inner_star(word: str, anywhere: bool) -> bytes:
    """A word of several parts of which not only the last may go on, as a regular expression on spread text."""
    parts = word.split("*")
    open_end = parts[-1] == ""
    bodies = [re.escape(spread(prepare(_fold(part))).strip()) for part in parts if part.strip()]
    return (b"" if anywhere else b" ") + b"[^ ]{0,12} ".join(bodies) + (b"" if open_end or anywhere else b" ")


class Words:
    """A database of words. `names[n]`: what hit `n` stands for."""

    def __init__(self, tables: Iterable[tuple[Mapping[str, str], bool, bool]]) -> None:
        literals: dict[bytes, tuple[set[str], int]] = {}
        patterns: dict[bytes, tuple[set[str], int]] = {}
        for table, anywhere, wide in tables:
            for concept, words in table.items():
                for word in expand(words):
                    inner = "*" in word[:-1]
                    key = _inner_star(word, anywhere) if inner else _literal(word, anywhere)
                    known = (patterns if inner else literals).setdefault(key, (set(), 2 if wide else 1))
                    known[0].add(concept)
        self.names = tuple(Name(tuple(sorted(c)), w) for c, w in (*literals.values(), *patterns.values()))
        expressions = [_quote(literal) for literal in literals] + list(patterns)
        self._database = compile_patterns(expressions, hyperscan.HS_FLAG_SOM_LEFTMOST)

    def scan(self, data: bytes) -> Hits:
        return scan(self._database, data)


def expand(words: str) -> Iterable[str]:
    """The words of a list; `kill/hurt him/her` are four."""
    for word in filter(None, (word.strip() for word in words.split(","))):
        yield from (" ".join(parts) for parts in product(*(part.split("/") for part in word.split(" "))))


def _quote(literal: bytes) -> bytes:
    return b"".join(b"\\x%02x" % byte for byte in literal)


def compile_patterns(expressions: list[bytes], flags: int = 0, once: int = 0) -> hyperscan.Database:
    """The last `once` of them are reported once only. Raises `LexiconError`."""
    each = [flags | hyperscan.HS_FLAG_DOTALL] * len(expressions)
    for number in range(len(expressions) - once, len(expressions)):
        each[number] |= hyperscan.HS_FLAG_SINGLEMATCH
    try:
        return open_automaton(expressions, each)
    except hyperscan.HyperscanError as error:
        raise LexiconError(f"A pattern cannot be compiled: {error}") from error


def scan(database: hyperscan.Database, data: bytes) -> Hits:
    hits: Hits = []
    database.scan(data, match_event_handler=_note, context=hits)
    return hits


def _note(number: int, start: int, end: int, flags: int, hits: Any) -> None:
    hits.append((number, start, end))
