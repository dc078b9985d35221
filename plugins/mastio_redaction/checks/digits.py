"""Check digits and forms that confirm a value. Pure, and quick: each is called only where an expression has matched.

A name says which value it confirms; each takes what was found, with its separators. What python-stdnum knows is asked
there. The rest is written here because it is simpler or has to be cheap.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from types import ModuleType
from typing import Any

from stdnum import verhoeff

from mastio_redaction.checks.tables import (
    COMMON_PASSWORDS,
    COUNTRIES,
    FILE_ENDINGS,
    IBAN_LENGTH,
    NOT_PASSWORDS,
    NOT_USER_NAMES,
    SOURCE_HOSTS,
)

_NOT_DIGITS = bytes(code for code in range(256) if not 48 <= code < 58)
_NOT_ALNUM = re.compile(r"[^0-9A-Za-z]+")


def digits(text: str) -> str:
    """The digits of a folded text, where there are no others than these ten."""
    return text.encode("ascii", "ignore").translate(None, _NOT_DIGITS).decode("ascii")


def by(module: ModuleType) -> Callable[[str], bool]:
    """The check of a module of python-stdnum. It trips over some numbers that are none: those are none."""
    is_valid: Any = module.is_valid

    def check(text: str) -> bool:
        try:
            return bool(is_valid(text))
        except (LookupError, ValueError):
            return False

    return check


def by_digits(module: ModuleType) -> Callable[[str], bool]:
    """As `by`, for modules that do not take every separator out themselves."""
    check = by(module)
    return lambda text: check(digits(text))


def varied(text: str) -> bool:
    """Not one digit over and over, as placeholders are."""
    return len(set(digits(text))) > 1


_DOUBLED = bytes(ord("0246813579"[c - 48]) if 48 <= c < 58 else c for c in range(256))


def luhn(number: str) -> bool:
    """ISO/IEC 7812-1, of digits alone. Many are tried for each that is one, so it has to be quick."""
    raw = number.encode()
    return (sum(raw[::-2]) + sum(raw[-2::-2].translate(_DOUBLED)) - 48 * len(raw)) % 10 == 0


def has_luhn(text: str) -> bool:
    number = digits(text)
    return len(set(number)) > 1 and luhn(number)


# --- cards and accounts ------------------------------------------------------------------------------------------

_CARD = re.compile(
    r"4\d{12}(?:\d{3}(?:\d{3})?)?|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|3(?:0[0-5]|[689]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}(?:\d{3})?|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}"
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}|220[0-4]\d{12}|9792\d{12}|(?:60|65|81|82|508)\d{13,14}"
)
"""Issuer ranges with their lengths: Visa, Mastercard, American Express, Diners, Discover, JCB, UnionPay, Maestro, Mir,
Troy, RuPay (ISO/IEC 7812 and what the networks publish)."""

_LENGTHS = {
    prefix: lengths
    for prefix in map(str, range(2000, 10_000))
    if (lengths := tuple(length for length in range(13, 20) if _CARD.fullmatch(prefix.ljust(length, "0"))))
}
"""The possible lengths of a card number, by its first four digits: no expression looks further."""

_IN_RUN = "0123456789 .-_\t"
_RUN = re.compile(r"[\d ._\t-]*")
_CELLS = re.compile(r"[^_\t]+")
_BEHIND = 48
"""Characters before the first place of a run in which a card may begin: it has 19 digits and 18 separators at most."""


def seek_cards(subject: str, places: Iterable[int]) -> list[tuple[int, int]]:
    """Card numbers in the runs of digit groups that have one of the `places`. Other numbers may stand before and after
    one in its run."""
    found: list[tuple[int, int]] = []
    done = 0
    for place in places:
        if place <= done:
            continue
        before = subject[max(place - _BEHIND, done) : place]
        at = place - len(before) + len(before.rstrip(_IN_RUN))
        while 0 < at < place and subject[at - 1].isdigit():  # the rest of a group that is cut there
            at += 1
        match = _RUN.match(subject, place)
        done = place if match is None else match.end()
        count = len(found)
        run = subject[at:done]
        is_apart = "\t" in run or "_" in run
        for start, end in (
            [(cell.start(), cell.end()) for cell in _CELLS.finditer(run)] if is_apart else [(0, len(run))]
        ):
            _add_parts(subject, at + start, at + end, found)
        if is_apart and len(found) == count:
            _add_whole(run, at, found)
    return found


def _add_parts(subject: str, at: int, end: int, found: list[tuple[int, int]]) -> None:
    for part in subject[at:end].replace("-", " ").replace(".", " ").split("  "):
        if len(part) >= 13:
            _add_cards(subject, part, at, found)
        at += len(part) + 2


_GROUPS = re.compile("1+|4{3,4}[1-4]?|46[45]")
"""Digits in the groups of a card: `4444` for four of four digits."""

_WHOLE = re.compile(r"(?P<first>\d+)(?P<mark>[_\t])\d+(?:(?P=mark)\d+)*")


def _add_whole(run: str, at: int, found: list[tuple[int, int]]) -> None:
    """Adds a card whose digits or groups stand apart by tabs or `_`, where nothing else is in its run: rows of a table
    are numbers of their own."""
    match = _WHOLE.fullmatch(run.strip(" .-_\t")) if len(run) <= _BEHIND else None
    if match is not None and _GROUPS.fullmatch("".join(str(len(group)) for group in match[0].split(match["mark"]))):
        number = match[0].replace(match["mark"], "")
        if is_card_number(number):
            start = at + len(run) - len(run.lstrip(" .-_\t"))
            found.append((start, start + len(match[0])))


def _add_cards(subject: str, part: str, at: int, found: list[tuple[int, int]]) -> None:
    """Adds those in a part of the subject, at `at`, whose groups have one space between them."""
    groups = part.split(" ")
    number = "".join(groups)
    latest = len(number) - 13
    ends: dict[int, int] = {}
    free = place = 0
    for index, group in enumerate(groups):
        if place > latest:
            break
        lengths = _LENGTHS.get(number[place : place + 4])
        if lengths is not None and place >= free and group:
            ends = ends or _ends_of(groups)
            for length in lengths:
                last = ends.get(place + length)
                if (
                    last is not None
                    and _is_card(number[place : place + length])
                    and _is_even(subject, at + place + index, at + place + length + last, groups[index : last + 1])
                ):
                    if not _is_no_card(subject, at + place + index):
                        free = place + length
                        found.append((at + place + index, at + free + last))
                    break
        place += len(group)


def _ends_of(groups: Iterable[str]) -> dict[int, int]:
    """The index of the group that ends after each number of digits."""
    ends, count = {}, 0
    for index, group in enumerate(groups):
        if group:
            count += len(group)
            ends[count] = index
    return ends


def _is_even(subject: str, start: int, end: int, groups: Sequence[str]) -> bool:
    """True if digits are written as one number: with one separator, or in groups. `1.4-1.8 1` is a drawing's path."""
    kinds = {c for c in subject[start:end] if not c.isdigit()} if len(groups) > 1 else ()
    return len(kinds) < 2 or all(len(group) > 2 for group in groups)


