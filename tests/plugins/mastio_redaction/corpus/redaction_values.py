"""Invented values of every type, made by a seeded generator. None is anybody's: check digits are computed, the rest is
chance, domains are reserved ones, and nothing that looks like a key stands in this file as one piece.
"""

from __future__ import annotations

import base64
import hashlib
import string
from collections.abc import Callable
from datetime import date, timedelta
from random import Random

import stdnum.ar.cuit
import stdnum.at.vnr
import stdnum.be.nn
import stdnum.bg.egn
import stdnum.br.cnpj
import stdnum.br.cpf
import stdnum.ch.ssn
import stdnum.cl.rut
import stdnum.cn.ric
import stdnum.de.idnr
import stdnum.dk.cpr
import stdnum.ee.ik
import stdnum.es.dni
import stdnum.es.nie
import stdnum.fi.hetu
import stdnum.gr.amka
import stdnum.hr.oib
import stdnum.ie.pps
import stdnum.in_.pan
import stdnum.isin
import stdnum.it.codicefiscale
import stdnum.luhn
import stdnum.mx.curp
import stdnum.no.fodselsnummer
import stdnum.nz.ird
import stdnum.pl.pesel
import stdnum.pt.nif
import stdnum.ro.cnp
import stdnum.tr.tckimlik
import stdnum.us.itin
import stdnum.verhoeff
import stdnum.za.idnr

Make = Callable[[Random], str]

_LOWER, _UPPER, _DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
_ALNUM = _LOWER + _UPPER + _DIGITS
_URL = _ALNUM + "-_"
_HEX = "0123456789abcdef"


def pick(random: Random, alphabet: str, count: int) -> str:
    return "".join(random.choices(alphabet, k=count))


def number(random: Random, count: int, first: str = "123456789") -> str:
    return random.choice(first) + pick(random, _DIGITS, count - 1)


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


# --- people ------------------------------------------------------------------------------------------------------

GIVEN = {
    "en": ["Oliver", "Emily", "Harry", "Rebecca", "Nathan", "Hannah", "Stephen", "Abigail", "Gregory", "Megan"],
    "de": ["Jürgen", "Sabine", "Matthias", "Heike", "Günter", "Katharina", "Wolfgang", "Birgit", "Lukas", "Anja"],
    "fr": [
        "François",
        "Amélie",
        "Guillaume",
        "Hélène",
        "Étienne",
        "Mathilde",
        "Sébastien",
        "Odile",
        "Thierry",
        "Céline",
    ],
    "es": ["José", "Lucía", "Álvaro", "Inés", "Rubén", "Beatriz", "Gonzalo", "Raquel", "Andrés", "Nuria"],
    "it": ["Giuseppe", "Chiara", "Matteo", "Francesca", "Lorenzo", "Ilaria", "Davide", "Giulia", "Salvatore", "Elisa"],
    "pt": ["João", "Mariana", "Thiago", "Letícia", "Gonçalo", "Fernanda", "Rodrigo", "Luciana", "Tiago", "Larissa"],
}
SURNAME = {
    "en": ["Thompson", "Carter", "Brooks", "O'Brien", "Whitfield", "Harrington", "Bennett", "Ashworth", "Sullivan"],
    "de": ["Müller", "Schröder", "Vogelsang", "Hoffmann", "Kiesewetter", "Brandt", "Zimmermann", "Lehmann", "Weiß"],
    "fr": ["Lefèvre", "Dubois", "Moreau", "de la Tour", "Garnier", "Beaulieu", "Rousseau", "Chevalier", "Girard"],
    "es": ["García", "Fernández Ruiz", "Gutiérrez", "Iglesias", "del Castillo", "Ortega", "Montalbán", "Núñez"],
    "it": ["Rossi", "Lombardi", "De Santis", "Moretti", "Bellini", "Conti", "Ferraro", "Marchetti", "Rinaldi"],
    "pt": ["Oliveira", "dos Santos", "Carvalho", "Figueiredo", "Gonçalves", "Teixeira", "Ribeiro", "Moreira"],
}
CITY = {"en": "Leeds", "de": "Köln", "fr": "Lyon", "es": "Sevilla", "it": "Torino", "pt": "Braga"}
LANGUAGES = tuple(GIVEN)
DOMAINS = ("example.com", "example.org", "mail.example.net", "sub.example.co.uk", "firma.example")


