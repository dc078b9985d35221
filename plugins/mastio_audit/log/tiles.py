"""Tiles: the tree's hashes and the entries in pieces of 256, as C2SP tlog-tiles names and lays them out.

Whatever is read here is of a tree of a given size, which the log has had: nothing of that ever changes, so a tile can
be made at any time from the stored entries and nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mastio_audit.log.chain import ChainError
from mastio_audit.log.store import LogReader
from mastio_primitives.transparency import merkle
from mastio_primitives.transparency.merkle import HEIGHT, WIDTH, Frontier, Range, TileName, leaf_hash

ENTRIES = -1
"""The level of an entry bundle."""

MAX_LEVEL = 63
_PATH = re.compile(r"(entries|0|[1-9][0-9]?)/((?:x\d{3}/)*\d{3})(?:\.p/([1-9]\d{0,2}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Tile:
    """The position of a tile, and its number of hashes or entries: 256, or fewer at the end of a smaller tree."""

    level: int
    index: int
    width: int = WIDTH

    @property
    def start(self) -> int:
        """The first hash of the level, or the first entry."""
        return self.index * WIDTH

    @property
    def size(self) -> int:
        """The number of entries of the smallest tree that contains this tile."""
        return (self.start + self.width) << (HEIGHT * max(self.level, 0))


def parse_path(path: str) -> Tile | None:
    """Parses the part of the address after `tile/`. None: it names no tile."""
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    level, groups, part = found.groups()
    index, width = "".join(groups.replace("x", "").split("/")), int(part or WIDTH)
    canonical = len(index) == 3 or not index.startswith("000")
    wide = part is None or width < WIDTH
    if not canonical or not wide or len(index) > 18 or (level != "entries" and int(level) > MAX_LEVEL):
        return None
    return Tile(ENTRIES if level == "entries" else int(level), int(index), width)


def write_path(tile: Tile) -> str:
    """The other way."""
    digits = str(tile.index)
    digits = digits.zfill(-(-len(digits) // 3) * 3)
    groups = [digits[at : at + 3] for at in range(0, len(digits), 3)]
    index = "/".join([*("x" + group for group in groups[:-1]), groups[-1]])
    level = "entries" if tile.level == ENTRIES else str(tile.level)
    return f"{level}/{index}" + ("" if tile.width == WIDTH else f".p/{tile.width}")


def bundle(entries: Iterable[bytes]) -> bytes:
    """Entries, each after its length in two bytes, big-endian."""
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def unbundle(content: bytes) -> list[bytes]:
    """The entries of a bundle. Raises `ValueError` where it is cut off."""
    return list(iter_bundle(content))


def iter_bundle(content: bytes) -> Iterator[bytes]:
    """As `unbundle`, one after the other: what stands before the cut is told."""
    at = 0
    while at < len(content):
        end = at + 2 + int.from_bytes(content[at : at + 2], "big")
        if end > len(content) or end == at + 2:
            raise ValueError("an entry bundle is cut off")
        yield content[at + 2 : end]
        at = end


# --- from a log -------------------------------------------------------------------------------------------------------


async def read_entries(reader: LogReader, start: int, count: int) -> list[bytes]:
    """Exactly these entries. Raises `ChainError` where one is missing, `StoreError`."""
    rows = await reader.read(start, count)
    if [seq for seq, _ in rows] != list(range(start, start + count)):
        found = {seq for seq, _ in rows}
        missing = next(seq for seq in range(start, start + count) if seq not in found)
        raise ChainError("it is missing", missing)
    return [entry for _, entry in rows]


async def read_hash(reader: LogReader, index: int) -> bytes | None:
    """The leaf hash of one entry; None: it is not there. Raises `StoreError`."""
    try:
        [found] = await read_hashes(reader, 0, index, 1)
    except ChainError:
        return None
    return found


async def read_hashes(reader: LogReader, level: int, start: int, count: int) -> list[bytes]:
    """Exactly these hashes of a level, of one tile. Raises `ChainError` where one is missing, `StoreError`."""
    if level == 0:
        return await _read_leaves(reader, start, count)
    nodes = await reader.nodes(level, start, count)
    if [node.index for node in nodes] != list(range(start, start + count)):
        raise ChainError("a hash of the tree over it is missing", start << (HEIGHT * level))
    return [node.hash for node in nodes]


async def _read_leaves(reader: LogReader, start: int, count: int) -> list[bytes]:
    kept = await reader.archived(start // WIDTH)
    if kept is None:
        try:
            return [leaf_hash(entry) for entry in await read_entries(reader, start, count)]
        except ChainError:
            kept = await reader.archived(start // WIDTH)  # meanwhile
            if kept is None:
                raise
    at = start % WIDTH
    return [kept[32 * n : 32 * n + 32] for n in range(at, at + count)]


async def read_tile(reader: LogReader, tile: Tile) -> bytes:
    """The content of a tile that the log has. Raises `ChainError` for one that it should have, `StoreError`."""
    if tile.level == ENTRIES:
        return bundle(await read_entries(reader, tile.start, tile.width))
    return b"".join(await read_hashes(reader, tile.level, tile.start, tile.width))


async def read_proof(reader: LogReader, ranges: Sequence[Range], size: int) -> list[bytes]:
    """The hashes of `merkle.inclusion` or `merkle.consistency` in a tree of `size`. Raises as `read_hashes`."""
    read: dict[TileName, list[bytes]] = {}
    for level, index in sorted(merkle.tiles(ranges)):
        start = index * WIDTH
        count = min(WIDTH, (size >> (HEIGHT * level)) - start)
        read[level, index] = await read_hashes(reader, level, start, count)
    return [merkle.hash_of(leaves, read.__getitem__) for leaves in ranges]


async def read_root(reader: LogReader, size: int) -> bytes:
    """The root of the tree when the log had `size` entries. Raises as `read_hashes`."""
    return merkle.root(await rebuild_frontier(reader, size))


async def rebuild_frontier(reader: LogReader, size: int) -> Frontier:
    """The frontier of the tree of `size` entries, from nodes and the last entries. Raises as `read_hashes`."""
    partial = {}
    for level in range((size.bit_length() + HEIGHT - 1) // HEIGHT):
        count = merkle.width(size, level)
        if count:
            partial[level] = await read_hashes(reader, level, (size >> (HEIGHT * level)) - count, count)
    return merkle.rebuild(size, partial)
