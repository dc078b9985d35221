"""Addresses in a request that the provider is asked to fetch: only what anybody may fetch. Pure.

Nothing is fetched here. But a provider may stand in the operator's own network, and what it fetches for a caller comes
back as an answer: so no file, no inner address and no odd spelling of one goes to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from mastio.errors import BadRequest
from mastio.target import is_public, looks_numeric

INLINE = "data:"
SCHEMES = frozenset({"https", "http", "gs"})
INNER = ("localhost", ".localhost", ".local", ".internal", ".lan", ".home.arpa")

_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}")
_ODD = re.compile(r"[\x00-\x20\x7f\\]")


def verify_links(links: Iterable[object]) -> None:
    """Raises `BadRequest` for one that is not inline and not public."""
    for link in links:
        if isinstance(link, str) and not link.startswith(INLINE) and not is_acceptable(link):
            raise BadRequest("An address that the provider is to fetch is not a public one.", code="invalid_body")


def is_acceptable(url: str) -> bool:
    """Whether the host is a name that is not an inner one, or a public address in its usual spelling."""
    if _ODD.search(url):
        return False
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return False
    if parts.scheme not in SCHEMES or "@" in parts.netloc:
        return False
    try:
        return is_public(ip_address(host))
    except ValueError:
        return bool(_HOST.fullmatch(host)) and not looks_numeric(host) and not f".{host}".endswith(INNER)