def person(random: Random, language: str = "en") -> str:
    return f"{random.choice(GIVEN[language])} {random.choice(SURNAME[language])}"


def address(random: Random, language: str = "en") -> str:
    n = random.randint(1, 240)
    name = random.choice(["Linden", "Victoria", "Garden", "Mill", "Church", "Station"])
    return {
        "en": f"{n} {name} {random.choice(['Street', 'Road', 'Avenue', 'Lane', 'Drive'])}",
        "de": f"{random.choice(['Garten', 'Haupt', 'Linden', 'Bahnhof'])}{random.choice(['straße', 'weg', 'platz'])} {n}",
        "fr": f"{n} {random.choice(['rue', 'avenue', 'boulevard'])} {random.choice(['de la République', 'Victor Hugo', 'du Moulin'])}",
        "es": f"{random.choice(['Calle', 'Avenida', 'Plaza'])} {random.choice(['Mayor', 'de Alcalá', 'del Prado'])} {n}",
        "it": f"{random.choice(['Via', 'Viale', 'Piazza'])} {random.choice(['Roma', 'Garibaldi', 'della Repubblica'])} {n}",
        "pt": f"{random.choice(['Rua', 'Avenida', 'Travessa'])} {random.choice(['Augusta', 'das Flores', 'da Liberdade'])} {n}",
    }[language]


def email(random: Random) -> str:
    user = random.choice(["j.doe", "anna.k", "sales+eu", "x_9", "first-last", "o'neil", "info2024", "a"])
    return f"{user}{random.randint(1, 99)}@{random.choice(DOMAINS)}"


_REACHED = {
    "44": "7911",
    "49": "1512",
    "33": "612",
    "34": "612",
    "39": "347",
    "351": "912",
    "31": "612",
    "41": "791",
    "81": "901",
}


def phone(random: Random) -> str:
    form = random.randrange(4)
    if form == 0:
        return f"({random.randint(201, 989)}) 555-01{random.randint(10, 99)}"
    if form == 1:
        return f"+1 {random.choice(['212', '415', '646'])} 555 01{random.randint(10, 99)}"
    code = random.choice(list(_REACHED))
    size = {"44": 10, "49": 11, "33": 9, "34": 9, "39": 10, "351": 9, "31": 9, "41": 9, "81": 10}[code]
    rest = _REACHED[code] + pick(random, _DIGITS, size - len(_REACHED[code]))
    if code == "81":
        rest = "90" + number(random, 8)
    if form == 2:
        return f"+{code}{rest}"
    return f"+{code} {rest[:3]} {rest[3:6]} {rest[6:]}"


def birth_date(random: Random) -> str:
    born = day(random)
    month = born.strftime("%B")
    return random.choice([born.isoformat(), f"{born:%d.%m.%Y}", f"{born:%m/%d/%Y}", f"{born.day} {month} {born.year}"])


# --- money -------------------------------------------------------------------------------------------------------


def card(random: Random) -> str:
    body = random.choice(["4", "51", "55", "2221", "6011", "3528", "34", "37"])
    size = 14 if body in ("34", "37") else 15
    whole = luhn(body + pick(random, _DIGITS, size - len(body)))
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
            body += pick(random, _DIGITS if c == "d" else _UPPER, int(count))
            count = ""
    check = 98 - int("".join(str(int(c, 36)) for c in f"{body}{country}00")) % 97
    whole = f"{country}{check:02}{body}"
    return whole if random.random() < 0.4 else " ".join(whole[i : i + 4] for i in range(0, len(whole), 4))


def aba(random: Random) -> str:
    body = random.choice(["0210", "1110", "3222", "0611"]) + pick(random, _DIGITS, 4)
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


# --- states ------------------------------------------------------------------------------------------------------


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
        body = day(random, first, last).strftime(form) + pick(random, _DIGITS, middle)
        return body + check(body)

    return made


def nric(random: Random) -> str:
    body = pick(random, _DIGITS, 7)
    rest = sum(int(d) * w for d, w in zip(body, (2, 7, 6, 5, 4, 3, 2), strict=True))
    return f"S{body}{'JZIHGFEDCBA'[rest % 11]}"


def hkid(random: Random) -> str:
    letter, body = random.choice(_UPPER), pick(random, _DIGITS, 6)
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


# --- health, machines --------------------------------------------------------------------------------------------


