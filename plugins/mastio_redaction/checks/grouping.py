"""Numbers of cards and accounts in groups with marks between them that most people do not write.

Pure. The rules of `catalogue/finance.py` for digits with single spaces, points or hyphens know the most common ways.
Here one separator of another kind stands between all groups: `4111/1111/1111/1111`, `**4111** **1111** …`,
`DE89.3704.0044…`. The automaton finds the groups; work is bounded for each place.

An IBAN has two check digits of its own (ISO 7064, 1 in 97), a card one, and four numbers of four digits are a common
row of a table. So a card needs words on its lines, a separator that lists do not have, or a word for cards before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mastio_redaction.checks.digits import find_iban, is_card_number

_BETWEEN = r"(?:[ \t]{0,2}[/|:_.\\-][ \t]{0,2}|[ \t]{1,3}|(?:\*\*|__|`|\*|_)[ \t]{0,2}(?:\*\*|__|`|\*|_))"
_BETWEEN_OF_IBAN = r"(?:[ \t]{0,2}[/|:_.\\-][ \t]{0,2}|[ \t]{1,3}|\r?\n)"
CARD_TRIGGER = r"[2-6](?:[ ._\t/|*`-]{0,5}\d){12,18}(?:\b|_)"
IBAN_TRIGGER = r"(?i)(?:\b|_)[A-Z]{2}\d{2}(?:[^0-9A-Za-z]{0,3}[A-Z0-9]{4}){2}"
"""Also of the rules for the common ways: one expression of the automaton serves both."""

_CARD = re.compile(
    rf"(?<![\w.])(?P<a>[2-6]\d{{3}})(?P<mark>{_BETWEEN})(?:(?P<b>\d{{4}})(?P=mark)(?P<c>\d{{4}})(?P=mark)(?P<d>\d{{4}})"
    rf"|(?P<e>\d{{6}})(?P=mark)(?P<f>\d{{5}}))(?!\w|(?P=mark)\d)"
)
_IBAN = re.compile(
    rf"(?<![A-Za-z0-9])(?P<v>[A-Z]{{2}}\d{{2}}(?P<mark>{_BETWEEN_OF_IBAN})[A-Z0-9]{{4}}(?:(?P=mark)[A-Z0-9]{{4}}){{1,6}}"
    rf"(?:(?P=mark)[A-Z0-9]{{1,4}})?)(?![A-Za-z0-9])"
)
_LONGEST_IBAN = 100
_WORDS_BEFORE = 80
_OF_CARDS = re.compile(r"(?i)card|kart[eay]|carte|tarjeta|carta|cartao|kaart|visa|amex|\b(?:pan|cc)\b|credit|debit")
_OF_LISTS = frozenset("|\t")
_LETTER = re.compile(r"[A-Za-z]")


def seek_grouped_cards(subject: str, places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The cards whose last group ends at one of `places`."""
    done = 0
    for place in places:
        if not subject[place - 4 : place].isdigit() or subject[place : place + 1].isdigit():
            continue
        last = 5 if subject[place - 5 : place - 4].isdigit() else 4
        mark = _mark_before(subject, place - last)
        start = place - (15 + 2 * mark if last == 5 else 16 + 3 * mark)
        match = _CARD.match(subject, start, place + mark + 1) if mark and start >= done else None
        if match is None or match.end() != place:
            continue
        number = "".join(group for group in match.group(*"abcdef") if group)
        if is_card_number(number) and _is_said(subject, match):
            done = place
            yield match.span()


def _mark_before(subject: str, place: int) -> int:
    """The number of signs between two groups, the second of which begins at `place`; 0 for one space or hyphen, which
    other rules cover.
    """
    start = place
    while start > 0 and place - start < 6 and not subject[start - 1].isalnum():
        start -= 1
    return 0 if subject[start:place] in _COMMON else place - start


_COMMON = ("", " ", "-")


def _is_said(subject: str, match: re.Match[str]) -> bool:
    start, mark = match.start(), match["mark"]
    before = subject[max(start - len(mark), 0) : start]
    if before == mark and subject[start - len(mark) - 1 : start - len(mark)].isdigit():
        return False  # the end of a longer list
    if _OF_CARDS.search(subject, max(start - _WORDS_BEFORE, 0), start) is not None:
        return True
    if not _OF_LISTS.isdisjoint(mark):
        return False
    line = subject.rfind("\n", max(start - _WORDS_BEFORE, 0), start) + 1
    return _LETTER.search(subject, max(line, start - _WORDS_BEFORE), start) is not None


def seek_grouped_ibans(subject: str, places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The IBANs whose third group ends at one of `places`."""
    done = 0
    for place in places:
        mark = _mark_before(subject, place - 4)
        start = place - 12 - 2 * mark
        match = _IBAN.match(subject, start, start + _LONGEST_IBAN) if mark and start >= done else None
        if match is None:
            continue
        groups = match["v"].split(match["mark"])
        for count in range(len(groups), 3, -1):
            compact = "".join(groups[:count])
            if find_iban(compact) == (0, len(compact)):
                done = start + len(match["mark"].join(groups[:count]))
                yield start, done
                break
