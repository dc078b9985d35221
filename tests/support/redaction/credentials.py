"""Invented secrets; nothing that looks like a key stands here as one piece."""

from __future__ import annotations

import base64
from random import Random

from support.redaction.chance import ALNUM, DIGITS, HEX, LOWER, UPPER, URL, Make, pick


def mixed(random: Random, count: int, alphabet: str = ALNUM) -> str:
    """With a digit, so that it is random enough."""
    return pick(random, alphabet, count - 3) + random.choice(LOWER) + random.choice(UPPER) + random.choice(DIGITS)


def jwt(random: Random) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"ES256","typ":"at+jwt"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(
        b'{"sub":"agent-%d","exp":17672256%02d}' % (random.randint(1, 99), random.randint(0, 99))
    ).decode()
    return f"{head}.{body.rstrip('=')}.{pick(random, URL, 86)}"


def private_key(random: Random) -> str:
    kind = random.choice(["RSA ", "EC ", "", "OPENSSH "])
    lines = "\n".join(pick(random, ALNUM + "+/", 64) for _ in range(random.randint(2, 6)))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n-----END {kind}PRIVATE KEY-----"


def connection_string(random: Random) -> str:
    scheme = random.choice(["postgresql", "mysql", "mongodb+srv", "redis", "amqps"])
    return f"{scheme}://app:{mixed(random, 12)}@db{random.randint(1, 9)}.example.com:5432/orders"


def password(random: Random) -> str:
    return random.choice(["Tr0ub4dor", "hunter2", "S3cr3t!pass", "correct-Horse7", "Wint3r2024!"]) + pick(
        random, DIGITS, 2
    )


def token(prefix: str, count: int, alphabet: str = ALNUM) -> Make:
    return lambda random: prefix + mixed(random, count, alphabet)


def hexed(prefix: str, count: int) -> Make:
    return lambda random: prefix + pick(random, HEX, count - 2) + "a1"
