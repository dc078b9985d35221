"""Frames of Amazon's event streams, written by hand and checked by Amazon's own library."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

from botocore.eventstream import EventStreamBuffer


def frame(payload: Any, **headers: str) -> bytes:
    """One frame."""
    named = {"message-type": "event", "event-type": "chunk", **{k.replace("_", "-"): v for k, v in headers.items()}}
    packed = b"".join(
        struct.pack(">B", len(name) + 1) + b":" + name.encode() + struct.pack(">BH", 7, len(value)) + value.encode()
        for name, value in named.items()
    )
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(packed) + len(body), len(packed))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + packed + body
    made = whole + struct.pack(">I", zlib.crc32(whole))
    buffer = EventStreamBuffer()
    buffer.add_data(made)
    assert next(iter(buffer)).payload == body
    return made


def chunk(event: dict[str, Any]) -> bytes:
    """A frame with one event of the messages API in it."""
    return frame({"bytes": base64.b64encode(json.dumps(event).encode()).decode(), "p": "abcd"})
