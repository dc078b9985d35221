"""Verifies a log that somebody serves as C2SP tlog-tiles: every entry, every hash of every tile, the checkpoint.
Pure: what fetches is handed in.

Nothing that is served is believed: entries are recomputed, and each hash that is served is compared. What is verified
is the tree of the checkpoint that was fetched first; the log may grow meanwhile. Memory does not grow with it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from mastio_audit.log.chain import ChainError
from mastio_audit.log.tiles import ENTRIES, Tile, iter_bundle, write_path
from mastio_audit.verification.recompute import Progress, Recomputation, Report
from mastio_primitives.transparency.merkle import WIDTH, Node, leaf_hash
from mastio_primitives.transparency.notes import NoteError, parse_vkey

Fetch = Callable[[str], bytes]
"""The content at a path below `/v1/audit/log/`. Raises `Absent`."""


class Absent(Exception):
    """There is no such thing in the log that is served, or no longer all of it."""


def verify_served(fetch: Fetch, progress: Progress, work: Recomputation) -> Report:
    """Verify all that the newest checkpoint covers. Raises what `fetch` raises, but for `Absent`."""
    vkey = None
    try:
        vkey = parse_vkey(fetch("vkey").decode("utf-8", "replace"))
        work.keys.believe(vkey)
    except (NoteError, Absent) as error:
        work.problems.append(f"the key that is served: {error}")
    try:
        found = work.expect("the checkpoint that is served", fetch("checkpoint"))
    except Absent as error:
        work.problems.append(f"the checkpoint that is served: {error}")
        found = []
    if not found:
        return work.report(None)
    newest = found[0]
    try:
        _verify_tiles(fetch, newest.size, work, progress)
        work.verifier.settle(newest.root)
    except ChainError as error:
        return work.report(error)
    if vkey is not None and vkey not in work.keys.known:
        work.problems.append("the key that is served is none that is believed")
    return work.report(None, newest.size)


def _verify_tiles(fetch: Fetch, size: int, work: Recomputation, progress: Progress) -> None:
    """Raises `ChainError` at the first thing that is not as it was written."""
    rows: dict[int, list[Node]] = {}
    for start in range(0, size, WIDTH):
        index, width = start // WIDTH, min(WIDTH, size - start)
        entries = _add_bundle(fetch, Tile(ENTRIES, index, width), work)
        leaves = [Node(0, seq, leaf_hash(entry)) for seq, entry in enumerate(entries, start)]
        _verify_tile(fetch, Tile(0, index, width), leaves)
        for node in work.tree.nodes:
            row = rows.setdefault(node.level, [])
            row.append(node)
            if len(row) == WIDTH:
                _verify_tile(fetch, Tile(node.level, node.index // WIDTH), row)
                row.clear()
        work.tree.nodes.clear()
        progress(work.size, size)
    for level, row in rows.items():
        if row:
            _verify_tile(fetch, Tile(level, row[0].index // WIDTH, len(row)), row)


def _add_bundle(fetch: Fetch, tile: Tile, work: Recomputation) -> list[bytes]:
    """The entries of a bundle, recomputed."""
    try:
        content = fetch(_path(tile))
    except Absent as error:
        there = _count_served(fetch, tile)
        if there:
            _add_bundle(fetch, Tile(ENTRIES, tile.index, there), work)
        raise ChainError("it is missing", tile.start + there) from error
    entries = list[bytes]()
    try:
        for entry in itertools.islice(iter_bundle(content), tile.width + 1):
            if len(entries) == tile.width:
                raise ChainError("there is more in its bundle than should be", work.size)
            work.add(work.size, entry)
            entries.append(entry)
    except ChainError:
        raise
    except ValueError as error:
        raise ChainError(str(error), work.size) from error
    if len(entries) != tile.width:
        raise ChainError("it is missing", work.size)
    return entries


def _count_served(fetch: Fetch, tile: Tile) -> int:
    """The number of entries or hashes in a tile that is not full."""
    there, absent = 0, tile.width
    while absent - there > 1:
        width = (there + absent) // 2
        try:
            fetch(_path(Tile(tile.level, tile.index, width)))
        except Absent:
            absent = width
        else:
            there = width
    return there


def _verify_tile(fetch: Fetch, tile: Tile, nodes: Sequence[Node]) -> None:
    """That the tile has these hashes and nothing else."""
    try:
        content = fetch(_path(tile))
    except Absent as error:
        there = _count_served(fetch, tile)
        if there:
            _verify_tile(fetch, Tile(tile.level, tile.index, there), nodes[:there])
        raise ChainError("a hash over it is missing in the tiles", nodes[there].first) from error
    for at, node in enumerate(nodes):
        if content[32 * at : 32 * at + 32] != node.hash:
            raise ChainError(f"a hash over it in a tile of level {tile.level} is not what it was", node.first)
    if len(content) != 32 * len(nodes):
        raise ChainError("a tile over it has more than it should", nodes[-1].first)


def _path(tile: Tile) -> str:
    return f"tile/{write_path(tile)}"
