"""The headers that pass between an agent and a connection's upstream, in both directions. Pure.

Requests have an allow list (`mastio.outbound.request_headers`). Replies have a deny list, since nobody knows which
headers an API has: taken out is what belongs to one hop only, what proves or claims who somebody is, what means
something to a proxy on the way, and what would speak for the appliance.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from mastio.exchange.errors import BadRequest, Denied, DispatchError
from mastio.outbound.request_headers import COOKIES, LISTS, is_of_hop, is_sendable, is_token, judge_header

Headers = list[tuple[bytes, bytes]]

PARTS = frozenset({b"range", b"if-range"})
"""Ask for a part of a reply: two halves of a secret are in no part as a whole. A server may always send all of it
(RFC 9110 §14.2)."""

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

MOST_NAMES = 20
"""Of headers that were left out, in an entry."""

_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_LENGTH = re.compile(rb"[0-9]{1,18}")

IDENTITY = ("accept-encoding", "identity")
"""Replies are asked for as they are, so that they can be looked into."""


def outgoing(
    headers: Headers, keep: Collection[str] = (), parts: bool = True, named: Collection[str] = ()
) -> list[tuple[str, str]]:
    """The request headers that go upstream (names in lower case); the length is `declared_length`'s.

    Values stay as they came where they are UTF-8; others are read as latin-1. `keep` as for `incoming`; `parts`:
    whether one of the reply may be asked for; `named`: the connection's `request_headers`. Raises `BadRequest`, and
    `Denied` for a header that says what is done and that the connection does not send.
    """
    of_hop = _named_by_connection(headers)
    cookies = _is_kept(b"set-cookie", keep)
    passed: list[tuple[str, str]] = []
    once: set[bytes] = set()
    for name, value in headers:
        if not is_token(name) or _CONTROL.search(value):
            raise BadRequest("A header has characters that do not belong in one.")
        fate = judge_header(name, named)
        said = name.decode("ascii")
        if fate == "refused":
            raise Denied(
                f"The connection does not send the header {said[:64]}, which says what is done;"
                " an admin can add it to the connection's request_headers."
            )
        if (fate != "sent" and not (cookies and name in COOKIES)) or name in of_hop or (not parts and name in PARTS):
            continue
        if name in once and name not in LISTS:
            raise BadRequest(f"The header {said[:64]} is there more than once.")
        once.add(name)
        passed.append((said, _decode(value)))
    return [*passed, IDENTITY]


def left_out(headers: Headers, sent: Sequence[tuple[str, str]]) -> list[str]:
    """Names of headers that an agent sent and the upstream does not get, for the audit entry: what is neither of one
    hop nor the appliance's own."""
    passed = {name.encode("ascii") for name, _ in sent}
    names = {name for name, _ in headers if name not in passed and is_sendable(name)}
    return [name.decode("ascii")[:64] for name in sorted(names)[:MOST_NAMES]] if names else []


def incoming(headers: Headers, keep: Collection[str] = ()) -> Headers:
    """The reply headers that go back to the caller (names in lower case); the length is `reply_length`'s.

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
def _comes_back(name: bytes) -> bool:
    folded = name.replace(b"_", b"-")
    if is_of_hop(name) or folded in OURS or folded in ORIGIN or folded.startswith(OUR_PREFIXES):
        return False
    return name != b"content-length" and is_token(name)


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
