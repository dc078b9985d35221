"""Redirects of a connection's upstream: the decision to follow one, its next request, and the location that the caller
sees. Pure.

RFC 9110 §15.4. Every hop is judged like the first request: its origin, its path, and by the pool its addresses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urljoin

from mastio.exchange.errors import BadRequest
from mastio.exchange.target import Target, TargetError, parse_base_url, parse_url
from mastio.outbound.request_headers import DEFAULT
from mastio_egress.connections.connection import ConnectionRow
from mastio_egress.connections.credentials import Outgoing
from mastio_egress.connections.paths import find_upstream_path, is_allowed, normalise

MOST_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
KEEP_METHOD = frozenset({307, 308})
WITHOUT_BODY = frozenset({"GET", "HEAD"})

FOR_OTHERS = frozenset(name.decode("ascii") for name in DEFAULT) | {"accept-encoding"}
"""Headers that go to a host other than the connection's: no cookies, and none that an admin named for the
connection."""

OF_A_BODY = frozenset({"content-type", "content-length", "content-language", "content-location", "content-encoding"})

_ODD = re.compile(r"[^\x21-\x7e]|\\")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_AUTHORITY = re.compile(r"(?:[A-Za-z]+:)?//([^/?#]*)")


@dataclass(frozen=True, slots=True)
class Hop:
    """A request to `origin` (`https://host:port`); its path is behind the base URL where that is the connection's own
    origin, else behind the origin."""

    origin: str
    asked: Outgoing


def follow(row: ConnectionRow, hop: Hop, status: int, locations: list[bytes]) -> Hop | None:
    """The next hop after the reply to `hop`; None: the caller gets the reply unchanged.

    Within the upstream's own origin only what the agent might have asked for itself; to other hosts only what has no
    body, over TLS and at the usual port.
    """
    if not row.redirects or status not in REDIRECTS or len(locations) != 1:
        return None
    base = parse_base_url(row.base_url)
    if hop.origin != base.origin:  # whoever is not the upstream sends nobody anywhere
        return None
    asked = _ask_again(hop.asked, status)
    found = _resolve(base, hop.asked.path, locations[0])
    if asked is None or found is None:
        return None
    target, path = found
    if target.origin == base.origin:
        return _to_own(row, base, asked, path)
    if (target.scheme, target.port) != ("https", 443) or target.host not in row.redirect_hosts:
        return None
    if asked.method not in WITHOUT_BODY or asked.body:
        return None
    headers = [pair for pair in asked.headers if pair[0] in FOR_OTHERS]
    return Hop(target.origin, Outgoing(asked.method, path, headers, b""))


def make_absolute(row: ConnectionRow, hop: Hop, location: bytes) -> bytes | None:
    """The absolute address that a redirect's host means by `location`; its paths are its own. None: the address cannot
    be told."""
    if hop.origin == parse_base_url(row.base_url).origin:
        return location
    found = _resolve(parse_base_url(hop.origin), hop.asked.path, location)
    return None if found is None else f"{found[0].origin}{found[1]}".encode("ascii")


def rewrite_location(row: ConnectionRow, location: bytes, asked: str, prefix: str) -> bytes | None:
    """The `Location` that the caller is shown when a redirect is not followed, for a request to `asked` behind the base
    URL. A location that leads to the connection's own base URL leads there through the connection (`prefix`). What the
    upstream means of itself otherwise is written out: to the caller a path is one of the appliance. None: nothing is
    shown, since it has a user in it, or leads nowhere that could be told.
    """
    text = location.decode("latin-1")
    scheme, authority = _SCHEME.match(text), _AUTHORITY.match(text)
    if _ODD.search(text) or (authority is not None and "@" in authority[1]):
        return None
    if scheme is not None and scheme[1].lower() not in ("http", "https"):
        return location
    base = parse_base_url(row.base_url)
    found = _resolve(base, asked, location)
    if found is None:
        return location if authority is not None and authority[1] else None
    target, path = found
    if target.origin != base.origin:
        return location
    rest = _behind(base, path)
    if rest is None:
        return f"{target.origin}{path}".encode("ascii") if authority is None else location
    if normalise(rest.partition("?")[0]) is None:
        return None
    _, sign, fragment = text.partition("#")
    return f"{prefix}{rest}{sign}{fragment}".encode("ascii")


def _ask_again(asked: Outgoing, status: int) -> Outgoing | None:
    """The request that a redirect with this status asks for; None where its body is gone."""
    if status in KEEP_METHOD:
        return asked if asked.body is not None else None
    if asked.method in WITHOUT_BODY:
        return Outgoing(asked.method, asked.path, asked.headers, b"")
    if status != 303 and asked.method != "POST":
        return asked if asked.body is not None else None
    headers = [pair for pair in asked.headers if pair[0] not in OF_A_BODY]
    return Outgoing("GET", asked.path, headers, b"")


def _resolve(base: Target, asked: str, location: bytes) -> tuple[Target, str] | None:
    """The target of a reference (RFC 3986 §5) in the reply to `asked`, and its path with the query. None for a
    reference that cannot be judged."""
    try:
        text = location.decode("ascii")
        authority = _AUTHORITY.match(text)
        if _ODD.search(text) or (_SCHEME.match(text) if authority is None else not authority[1]):
            return None  # `https:x` and `https:///x` are read in several ways
        return parse_url(urljoin(f"{base.origin}{base.path}{asked}", text))
    except (ValueError, TargetError):
        return None


def _behind(base: Target, path: str) -> str | None:
    """The rest of `path` behind the base URL's path; None if it is not below it."""
    return path.removeprefix(base.path) if path.startswith(f"{base.path}/") else None


def _to_own(row: ConnectionRow, base: Target, asked: Outgoing, path: str) -> Hop | None:
    rest, _, query = (_behind(base, path) or "").partition("?")
    try:
        found = find_upstream_path(row, rest.removeprefix("/"), query.encode("ascii"))
    except BadRequest:
        return None
    if not rest or not is_allowed(row, asked.method, rest):
        return None
    return Hop(base.origin, Outgoing(asked.method, found, asked.headers, asked.body))
