"""Numbers as their readers see them: the digits of a JSON number, whatever its notation. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

LONG_NUMBER = 1_000_000
"""Shorter numbers are counts and sizes, and nobody's."""

MANY_DIGITS = 12
"""So many signs of a fraction could be somebody's number. Most are measured: one in fifty has the check digits of a
card, so they are not searched."""

FEWEST_CODES = 12
"""A list of so many codes of characters may hide somebody's number."""

_SAID = re.compile(rb"[A-Za-z0-9 .,:@/_+-]*")

_MOST_ZEROS = 400
"""No finite number has more before or behind its digits."""


def is_long(value: float) -> bool:
    """True if a whole or floating-point number is long enough to be a personal number."""
    return not -LONG_NUMBER < value < LONG_NUMBER


def has_many_digits(value: float) -> bool:
    """True if a shorter number has a fraction that is long enough to hide such a number."""
    return type(value) is float and len(repr(value)) > MANY_DIGITS


def has_codes(numbers: Sequence[Any]) -> bool:
    """True if a list holds character codes, and these spell letters, digits and marks of a number or an address."""
    if any(type(code) is not int or not 32 <= code < 127 for code in numbers):
        return False
    return _SAID.fullmatch(bytes(numbers)) is not None


def write_plain(source: str) -> str:
    """A JSON number without an exponent, and without zeros behind the point. `source` itself where it is no number."""
    mantissa, _, exponent = source.lower().partition("e")
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    shift = exponent.removeprefix("+").removeprefix("-")
    digits = whole + fraction
    if not digits.isdecimal() or not digits.isascii() or (exponent and not (shift.isdecimal() and shift.isascii())):
        return source
    by = min(int(shift[-4:] or "0") if len(shift.lstrip("0")) <= 4 else _MOST_ZEROS, _MOST_ZEROS)
    point = len(whole) + (-by if exponent.startswith("-") else by)
    whole, fraction = (digits[:point], digits[point:]) if point > 0 else ("0", "0" * -point + digits)
    whole = (whole + "0" * max(point - len(digits), 0)).lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    sign = "-" if mantissa.startswith("-") else ""
    return f"{sign}{whole}.{fraction}" if fraction else sign + whole
