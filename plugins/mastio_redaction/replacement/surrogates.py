"""Made-up values of the same type and form, the same one for the same value under a key. Pure.

None is anybody's: domains, telephone numbers, addresses of machines and social security numbers are from the ranges
that are reserved for examples; where there is no such range, the digits are chance and the check digits right.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Callable, Sequence

from mastio_redaction.catalogue import BY_NAME
from mastio_redaction.catalogue.names import BY_LANGUAGE
from mastio_redaction.checks.digits import base58check, find_iban, luhn
from mastio_redaction.rule import Rule


class Chance:
    """Numbers that follow from a seed, without end."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._block = 0
        self._rest = b""

    def below(self, bound: int) -> int:
        if len(self._rest) < 4:
            self._rest = hashlib.sha256(self._seed + self._block.to_bytes(4, "big")).digest()
            self._block += 1
        number, self._rest = int.from_bytes(self._rest[:4], "big"), self._rest[4:]
        return number % bound

    def of(self, choices: Sequence[str]) -> str:
        return choices[self.below(len(choices))]

    def digits(self, count: int) -> str:
        return "".join(self.of(string.digits) for _ in range(count))


def surrogate(kind: str, value: str, seed: bytes) -> str:
    """Something of the type `kind` that looks like `value` and is not it."""
    chance = Chance(seed)
    if (make := _MAKERS.get(kind)) is not None:
        for _ in range(20):
            if (made := make(value, chance)) != value:
                return made
    rules = sorted(BY_NAME[kind].rules if kind in BY_NAME else (), key=lambda rule: rule.behind == 0)
    rule = next((rule for rule in rules if _is_one(rule, value)), None)
    for draw, kept, tries in _PLAN if rule is not None else ():
        for _ in range(tries):
            made = value[:kept] + "".join(draw(character, value, chance) for character in value[kept:])
            if made != value and rule is not None and _is_one(rule, made):
                return made
    return "".join(_any(character, value, chance) for character in value)


def _is_one(rule: Rule, value: str) -> bool:
    match = rule.exact.fullmatch(value)
    if match is None or match.span(match.lastgroup or 0) != (0, len(value)):
        return False
    return rule.check is None or rule.check(value)


def _any(character: str, value: str, chance: Chance) -> str:
    """Another of the same class."""
    if character.isdigit():
        return chance.of(string.digits)
    if character.isupper():
        return chance.of(string.ascii_uppercase)
    return chance.of(string.ascii_lowercase) if character.isalpha() else character


def _own(character: str, value: str, chance: Chance) -> str:
    """Another of the same class that the value has somewhere: so it stays in the alphabet of its kind of key."""
    for holds in (str.isdigit, str.isupper, str.islower):
        if holds(character):
            return chance.of([other for other in value if holds(other)])
    return character


def _low(character: str, value: str, chance: Chance) -> str:
    """No greater digit, if it is not one of the last: so months and days stay such. Letters stay."""
    return chance.of(string.digits[: max(int(character), 1) + 1]) if character in string.digits else character


_PLAN = (
    (_any, 0, 120),
    *((_own, kept, 12) for kept in (0, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 20)),
    (_low, 0, 1200),
)
"""How digits and letters are drawn, how many characters stay since they say what it is, and how often that is tried."""


def _refill(form: str, digits: str) -> str:
    """`form` with its digits exchanged, in order."""
    rest = iter(digits)
    return "".join(next(rest, "0") if character.isdigit() else character for character in form)


def _name(value: str, chance: Chance) -> str:
    first = value.split()[0]
    language = next((language for language, (given, _) in BY_LANGUAGE.items() if first in given), "en")
    given, surnames = BY_LANGUAGE[language]
    words = len(value.split())
    return chance.of(given) if words == 1 else f"{chance.of(given)} {chance.of(surnames)}"


def _email(value: str, chance: Chance) -> str:
    given, surnames = BY_LANGUAGE["en"]
    domain = chance.of(("example.com", "example.org", "example.net"))
    return f"{chance.of(given)}.{chance.of(surnames)}{chance.below(100)}@{domain}".lower().replace("'", "")


def _phone(value: str, chance: Chance) -> str:
    """555-0100 to 555-0199 for North America; the ranges that Ofcom keeps for drama; else the first."""
    last = f"{chance.below(100):02}"
    if re.match(r"\+44|0044|0\d", value):
        number = f"7700 900{chance.digits(3)}"
        return f"+44 {number}" if value[0] == "+" or value.startswith("00") else f"0{number}"
    area = chance.of(("202", "212", "303", "312", "415", "503", "617", "702"))
    if value.startswith("("):
        return f"({area}) 555-01{last}"
    return f"+1 {area} 555 01{last}" if value.startswith("+") else f"{area}-555-01{last}"


