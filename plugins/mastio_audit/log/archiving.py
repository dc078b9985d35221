"""Moves sealed segments out of the store into an archive, beside a running appliance.

    read 256 entries ─▶ compare with the stored tree ─▶ write, fsync ─▶ read back, compare ─▶ keep leaf hashes, delete

A segment is sealed when its bundle is complete, all its exchanges are over, every sink has been given it, and a signed
checkpoint covers it. Each crash leaves a log that is whole: before the deletion the entries are in both places, and the
next run finds the files and goes on; the deletion and the entry that tells of it are one transaction.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson

from mastio.exchange.errors import ConfigurationError
from mastio.exchange.values import Entry
from mastio_audit.log import chain
from mastio_audit.log.archive import Archive
from mastio_audit.log.chain import ChainError, Head
from mastio_audit.log.store import AuditStore, Batch, Build
from mastio_audit.log.tiles import ENTRIES, Tile, bundle, read_entries, read_root
from mastio_primitives.transparency import merkle
from mastio_primitives.transparency.merkle import WIDTH, leaf_hash
from mastio_primitives.transparency.notes import Checkpoint

AT_ONCE = 16
"""Bundles of one transaction: the appliance's own commits wait for it."""

PAUSE = 0.05  # seconds between two transactions


@dataclass(frozen=True, slots=True)
class Archived:
    """The result: entries `start` to `end` (not included) are in the archive; `reason` says why no more are."""

    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The entries that must stay: those of `before` (Unix time) and later, those that no signed `checkpoint` covers,
    and those that a sink has not been given (`sinks`: the next index of each)."""

    before: float
    checkpoint: Checkpoint
    sinks: Mapping[str, int]


async def archive(
    store: AuditStore,
    folder: Path,
    limits: Limits,
    public: Mapping[str, bytes],
    remember: Callable[[], None] = lambda: None,
) -> Archived:
    """Move what may go. `public`: files that are put beside it. `remember` is called before anything is deleted.

    Raises `ChainError`, `StoreError`, `ConfigurationError`; what was moved until then is in both places or in the
    archive.
    """
    target = Archive(folder)
    try:
        await asyncio.to_thread(_prepare, folder, public)
        extent = await store.extent()
        if extent.head is None:
            raise ChainError("the head of the log is gone", extent.end)
        if await read_root(store, limits.checkpoint.size) != limits.checkpoint.root:
            raise ChainError(f"it is not the log of the checkpoint of size {limits.checkpoint.size}", 0)
        end, reason = _find_end(extent.head.size, await store.oldest_open(), limits)
        first = last = extent.start // WIDTH
        hashes: list[bytes] = []
        while (last + 1) * WIDTH <= end:
            entries = await read_entries(store, last * WIDTH, WIDTH)
            if any(_time_of(entry) >= limits.before for entry in entries):
                reason = "the rest is not older"
                break
            hashes.append(await _write(store, target, last, entries))
            last += 1
            if len(hashes) == AT_ONCE:
                await _move(store, target, last, hashes, remember)
                await asyncio.sleep(PAUSE)
        await _move(store, target, last, hashes, remember)
    except OSError as error:
        raise ConfigurationError(
            f"{folder} cannot be written ({error.strerror}).", "Name a folder with room."
        ) from error
    return Archived(first * WIDTH, last * WIDTH, reason)


def _find_end(size: int, oldest_open: int | None, limits: Limits) -> tuple[int, str]:
    """Before which index entries may go, and what stands there. The last bundle of a log stays."""
    ends = [((max(size, 1) - 1) // WIDTH * WIDTH, "the last entries of a log stay in it")]
    ends.append((limits.checkpoint.size, "the rest is not in a signed checkpoint yet"))
    if oldest_open is not None:
        ends.append((oldest_open, f"the exchange of entry {oldest_open} is not over"))
    ends += [(index, f"the sink {name} has not been given the rest yet") for name, index in limits.sinks.items()]
    return min(ends, key=lambda one: one[0])


async def _write(store: AuditStore, target: Archive, index: int, entries: Sequence[bytes]) -> bytes:
    """Write one bundle; returns its leaf hashes, joined. Raises `ChainError` where the stored tree has others."""
    hashes = [leaf_hash(entry) for entry in entries]
    nodes = await store.nodes(1, index, 1)
    if not nodes or nodes[0].index != index or nodes[0].hash != merkle.fold(hashes):
        raise ChainError("a stored hash of the tree over it is not what it was", index * WIDTH)
    joined = b"".join(hashes)
    root = target.folder
    await asyncio.to_thread(_put, root, target.path(Tile(ENTRIES, index)), bundle(entries))
    await asyncio.to_thread(_put, root, target.path(Tile(0, index)), joined)
    return joined


async def _move(
    store: AuditStore, target: Archive, end: int, hashes: list[bytes], remember: Callable[[], None]
) -> None:
    """Delete the bundles before `end` of which these are the hashes, once they read back as they should, and say so."""
    if not hashes:
        return
    start = end - len(hashes)
    for index, expected in enumerate(hashes, start):
        entries = await asyncio.to_thread(target.read, index)
        if entries is None or b"".join(map(leaf_hash, entries)) != expected:
            raise ChainError("it does not read back from the archive as it was written", index * WIDTH)
    remember()
    await store.forget(start, hashes, _announce(start * WIDTH, end * WIDTH, target.folder))
    hashes.clear()


def _announce(start: int, end: int, folder: Path) -> Build:
    """One entry that says what is not here any more."""
    request = {"from": start, "to": end - 1, "folder": folder.name}
    made = chain.draft(Entry(os.urandom(16).hex(), "event", "audit.archived", request=request))
    now = time.time()

    def build(head: Head) -> Batch:
        appended = chain.append(head, [made], now)
        return Batch(appended.rows, appended.head, appended.nodes)

    return build


def _time_of(entry: bytes) -> float:
    return datetime.fromisoformat(orjson.loads(entry)["time"]).timestamp()


def file_cursors(folder: Path, ignored: Collection[str] = ()) -> dict[str, int]:
    """The next index of each sink of a data folder, from its folder of cursors. Raises `ConfigurationError`."""
    cursors = {}
    for file in sorted(file for file in folder.glob("[!.]*") if file.name not in ignored):
        try:
            cursors[file.name] = int(file.read_text("ascii"))
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"How far the sink {file.name} has come cannot be read.",
                f"Look at {file}, or name it with --ignore-sink.",
            ) from error
    return cursors


def _prepare(folder: Path, public: Mapping[str, bytes]) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in public.items():
        _write_durably(folder, folder / name, content)


def _put(root: Path, path: Path, content: bytes) -> None:
    """Write a file that is not there, whole and durably. Raises `ConfigurationError` for one of another content."""
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        _write_durably(root, path, content)
        return
    if found != content:
        raise ConfigurationError(f"{root} has the archive of another log.", "Name an empty folder.")
    _sync(path)
    _sync_folders(root, path)


def _write_durably(root: Path, path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.part")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    _sync_folders(root, path)


def _sync_folders(root: Path, path: Path) -> None:
    """The names of file and folders are on the disk as well, up to that of `root`."""
    for folder in path.parents:
        _sync(folder)
        if folder == root.parent:
            return


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
