"""Makes a long entry short: what is long in it becomes its beginning and a digest. Pure.

An entry stays on disk for good, so what a caller chooses must not make it long. Short entries are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from mastio.exchange.values import JSON, Entry

MOST_TEXT, KEPT_TEXT = 512, 256  # characters
MOST_ITEMS = 200

Digest = Callable[[bytes], str]


def shorten(entry: Entry, digest: Digest) -> Entry:
    """The entry with long strings and lists cut. `digest` is keyed."""
    return replace(
        entry,
        target=_cut(entry.target, digest),
        credential=_cut(entry.credential, digest),
        decision=_cut(entry.decision, digest),
        request=_cut(entry.request, digest),
        response=_cut(entry.response, digest),
        outcome=_cut(entry.outcome, digest),
    )


def _cut(value: Any, digest: Digest) -> JSON:
    if isinstance(value, str):
        return value if len(value) <= MOST_TEXT else _cut_text(value, digest)
    if isinstance(value, list | tuple):
        items = [_cut(item, digest) for item in value[:MOST_ITEMS]]
        return items if len(value) <= MOST_ITEMS else [*items, _more(value, digest)]
    if hasattr(value, "items"):
        return {name: _cut(member, digest) for name, member in value.items()}
    return value


def _cut_text(text: str, digest: Digest) -> str:
    said = digest(text.encode("utf-8", "surrogatepass"))
    return f"{text[:KEPT_TEXT]}... ({len(text)} characters, digest {said})"


def _more(items: Any, digest: Digest) -> JSON:
    """The placeholder for the rest of a list: a text in a list of texts."""
    count = len(items) - MOST_ITEMS
    said = digest(orjson.dumps(items))
    if isinstance(items[0], str):
        return f"({count} more, digest {said})"
    return {"more": count, "digest": said}
