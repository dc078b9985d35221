"""The headers that go to the provider, and the reply headers that come back. Pure; allow lists."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from math import inf
from urllib.parse import quote

from mastio.exchange.errors import BadRequest
from mastio.exchange.values import RequestHead
from mastio.outbound.request_headers import is_sendable
from mastio.plugin.services import UpstreamReply
from mastio_llm.dialects import SPEAKERS
from mastio_llm.dialects.operation import Usage
from mastio_llm.provider_secrets import ProviderKind
from mastio_llm.routing.candidates import Choice
from mastio_llm.routing.prices import encode_usd

Headers = list[tuple[bytes, bytes]]

UP = (b"accept", b"user-agent", b"traceparent", b"tracestate")
OF_PREFIX = {b"openai-": frozenset({b"openai-beta"})}
"""Of a provider's own prefix, the names that go up where it has others too: which organization or project pays is the
appliance's to say, as its key is, and so is what an idempotency key stands for."""

DOWN = (b"cache-control", b"content-type", b"retry-after", b"request-id", b"x-should-retry")
LIMITS = b"x-ratelimit-"
MOST = 2048
"""Bytes of a provider's headers that are passed on: the edge takes a head of 4 KiB with ours."""

_PLAIN_VALUE = re.compile(rb"[A-Za-z0-9._-]{1,64}")


def verify_json_type(head: RequestHead) -> None:
    """Raises `BadRequest` (415) unless the body is declared as plain JSON."""
    content_type = (head.header(b"content-type") or b"").split(b";")[0].strip().lower()
    if content_type != b"application/json" or head.header(b"content-encoding") not in (None, b"identity"):
        raise BadRequest("The body must be application/json without encoding.", code="unsupported_media_type")


def read_query(query: bytes, known: frozenset[bytes]) -> str:
    """The parameters that go along, as they came; no others do, since some APIs take keys and options there."""
    if not query or not known:
        return ""
    pairs = [pair.partition(b"=") for pair in query.split(b"&")]
    kept = [name + b"=" + value for name, _, value in pairs if name in known and _PLAIN_VALUE.fullmatch(value)]
    return "?" + b"&".join(kept).decode("ascii") if kept else ""


def passed_on(head: RequestHead, choice: Choice, named: Collection[bytes] = ()) -> list[bytes]:
    """The headers that may change the answer: of the provider's own kind, and `named` by the settings."""
    prefix = SPEAKERS[choice.provider.kind].prefix
    return sorted(name + b":" + value for name, value in head.headers if _is_of(prefix, name) or name in named)


def request_headers(head: RequestHead, choice: Choice, named: Collection[bytes] = ()) -> list[tuple[str, str]]:
    """An allow list, so that no credential, cookie or identity header of the caller can go upstream. The provider's own
    is still to be added. `named`: those that the settings add."""
    speaker = SPEAKERS[choice.provider.kind]
    headers = [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in head.headers
        if goes_up(name, choice.provider.kind) or name in named
    ]
    for name, value in speaker.defaults:
        if not any(sent == name for sent, _ in headers):
            headers.append((name, value))
    headers += [("content-type", "application/json"), ("accept-encoding", "identity"), ("x-request-id", head.id)]
    return headers


@lru_cache(maxsize=1024)
def goes_up(name: bytes, kind: ProviderKind) -> bool:
    """True if a header of the caller goes to providers of this kind, whatever the settings add."""
    return name in UP or _is_of(SPEAKERS[kind].prefix, name)


def _is_of(prefix: bytes, name: bytes) -> bool:
    return name in OF_PREFIX[prefix] if prefix in OF_PREFIX else name.startswith(prefix)


def parse_header_names(names: Collection[str]) -> frozenset[bytes]:
    """The setting `request_headers`. Raises `ValueError` for what never goes up."""
    found = frozenset(name.lower().encode("latin-1", "replace") for name in names)
    for name in sorted(found):
        if not is_sendable(name) or name == b"content-type":
            raise ValueError(f"The header {name.decode('latin-1')} cannot be sent to providers.")
    return found


def reply_headers(upstream: UpstreamReply, choice: Choice, secrets: Collection[bytes]) -> Headers:
    """An allow list too, each name once. What repeats one of `secrets` is left out, and so is what is too much. Names
    come in lower case, so case does not count."""
    hidden = [secret.lower() for secret in secrets]
    prefix = SPEAKERS[choice.provider.kind].prefix
    once: dict[bytes, bytes] = {}
    left = MOST
    for name, value in upstream.headers:
        if name in once or not (name in DOWN or name.startswith(prefix) or name.startswith(LIMITS)):
            continue
        left -= len(name) + len(value)
        said = (name.lower(), value.lower())
        if left >= 0 and not any(secret in part for secret in hidden for part in said):
            once[name] = value
    headers = list(once.items())
    headers += [
        (b"x-provider", choice.provider.name.encode()),
        (b"x-model", quote(choice.model, safe="/:@+").encode("ascii")),
        (b"x-cache", b"BYPASS"),
    ]
    return headers


def declare(headers: Headers, content_type: bytes) -> Headers:
    """With this type of content instead of the provider's."""
    return [pair for pair in headers if pair[0] != b"content-type"] + [(b"content-type", content_type)]


def usage_headers(usage: Usage | None) -> Headers:
    if usage is None:
        return []
    pairs = ((b"x-tokens-input", usage.get("input_tokens")), (b"x-tokens-output", usage.get("output_tokens")))
    headers = [(name, b"%d" % count) for name, count in pairs if count is not None]
    if "cost_nano_usd" in usage:
        headers.append((b"x-cost-usd", encode_usd(usage["cost_nano_usd"]).encode("ascii")))
    return headers


def parse_retry_after(value: bytes) -> float:
    """Seconds; for a date, which is not worth a wait, without end."""
    return float(value) if value.isdigit() else inf