def _card(value: str, chance: Chance) -> str:
    digits = "".join(c for c in value if c.isdigit())
    body = digits[:2] + "0000" + chance.digits(len(digits) - 7)
    return _refill(value, next(body + last for last in string.digits if luhn(body + last)))


def _iban(value: str, chance: Chance) -> str:
    compact = "".join(c for c in value if c.isalnum()).upper()
    body = "".join(_any(c, "", chance) for c in compact[4:])
    number = int("".join(str(int(c, 36)) for c in f"{body}{compact[:2]}00"))
    made = iter(f"{compact[:2]}{98 - number % 97:02}{body}")
    whole = "".join(next(made) if c.isalnum() else c for c in value)
    return whole if find_iban(whole) else value


def _ssn(value: str, chance: Chance) -> str:
    """Areas from 900 on are never given; groups below 50 are of no taxpayer number either."""
    return _refill(value, f"9{chance.digits(2)}{chance.below(49) + 1:02}{chance.below(9999) + 1:04}")


def _address(value: str, chance: Chance) -> str:
    if ":" in value:
        return f"2001:db8::{chance.below(0xFFFF) + 1:x}"
    return f"{chance.of(('192.0.2', '198.51.100', '203.0.113'))}.{chance.below(254) + 1}"


def _mac(value: str, chance: Chance) -> str:
    """RFC 9542: 00-00-5E-00-53-00 to FF."""
    made = iter(f"00005e0053{chance.below(256):02x}")
    return "".join(next(made) if c.isalnum() else c for c in value)


def _url(value: str, chance: Chance) -> str:
    scheme = value.split("://", 1)[0]
    return f"{scheme}://user{chance.below(1000)}:pass{chance.digits(8)}@host{chance.below(100)}.example.com"


_STREETS = ("Example Street", "Sample Road", "Specimen Avenue", "Placeholder Lane", "Model Court")


def _street(value: str, chance: Chance) -> str:
    return f"{chance.below(999) + 1} {chance.of(_STREETS)}"


def _date(value: str, chance: Chance) -> str:
    """The same form, another day: figures that can be a day, a month and a year."""
    day, month, year = chance.below(28) + 1, chance.below(12) + 1, 1940 + chance.below(60)
    parts = re.findall(r"\d+", value)
    if len(parts) == 3:
        order = (year, month, day) if len(parts[0]) == 4 else (min(day, 12), month, year)
        made = iter(
            f"{number % 100 if len(part) <= 2 else number:0{len(part)}}"
            for number, part in zip(order, parts, strict=True)
        )
        return re.sub(r"\d+", lambda _: next(made), value)
    return re.sub(r"\d+", lambda match: str(year) if len(match[0]) == 4 else str(day), value)


def _key(value: str, chance: Chance) -> str:
    lines = value.split("\n")
    return "\n".join(
        line if line.startswith("-----") else "".join(_any(character, line, chance) for character in line)
        for line in lines
    )


def _token(value: str, chance: Chance) -> str:
    """The head of a JSON Web Token says what it is; the rest is chance."""
    head, dot, rest = value.partition(".")
    return head + dot + "".join(_any(character, rest, chance) for character in rest)


def _bitcoin(value: str, chance: Chance) -> str:
    """An address of the old kind, of a hash that is chance."""
    if value[0] not in "13":
        return value[:4] + "".join(_own(character, value[4:], chance) for character in value[4:])
    raw = bytes((0 if value[0] == "1" else 5, *(chance.below(256) for _ in range(20))))
    return base58check(raw)


_MAKERS: dict[str, Callable[[str, Chance], str]] = {
    "PERSON": _name,
    "EMAIL_ADDRESS": _email,
    "PHONE_NUMBER": _phone,
    "CREDIT_CARD": _card,
    "IBAN_CODE": _iban,
    "US_SSN": _ssn,
    "IP_ADDRESS": _address,
    "MAC_ADDRESS": _mac,
    "CONNECTION_STRING": _url,
    "STREET_ADDRESS": _street,
    "DATE_OF_BIRTH": _date,
    "PRIVATE_KEY": _key,
    "JWT": _token,
    "BITCOIN_ADDRESS": _bitcoin,
}
