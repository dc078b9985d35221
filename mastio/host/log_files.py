"""Bounds the log files of an appliance: a file that has grown beyond its size becomes `NAME.1`, `NAME.1` becomes
`NAME.2`, and the oldest is removed. Called by the supervisor, and like it of the standard library only.

nginx is told to open its files again. All other processes write to `mastio.log` through an inherited descriptor that
appends, so that file is copied and then emptied. A line that is written between these two steps is lost. The audit
log is not one of these files: it is in the database.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

EDGE = ("edge-access.log", "edge-error.log")
OWN = "mastio.log"

_PIECE = 1024 * 1024


class LogFiles:
    """The log files in `folder`, each at most about `size` bytes, and `kept` older ones of each. `reopen` tells the
    edge that its files are to be opened anew."""

    def __init__(self, folder: Path, size: int, kept: int, reopen: Callable[[], None]) -> None:
        self._folder = folder
        self._size = size
        self._kept = kept
        self._reopen = reopen

    def rotate(self) -> None:
        """Call every few seconds. Raises `OSError` where the disk is full or the folder cannot be written."""
        moved = [name for name in EDGE if self._is_due(name)]
        for name in moved:
            self._shift(name)
            (self._folder / name).replace(self._folder / f"{name}.1")
        if moved:
            self._reopen()
        if self._is_due(OWN):
            self._shift(OWN)
            self._copy_and_empty(self._folder / OWN, self._folder / f"{OWN}.1")

    def _is_due(self, name: str) -> bool:
        """In a container the names lead to the container's own output, which is not a file."""
        try:
            status = (self._folder / name).lstat()
        except FileNotFoundError:
            return False
        return stat.S_ISREG(status.st_mode) and status.st_size > self._size

    def _shift(self, name: str) -> None:
        (self._folder / f"{name}.{self._kept}").unlink(missing_ok=True)
        for number in range(self._kept - 1, 0, -1):
            old = self._folder / f"{name}.{number}"
            if old.exists():
                old.replace(self._folder / f"{name}.{number + 1}")

    def _copy_and_empty(self, file: Path, copy: Path) -> None:
        draft = copy.with_name(f"{copy.name}.new")
        try:
            target = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with file.open("rb+", buffering=0) as source, os.fdopen(target, "wb", buffering=0) as written:
                while piece := source.read(_PIECE):  # what is appended meanwhile too
                    written.write(piece)
                source.truncate(0)
            draft.replace(copy)
        finally:
            draft.unlink(missing_ok=True)
