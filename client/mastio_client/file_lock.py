"""An exclusive lock on an open file. It ends when the file is closed, or its process ends."""

from __future__ import annotations

import contextlib
import sys

if sys.platform == "win32":
    import msvcrt

    def lock(descriptor: int) -> None:
        """Wait for the lock. Windows gives up after ten seconds, so this asks again."""
        while True:
            with contextlib.suppress(OSError):
                msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
                return

else:
    import fcntl

    def lock(descriptor: int) -> None:
        """Wait for the lock."""
        fcntl.flock(descriptor, fcntl.LOCK_EX)
