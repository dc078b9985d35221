"""Addresses in a request that the provider is asked to fetch: only what anybody may fetch. Pure.

Nothing is fetched here. But a provider may stand in the operator's own network, and what it fetches for a caller comes
back as an answer: so no file, no inner address and no odd spelling of one goes to it. Whether a public one may be
fetched is for policies (`mastio_llm.acts`).
"""

from __future__ import annotations

import re

from mastio.exchange.errors import BadRequest
from mastio.exchange.target import TargetError, is_public, parse_url

INLINE = "data:"
INNER = (
    ".localhost", ".local", ".internal", ".lan", ".home.arpa", ".intranet", ".private", ".corp", ".home",
)  # fmt: skip
"""Ends of names that are nobody's on the internet (RFC 6761, RFC 6762 appendix G, RFC 8375)."""

_BUCKET = re.compile(r"gs://([A-Za-z0-9][A-Za-z0-9._-]{1,221})(?:/[^\x00-\x20\x7f\\]*)?")
_OWN_FILE = re.compile(r"https://generativelanguage\.googleapis\.com/v[0-9a-z]+/(files/[a-z0-9-]{1,64})")
"""A file that the caller gave to the Gemini API before."""


def read_link(url: str) -> tuple[str | None, str]:
    """The name of the file that the provider keeps, where `url` is that of one, and the host; a bucket stands for
    itself. Raises `BadRequest` for an address that is not public."""
    file = _OWN_FILE.fullmatch(url)
    if file is not None:
        return file[1], "generativelanguage.googleapis.com"
    bucket = _BUCKET.fullmatch(url)
    if bucket is not None:
        return None, f"gs://{bucket[1]}"
    try:
        target, _ = parse_url(url)
    except TargetError as error:
        raise _refuse() from error
    address = target.address
    if not is_public(address) if address is not None else _is_inner(target.host):
        raise _refuse()
    return None, target.host


def _is_inner(name: str) -> bool:
    """True if a name has a meaning in a private network only, as every name without a dot does."""
    return "." not in name or name.endswith(INNER)


def _refuse() -> BadRequest:
    return BadRequest("An address that the provider is to fetch is not a public one.", code="invalid_body")
