"""Finding entries in a log by agent, kind, time, request id or decision, in either order.

Entries are canonical JSON, so a member that is wanted stands in the bytes in exactly one spelling. The database looks
for these spellings, which needs no parsing and no index of its own; what it finds is then compared member by member,
because the same bytes may stand deeper in an entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson

from mastio_audit.log.chain import Row, timestamp
from mastio_audit.log.store import LogReader

SCAN = 20_000
"""The largest number of entries that one search reads, so that a search of a long log is many short ones."""

AT_ONCE = 64
"""Rows that a database is asked for at least: many that only look right are not as many questions."""

EFFECTS: Final = ("allow", "deny", "hold")


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """The filter of a search; None: any value. `kind` may end with `*`. `since` is Unix time."""

    agent: str | None = None
    kind: str | None = None
    request_id: str | None = None
    decision: str | None = None
    since: float | None = None

    @property
    def spellings(self) -> tuple[bytes, ...]:
        """Bytes that every such entry contains."""
        found = []
        if self.agent is not None:
            found.append(b'{"agent":%b,' % orjson.dumps(self.agent))
        if self.kind is not None:
            whole = orjson.dumps(self.kind.removesuffix("*"))
            found.append(b'"kind":%b' % (whole[:-1] if self.kind.endswith("*") else whole))
        if self.request_id is not None:
            found.append(b'"id":%b' % orjson.dumps(self.request_id))
        if self.decision is not None:
            found.append(b'"effect":%b' % orjson.dumps(self.decision))
        return tuple(found)

    def fits(self, entry: bytes) -> bool:
        """True if the entry matches every part of the filter."""
        if not (self.spellings or self.since is not None):
            return True
        document = orjson.loads(entry)
        return (
            self.agent in (None, document["agent"])
            and self._fits_kind(document["kind"])
            and self.request_id in (None, document["id"])
            and self.decision in (None, (document["decision"] or {}).get("effect"))
            and (self.since is None or document["time"] >= timestamp(self.since).decode("ascii"))
        )

    def _fits_kind(self, kind: str) -> bool:
        if self.kind is None:
            return True
        return kind.startswith(self.kind[:-1]) if self.kind.endswith("*") else kind == self.kind


@dataclass(frozen=True, slots=True)
class Page:
    """The matching rows, and the index at which the search continues (None: it is complete). Rows may be empty before
    that."""

    rows: Sequence[Row]
    following: int | None


async def search(
    reader: LogReader,
    wanted: EntryFilter,
    within: range,
    limit: int,
    *,
    newest_first: bool = False,
    most_bytes: int = 2**62,
) -> Page:
    """Look through the indexes of `within`, at most `SCAN` of them, for at most `limit` entries and `most_bytes` of
    them, but at least one. Raises `StoreError`, `ChainError`."""
    if newest_first:
        part = range(max(within.start, within.stop - SCAN), within.stop)
    else:
        part = range(within.start, min(within.stop, within.start + SCAN))
    rows, size = list[Row](), 0
    while part and len(rows) < limit:
        asked = max(limit - len(rows), AT_ONCE)
        found = await reader.find(part, asked, wanted.spellings, newest_first)
        looked_through = None if len(found) < asked else found[-1][0]
        for seq, entry in found:
            if not wanted.fits(entry):
                continue
            size += len(entry)
            if rows and size > most_bytes:
                return Page(rows, seq)
            rows.append((seq, entry))
            if len(rows) == limit:
                looked_through = seq
                break
        part = _after(part, looked_through, newest_first)
    following = part.stop - 1 if newest_first else part.start
    return Page(rows, following if following in within else None)


def _after(part: range, seq: int | None, newest_first: bool) -> range:
    """The rest of the part behind entry `seq`. `seq` None: the whole part was searched, so nothing is left."""
    if newest_first:
        return range(part.start, part.start if seq is None else seq)
    return range(part.stop if seq is None else seq + 1, part.stop)


async def find_first(reader: LogReader, within: range, since: float) -> int:
    """The index of the first entry of this time (Unix) or later, in a log whose times only grow: about one question
    for each doubling of its length. `within.stop` where there is none. Where the clock was set back, one of those."""
    low, high = within.start, within.stop
    while low < high:
        middle = (low + high) // 2
        rows = await reader.read(middle, 1)
        if rows and read_time(rows[0][1]) < since:
            low = middle + 1
        else:
            high = middle
    return low


def read_time(entry: bytes) -> float:
    """The time of an entry, Unix seconds."""
    document: dict[str, Any] = orjson.loads(entry)
    return datetime.fromisoformat(document["time"]).timestamp()