def dea(random: Random) -> str:
    body = [random.randint(0, 9) for _ in range(6)]
    last = (sum(body[0:6:2]) + 2 * sum(body[1:6:2])) % 10
    return f"{random.choice('ABFM')}{random.choice(_UPPER)}{''.join(map(str, body))}{last}"


_L = "ACDEFGHJKMNPQRTUVWXY"


def mbi(random: Random) -> str:
    p = lambda alphabet: random.choice(alphabet)  # noqa: E731
    mixed = _L + _DIGITS
    return f"{p('123456789')}{p(_L)}{p(mixed)}{p(_DIGITS)}-{p(_L)}{p(mixed)}{p(_DIGITS)}-{p(_L)}{p(_L)}{p(_DIGITS)}{p(_DIGITS)}"


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
        return f"2001:db8:{pick(random, _HEX, 4)}:{random.randint(1, 9)}::{pick(random, _HEX[1:], 3)}"
    return f"{random.choice(['192.0.2', '198.51.100', '203.0.113', '10.20.30'])}.{random.randint(1, 254)}"


# --- secrets -----------------------------------------------------------------------------------------------------


def mixed(random: Random, count: int, alphabet: str = _ALNUM) -> str:
    """With a digit, so that it is random enough."""
    return pick(random, alphabet, count - 3) + random.choice(_LOWER) + random.choice(_UPPER) + random.choice(_DIGITS)


def jwt(random: Random) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"ES256","typ":"at+jwt"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(
        b'{"sub":"agent-%d","exp":17672256%02d}' % (random.randint(1, 99), random.randint(0, 99))
    ).decode()
    return f"{head}.{body.rstrip('=')}.{pick(random, _URL, 86)}"


def private_key(random: Random) -> str:
    kind = random.choice(["RSA ", "EC ", "", "OPENSSH "])
    lines = "\n".join(pick(random, _ALNUM + "+/", 64) for _ in range(random.randint(2, 6)))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n-----END {kind}PRIVATE KEY-----"


def connection_string(random: Random) -> str:
    scheme = random.choice(["postgresql", "mysql", "mongodb+srv", "redis", "amqps"])
    return f"{scheme}://app:{mixed(random, 12)}@db{random.randint(1, 9)}.example.com:5432/orders"


def password(random: Random) -> str:
    return random.choice(["Tr0ub4dor", "hunter2", "S3cr3t!pass", "correct-Horse7", "Wint3r2024!"]) + pick(
        random, _DIGITS, 2
    )


def token(prefix: str, count: int, alphabet: str = _ALNUM) -> Make:
    return lambda random: prefix + mixed(random, count, alphabet)


def hexed(prefix: str, count: int) -> Make:
    return lambda random: prefix + pick(random, _HEX, count - 2) + "a1"


