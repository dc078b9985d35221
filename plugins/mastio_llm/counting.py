"""How much a call may use, and how much it used where the provider does not say. Pure.

Before: a bound that holds, since limits rely on it. No token is shorter than a byte, nobody reads beyond a model's
context, nobody writes more than was allowed or than the model can. After: an estimate, four bytes of text to a token,
and marked as one (`estimated`).
"""

from __future__ import annotations

from mastio.exchange import Bound
from mastio_llm.dialects.operation import Asked, Usage
from mastio_llm.prices import Price

BYTES_A_TOKEN = 4
UNKNOWN_OUTPUT = 32_768
"""What a model may write of which we know nothing, for callers who set no limit."""

UNKNOWN_CONTEXT = 200_000
"""What a model may read of which we know nothing, where the body does not hold all that is read."""

BEYOND = (
    b'previous_response_id"', b'conversation"', b'container"', b'file_id"', b'fileUri"', b'file_uri"', b'file_url"',
    b'image_url"', b'"url"', b'file_data"', b'"data"', b'nlineData"', b'inline_data"', b'cachedContent"',
    b'cached_content"',
)  # fmt: skip
"""Members whose tokens are not to be found in the body's bytes: kept elsewhere, or pictures and documents."""


def bound_call(body: bytes, asked: Asked, price: Price | None) -> Bound:
    """The most that this call may use. Its price is None where that is not known."""
    read = len(body)
    context = price.context if price is not None else None
    if any(marker in body for marker in BEYOND):
        read = context or read + UNKNOWN_CONTEXT
    elif context is not None:
        read = min(read, context)
    written = bound_output(asked, price)
    return Bound(read + written, None if price is None else price.most_nano_usd(read, written))


def bound_output(asked: Asked, price: Price | None) -> int:
    """The most tokens that all answers together may have."""
    if not asked.writes:
        return 0
    most = price.max_output if price is not None else None
    limit = asked.limit if asked.limit is not None else (UNKNOWN_OUTPUT if most is None else most)
    return limit * asked.answers


def estimate(size: int) -> int:
    """Tokens of so many bytes of text."""
    return -(-size // BYTES_A_TOKEN)


def complete(usage: Usage | None, read: int, written: int) -> Usage:
    """What the provider counted, and our estimate of what it did not; `read` and `written` in bytes of text."""
    known = dict(usage or {})
    if "input_tokens" in known and "output_tokens" in known:
        return known
    known.setdefault("input_tokens", estimate(read))
    known.setdefault("output_tokens", estimate(written))
    known["estimated"] = 1
    return known
