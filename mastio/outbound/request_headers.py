"""The headers of an agent's request that a connection sends upstream: an allow list. Pure.

A header can be as much a part of an action as its path: `Destination` is the new place of a file, `X-Amz-Target`
names the call. So only headers that describe the body, the wanted reply or a condition are sent, and those that an
admin named for the connection (`request_headers`). Of the others, one that is known to say what is done is refused,
because the request would do something else without it; the rest is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Literal

from mastio.exchange import presented_credentials as presented

HOP = frozenset({
    b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"http2-settings",
})  # fmt: skip
"""RFC 9110 §7.6.1: for one connection, as is what Connection names, and `proxy-*`."""

CREDENTIALS = presented.HEADERS | {b"dpop"}
"""Headers that prove the agent's identity to the appliance."""

COOKIES = frozenset({b"cookie", b"cookie2"})
"""Sent where the upstream may set them: otherwise they are somebody else's."""

CLAIMS = frozenset({
    b"forwarded", b"via", b"x-real-ip", b"x-user", b"x-remote-user", b"x-remote-addr", b"remote-user", b"x-request-id",
    b"true-client-ip", b"cf-connecting-ip", b"fastly-client-ip", b"x-cluster-client-ip", b"x-originating-ip",
    b"x-enrollment-proof",
})  # fmt: skip
CLAIM_PREFIXES = (b"x-edge-", b"x-forwarded-", b"x-client-", b"x-ssl-client-", b"client-cert", b"mastio-", b"x-mastio-")
"""Prefixes of headers about the caller and its address: the edge's own, and those that upstreams believe from a
proxy."""

OVERRIDES = frozenset({
    b"x-http-method-override", b"x-http-method", b"x-method-override", b"x-original-url", b"x-original-uri",
    b"x-rewrite-url", b"x-original-host", b"x-host", b"x-original-method",
})  # fmt: skip
"""Make another request of it than the one that was judged."""

FRAMING = frozenset({b"host", b"content-length", b"accept-encoding", b"expect"})
"""Written anew by the appliance."""

TRACING = frozenset({b"traceparent", b"tracestate"})
"""W3C Trace Context: new for each try, and no part of what is done."""

DEFAULT = TRACING | {
    b"accept", b"accept-charset", b"accept-datetime", b"accept-language", b"cache-control", b"content-digest",
    b"content-disposition", b"content-encoding", b"content-language", b"content-md5", b"content-range",
    b"content-type", b"digest", b"if-match", b"if-modified-since", b"if-none-match", b"if-range",
    b"if-unmodified-since", b"last-event-id", b"pragma", b"prefer", b"range", b"repr-digest", b"user-agent",
}  # fmt: skip
"""Sent by every connection: the body's description, conditions, and the wanted form of the reply."""

LISTS = frozenset({
    b"accept", b"accept-charset", b"accept-language", b"cache-control", b"content-encoding", b"content-language",
    b"if-match", b"if-none-match", b"pragma", b"prefer", b"tracestate", b"cookie",
})  # fmt: skip
"""May stand in several lines, which mean one list (RFC 9110 §5.3). Of any other header servers take different ones."""

_ACTS = frozenset({
    b"depth", b"destination", b"if", b"if-schedule-tag-match", b"idempotency-key", b"lock-token", b"overwrite",
    b"soapaction",
})  # fmt: skip
_ACT_PREFIXES = (b"x-amz-", b"x-goog-", b"x-ms-", b"x-oss-", b"x-cos-", b"x-obs-")
_HARMLESS = re.compile(
    rb"x-amz-(date|security-token|content-sha256|user-agent|trace-id|cf-id|checksum-[a-z0-9-]*|sdk-checksum-algorithm)"
    rb"|x-goog-(api-client|request-params|hash)|x-ms-(client-request-id|return-client-request-id|date|useragent)"
)
"""Signatures, checksums and statistics of vendors' clients: a request without them does the same."""

_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

Fate = Literal["sent", "left_out", "refused"]


@lru_cache(maxsize=1024)
def is_sendable(name: bytes) -> bool:
    """True if an admin may name this header for a connection. `name` in lower case."""
    return _TOKEN.fullmatch(name) is not None and not (is_of_hop(name) or is_ours(name) or name in COOKIES)


def is_token(name: bytes) -> bool:
    """True if `name` is the name of a header (RFC 9110 §5.1)."""
    return _TOKEN.fullmatch(name) is not None


def judge_header(name: bytes, named: Collection[str]) -> Fate:
    """Decides about a request's header. `named`: the connection's `request_headers`, in lower case."""
    fate = _judge(name)
    return "sent" if fate != "sent" and named and name.decode("latin-1") in named and is_sendable(name) else fate


@lru_cache(maxsize=1024)
def _judge(name: bytes) -> Fate:
    if name in DEFAULT:
        return "sent"
    folded = name.replace(b"_", b"-")
    if is_of_hop(name) or is_ours(name) or folded in COOKIES:
        return "left_out"
    if folded in _ACTS or (folded.startswith(_ACT_PREFIXES) and not _HARMLESS.fullmatch(folded)):
        return "refused"
    return "left_out"


def is_of_hop(name: bytes) -> bool:
    return name in HOP or name.startswith(b"proxy-")


def is_ours(name: bytes) -> bool:
    """True for headers that only the appliance may set. Underscores count as hyphens, as they do for some upstreams."""
    name = name.replace(b"_", b"-")
    return (
        name in CREDENTIALS or name in CLAIMS or name in OVERRIDES or name in FRAMING or name.startswith(CLAIM_PREFIXES)
    )