VALUES: dict[str, Make] = {
    "EMAIL_ADDRESS": email,
    "PHONE_NUMBER": phone,
    "DATE_OF_BIRTH": birth_date,
    "AGE": lambda r: str(r.randint(18, 96)),
    "POSTAL_CODE": lambda r: f"{r.choice(['SW', 'LS', 'EH'])}{r.randint(1, 9)} {r.randint(1, 9)}{pick(r, 'ABDEFGH', 2)}",
    "SOCIAL_HANDLE": lambda r: f"@user_{r.randint(100, 999)}",
    "CREDIT_CARD": card,
    "CARD_SECURITY_CODE": lambda r: pick(r, _DIGITS, 3),
    "CARD_EXPIRY": lambda r: f"{r.randint(1, 12):02}/{r.randint(26, 39)}",
    "IBAN_CODE": iban,
    "BIC_CODE": lambda r: f"{pick(r, _UPPER, 4)}{r.choice(['DE', 'FR', 'GB', 'US'])}{pick(r, _UPPER + '23456789', 2)}{r.choice(['', 'XXX'])}",
    "US_BANK_ROUTING": aba,
    "BANK_ACCOUNT": lambda r: number(r, r.randint(8, 12)),
    "UK_SORT_CODE": lambda r: f"{r.randint(10, 99)}-{r.randint(10, 99)}-{r.randint(10, 99)}",
    "BITCOIN_ADDRESS": bitcoin,
    "ETHEREUM_ADDRESS": lambda r: "0x" + pick(r, _HEX, 40),
    "SECURITY_ID": lambda r: (body := f"US{pick(r, _UPPER + _DIGITS, 9)}") + stdnum.isin.calc_check_digit(body),
    "VAT_NUMBER": lambda r: f"DE{number(r, 9)}",
    "US_SSN": ssn,
    "US_ITIN": until(lambda r: f"9{pick(r, _DIGITS, 2)}-{r.randint(70, 88)}-{pick(r, _DIGITS, 4)}", stdnum.us.itin.is_valid),
    "UK_NINO": lambda r: f"{r.choice(['AB', 'CE', 'JM', 'PX'])} {r.randint(10, 99)} {r.randint(10, 99)} {r.randint(10, 99)} {r.choice('ABCD')}",
    "CA_SIN": luhn_grouped("1245679", 9, (3, 3, 3), "-"),
    "AU_TFN": weighted((1, 4, 3, 7, 5, 8, 6, 9), 11),
    "AU_MEDICARE": lambda r: weighted((1, 3, 7, 9, 1, 3, 7, 9), 10, "23456")(r) + "1",
    "NZ_IRD": until(lambda r: number(r, 8, "456789"), stdnum.nz.ird.is_valid),
    "DE_TAX_ID": until(lambda r: number(r, 11), stdnum.de.idnr.is_valid),
    "AT_SVNR": until(lambda r: f"{number(r, 4)}{day(r):%d%m%y}", stdnum.at.vnr.is_valid),
    "CH_AHV": until(lambda r: f"756.{pick(r, _DIGITS, 4)}.{pick(r, _DIGITS, 4)}.{pick(r, _DIGITS, 2)}", stdnum.ch.ssn.is_valid),
    "FR_NIR": nir,
    "ES_DNI": lambda r: (body := pick(r, _DIGITS, 8)) + stdnum.es.dni.calc_check_digit(body),
    "IT_FISCAL_CODE": fiscal_code,
    "PT_NIF": lambda r: (body := number(r, 8, "12")) + stdnum.pt.nif.calc_check_digit(body),
    "NL_BSN": weighted((9, 8, 7, 6, 5, 4, 3, 2), 11),
    "BE_NATIONAL_NUMBER": national_be,
    "IE_PPS": until(lambda r: number(r, 7) + pick(r, _UPPER, 1), stdnum.ie.pps.is_valid),
    "DK_CPR": until(lambda r: f"{day(r, 1940, 1999):%d%m%y}-{number(r, 4, '01234')}", stdnum.dk.cpr.is_valid),
    "SE_PERSONNUMMER": personnummer,
    "NO_FODSELSNUMMER": fodselsnummer,
    "FI_HETU": until(lambda r: f"{day(r, 1940, 1999):%d%m%y}-{r.randint(2, 899):03}{r.choice('0123456789ABCDEFHJKLMNPRSTUVWXY')}", stdnum.fi.hetu.is_valid),
    "PL_PESEL": dated("%y%m%d", stdnum.pl.pesel.calc_check_digit, 4),
    "CZ_BIRTH_NUMBER": until(lambda r: f"{day(r, 1955, 1999):%y%m%d}/{pick(r, _DIGITS, 4)}", lambda v: int(v.replace("/", "")) % 11 == 0),
    "RO_CNP": lambda r: (body := f"{r.choice('12')}{day(r, 1950, 1998):%y%m%d}12{r.randint(1, 999):03}") + stdnum.ro.cnp.calc_check_digit(body),
    "BG_EGN": dated("%y%m%d", stdnum.bg.egn.calc_check_digit, 3),
    "HR_OIB": until(lambda r: number(r, 11), stdnum.hr.oib.is_valid),
    "GR_AMKA": lambda r: luhn(f"{day(r, 1950, 1998):%d%m%y}{pick(r, _DIGITS, 4)}"),
    "EE_PERSONAL_CODE": until(lambda r: f"3{day(r, 1950, 1998):%y%m%d}{pick(r, _DIGITS, 4)}", stdnum.ee.ik.is_valid),
    "TR_KIMLIK": lambda r: (body := number(r, 9)) + stdnum.tr.tckimlik.calc_check_digits(body),
    "IL_ID": lambda r: luhn(number(r, 8)),
    "IN_AADHAAR": lambda r: group((body := number(r, 11, "23456789")) + stdnum.verhoeff.calc_check_digit(body), (4, 4, 4), " "),
    "IN_PAN": until(lambda r: f"{pick(r, _UPPER, 3)}P{pick(r, _UPPER, 1)}{pick(r, _DIGITS, 4)}{pick(r, _UPPER, 1)}", stdnum.in_.pan.is_valid),
    "CN_RESIDENT_ID": resident_cn,
    "KR_RRN": lambda r: f"{day(r, 1950, 1999):%y%m%d}-{r.choice('12')}{pick(r, _DIGITS, 6)}",
    "SG_NRIC": nric,
    "HK_ID": hkid,
    "ZA_ID": lambda r: luhn(f"{day(r, 1950, 1998):%y%m%d}{pick(r, _DIGITS, 4)}08"),
    "BR_CPF": lambda r: stdnum.br.cpf.format((body := number(r, 9)) + stdnum.br.cpf._calc_check_digits(body)),
    "BR_CNPJ": lambda r: stdnum.br.cnpj.format((body := number(r, 8) + "0001") + stdnum.br.cnpj.calc_check_digits(body)),
    "MX_CURP": curp,
    "CL_RUT": lambda r: f"{(body := number(r, 8, '12'))[:2]}.{body[2:5]}.{body[5:]}-{stdnum.cl.rut.calc_check_digit(body)}",
    "AR_CUIT": lambda r: f"20-{(body := pick(r, _DIGITS, 8))}-{stdnum.ar.cuit.calc_check_digit('20' + body)}",
    "PASSPORT": lambda r: f"{pick(r, 'CFGHJK', 1)}{number(r, 8)}",
    "DRIVER_LICENSE": lambda r: f"{pick(r, _UPPER, 1)}{number(r, 7)}",
    "TAX_ID": lambda r: number(r, 9),
    "MEDICAL_RECORD_NUMBER": lambda r: f"MR{number(r, 7)}",
    "UK_NHS": weighted((10, 9, 8, 7, 6, 5, 4, 3, 2), 11, "4679", invert=True),
    "US_NPI": lambda r: (body := number(r, 9, "1")) + luhn("80840" + body)[-1],
    "US_DEA": dea,
    "US_MEDICARE": mbi,
    "CA_HEALTH_NUMBER": lambda r: f"{number(r, 4)} {number(r, 3)} {number(r, 3)}",
    "ICD10_CODE": lambda r: f"{r.choice('EFIJKM')}{r.randint(10, 99)}.{r.randint(0, 9)}",
    "HEALTH_INSURANCE_ID": lambda r: f"{pick(r, _UPPER, 3)}{number(r, 9)}",
    "IP_ADDRESS": ip,
    "MAC_ADDRESS": lambda r: ":".join(pick(r, _HEX, 2) for _ in range(6)),
    "IMEI": lambda r: luhn(f"35{number(r, 12)}"),
    "IMSI": lambda r: f"262{r.choice(['01', '02'])}{number(r, 10)}",
    "VEHICLE_ID": vin,
    "LICENSE_PLATE": lambda r: f"{pick(r, _UPPER, 2)}{r.randint(10, 99)} {pick(r, _UPPER, 3)}",
    "COORDINATES": lambda r: f"{r.uniform(-60, 60):.6f}, {r.uniform(-120, 120):.6f}",
    "AWS_ACCESS_KEY": lambda r: r.choice(["AKIA", "ASIA"]) + pick(r, _UPPER + "234567", 16),
    "AZURE_KEY": lambda r: "AccountKey=" + mixed(r, 86, _ALNUM + "+/") + "==",
    "GCP_KEY": token("AIza", 35, _URL),
    "GITHUB_TOKEN": token("ghp_", 36),
    "GITLAB_TOKEN": token("glpat-", 20),
    "SLACK_TOKEN": token("xoxb-", 40),
    "STRIPE_KEY": token("sk_live_", 24),
    "OPENAI_KEY": token("sk-proj-", 48),
    "ANTHROPIC_KEY": token("sk-ant-api03-", 60, _URL),
    "HUGGINGFACE_TOKEN": token("hf_", 34),
    "NPM_TOKEN": token("npm_", 36),
    "PYPI_TOKEN": token("pypi-", 80),
    "TWILIO_KEY": hexed("SK", 32),
    "SENDGRID_KEY": lambda r: f"SG.{mixed(r, 22)}.{mixed(r, 43)}",
    "MAILGUN_KEY": hexed("key-", 32),
    "SHOPIFY_TOKEN": hexed("shpat_", 32),
    "DIGITALOCEAN_TOKEN": hexed("dop_v1_", 64),
    "DATABRICKS_TOKEN": hexed("dapi", 32),
    "VAULT_TOKEN": token("hvs.", 90),
    "DOCKER_TOKEN": token("dckr_pat_", 27),
    "TELEGRAM_TOKEN": lambda r: f"{number(r, 9)}:AA{mixed(r, 33)}",
    "MASTIO_KEY": token("mastio_sk_", 43, _ALNUM),
    "JWT": jwt,
    "PRIVATE_KEY": private_key,
    "SSH_KEY": lambda r: f"ssh-ed25519 AAAA{mixed(r, 64)}",
    "CONNECTION_STRING": connection_string,
    "HTTP_AUTHORIZATION": lambda r: mixed(r, 40),
    "PASSWORD": password,
    "SECRET": lambda r: mixed(r, 32),
    "USERNAME": lambda r: f"user{r.randint(100, 9999)}",
    "PERSON": person,
    "STREET_ADDRESS": address,
}  # fmt: skip