def _is_no_card(subject: str, at: int) -> bool:
    """True if the digits at `at` are a fraction (`.4111…`) or a telephone number (`+49…`)."""
    before = subject[at - 1 : at]
    return before == "+" or (before == "." and not subject[at - 2 : at - 1].isdigit())


def _is_card(number: str) -> bool:
    """Of digits that begin and count as an issuer's do."""
    return number.count(number[0]) < len(number) and luhn(number)


def is_card_number(number: str) -> bool:
    """Of digits alone: in an issuer's range and length, with the check digit."""
    return len(number) in _LENGTHS.get(number[:4], ()) and _is_card(number)


_IBAN_VALUE = {ord(c): str(int(c, 36)) for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def find_iban(text: str) -> tuple[int, int] | None:
    """The IBAN at the beginning of `text`, which may run on into what follows."""
    length = IBAN_LENGTH.get(text[:2].upper())
    if length is None:
        return None
    end = len(text)
    compact = text.replace(" ", "").replace("-", "").upper()
    if len(compact) != length:
        end = length
        while (needed := length + text.count(" ", 0, end) + text.count("-", 0, end)) > end:
            end = needed
        compact = compact[:length]
        if len(compact) != length or (end < len(text) and text[end].isalnum()):
            return None
    head, body = compact[:4].translate(_IBAN_VALUE), compact[4:]
    if not body.isdecimal():
        body = body.translate(_IBAN_VALUE)
    return (0, end) if int(body + head) % 97 == 1 else None


def is_bic(text: str) -> bool:
    """In small letters only with a digit: `swift compiler` is none."""
    return (text.isupper() or not text.isalpha()) and text[4:6].upper() in COUNTRIES


def is_aba(text: str) -> bool:
    """ABA routing number: weights 3, 7, 1, and a Federal Reserve range."""
    number = digits(text)
    if len(number) != 9 or not (number[:2] <= "12" or "21" <= number[:2] <= "32" or "61" <= number[:2] <= "72"):
        return number[:2] == "80" and len(number) == 9
    return varied(number) and sum(int(d) * w for d, w in zip(number, (3, 7, 1) * 3, strict=True)) % 10 == 0


# --- blockchain --------------------------------------------------------------------------------------------------

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def is_base58check(text: str) -> bool:
    """A Bitcoin address of the old kinds: 21 bytes and four of a double SHA-256."""
    number = 0
    for character in text:
        number = number * 58 + _BASE58.index(character)
    if number.bit_length() > 200:
        return False
    raw = number.to_bytes(25, "big")
    return hashlib.sha256(hashlib.sha256(raw[:21]).digest()).digest()[:4] == raw[21:]


def base58check(raw: bytes) -> str:
    """The address of 21 bytes."""
    raw += hashlib.sha256(hashlib.sha256(raw).digest()).digest()[:4]
    number, text = int.from_bytes(raw, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        text = _BASE58[rest] + text
    return "1" * (len(raw) - len(raw.lstrip(b"\0"))) + text


def is_bech32(text: str) -> bool:
    """BIP 173 and BIP 350."""
    prefix, _, data = text.lower().rpartition("1")
    if text not in (text.lower(), text.upper()) or any(c not in _BECH32 for c in data):
        return False
    values = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix] + [_BECH32.index(c) for c in data]
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            check ^= generator if top >> bit & 1 else 0
    return check in (1, 0x2BC830A3)


# --- things ------------------------------------------------------------------------------------------------------

_VIN = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ0123456789", [*range(1, 9), *range(1, 6), 7, 9, *range(2, 10), *range(10)], strict=True)
)
_VIN_WEIGHT = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def is_vin(text: str) -> bool:
    """ISO 3779 with the check digit of 49 CFR 565."""
    if not (any(c.isdigit() for c in text) and any(c.isalpha() for c in text)):
        return False
    rest = sum(_VIN[c] * weight for c, weight in zip(text, _VIN_WEIGHT, strict=True)) % 11
    return text[8] == ("X" if rest == 10 else str(rest))


