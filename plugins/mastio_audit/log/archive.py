"""An archive: sealed segments of the log as files, and store and archives read as one log.

    DIR/tile/entries/…   entry bundles, and
    DIR/tile/0/…         leaf hashes, as C2SP tlog-tiles names and lays them out: 256 entries in each file
    DIR/checkpoint       a signed checkpoint that covers them
    DIR/vkey             the public keys of the log, a line each

Nothing in an archive has to be believed: the store keeps the tree over its entries, and every reader here compares.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from mastio.exchange.errors import ConfigurationError
from mastio_audit.log.chain import ChainError, Row
from mastio_audit.log.store import Extent, LogReader, Space
from mastio_audit.log.tiles import ENTRIES, Tile, unbundle, write_path
from mastio_primitives.transparency.merkle import WIDTH, Node

HINT = "Name the folder that `mastio audit archive` wrote, with --archive."


class Archive:
    """One folder of bundles."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, tile: Tile) -> Path:
        """The file of a tile."""
        return self.folder / "tile" / write_path(tile)

    def read(self, index: int) -> list[bytes] | None:
        """The entries of a bundle; None: it is not here. Raises `ChainError` for one that is no bundle."""
        try:
            content = self.path(Tile(ENTRIES, index)).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigurationError(f"{self.folder} cannot be read ({error.strerror}).", HINT) from error
        try:
            entries = unbundle(content)
        except ValueError as error:
            raise ChainError(f"in the archive {error}", index * WIDTH) from error
        if len(entries) != WIDTH:
            raise ChainError("its bundle in the archive is not whole", index * WIDTH + min(len(entries), WIDTH - 1))
        return entries


class Archives:
    """Several folders as one: each bundle is where it is found first."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._archives = [Archive(folder) for folder in folders]

    def read(self, index: int) -> list[bytes]:
        """The entries of a bundle. Raises `ConfigurationError` where no folder has it, `ChainError`."""
        for archive in self._archives:
            if (entries := archive.read(index)) is not None:
                return entries
        start = index * WIDTH
        raise ConfigurationError(f"Entries {start} to {start + WIDTH - 1} are in an archive that is not here.", HINT)

    def iterate(self, end: int) -> Iterator[bytes]:
        """All entries before `end`, which begins a bundle."""
        for index in range(end // WIDTH):
            yield from self.read(index)

    def content(self, path: str) -> bytes | None:
        """The file at a path below `/v1/audit/log/`, if some folder has it."""
        for archive in self._archives:
            file = archive.folder / path
            if path.startswith("tile/entries/") and file.is_file():
                return file.read_bytes()
        return None


class JoinedReader:
    """A stored log whose beginning is in archives. See `LogReader`; for the command line, not for a worker."""

    def __init__(self, reader: LogReader, folders: Sequence[Path]) -> None:
        self._reader = reader
        self._archives = Archives(folders)

    async def open(self) -> None:
        await self._reader.open()

    async def extent(self) -> Extent:
        return await self._reader.extent()

    async def read(self, start: int, limit: int) -> Sequence[Row]:
        """As of a log that nothing leaves: what is archived between two questions is read from the archive."""
        begins = (await self.extent()).start
        while True:
            rows = await self._read(start, limit, begins)
            if _is_whole(rows, max(start, 0)):
                return rows
            before, begins = begins, (await self.extent()).start
            if begins == before:
                return rows

    async def _read(self, start: int, limit: int, begins: int) -> Sequence[Row]:
        if start < 0:
            found = await self._reader.read(start, 1)
            if found and found[0][0] < 0:
                return found
        rows: list[Row] = []
        at = max(start, 0)
        while at < begins and len(rows) < limit:
            entries = await asyncio.to_thread(self._archives.read, at // WIDTH)
            skipped = at % WIDTH
            rows += enumerate(entries[skipped : skipped + limit - len(rows)], at)
            at = start + len(rows) if start >= 0 else len(rows)
        if len(rows) < limit:
            rows += await self._reader.read(at, limit - len(rows))
        return rows

    async def find(self, within: range, limit: int, contained: Sequence[bytes], newest_first: bool) -> Sequence[Row]:
        begins = min(max((await self.extent()).start, within.start), within.stop)
        older, stored = range(within.start, begins), range(begins, within.stop)
        rows = list[Row]()
        for part in (stored, older) if newest_first else (older, stored):
            if part and len(rows) < limit:
                find = self._find_archived if part is older else self._reader.find
                rows += await find(part, limit - len(rows), contained, newest_first)
        return rows

    async def _find_archived(
        self, within: range, limit: int, contained: Sequence[bytes], newest_first: bool
    ) -> Sequence[Row]:
        bundles = range(within.start // WIDTH, (within.stop - 1) // WIDTH + 1)
        rows = list[Row]()
        for index in reversed(bundles) if newest_first else bundles:
            entries = await asyncio.to_thread(self._archives.read, index)
            found = [
                row for row in enumerate(entries, index * WIDTH)
                if row[0] in within and all(one in row[1] for one in contained)
            ]  # fmt: skip
            rows += reversed(found) if newest_first else found
            if len(rows) >= limit:
                break
        return rows[:limit]

    async def nodes(self, level: int, start: int, limit: int) -> Sequence[Node]:
        return await self._reader.nodes(level, start, limit)

    async def archived(self, index: int) -> bytes | None:
        return await self._reader.archived(index)

    async def space(self) -> Space:
        return await self._reader.space()

    async def close(self) -> None:
        await self._reader.close()


def _is_whole(rows: Sequence[Row], start: int) -> bool:
    """True if these are the entries from `start` on, without a gap."""
    return bool(rows) and rows[0][0] == start and rows[-1][0] - start + 1 == len(rows)
