"""A file that checkpoints are appended to, each synced before it counts: signed notes with an empty line after each.

What is in it is never changed. Only what a crash or a full disk left of a checkpoint is cut off before the next one.

When the appliance starts, the log must begin with the last checkpoint of the file. Whoever puts an older copy of the
whole data folder back cannot put this file back as well, if it is where they cannot write.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from mastio.exchange.errors import ConfigurationError
from mastio_audit.anchors.target import AnchorError
from mastio_audit.log.chain import ChainError, Head
from mastio_audit.log.published import verify_beginning
from mastio_audit.log.store import LogReader
from mastio_primitives.files import sync_folder
from mastio_primitives.transparency import notes
from mastio_primitives.transparency.notes import Checkpoint, NoteError

PATIENCE = 10.0
"""Seconds that the disk has. One that hangs is asked nothing more until it has answered."""

TAIL = 2 * notes.MAX_NOTE
"""Bytes at the end of the file in which the last checkpoint is looked for."""

HINT = (
    "Find out why before you go on. If an older copy was put back on purpose, move {path} away: "
    "whoever holds it can prove that the log was cut."
)
_FLAGS = os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_WHOLE = re.compile(rb"(?:\A|(?<=\n\n))((?:[^\n]+\n){3,}\n(?:\xe2\x80\x94 [^\n]+\n)+)\n")
T = TypeVar("T")


def find_last(tail: bytes) -> tuple[bytes, int] | None:
    """The last whole checkpoint, and where it ends with its empty line. None: there is none."""
    found = [(match[1], match.end()) for match in _WHOLE.finditer(tail)]
    return found[-1] if found else None


class FileAnchor:
    """The file at `path`, of the log `origin`. `sign` makes the checkpoint of a head. See `Place`."""

    def __init__(self, name: str, path: Path, origin: str, sign: Callable[[Head], bytes]) -> None:
        self._name = name
        self._path = path
        self._origin = origin
        self._sign = sign
        self._size = 0
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="audit-anchor")
        self._work: asyncio.Future[Any] | None = None

    async def verify(self, reader: LogReader) -> None:
        """That the log begins with the last checkpoint of the file. Raises `ConfigurationError`, `StoreError`."""
        try:
            signed = await self._do(self._read)
            if signed is not None:
                await verify_beginning(reader, signed, f"the anchor {self._name} holds")
                self._size = signed.size
        except AnchorError as error:
            raise ConfigurationError(
                f"The audit anchor {self._name} cannot be compared with the log: {error}.",
                f"Make {self._path} readable, or take the anchor out of the settings.",
            ) from error
        except ChainError as error:
            raise ConfigurationError(
                f"The audit log is not what was anchored: {error}.",
                f"Run `mastio audit verify`. {HINT.format(path=self._path)}",
            ) from error

    async def lead(self) -> bool:
        return True

    async def size(self) -> int:
        return self._size

    async def keep(self, head: Head) -> None:
        checkpoint = self._sign(head)
        await self._do(lambda: self._append(checkpoint + b"\n"))
        self._size = head.size

    async def close(self) -> None:
        """Nothing is held: the file is opened for each checkpoint, so that it may be renamed."""

    async def _do(self, work: Callable[[], T]) -> T:
        """In the thread. Raises `AnchorError`."""
        if self._work is not None:  # earlier work, given up on
            await self._finish(self._work)
        started = asyncio.get_running_loop().run_in_executor(self._thread, work)
        self._work = started
        return await self._finish(started)

    async def _finish(self, work: asyncio.Future[T]) -> T:
        _, late = await asyncio.wait((work,), timeout=PATIENCE)
        if late:
            raise AnchorError("the disk does not answer")
        self._work = None
        try:
            return work.result()
        except OSError as error:
            raise AnchorError(f"the file cannot be used ({error.strerror})") from error

    # --- in the thread -----------------------------------------------------------------------------------------------

    def _read(self) -> Checkpoint | None:
        """The last checkpoint of the file. None: there is no file, or it is empty. Raises `OSError`, `AnchorError`."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | _FLAGS)
        except FileNotFoundError:
            return None
        try:
            tail, _ = _tail(descriptor)
        finally:
            os.close(descriptor)
        return self._parse(tail)

    def _parse(self, tail: bytes) -> Checkpoint | None:
        last = find_last(tail)
        if last is None:
            if tail.startswith(self._origin.encode()[: len(tail)]):
                return None  # a first checkpoint that a crash cut
            raise AnchorError("it is not a file of checkpoints")
        try:
            checkpoint = notes.parse_checkpoint(notes.parse_note(last[0]).text)
        except NoteError as error:
            raise AnchorError(f"its last checkpoint is none: {error}") from error
        if checkpoint.origin != self._origin:
            raise AnchorError("it has checkpoints of another log")
        return checkpoint

    def _append(self, content: bytes) -> None:
        """Raises `OSError`, `AnchorError`."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o644)
        try:
            tail, start = _tail(descriptor)
            self._parse(tail)
            last = find_last(tail)
            end = start + (0 if last is None else last[1])
            if end != start + len(tail):
                os.ftruncate(descriptor, end)
            if os.write(descriptor, content) != len(content):
                raise AnchorError("the disk is full")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(self._path.parent)


def _tail(descriptor: int) -> tuple[bytes, int]:
    """The end of the file, and where that begins. Raises `AnchorError` for what is no file."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise AnchorError("it is not a regular file")
    start = max(status.st_size - TAIL, 0)
    return os.pread(descriptor, TAIL, start), start
