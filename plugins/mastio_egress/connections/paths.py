"""The upstream path of a request, and the check that its connection allows it. Pure.

A path is judged in its normal form (RFC 3986 §6.2.2), and goes upstream in that form: what was judged is what is sent.
Whatever another reader may take for a way up or out is refused, however often it is encoded.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from mastio.exchange.errors import BadRequest
from mastio.exchange.matching import matches
from mastio_egress.connections.connection import ConnectionRow

NEVER = frozenset({"TRACE", "TRACK", "CONNECT"})
"""Methods that show the request to whoever asked, credential and all, or make a tunnel of it."""

MOST_ENCODED = 4
"""The number of times that a path may be encoded."""

_METHOD = re.compile(r"[A-Z][A-Z0-9_-]{0,31}")
_PATH = re.compile(r"/(?:(?:[A-Za-z0-9._~!$&'()*+,;=:@-]++|%[0-9A-Fa-f]{2})++(?:/|\Z))*+")
_QUERY = re.compile(rb"[\x21\x22\x24-\x7e]*")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_CLIMBS = re.compile(rb"[\x00-\x1f\x7f/\\]")


def find_upstream_path(row: ConnectionRow, rest: str, query: bytes) -> str:
    """The path and query after the base URL for a request to `/v1/egress/<connection>/<rest>?<query>`.

    The query keeps its bytes. Raises `BadRequest` (invalid_path) for what is no plain path.
    """
    path = normalise(f"/{rest}")
    if path is None:
        raise BadRequest("The path has encoded or empty segments, or characters that do not belong in one.",
                         code="invalid_path")  # fmt: skip
    if not _QUERY.fullmatch(query):
        raise BadRequest("The query has characters that do not belong in one.", code="invalid_path")
    return f"{path}?{query.decode('ascii')}" if query else path


def is_allowed(row: ConnectionRow, method: str, path: str) -> bool:
    """True if the connection allows this method, and this path behind its base URL (a query does not count).

    In a glob `*` stands for any characters, slashes too, and capitals count.
    """
    if method in NEVER or not _METHOD.fullmatch(method) or (row.methods and method not in row.methods):
        return False
    normal = normalise(path.partition("?")[0])
    return normal is not None and any(matches(normalise_escapes(glob), normal) for glob in row.paths)


@lru_cache(maxsize=256)
def normalise(path: str) -> str | None:
    """The normal form of a path, which begins with `/`; None for one that might climb."""
    if not _PATH.fullmatch(path):
        return None
    normal = normalise_escapes(path)
    return None if any(_may_climb(segment) for segment in normal.split("/")) else normal


def normalise_escapes(text: str) -> str:
    """Percent-encoding in capitals, and only where it means something (RFC 3986 §6.2.2.1, §6.2.2.2)."""
    return _ESCAPE.sub(_normalise_escape, text) if "%" in text else text


def _normalise_escape(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()


def _may_climb(segment: str) -> bool:
    """True if somebody reads a separator, a control character or a dot segment in it, with parameters or without."""
    said = segment.encode("ascii")
    for _ in range(MOST_ENCODED):
        if _CLIMBS.search(said) or said.partition(b";")[0] in (b".", b".."):
            return True
        decoded = unquote_to_bytes(said)
        if decoded == said:
            return not _is_utf8(said)  # such as an overlong dot (RFC 3629 §3)
        said = decoded
    return True


def _is_utf8(said: bytes) -> bool:
    try:
        said.decode()
    except UnicodeDecodeError:
        return False
    return True
