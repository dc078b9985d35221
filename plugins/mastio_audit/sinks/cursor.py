"""The position of a sink in the log: the index of the next entry to deliver, on stable storage."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from mastio.exchange.errors import ConfigurationError
from mastio_audit.log.store import StoreError


class Cursor(Protocol):
    """One sink's place in the log. Calls do not overlap. Each but `close` raises `StoreError`."""

    async def open(self) -> bool:
        """True if this process delivers to the sink. No other process does while the cursor is open. False: another one
        delivers; `read` works nevertheless."""

    async def read(self) -> int | None:
        """The next index; None: the sink is new. Raises `StoreError` also when the right to deliver was lost."""

    async def place(self, index: int) -> None:
        """Set the first index of a new sink. An existing cursor stays. Needs no right to deliver."""

    async def move(self, index: int) -> None:
        """Set the next index. It is durable when the call returns."""

    async def close(self) -> None:
        """Give up the right to deliver. Never raises; `open` may follow."""


class FileCursor:
    """A file with one number, for a log that only one appliance has: the right to deliver is control's."""

    def __init__(self, file: Path) -> None:
        self._file = file

    async def open(self) -> bool:
        return True

    async def read(self) -> int | None:
        return await asyncio.to_thread(self._read)

    async def place(self, index: int) -> None:
        if await self.read() is None:
            await self.move(index)

    async def move(self, index: int) -> None:
        await asyncio.to_thread(self._write, index)

    async def close(self) -> None:
        pass

    def _read(self) -> int | None:
        try:
            text = self._file.read_text("ascii").strip()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError("its cursor cannot be read") from error
        if not (text.isdecimal() and len(text) < 19):
            raise ConfigurationError(
                f"The file {self._file.parent.name}/{self._file.name} of the audit log is not a number.",
                "Write the index of the next entry into it, or remove it to begin anew.",
            )
        return int(text)

    def _write(self, index: int) -> None:
        """Replace the file as a whole: after a crash it has the old number or the new one."""
        draft = self._file.with_name(f".{self._file.name}")
        try:
            self._file.parent.mkdir(mode=0o700, exist_ok=True)
            with _opened(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
                os.write(file, b"%d\n" % index)
                os.fsync(file)
            draft.replace(self._file)
            sync_folder(self._file.parent)
        except OSError as error:
            raise StoreError(f"its cursor cannot be written ({error.strerror})") from error


def sync_folder(folder: Path) -> None:
    """Make files created or renamed in the folder durable. Raises `OSError`."""
    with _opened(folder, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        os.fsync(descriptor)


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
