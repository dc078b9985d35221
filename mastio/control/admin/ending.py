"""The end of something issued: after a number of seconds, at a time, or never."""

from __future__ import annotations

from mastio.control.models import MAX_LIFE, Ending
from mastio.exchange.errors import BadRequest


def end_of(body: Ending, now: float) -> float | None:
    """Unix time; None: it has no end. Raises `BadRequest` (invalid_body) for a time that has passed or is too far."""
    if body.expires_at is None:
        return None if body.ttl_seconds is None else now + body.ttl_seconds
    end = body.expires_at.timestamp()
    if not now < end <= now + MAX_LIFE:
        raise BadRequest("expires_at: it must be in the future, within ten years.", code="invalid_body")
    return end
