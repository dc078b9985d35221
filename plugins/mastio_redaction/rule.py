"""The rule of a type of value, as data: its trigger, its exact expression, and its check. Pure.

All rules are noticed in one pass of one automaton (`engine.py`), which tells only where a trigger ends. Only there is
the rule's exact expression tried, and only on a bounded piece of the text. Then its check decides. All of them see the
folded text: plain digits, no accents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

Class = Literal["pii", "financial", "health", "credential", "network", "national_id", "custom"]
Check = Callable[[str], bool]
Narrow = Callable[[str], "tuple[int, int] | None"]
"""The part of a match that is a value, or None."""

Seek = Callable[[str, "list[int]"], Iterable["tuple[int, int]"]]
"""The values in a text, from the places where the trigger ended."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One way a type is written."""

    trigger: str
    """Expression of the automaton, over Latin-1. Where it ends, `exact` is tried."""

    exact: re.Pattern[str]
    """The value, or what has it as its group `v`."""

    score: float
    """The confidence of a confirmed match, 0 to 1."""

    check: Check | None = None
    narrow: Narrow | None = None
    behind: int = 0
    """How many characters before the trigger's end a value may begin. 0: `exact` is matched right at the end."""

    ahead: int = 1
    """How many characters after the trigger's end a value may reach, and one more that bounds it."""

    unless: re.Pattern[str] | None = None
    """Where given, it must not match the text right before a value: `version 1.2.3.4` is no address."""

    seek: Seek | None = None
    """Where given, it finds the values, and `exact` is nothing."""

    back: str = ""
    """Where given, `exact` is matched where the characters of this set begin that stand before the last two of the
    trigger: one try, however many there are."""


@dataclass(frozen=True, slots=True)
class Type:
    """A type of value, with the name that policies use."""

    name: str
    cls: Class
    title: str
    rules: tuple[Rule, ...]
    structured: bool = True
    """False where what is found is a matter of words, such as names: no check digit can confirm those."""


def shaped(
    expression: str,
    score: float,
    check: Check | None = None,
    *,
    trigger: str | None = None,
    narrow: Narrow | None = None,
    behind: int = 48,
    ahead: int = 1,
    back: str = "",
    unless: str | None = None,
) -> Rule:
    """A value that its form gives away. `trigger` where the automaton should look for less than the whole form."""
    before = re.compile(unless) if unless else None
    return Rule(trigger or expression, re.compile(expression), score, check, narrow, behind, ahead, before, back=back)


_NOTHING = re.compile(r"(?!)")


def sought(trigger: str, seek: Seek, score: float) -> Rule:
    """A value that a function finds faster than an expression does."""
    return Rule(trigger, _NOTHING, score, seek=seek)


_SPACE = re.compile(r"\[ _-\]\??| \??(?![^\[]*\])|-\?")
"""A space or hyphen between two words, however it is written."""

GAP = (
    r"(?:[ _.+-]{0,2}(?=[bciknsv])"
    r"(?:numbers?|num|nbr|no|nr|nummer|numero|numer|code|id|key|value|str|n\N{DEGREE SIGN}|n\.o|n(?=\.)|card"
    r"|broj|numarasi)(?![A-Za-z])\.?){0,2}"
    r"\.?(?: ?#(?=[:=\s]))?['\"]?(?: ?\((?!\+?\d[\d ]{0,5}\)[ ./-]{0,3}\d)[^()\n]{1,20}\))?"
    r"[ \t]{0,3}(?::=|=>|[:=#>|,-]|(?:is|was|ist|war|lautet|est|es|e|era|foi|are)\b)?[:=]?\s{0,3}['\"#]?"
)
"""Regular expression for the text between a word and the value that it announces."""


def after(
    words: str,
    value: str,
    score: float,
    check: Check | None = None,
    *,
    gap: str = GAP,
    narrow: Narrow | None = None,
    ahead: int = 320,
    unless: str | None = None,
) -> Rule:
    """A value that the words before it give away, also as the name of a member: `tax id`, `tax_id`, `taxId`.

    Words and the gap are read in any case, the value as it is given. The gap is read once and as far as it goes: where
    no value follows then, no shorter gap is tried, or a text of nothing but such words would take many times as long.
    """
    words = _SPACE.sub("[ _+-]?", words)
    exact = re.compile(rf"(?>(?i:{gap}))(?P<v>{value})")
    return Rule(
        rf"(?i)(?:\b|_)(?:{words})\d?(?:\b|_|(?:number|nummer|num|no|nr|id|key|value|code)\b)",
        exact,
        score,
        check,
        narrow,
        0,
        ahead,
        re.compile(unless) if unless else None,
    )
