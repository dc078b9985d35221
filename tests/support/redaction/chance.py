"""Random parts of invented values: letters, digits, days, and valid check digits."""

from __future__ import annotations

import string
from collections.abc import Callable
from datetime import date, timedelta
from random import Random

import stdnum.luhn

Make = Callable[[Random], str]

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM = LOWER + UPPER + DIGITS
URL = ALNUM + "-_"
HEX = "0123456789abcdef"


def pick(random: Random, alphabet: str, count: int) -> str:
    return "".join(random.choices(alphabet, k=count))


def number(random: Random, count: int, first: str = "123456789") -> str:
    return random.choice(first) + pick(random, DIGITS, count - 1)


def until(make: Make, holds: Callable[[str], object]) -> Make:
    """`make` again and again until it holds: for numbers without a way to compute their check digit."""

    def made(random: Random) -> str:
        for _ in range(20_000):
            value = make(random)
            if holds(value):
                return value
        raise AssertionError("no value found")

    return made


def day(random: Random, first: int = 1940, last: int = 2004) -> date:
    start = date(first, 1, 1)
    return start + timedelta(days=random.randrange((date(last, 12, 28) - start).days))


def luhn(body: str) -> str:
    return body + str(stdnum.luhn.calc_check_digit(body))
