"""Calendar periods, and how much of a window one worker may take away."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from mastio.exchange.budgets import BudgetWindow, Claim, decide, window_at


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    ("period", "moment", "start", "end"),
    [
        ("minute", "2026-02-28T23:59:59", "2026-02-28T23:59", "2026-03-01T00:00"),
        ("hour", "2026-02-28T23:59:59", "2026-02-28T23:00", "2026-03-01T00:00"),
        ("day", "2024-02-28T23:59:59", "2024-02-28T00:00", "2024-02-29T00:00"),
        ("day", "2024-02-29T00:00", "2024-02-29T00:00", "2024-03-01T00:00"),
        ("week", "2026-11-22T23:59:59", "2026-11-16T00:00", "2026-11-23T00:00"),
        ("week", "2026-11-23T00:00", "2026-11-23T00:00", "2026-11-30T00:00"),
        ("week", "1970-01-01T00:00", "1969-12-29T00:00", "1970-01-05T00:00"),
        ("month", "2024-02-29T12:00", "2024-02-01T00:00", "2024-03-01T00:00"),
        ("month", "2026-12-31T23:59:59", "2026-12-01T00:00", "2027-01-01T00:00"),
    ],
)
def test_periods_are_those_of_the_calendar_in_utc(period: Any, moment: str, start: str, end: str) -> None:
    assert window_at(period, at(moment)) == BudgetWindow(at(start), at(end))
    assert window_at(period, at(end) - 0.001) == BudgetWindow(at(start), at(end))


def test_the_total_never_renews() -> None:
    assert window_at("total", 0) == window_at("total", 4e9) == BudgetWindow(0, None)


def claim(**members: Any) -> Claim:
    return Claim("l", "s", BudgetWindow(0, None), **members)


@pytest.mark.parametrize(
    ("limit", "spent", "elsewhere", "members", "expected"),
    [
        (100, 0, 0, {"needs": (100,)}, (100, 100)),
        (100, 0, 0, {"needs": (101,)}, (0, 0)),
        (100, 40, 50, {"needs": (10,)}, (10, 10)),
        (100, 40, 50, {"needs": (11,)}, (0, 0)),
        (100, 40, 50, {"needs": (11, 6, 3, 2)}, (9, 9)),  # whole or not at all, in their order
        (100, 0, 0, {"reserved": 30, "keep": 50, "needs": (70,)}, (100, 70)),  # what it keeps free serves its needs
        (100, 0, 0, {"needs": (20,), "spare": 80}, (30, 20)),  # of the 80 left, an eighth
        (100, 90, 0, {"needs": (11,), "spare": 10}, (0, 0)),  # no spare while somebody waits
        (100, 90, 20, {"reserved": 5, "keep": 5, "needs": (1,), "spare": 9}, (5, 0)),  # beyond the limit
        (100, 0, 0, {"reserved": 10, "keep": 90}, (90, 0)),
        (0, 0, 0, {"needs": (1,)}, (0, 0)),
    ],
)
def test_what_a_worker_gets(
    limit: int, spent: int, elsewhere: int, members: dict[str, Any], expected: tuple[int, int]
) -> None:
    assert decide(limit, spent, elsewhere, claim(**members)) == expected


def test_no_spare_while_others_wait() -> None:
    assert decide(1000, 0, 0, claim(needs=(8,), spare=50), pressed=True) == (8, 8)


def test_nothing_is_given_beyond_the_limit() -> None:
    chance = random.Random(5)
    for _ in range(20_000):
        limit, spent, elsewhere = (chance.randrange(200) for _ in range(3))
        reserved = chance.randrange(50)
        keep = reserved + chance.randrange(30)
        needs = tuple(chance.randrange(1, 60) for _ in range(chance.randrange(4)))
        wish = claim(reserved=reserved, keep=keep, needs=needs, spare=chance.randrange(100))
        held, met = decide(limit, spent, elsewhere, wish)
        assert held >= keep and held >= reserved + met
        assert held == keep or spent + elsewhere + held <= limit
        assert met == 0 or spent + elsewhere + reserved + met <= limit
