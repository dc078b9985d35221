"""Redirects of a connection's upstream: whether one is followed, how, and what of one the caller is shown. Pure.

RFC 9110 §15.4. Every hop is judged like the first request: its origin, its path, and by the pool its addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urljoin

from mastio.errors import BadRequest
from mastio.store.base import ConnectionRow
from mastio.target import Target, TargetError, parse_base_url, parse_url
from mastio_egress.credentials import Outgoing
from mastio_egress.paths import find_upstream_path, is_allowed

MOST_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
KEEP_METHOD = frozenset({307, 308})

NOT_FOR_OTHERS = frozenset({"cookie", "origin", "referer"})
OF_A_BODY = frozenset({"content-type", "content-length", "content-language", "content-location", "content-encoding"})


@dataclass(frozen=True, slots=True)
class Hop:
    """A request to `origin` (`https://host:port`); its path is behind the base URL where that is the connection's own
    origin, else behind the origin."""

    origin: str
    asked: Outgoing


def find_origin(target: Target) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{target.scheme}://{host}:{target.port}"


def follow(row: ConnectionRow, hop: Hop, status: int, locations: list[bytes]) -> Hop | None:
    """Where the reply to `hop` leads; None: the caller gets it as it is."""
    if not row.redirects or status not in REDIRECTS or len(locations) != 1:
        return None
    base = parse_base_url(row.base_url)
    own = find_origin(base)
    if hop.origin != own:  # whoever is not the upstream sends nobody anywhere
        return None
    asked = _ask_again(hop.asked, status)
    found = _resolve(f"{own}{base.path}{hop.asked.path}", locations[0])
    if asked is None or found is None:
        return None
    target, path, query = found
    if find_origin(target) == own:
        rest = _behind(base.path, path)
        return None if rest is None else _to_own(row, own, asked, rest, query)
    if target.scheme != "https" or target.host not in row.redirect_hosts:
        return None
    headers = [pair for pair in asked.headers if pair[0] not in NOT_FOR_OTHERS]
    return Hop(find_origin(target), Outgoing(asked.method, _join(path, query), headers, asked.body))


def rewrite_location(row: ConnectionRow, location: bytes, asked: str, prefix: str) -> bytes | None:
    """What the caller is shown of a redirect that was not followed, for a request to `asked` behind the base URL. What
    leads to the connection's own base URL leads there through the connection (`prefix`); None: nothing is shown."""
    base = parse_base_url(row.base_url)
    own = find_origin(base)
    if (
        b"@"
        in location.partition(b"?")[0].partition(b"#")[0].removeprefix(b"//").partition(b"//")[2].partition(b"/")[0]
    ):
        return None
    found = _resolve(f"{own}{base.path}{asked}", location)
    if found is None or find_origin(found[0]) != own:
        return location
    rest = _behind(base.path, found[1])
    if rest is None:
        return location
    fragment = location.partition(b"#")[1] + location.partition(b"#")[2]
    return f"{prefix}{_join(rest, found[2])}".encode("latin-1") + fragment


def _ask_again(asked: Outgoing, status: int) -> Outgoing | None:
    """The request that a redirect with this status asks for; None where its body is gone."""
    if status in KEEP_METHOD:
        return asked if asked.body is not None else None
    if asked.method in ("GET", "HEAD"):
        return Outgoing(asked.method, asked.path, asked.headers, b"")
    if status != 303 and asked.method != "POST":
        return asked if asked.body is not None else None
    headers = [pair for pair in asked.headers if pair[0] not in OF_A_BODY]
    return Outgoing("GET", asked.path, headers, b"")


def _resolve(base: str, location: bytes) -> tuple[Target, str, bytes] | None:
    """Target, path and query of a reference (RFC 3986 §5); None for one that leads nowhere we could judge."""
    try:
        text = location.decode("ascii")
        if any(c <= " " or c in "\\\x7f" for c in text):
            return None
        target, sent = parse_url(urljoin(base, text))
    except (ValueError, TargetError):
        return None
    path, _, query = sent.partition("?")
    return target, path, query.encode("ascii")


def _behind(base: str, path: str) -> str | None:
    """What stands behind the base URL's path; None where the path is not below it."""
    if not base:
        return path
    return path[len(base) :] if path.startswith(f"{base}/") else None


def _to_own(row: ConnectionRow, own: str, asked: Outgoing, rest: str, query: bytes) -> Hop | None:
    try:
        path = find_upstream_path(row, rest.removeprefix("/"), query)
    except BadRequest:
        return None
    if not is_allowed(row, asked.method, rest):
        return None
    return Hop(own, Outgoing(asked.method, path, asked.headers, asked.body))


def _join(path: str, query: bytes) -> str:
    return path + ("?" + query.decode("ascii") if query else "")
