"""Invented cards, accounts and wallets, with check digits that are right."""

from __future__ import annotations

import hashlib
from random import Random

from support.redaction.chance import DIGITS, UPPER, luhn, pick


def card(random: Random) -> str:
    body = random.choice(["4", "51", "55", "2221", "6011", "3528", "34", "37"])
    size = 14 if body in ("34", "37") else 15
    whole = luhn(body + pick(random, DIGITS, size - len(body)))
    if len(set(whole)) == 1:
        return card(random)
    form = random.randrange(3)
    if form == 0:
        return whole
    gap = " " if form == 1 else "-"
    if len(whole) == 15:
        return gap.join((whole[:4], whole[4:10], whole[10:]))
    return gap.join(whole[i : i + 4] for i in range(0, 16, 4))


_BBAN = {
    "DE": "18d", "GB": "4u14d", "FR": "23d", "ES": "20d", "NL": "4u10d", "BE": "12d", "AT": "16d", "CH": "17d", "IT": "1u22d",
    "PT": "21d", "PL": "24d", "SE": "20d", "NO": "11d", "FI": "14d", "IE": "4u14d", "DK": "14d",
}  # fmt: skip


def iban(random: Random) -> str:
    country = random.choice(list(_BBAN))
    body, count = "", ""
    for c in _BBAN[country]:
        if c.isdigit():
            count += c
        else:
            body += pick(random, DIGITS if c == "d" else UPPER, int(count))
            count = ""
    check = 98 - int("".join(str(int(c, 36)) for c in f"{body}{country}00")) % 97
    whole = f"{country}{check:02}{body}"
    return whole if random.random() < 0.4 else " ".join(whole[i : i + 4] for i in range(0, len(whole), 4))


def aba(random: Random) -> str:
    body = random.choice(["0210", "1110", "3222", "0611"]) + pick(random, DIGITS, 4)
    rest = sum(int(d) * w for d, w in zip(body, (3, 7, 1, 3, 7, 1, 3, 7), strict=True))
    return body + str(-rest % 10)


_B58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def bitcoin(random: Random) -> str:
    raw = random.choice([b"\x00", b"\x05"]) + random.randbytes(20)
    raw += hashlib.sha256(hashlib.sha256(raw).digest()).digest()[:4]
    value, text = int.from_bytes(raw, "big"), ""
    while value:
        value, rest = divmod(value, 58)
        text = _B58[rest] + text
    return "1" * (len(raw) - len(raw.lstrip(b"\0"))) + text
