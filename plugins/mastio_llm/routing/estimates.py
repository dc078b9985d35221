"""The most that a call may use, and an estimate of its usage if the provider reports none. Pure.

Before: a bound that holds, since limits rely on it. No token is shorter than a byte, nobody reads beyond a model's
context, nobody writes more than was allowed or than the model can. After: the same bound, marked as one (`estimated`):
of a stream that nobody counted to its end nobody knows what it used, and less would be a call that a budget never saw.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from mastio.exchange.values import Bound
from mastio_llm.dialects.operation import CallRequest, Usage
from mastio_llm.routing.prices import Price

ENOUGH = 1024
LEAST = 16
"""Tokens that a caller who set no limit is kept to where a budget has no more: what is an answer, and the last bit."""

UNKNOWN_OUTPUT = 32_768
"""The output limit, in tokens, of an unknown model, for callers who set no limit."""

UNKNOWN_CONTEXT = 200_000
"""The context size, in tokens, of an unknown model, if the body does not contain all that is read."""

BEYOND = (
    b'previous_response_id"', b'conversation"', b'container"', b'file_id"', b'fileUri"', b'file_uri"', b'file_url"',
    b'image_url"', b'"url"', b'file_data"', b'"data"', b'nlineData"', b'inline_data"', b'cachedContent"',
    b'cached_content"', b'"prompt"',
)  # fmt: skip
"""Members whose tokens are not to be found in the body's bytes: kept elsewhere, or pictures and documents."""

_ODD_SPELLING = re.compile(rb"\\u00(?:[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff])")
"""A letter or `_` written as an escape, by which such a member could hide; nobody's library writes one so."""

TOOLS_PROMPT = 2_000
"""Tokens of the prompt on tool calls that vendors add before the text: hundreds, and more for their own tools."""


def bound_read(body: bytes, asked: CallRequest, price: Price | None) -> int:
    """The most tokens that can be read."""
    context = price.context if price is not None else None
    read = len(body) + (TOOLS_PROMPT if b'"tools"' in body else 0)
    if asked.looks_up or any(marker in body for marker in BEYOND) or _ODD_SPELLING.search(body):
        return context or read + UNKNOWN_CONTEXT
    return read if context is None else min(read, context)


def bound_call(body: bytes, asked: CallRequest, price: Price | None) -> Bound:
    """The most that this call may use. Its price is None where that is not known.

    A caller who sets no limit may be kept to less than the model could write.
    """
    read = bound_read(body, asked, price)
    written = bound_output(asked, price)
    bound = _bound(read, written, price)
    if asked.limit or not asked.writes or asked.detached:
        return bound
    enough, least = (_bound(read, min(few * max(asked.answers, 1), written), price) for few in (ENOUGH, LEAST))
    return replace(bound, enough=enough, least=least)


def _bound(read: int, written: int, price: Price | None) -> Bound:
    return Bound(read + written, None if price is None else price.most_nano_usd(read, written))


def find_limit(body: bytes, asked: CallRequest, price: Price | None, granted: Iterable[Bound]) -> int | None:
    """The tokens that each answer may have, so that the call keeps to what was granted; None: as many as it likes."""
    limits = []
    for bound in granted:
        read = bound_read(body, asked, price)
        limits.append(bound.tokens - read)
        if bound.nano_usd is not None and price is not None and price.costs_writing:
            limits.append(price.most_written(read, bound.nano_usd))
    return max(min(limits) // max(asked.answers, 1), 1) if limits else None


def complete(usage: Usage | None, body: bytes, asked: CallRequest, price: Price | None, limit: int | None) -> Usage:
    """The provider's count, completed with the amounts that were set aside for what it did not count. `limit`: tokens
    of each answer.
    """
    known = dict(usage or {})
    if not asked.writes:
        known.setdefault("output_tokens", 0)
    missing = {"input_tokens", "output_tokens"} - known.keys()
    if not missing:
        return known
    if "input_tokens" in missing:
        known["input_tokens"] = bound_read(body, asked, price)
    if "output_tokens" in missing:
        known["output_tokens"] = bound_output(asked if limit is None else asked._replace(limit=limit), price)
    return {**known, "estimated": 1}


def bound_output(asked: CallRequest, price: Price | None) -> int:
    """The most tokens that all answers together may have."""
    if not asked.writes:
        return 0
    most = price.max_output if price is not None else None
    limit = asked.limit or (UNKNOWN_OUTPUT if most is None else most)  # some take 0 for no limit
    return limit * max(asked.answers, 1)
