"""Recomputes a whole log from the stored bytes, beside a running appliance and without disturbing it.

Only entries and head are believed to be what they are; everything else is recomputed. Memory grows with the number of
open intents and with nothing else. The log may grow meanwhile: what is verified is what the head covered at the start.
"""

from __future__ import annotations

import itertools
import operator
from pathlib import Path

from mastio.exchange.errors import ConfigurationError
from mastio_audit.log.chain import ChainError
from mastio_audit.log.postgres import PostgresReader
from mastio_audit.log.sqlite import SqliteReader
from mastio_audit.log.store import DamageError, Extent, LogReader
from mastio_audit.verification.recompute import Progress, Recomputation, Report
from mastio_audit.verification.trust import Keyring
from mastio_primitives.transparency.merkle import HEIGHT, WIDTH, Tree, fold

PAGE = 2000
MAX_LEVEL = 8
"""One above the highest level that a log of 2^62 entries has nodes of."""

_BEFORE_ALL = -(2**63)


def sqlite_reader(data: Path) -> LogReader:
    """The log in an appliance's data folder."""
    return SqliteReader(data / "db" / "audit.sqlite")


def database_reader(url: str) -> LogReader:
    """The log in a PostgreSQL database. Raises `ConfigurationError` for another kind of URL."""
    if url.partition("://")[0].partition("+")[0] != "postgresql":
        hint = "Write postgresql+asyncpg://user@host:port/name; for a log in SQLite name the data folder."
        raise ConfigurationError("The database URL is not one of PostgreSQL.", hint)
    return PostgresReader(url)


async def verify_log(reader: LogReader, progress: Progress, work: Recomputation | None = None) -> Report:
    """Open the log, verify all of it, close it. Raises `StoreError` when it cannot be read.

    `work` has the keys that are believed, and the checkpoints that the log must begin with.
    """
    work = work or Recomputation(Keyring())
    try:
        await reader.open()
        size = await _verify(reader, work, progress)
    except ChainError as error:
        return work.report(error)
    except DamageError as error:
        return work.report(ChainError(str(error), work.size))
    finally:
        await reader.close()
    return work.report(None, size)


async def _verify(reader: LogReader, work: Recomputation, progress: Progress) -> int:
    """The log's size. Raises `ChainError` or `DamageError` at the first thing that is not as it was written."""
    extent = await reader.extent()
    size = extent.end if extent.head is None else extent.head.size
    if extent.start > max(size, 0):
        raise ChainError("the store says that it is archived, and it was never written", max(size, 0))
    first = await reader.read(_BEFORE_ALL, 1)
    if first and first[0][0] < 0:
        raise ChainError(f"row {first[0][0]} stands before it", 0)
    start = 0
    while work.size < size and (rows := await reader.read(start, PAGE)):
        for seq, entry in rows[: size - work.size]:
            work.add(seq, entry)
        start = rows[-1][0] + 1
        await _verify_nodes(reader, work.tree)
        progress(work.size, size)
    if extent.head is not None and extent.head.last_hash != work.verifier.head.last_hash:
        # whether the last entry or the head was altered: an entry after it, if there is one, knows
        for seq, entry in await reader.read(size, 1):
            work.verifier.add(seq, entry)
    work.verifier.finish(extent.head)
    await _verify_archived(reader, extent.start // WIDTH)
    surplus = [await reader.nodes(level, work.size >> (HEIGHT * level), 1) for level in range(1, MAX_LEVEL)]
    now = await reader.extent()
    _verify_end(work.size, now)
    for node in itertools.chain(*surplus):
        if now.head is None or (node.index + 1) << (HEIGHT * node.level) > now.head.size:
            raise ChainError("a hash of the tree stands where there are no entries yet", size)
    return size


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


async def _verify_archived(reader: LogReader, count: int) -> None:
    """Compare the leaf hashes that are kept of archived entries with the nodes over them, which are verified."""
    for index in range(count):
        kept = await reader.archived(index)
        nodes = await reader.nodes(1, index, 1)
        hashes = [] if kept is None else [kept[at : at + 32] for at in range(0, len(kept), 32)]
        if len(hashes) != WIDTH or not nodes or nodes[0].index != index or fold(hashes) != nodes[0].hash:
            raise ChainError("a stored hash of it, which is archived, is not what it was", index * WIDTH)


def _verify_end(size: int, now: Extent) -> None:
    """The log may have grown since, but head and entries still end together."""
    end = 0 if now.head is None else now.head.size
    if end < size:
        raise ChainError("the head went back behind it", max(end, 0))
    if end != now.end:
        raise ChainError("the head does not cover it" if end < now.end else "it is missing", min(end, now.end))
