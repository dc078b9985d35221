"""What of an agent's headers goes to a connection's upstream, and what of the reply's comes back. Pure.

Deny lists, since nobody knows which headers an API has: taken out is what belongs to one hop only, what proves or
claims who somebody is, what means something to a proxy on the way, and what would speak for the appliance.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from mastio import presented
from mastio.errors import BadRequest, DispatchError

Headers = list[tuple[bytes, bytes]]

HOP = frozenset({
    b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"http2-settings",
})  # fmt: skip
"""RFC 9110 §7.6.1: for one connection, as is what Connection names, and `proxy-*`."""

CREDENTIALS = presented.HEADERS | {b"dpop"}
"""What proves to the appliance who the agent is."""

COOKIES = frozenset({b"cookie", b"cookie2"})
"""For the upstream only where it may set them: otherwise they are somebody else's."""

CLAIMS = frozenset({
    b"forwarded", b"via", b"x-real-ip", b"x-user", b"x-remote-user", b"x-remote-addr", b"remote-user", b"x-request-id",
    b"true-client-ip", b"cf-connecting-ip", b"fastly-client-ip", b"x-cluster-client-ip", b"x-originating-ip",
    b"x-enrollment-proof",
})  # fmt: skip
CLAIM_PREFIXES = (b"x-edge-", b"x-forwarded-", b"x-client-", b"x-ssl-client-", b"client-cert", b"mastio-", b"x-mastio-")
"""Who and from where: the edge's own, and what upstreams believe when a proxy says it."""

OVERRIDES = frozenset({
    b"x-http-method-override", b"x-http-method", b"x-method-override", b"x-original-url", b"x-original-uri",
    b"x-rewrite-url", b"x-original-host", b"x-host", b"x-original-method",
})  # fmt: skip
"""Make another request of it than the one that was judged."""

PARTS = frozenset({b"range", b"if-range"})
"""Ask for a part of a reply: two halves of a secret are in no part as a whole. A server may always send all of it
(RFC 9110 §14.2)."""

FRAMING = frozenset({b"host", b"content-length", b"accept-encoding", b"expect"})
"""Said anew by who sends it."""

KEPT_BY_RULE = frozenset({b"set-cookie", b"set-cookie2", b"www-authenticate", b"authentication-info", b"refresh"})
"""Of a reply: left out unless the connection keeps them. Cookies and challenges are between credential and upstream."""

OURS = frozenset({
    b"x-request-id", b"server-timing", b"dpop-nonce", b"x-cache", b"x-provider", b"x-model", b"x-tokens-input",
    b"x-tokens-output", b"x-cost-usd",
})  # fmt: skip
ORIGIN = frozenset({
    b"alt-svc", b"strict-transport-security", b"public-key-pins", b"expect-ct", b"clear-site-data", b"nel",
    b"report-to", b"reporting-endpoints", b"service-worker-allowed", b"origin-agent-cluster",
})  # fmt: skip
"""Of a reply: would speak for the appliance's own origin."""

OUR_PREFIXES = (b"x-accel-", b"x-edge-", b"mastio-", b"x-mastio-")
"""`x-accel-*` are orders to nginx."""

MOST = 24 * 1024
"""Bytes of a reply's headers that are passed on: the edge takes a head of 32 KiB with ours."""

_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_LENGTH = re.compile(rb"[0-9]{1,18}")


def outgoing(headers: Headers, keep: Collection[str] = (), parts: bool = True) -> list[tuple[str, str]]:
    """What goes upstream of a request's headers (names in lower case); the length is `declared_length`'s.

    Replies are asked for as they are, so that they can be looked into. Values stay as they came where they are UTF-8;
    others are read as latin-1. `keep` as for `incoming`; `parts`: whether one of the reply may be asked for. Raises
    `BadRequest`.
    """
    named = _named_by_connection(headers)
    if not _is_kept(b"set-cookie", keep):
        named |= COOKIES
    if not parts:
        named |= PARTS
    passed: list[tuple[str, str]] = []
    for name, value in headers:
        goes_up = _goes_up(name)
        if goes_up is None or _CONTROL.search(value):
            raise BadRequest("A header has characters that do not belong in one.")
        if goes_up and name not in named:
            passed.append((name.decode("ascii"), _decode(value)))
    return [*passed, ("accept-encoding", "identity")]


def incoming(headers: Headers, keep: Collection[str] = ()) -> Headers:
    """What comes back of a reply's headers (names in lower case); the length is `reply_length`'s.

    `keep`: which of `KEPT_BY_RULE` the connection lets through. Raises `DispatchError` for more than can be passed on.
    """
    named = _named_by_connection(headers)
    passed = [
        (name, value)
        for name, value in headers
        if _comes_back(name)
        and name not in named
        and (name not in KEPT_BY_RULE or _is_kept(name, keep))
        and not _CONTROL.search(value)
    ]
    if sum(len(name) + len(value) + 4 for name, value in passed) > MOST:
        raise DispatchError("The upstream's reply has more headers than can be passed on.")
    return passed


def declared_length(headers: Headers) -> int | None:
    """Of a request's body; None: it does not say. Raises `BadRequest` for what is no length, or two of them."""
    length = _length(headers)
    if length is not None and length < 0:
        raise BadRequest("The header content-length is not acceptable.")
    return length


def reply_length(headers: Headers) -> int | None:
    """As `declared_length`, of a reply. Raises `DispatchError`."""
    length = _length(headers)
    if length is not None and length < 0:
        raise DispatchError("The upstream's reply has an unreadable length.")
    return length


def _length(headers: Headers) -> int | None:
    """Negative: nobody can say (RFC 9110 §8.6)."""
    values = {value for name, value in headers if name == b"content-length"}
    if not values:
        return None
    value = values.pop()
    return int(value) if not values and _LENGTH.fullmatch(value) else -1


def _named_by_connection(headers: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    return frozenset(
        word.strip().lower() for name, value in headers if name == b"connection" for word in value.split(b",")
    )


def _is_kept(name: bytes, keep: Collection[str]) -> bool:
    return any(kept.lower() == name.decode("ascii") for kept in keep)


@lru_cache(maxsize=1024)
def _goes_up(name: bytes) -> bool | None:
    """None: it is no name of a header."""
    return not (_is_of_hop(name) or _is_ours(name)) if _TOKEN.fullmatch(name) else None


@lru_cache(maxsize=1024)
def _comes_back(name: bytes) -> bool:
    folded = name.replace(b"_", b"-")
    if _is_of_hop(name) or folded in OURS or folded in ORIGIN or folded.startswith(OUR_PREFIXES):
        return False
    return name != b"content-length" and _TOKEN.fullmatch(name) is not None


def _is_of_hop(name: bytes) -> bool:
    return name in HOP or name.startswith(b"proxy-")


def _is_ours(name: bytes) -> bool:
    """Underscores are hyphens to some upstreams."""
    name = name.replace(b"_", b"-")
    return (
        name in CREDENTIALS or name in CLAIMS or name in OVERRIDES or name in FRAMING or name.startswith(CLAIM_PREFIXES)
    )


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