WORDS: dict[str, tuple[str, ...]] = {
    "PHONE_NUMBER": ("phone: ", "call ", "Tel. "),
    "DATE_OF_BIRTH": ("date of birth: ", "born on ", "DOB ", "geboren am "),
    "AGE": ("aged ", "age: "),
    "SOCIAL_HANDLE": ("Twitter: ", "instagram "),
    "CARD_SECURITY_CODE": ("CVV: ", "security code "),
    "CARD_EXPIRY": ("expiry date: ", "exp "),
    "BIC_CODE": ("BIC: ", "SWIFT code "),
    "US_BANK_ROUTING": ("routing number: ", "ABA "),
    "BANK_ACCOUNT": ("account number: ", "Kontonummer "),
    "UK_SORT_CODE": ("sort code: ", "Sort Code "),
    "SECURITY_ID": ("ISIN: ", "isin "),
    "VAT_NUMBER": ("VAT: ", "USt-IdNr. "),
    "AU_TFN": ("TFN: ", "tax file number "),
    "AU_MEDICARE": ("Medicare: ", "medicare number "),
    "NZ_IRD": ("IRD: ", "IRD number "),
    "DE_TAX_ID": ("Steuer-ID: ", "IdNr. "),
    "AT_SVNR": ("SVNR: ", "Sozialversicherungsnummer "),
    "PT_NIF": ("NIF: ", "contribuinte "),
    "NL_BSN": ("BSN: ", "burgerservicenummer "),
    "NO_FODSELSNUMMER": ("fødselsnummer: ", "personnummer "),
    "PL_PESEL": ("PESEL: ", "pesel "),
    "RO_CNP": ("CNP: ", "cnp "),
    "BG_EGN": ("EGN: ", "egn "),
    "HR_OIB": ("OIB: ", "oib "),
    "GR_AMKA": ("AMKA: ", "amka "),
    "EE_PERSONAL_CODE": ("isikukood: ", "isikukood "),
    "TR_KIMLIK": ("T.C. Kimlik No: ", "TCKN "),
    "IL_ID": ("Teudat Zehut: ", "teudat zehut "),
    "ZA_ID": ("SA ID: ", "ID number: "),
    "PASSPORT": ("passport no. ", "Reisepass: ", "passport number is "),
    "DRIVER_LICENSE": ("driver's license: ", "Führerschein "),
    "TAX_ID": ("tax id: ", "national id "),
    "MEDICAL_RECORD_NUMBER": ("MRN: ", "patient id "),
    "UK_NHS": ("NHS number: ", "NHS "),
    "US_NPI": ("NPI: ", "npi "),
    "US_DEA": ("DEA: ", "DEA number "),
    "CA_HEALTH_NUMBER": ("health card: ", "PHN "),
    "ICD10_CODE": ("ICD-10: ", "diagnosis "),
    "HEALTH_INSURANCE_ID": ("member id: ", "insurance policy "),
    "IMEI": ("IMEI: ", "imei "),
    "IMSI": ("IMSI: ", "imsi "),
    "LICENSE_PLATE": ("license plate: ", "Kennzeichen "),
    "HTTP_AUTHORIZATION": ("Authorization: Bearer ", "authorization: token "),
    "PASSWORD": ("password: ", "password is ", "pwd="),
    "SECRET": ("client_secret = ", "api_key: ", "SECRET_TOKEN="),
    "USERNAME": ("username: ", "login: "),
}
"""Words that have to stand before. Without them the value is none of this type."""