def is_ipv4(text: str) -> bool:
    """An address of a machine: not `0.0.0.0`, a mask, or loopback, and not a version number."""
    parts = [int(part) for part in text.split(".")]
    return (
        max(parts) <= 255 and 0 < parts[0] not in (127, 255) and max(parts[1:]) > 0 and not all(p < 10 for p in parts)
    )


def is_ipv6(text: str) -> bool:
    if text.count(":") < 2 or len(text) < 6:
        return False
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return not address.is_loopback and not address.is_unspecified


def is_mac(text: str) -> bool:
    return len(set(_NOT_ALNUM.sub("", text).lower())) > 1


# --- people ------------------------------------------------------------------------------------------------------


def is_date(year: int, month: int, day: int) -> bool:
    try:
        return 1890 <= date(year, month, day).year <= 2030
    except ValueError:
        return False


_ISO_DATE = re.compile(r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])-[0-3]\d")


def is_iso_date(text: str) -> bool:
    return _ISO_DATE.fullmatch(text) is not None


def is_number(text: str) -> bool:
    """A number that only its label announces: not a date."""
    return _ISO_DATE.match(text[:10]) is None and has_digit(text)


def is_birth_date(text: str) -> bool:
    """A date in figures, in any order; one with a month in words has been confirmed by its word."""
    if len(text) == 8 and text.isdecimal():
        return is_date(int(text[:4]), int(text[4:6]), int(text[6:]))
    parts = re.findall(r"\d+", text)
    if re.search(r"[A-Za-z]{3}", text) or len(parts) != 3:
        return True
    one, two, three = (int(part) for part in parts)
    if len(parts[0]) == 4:
        return is_date(one, two, three) or is_date(one, three, two)
    year = three if three > 99 else 1900 + three
    return is_date(year, two, one) or is_date(year, one, two)


def is_verhoeff(text: str) -> bool:
    return varied(text) and bool(verhoeff.is_valid(digits(text)))


# --- health ------------------------------------------------------------------------------------------------------


def is_npi(text: str) -> bool:
    """US National Provider Identifier: Luhn over 80840 and the number."""
    return varied(text) and luhn("80840" + digits(text))


def is_dea(text: str) -> bool:
    """US Drug Enforcement Administration registration."""
    number = [int(d) for d in text[2:9]]
    return (sum(number[0:6:2]) + 2 * sum(number[1:6:2])) % 10 == number[6]


_MBI = re.compile(
    r"[1-9][AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d[AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d[AC-HJKMNP-RT-Y]{2}\d\d"
)


def is_mbi(text: str) -> bool:
    """US Medicare Beneficiary Identifier."""
    return _MBI.fullmatch(text.replace("-", "")) is not None


# --- secrets -----------------------------------------------------------------------------------------------------


