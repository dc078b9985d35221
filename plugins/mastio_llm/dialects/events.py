"""Server-sent events as bytes: where one ends and what its data is (WHATWG HTML §9.2.6). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

END = re.compile(rb"\n\n|\r\r|\n\r\n")
_DATA = re.compile(rb"(?:^|[\r\n])data:[ ]?([^\r\n]*)")


def data_of(event: bytes) -> list[bytes]:
    """The lines of its data."""
    return _DATA.findall(event)


def split_events(data: bytes) -> Iterator[bytes]:
    """Whole events, each with the blank line that ends it."""
    start = 0
    for match in END.finditer(data):
        yield data[start : match.end()]
        start = match.end()
    if start < len(data):
        yield data[start:]
