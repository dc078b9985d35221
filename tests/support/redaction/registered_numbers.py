"""Invented numbers as states, health services and makers of machines give them out, with check digits that are right."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import stdnum.cn.ric
import stdnum.it.codicefiscale
import stdnum.mx.curp
import stdnum.no.fodselsnummer

from support.redaction.chance import DIGITS, HEX, UPPER, Make, day, luhn, number, pick


def ssn(random: Random) -> str:
    return f"{random.choice([random.randint(1, 665), random.randint(667, 899)]):03}-{random.randint(1, 99):02}-{random.randint(1, 9999):04}"


def luhn_grouped(first: str, size: int, groups: tuple[int, ...], gap: str) -> Make:
    def made(random: Random) -> str:
        whole = luhn(number(random, size - 1, first))
        return group(whole, groups, gap)

    return made


def group(text: str, sizes: tuple[int, ...], gap: str) -> str:
    parts, at = [], 0
    for size in sizes:
        parts.append(text[at : at + size])
        at += size
    return gap.join(parts)


def weighted(weights: tuple[int, ...], modulus: int, first: str = "123456789", invert: bool = False) -> Make:
    """Digits whose last one makes the weighted sum divisible."""

    def made(random: Random) -> str:
        while True:
            body = number(random, len(weights), first)
            rest = sum(int(d) * w for d, w in zip(body, weights, strict=True)) % modulus
            rest = -rest % modulus if invert else rest
            if rest < 10:
                return body + str(rest)

    return made


def nir(random: Random) -> str:
    body = f"{random.choice('12')}{random.randint(40, 99)}{random.randint(1, 12):02}{random.randint(10, 69)}{random.randint(1, 899):03}{random.randint(1, 999):03}"
    return group(body + f"{97 - int(body) % 97:02}", (1, 2, 2, 2, 3, 3, 2), " ")


def personnummer(random: Random) -> str:
    body = f"{day(random):%y%m%d}{random.randint(1, 999):03}"
    whole = luhn(body)
    return f"{whole[:6]}-{whole[6:]}"


def fodselsnummer(random: Random) -> str:
    module = stdnum.no.fodselsnummer
    while True:
        body = f"{day(random, 1950, 1998):%d%m%y}{random.randint(0, 499):03}"
        first = module.calc_check_digit1(body)
        if first != "-":
            second = module.calc_check_digit2(body + first)
            if second != "-" and module.is_valid(body + first + second):
                return body + first + second


def dated(form: str, check: Callable[[str], str], middle: int, first: int = 1950, last: int = 1999) -> Make:
    def made(random: Random) -> str:
        body = day(random, first, last).strftime(form) + pick(random, DIGITS, middle)
        return body + check(body)

    return made


def nric(random: Random) -> str:
    body = pick(random, DIGITS, 7)
    rest = sum(int(d) * w for d, w in zip(body, (2, 7, 6, 5, 4, 3, 2), strict=True))
    return f"S{body}{'JZIHGFEDCBA'[rest % 11]}"


def hkid(random: Random) -> str:
    letter, body = random.choice(UPPER), pick(random, DIGITS, 6)
    total = 36 * 9 + int(letter, 36) * 8 + sum(int(d) * w for d, w in zip(body, range(7, 1, -1), strict=True))
    rest = -total % 11
    return f"{letter}{body}({'A' if rest == 10 else rest})"


def fiscal_code(random: Random) -> str:
    body = f"{pick(random, 'BCDFGLMNPRST', 6)}{random.randint(40, 99)}{random.choice('ABCDEHLMPRST')}{random.randint(1, 28):02}H501"
    return body + stdnum.it.codicefiscale.calc_check_digit(body)


def curp(random: Random) -> str:
    body = f"{random.choice('GHLMR')}{random.choice('AEIOU')}{pick(random, 'BCDFGHLM', 2)}{day(random, 1950, 1998):%y%m%d}{random.choice('HM')}{random.choice(['DF', 'JC', 'NL'])}{pick(random, 'BCDFGHLM', 3)}0"
    return body + stdnum.mx.curp.calc_check_digit(body)


def national_be(random: Random) -> str:
    body = f"{day(random, 1950, 1998):%y%m%d}{random.randint(1, 997):03}"
    whole = body + f"{97 - int(body) % 97:02}"
    return f"{whole[:2]}.{whole[2:4]}.{whole[4:6]}-{whole[6:9]}.{whole[9:]}"


def resident_cn(random: Random) -> str:
    body = f"{random.choice(['110101', '310101'])}{day(random):%Y%m%d}{random.randint(1, 999):03}"
    return body + stdnum.cn.ric.calc_check_digit(body + "0")


def dea(random: Random) -> str:
    body = [random.randint(0, 9) for _ in range(6)]
    last = (sum(body[0:6:2]) + 2 * sum(body[1:6:2])) % 10
    return f"{random.choice('ABFM')}{random.choice(UPPER)}{''.join(map(str, body))}{last}"


_L = "ACDEFGHJKMNPQRTUVWXY"


def mbi(random: Random) -> str:
    p = lambda alphabet: random.choice(alphabet)  # noqa: E731
    mixed = _L + DIGITS
    return f"{p('123456789')}{p(_L)}{p(mixed)}{p(DIGITS)}-{p(_L)}{p(mixed)}{p(DIGITS)}-{p(_L)}{p(_L)}{p(DIGITS)}{p(DIGITS)}"


_VIN = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ0123456789", [*range(1, 9), *range(1, 6), 7, 9, *range(2, 10), *range(10)], strict=True)
)


def vin(random: Random) -> str:
    body = list(
        random.choice(["1HG", "WVW", "JTD", "5YJ"])
        + pick(random, "ABCDEFGHJKLMNPRSTUVWXYZ", 5)
        + "0"
        + pick(random, "ABCDEFGHJKLMNPRSTVWXY", 2)
        + number(random, 6)
    )
    rest = (
        sum(_VIN[c] * w for c, w in zip(body, (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2), strict=True)) % 11
    )
    body[8] = "X" if rest == 10 else str(rest)
    return "".join(body)


def ip(random: Random) -> str:
    if random.random() < 0.3:
        return f"2001:db8:{pick(random, HEX, 4)}:{random.randint(1, 9)}::{pick(random, HEX[1:], 3)}"
    return f"{random.choice(['192.0.2', '198.51.100', '203.0.113', '10.20.30'])}.{random.randint(1, 254)}"