def entropy(text: str) -> float:
    """Shannon entropy of the characters, in bits each."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


_PLACEHOLDER = re.compile(
    r"(?i)(?:x{4,}|\*{3,}|\.{3,}|your[_-]|my[_-]|change[_-]?me|placeholder|example|redacted|dummy|"
    r"(?<![a-z0-9])(?:todo|none|null|undefined|true|false)(?![a-z0-9])|process\.env|os\.environ|getenv|\$\{|\{\{|<[a-z])"
)


_DOTTED = re.compile(r"\.{0,2}/?[A-Za-z_-]+\d{0,2}(?:_\w*)?(?:[./][A-Za-z_-]+\d{0,2})+")
"""A path of names or files: `tokenize_1.FIELDS.TYPE`, `lib/index2.js`."""


def is_random(text: str) -> bool:
    """Long and mixed enough to be a generated secret, and not a word that stands for one."""
    if len(text) < 12 or _PLACEHOLDER.search(text) or _DOTTED.fullmatch(text):
        return False
    kinds = any(c.isdigit() for c in text) + any(c.islower() for c in text) + any(c.isupper() for c in text)
    return kinds >= 2 and any(c.isdigit() for c in text) and entropy(text) >= 3.0


def is_authorization(text: str) -> bool:
    """A token, or credentials of the Basic scheme (RFC 7617): base64 of `name:password`."""
    if is_random(text):
        return True
    try:
        said = base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return b":" in said[1:] and said.isascii() and bool(said.decode("ascii").isprintable())


_CODE = re.compile(
    r"\.?[A-Za-z_]+(?:[.=][A-Za-z_]+)+|_*[A-Za-z]+(?:_+[A-Za-z]+)+_*|(?:[A-Z][a-z]+){2,}|.*:|[a-z_]+=|\d{1,6}[.,]\d{1,6}%?"
)
"""An expression of a program (`self.realm`, `encoding=encoding`, `new_password`, `SecretStr`), the next label, or a
fraction."""


def is_password(text: str) -> bool:
    """True if a text is a real password: not a variable, a placeholder or a word, unless it is a common password."""
    if _PLACEHOLDER.search(text) or text.lower() in NOT_PASSWORDS or _CODE.fullmatch(text) or _ISO_DATE.fullmatch(text):
        return False
    text = text.strip("*_|")  # of markup
    if not any(c.isalnum() for c in text):
        return False
    if not text.isalpha() or text.lower() in COMMON_PASSWORDS:
        return True
    return not (text.islower() or text.istitle() or text.isupper())


def is_strong_password(text: str) -> bool:
    """True if a text is almost certainly a password, although no label says so."""
    if len(text) < 8 or not is_password(text):
        return False
    digits_in = sum(c.isdigit() for c in text)
    has_both = any(c.islower() for c in text) and any(c.isupper() for c in text)
    return (
        digits_in > 0
        and any(c.isalpha() for c in text)
        and (any(c in "!@#$%^&*" for c in text[1:]) or (has_both and digits_in > 1 and text.replace("-", "").isalnum()))
    )


def is_mixed_password(text: str) -> bool:
    """A password behind a word that means much else as well, such as `pass`."""
    return (
        len(text) >= 6
        and is_password(text)
        and any(c.isdigit() for c in text)
        and any(c.isalpha() for c in text)
        and not any(c in "/\\:." for c in text)
    )


def is_very_random(text: str) -> bool:
    """As `is_random`, with digits, small letters and capitals."""
    return (
        is_random(text)
        and sum(c.isdigit() for c in text) >= 3
        and any(c.islower() for c in text)
        and any(c.isupper() for c in text)
    )


_HEX_KEY = re.compile(r"[0-9a-f]{32,64}")


def is_key(text: str) -> bool:
    """As `is_very_random`, or a key in hexadecimal."""
    return is_very_random(text) or (_HEX_KEY.fullmatch(text) is not None and is_random(text))


def is_user_name(text: str) -> bool:
    """A name that somebody logs in with: not a word about user names, and not an expression of a program."""
    first, _, rest = text.lower().partition(".")
    return (
        any(c.isalpha() for c in text) and text.lower() not in NOT_USER_NAMES and not (rest and first in NOT_USER_NAMES)
    )


def is_mail_address(text: str) -> bool:
    """An address of somebody: not a file for a screen (`icon@2x.png`) and not the account of a program (`git@host`)."""
    local, _, domain = text.rpartition("@")
    return domain.rpartition(".")[2].lower() not in FILE_ENDINGS and local.lower() not in SOURCE_HOSTS


def is_jwt(text: str) -> bool:
    head = text.split(".", 1)[0]
    try:
        return b'"alg"' in base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))
    except ValueError:
        return False


_NOT_WORDS = re.compile(r"\d")


def has_digit(text: str) -> bool:
    return _NOT_WORDS.search(text) is not None
