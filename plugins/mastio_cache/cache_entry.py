"""An answer as it is kept, and as bytes for the shared table. Pure.

The bytes are a byte for the format, the length of the description, the description as JSON, and then the pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

KEPT_HEADERS = (b"content-type", b"x-provider", b"x-model")
"""The reply headers that belong to the answer. The others concern one exchange: its limits, its id, its times."""

OVERHEAD = 768
"""Bytes that an answer takes in memory beside its content, and each piece of it."""
PIECE = 64

_FORMAT = b"\x01"


class KeptError(ValueError):
    """The bytes are no answer of ours."""


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A whole answer. `pieces`: the windows that a stream came in; of a plain one there is one.

    `usage`: what it used when it was made. `at`: when it was complete, Unix seconds.
    """

    headers: tuple[tuple[bytes, bytes], ...]
    pieces: tuple[bytes, ...]
    streamed: bool
    usage: Mapping[str, int] | None
    at: float

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        return OVERHEAD + sum(len(piece) + PIECE for piece in self.pieces)

    def age(self, now: float) -> float:
        return max(0.0, now - self.at)


def encode(kept: CacheEntry) -> bytes:
    description = orjson.dumps(
        {
            "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in kept.headers],
            "sizes": [len(piece) for piece in kept.pieces],
            "streamed": kept.streamed,
            "usage": kept.usage,
            "at": kept.at,
        }
    )
    return b"".join((_FORMAT, len(description).to_bytes(4, "big"), description, *kept.pieces))


def decode(data: bytes) -> CacheEntry:
    """Raises `KeptError`."""
    if data[:1] != _FORMAT:
        raise KeptError("another format")
    start = 5 + int.from_bytes(data[1:5], "big")
    try:
        said = orjson.loads(data[5:start])
        pieces = []
        for size in said["sizes"]:
            pieces.append(data[start : start + size])
            start += size
        headers = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in said["headers"])
        kept = CacheEntry(headers, tuple(pieces), said["streamed"], said["usage"], said["at"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise KeptError("damaged") from error
    if start != len(data):
        raise KeptError("damaged")
    return kept


def is_failure(body: bytes) -> bool:
    """True if a reply with status 200 says in its body that there is no answer, or not yet."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return True
    if not isinstance(document, dict):
        return False
    status = document.get("status")
    return document.get("error") is not None or (isinstance(status, str) and status not in ("completed", "incomplete"))
