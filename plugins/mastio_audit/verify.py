"""Recomputes a whole log from the stored bytes, beside a running appliance and without disturbing it.

Only entries and head are believed to be what they are; everything else is recomputed. Memory grows with the number of
open intents and with nothing else. The log may grow meanwhile: what is verified is what the head covered at the start.
"""

from __future__ import annotations

import itertools
import operator
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from mastio.errors import ConfigurationError
from mastio.transparency.merkle import HEIGHT, Tree
from mastio.transparency.notes import Checkpoint
from mastio_audit.chain import ChainError, Verifier
from mastio_audit.postgres import PostgresReader
from mastio_audit.sqlite import SqliteReader
from mastio_audit.store import DamageError, Extent, LogReader

PAGE = 2000
MAX_LEVEL = 8
"""One above the highest level that a log of 2^62 entries has nodes of."""

_BEFORE_ALL = -(2**63)

Progress = Callable[[int, int], None]
"""Told how many entries are verified, and of how many."""


@dataclass(frozen=True, slots=True)
class Report:
    """What holds: the first `size` entries, up to the leaf hash `head`. `first_bad` is None when that is all of it.

    `root`: of the tree over as many as were looked at, hex. `checkpoints`: how many old ones the log begins with.
    """

    size: int
    head: str
    root: str
    checkpoints: int
    open_intents: int
    first_bad: int | None = None
    problem: str | None = None


def sqlite_reader(data: Path) -> LogReader:
    """The log in an appliance's data folder."""
    return SqliteReader(data / "db" / "audit.sqlite")


def database_reader(url: str) -> LogReader:
    """The log in a PostgreSQL database. Raises `ConfigurationError` for another kind of URL."""
    if url.partition("://")[0].partition("+")[0] != "postgresql":
        hint = "Write postgresql+asyncpg://user@host:port/name; for a log in SQLite name the data folder."
        raise ConfigurationError("The database URL is not one of PostgreSQL.", hint)
    return PostgresReader(url)


async def verify_log(reader: LogReader, progress: Progress, checkpoints: Iterable[Checkpoint] = ()) -> Report:
    """Open the log, verify all of it, close it. Raises `StoreError` when it cannot be read.

    `checkpoints`: old ones, whose signatures were verified; the log must begin with the tree of each.
    """
    verifier, old = Verifier(), Prefixes(checkpoints)
    try:
        await reader.open()
        await _verify(reader, verifier, old, progress)
    except ChainError as error:
        return _report(verifier, old, error.index, error.message)
    except DamageError as error:
        return _report(verifier, old, verifier.head.size, str(error))
    finally:
        await reader.close()
    return _report(verifier, old, None, None)


class Prefixes:
    """Compares old checkpoints with a log while it grows; all raise `ChainError`.

    A log that was written anew from some entry on is in order by itself. It differs from an old checkpoint somewhere
    after the one before that still fits: that is the index that is named.
    """

    def __init__(self, checkpoints: Iterable[Checkpoint]) -> None:
        self._waiting = deque(sorted(checkpoints, key=lambda one: one.size))
        self.verified = 0
        self._fits = 0

    def next_size(self) -> int | None:
        """At which size the log has to be compared next."""
        return self._waiting[0].size if self._waiting else None

    def compare(self, tree: Tree) -> None:
        """The log has this tree now."""
        while self._waiting and self._waiting[0].size == tree.size:
            checkpoint = self._waiting.popleft()
            if checkpoint.root != tree.root:
                raise ChainError(f"from here on it is not the log of the checkpoint of size {tree.size}", self._fits)
            self._fits = tree.size
            self.verified += 1

    def finish(self, size: int) -> None:
        """The log ends here."""
        if self._waiting:
            raise ChainError(f"it is missing: there is a checkpoint of size {self._waiting[0].size}", size)


async def _verify(reader: LogReader, verifier: Verifier, old: Prefixes, progress: Progress) -> None:
    """Raises `ChainError` or `DamageError` at the first thing that is not as it was written."""
    extent = await reader.extent()
    size = extent.end if extent.head is None else extent.head.size
    first = await reader.read(_BEFORE_ALL, 1)
    if first and first[0][0] < 0:
        raise ChainError(f"row {first[0][0]} stands before it", 0)
    start = 0
    while verifier.head.size < size and (rows := await reader.read(start, PAGE)):
        old.compare(verifier.tree)
        for seq, entry in rows[: size - verifier.head.size]:
            verifier.add(seq, entry)
            if verifier.tree.size == old.next_size():
                old.compare(verifier.tree)
        start = rows[-1][0] + 1
        await _verify_nodes(reader, verifier.tree)
        progress(verifier.head.size, size)
    if extent.head is not None and extent.head.last_hash != verifier.head.last_hash:
        # whether the last entry or the head was altered: an entry after it, if there is one, knows
        for seq, entry in await reader.read(size, 1):
            verifier.add(seq, entry)
    verifier.finish(extent.head)
    old.finish(size)
    surplus = [await reader.nodes(level, verifier.tree.size >> (HEIGHT * level), 1) for level in range(1, MAX_LEVEL)]
    now = await reader.extent()
    _verify_end(verifier.head.size, now)
    for node in itertools.chain(*surplus):
        if now.head is None or (node.index + 1) << (HEIGHT * node.level) > now.head.size:
            raise ChainError("a hash of the tree stands where there are no entries yet", size)


async def _verify_nodes(reader: LogReader, tree: Tree) -> None:
    """Compare the stored nodes with those that became complete."""
    nodes = {(node.level, node.index): node for node in tree.nodes}
    tree.nodes.clear()
    for level, group in itertools.groupby(sorted(nodes), key=operator.itemgetter(0)):
        indexes = [index for _, index in group]
        stored = {node.index: node.hash for node in await reader.nodes(level, indexes[0], len(indexes))}
        for index in indexes:
            if stored.get(index) != nodes[level, index].hash:
                raise ChainError("a stored hash of the tree over it is not what it was", nodes[level, index].first)


def _verify_end(size: int, now: Extent) -> None:
    """The log may have grown since, but head and entries still end together."""
    end = 0 if now.head is None else now.head.size
    if end < size:
        raise ChainError("the head went back behind it", max(end, 0))
    if end != now.end:
        raise ChainError("the head does not cover it" if end < now.end else "it is missing", min(end, now.end))


def _report(verifier: Verifier, old: Prefixes, first_bad: int | None, problem: str | None) -> Report:
    head, root = verifier.head, verifier.tree.root.hex()
    size = head.size if first_bad is None else min(head.size, first_bad)
    return Report(size, head.last_hash.hex(), root, old.verified, len(verifier.open), first_bad, problem)
