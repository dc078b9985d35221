"""Budgets: which window a moment belongs to, and how much of it one worker may take away. Pure: decides, never counts.

A budget's window has one count in the database. Workers do not ask it for each exchange: they lease parts of it, spend
those on their own, and report. `spent` and what all workers hold never exceed the limit together, so no order of events
can overspend it; `decide` is the one place where that is seen to.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

Period = Literal["minute", "hour", "day", "week", "month", "total"]

LENGTHS = {"minute": 60, "hour": 3600, "day": 86_400, "week": 7 * 86_400}
MONDAY = 4 * 86_400
"""The first Monday of Unix time: 1970-01-05."""

SHARE = 8
"""A worker gets at most one part in so many of what is left as its spare: nobody's reserve starves the others."""


@dataclass(frozen=True, slots=True)
class BudgetWindow:
    """One period of a budget, Unix seconds: from `start` until before `end`; None: it never ends."""

    start: int
    end: int | None


def window_at(period: Period, at: float) -> BudgetWindow:
    """The calendar period in UTC in which `at` (Unix seconds) falls. Weeks begin on Monday."""
    if period == "total":
        return BudgetWindow(0, None)
    if period == "month":
        day = datetime.fromtimestamp(int(at), UTC)
        following = (day.year + 1, 1) if day.month == 12 else (day.year, day.month + 1)
        first, end = datetime(day.year, day.month, 1, tzinfo=UTC), datetime(*following, 1, tzinfo=UTC)
        return BudgetWindow(int(first.timestamp()), int(end.timestamp()))
    length, begin = LENGTHS[period], MONDAY if period == "week" else 0
    start = (int(at) - begin) // length * length + begin
    return BudgetWindow(start, start + length)


@dataclass(frozen=True, slots=True)
class Claim:
    """The report of a worker on one lease, and its request for more. Amounts in the budget's unit.

    `used`: the total so far under this lease. `reserved`: set aside now for exchanges in progress. `keep`: the lowest
    amount that the lease must hold while the claim is processed, because the worker may go on setting it aside.
    `needs`: amounts that exchanges wait for, in order. `spare`: an amount wanted beyond that, for exchanges to come.
    """

    lease: str
    series: str
    window: BudgetWindow
    used: int = 0
    reserved: int = 0
    keep: int = 0
    needs: tuple[int, ...] = ()
    spare: int = 0


@dataclass(frozen=True, slots=True)
class Grant:
    """The answer to a claim. `held`: the lease now, beyond the reported use.

    `elsewhere`: the amount that other workers hold; `idle`: the part of it that was not set aside at their last report.
    `pressed`: the budget cannot meet all needs, so no worker should hold more than it needs at once.
    """

    held: int
    limit: int
    spent: int
    elsewhere: int = 0
    idle: int = 0
    pressed: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """The count of one window: `spent` for good, `leased` to workers (set aside, or about to be)."""

    spent: int = 0
    leased: int = 0


def decide(limit: int, spent: int, elsewhere: int, claim: Claim, pressed: bool = False) -> tuple[int, int]:
    """Returns the new amount of the lease, and how much of the needs it meets.

    More than `keep` is given only as far as `spent`, what is held `elsewhere` and this lease stay within the limit.
    A need is met whole or not at all: a part of one, held idle here, would only be missing elsewhere.
    """
    free = max(0, limit - spent - elsewhere - claim.reserved)
    met, all_met = 0, True
    for need in claim.needs:
        if met + need <= free:
            met += need
        else:
            all_met = False
    spare = min(claim.spare, (free - met) // SHARE) if all_met and not pressed else 0
    return max(claim.keep, claim.reserved + met + spare), met
