"""Members that say a text again, piece by piece. Pure."""

from __future__ import annotations

from typing import Any

PIECEMEAL = frozenset({"logprobs", "logprobsResult"})
"""Members that say a text again, piece by piece: no reader finds in them what it would find in the text."""


def drop_piecemeal(value: Any) -> bool:
    """Take such members out of a document whose texts are others now. Whether there were any."""
    dropped = False
    level = [value]
    while level:
        item = level.pop()
        if isinstance(item, dict):
            for name in PIECEMEAL & item.keys():
                dropped = item.pop(name) is not None or dropped
            level += item.values()
        elif isinstance(item, list):
            level += item
    return dropped
