"""Entries as JSON lines in a file: the stored bytes, each with a newline, so that hashes can be recomputed from it.

Rotation is the operator's (`logrotate` by renaming): before each batch, and once more after it, the name is looked up;
where it does not lead to the open file any more, that is closed and the batch written to the file that has the name.

What a crash or a full disk left of a batch ends in the middle of a line. It is cut back to its last whole line before
anything follows: such a line is always one of an unconfirmed batch, which comes again.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mastio_audit.log.chain import MAX_ENTRY, Row
from mastio_audit.sinks.cursor import sync_folder
from mastio_audit.sinks.sink import SinkError
from mastio_audit.sinks.view import view

PATIENCE = 10.0
"""Seconds that a batch may take. A disk that hangs is given nothing more until it has answered."""

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_CONTROL = re.compile(rb"[\x00-\x1f]")  # never in canonical JSON


class FileSink:
    """Appends to the file at `path`, and creates it, readable by its owner only. See `Sink`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="audit-sink")
        self._work: asyncio.Future[None] | None = None

    async def deliver(self, rows: Sequence[Row]) -> None:
        if self._work is not None:  # an earlier batch, given up on
            await self._finish(self._work)
        lines = b"".join(_line(index, entry) for index, entry in rows)
        self._work = asyncio.get_running_loop().run_in_executor(self._thread, self._append, lines)
        await self._finish(self._work)

    async def close(self) -> None:
        self._thread.submit(self._close)

    async def _finish(self, work: asyncio.Future[None]) -> None:
        _, late = await asyncio.wait((work,), timeout=PATIENCE)
        if late:
            raise SinkError("the disk does not answer")
        self._work = None
        error = work.exception()
        if isinstance(error, OSError):
            raise SinkError(f"the file cannot be written ({error.strerror})") from error
        work.result()

    # --- in the thread -----------------------------------------------------------------------------------------------

    def _append(self, lines: bytes) -> None:
        """Raises `OSError` or `SinkError`; then the file is opened again for the next batch."""
        done = False
        try:
            for _ in range(3):
                descriptor = self._open()
                _write(descriptor, lines)
                os.fsync(descriptor)
                if self._is_open():
                    done = True
                    return
            raise SinkError("the file is replaced again and again")
        finally:
            if not done:
                self._close()

    def _open(self) -> int:
        """The file that has the name now, ready for a line of its own."""
        if self._descriptor is not None and self._is_open():
            return self._descriptor
        self._close()
        descriptor = self._descriptor = os.open(self._path, _FLAGS, 0o600)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SinkError("it is not a regular file")
        _cut_to_line(descriptor)
        sync_folder(self._path.parent)
        return descriptor

    def _is_open(self) -> bool:
        assert self._descriptor is not None
        try:
            named = self._path.stat()
        except FileNotFoundError:
            return False
        mine = os.fstat(self._descriptor)
        return (named.st_dev, named.st_ino) == (mine.st_dev, mine.st_ino)

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _line(index: int, entry: bytes) -> bytes:
    """The entry as it is stored. Bytes that are none must not make lines of their own."""
    return (view(index, entry).json if _CONTROL.search(entry) else entry) + b"\n"


def _write(descriptor: int, lines: bytes) -> None:
    rest = memoryview(lines)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _cut_to_line(descriptor: int) -> None:
    size = os.fstat(descriptor).st_size
    start = max(size - MAX_ENTRY - 1, 0)
    tail = os.pread(descriptor, size - start, start)
    if not tail or tail.endswith(b"\n"):
        return
    end = tail.rfind(b"\n") + 1
    if end == 0 and start:
        raise SinkError("it is not a file of lines")
    os.ftruncate(descriptor, start + end)
