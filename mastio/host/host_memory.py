"""Memory that the workers of one host share, for what must hold for all of them within one call. For plugins.

The supervisor makes it, and each worker gets its descriptor: it outlives a worker that is killed, and ends with the
appliance. It is a file without a name (memfd), so that no full disk can be met while writing to it. Standard library
only: the supervisor uses this module.
"""

from __future__ import annotations

import mmap
import os
import sys
import time
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, lockf

SIZE = 32 * 1024 * 1024 + 4096
"""Bytes. Only pages that were written to take memory."""

REVISION = 8
"""The word with the revision of the control plane that a worker has put in force. The words before it, and all from the
second page on, belong to used proofs (`mastio_dpop.memory`)."""

LIVENESS = 64
"""The first of the words with signs of life (`mastio.host.liveness`), one for each slot. They end before the second
page."""

TURN = 0.05
"""Seconds that a worker waits for its turn. A turn takes microseconds, and ends with its process."""

PAUSE = 0.0001
"""Seconds between two tries."""


GONE_SECONDS = 3.0
"""A process without a sign of life for so long is down. Longer than it takes to replace one that was killed."""


def read_sign(descriptor: int, slot: int) -> float:
    """The monotonic time of the last sign of life of the process in this slot; 0: there was none."""
    return int.from_bytes(os.pread(descriptor, 8, 8 * (LIVENESS + slot)), sys.byteorder) / 1000


class Busy(Exception):
    """Another process keeps the memory: it was stopped in its turn."""


def make_host_memory() -> int:
    """A descriptor of new memory, all zeros."""
    descriptor = os.memfd_create("mastio-host-memory")
    os.ftruncate(descriptor, SIZE)
    return descriptor


class HostMemory:
    """The memory, in one process: `words` are its unsigned 64-bit words. Not for several threads.

    In its `with` block a process is alone with the memory. Do not wait there. Entering raises `Busy`.
    """

    def __init__(self, descriptor: int) -> None:
        """Takes the descriptor over."""
        self._descriptor = descriptor
        self.words = memoryview(mmap.mmap(descriptor, SIZE)).cast("Q")

    def __enter__(self) -> None:
        until = 0.0
        while True:
            try:
                lockf(self._descriptor, LOCK_EX | LOCK_NB)
                return
            except BlockingIOError:
                now = time.monotonic()
                until = until or now + TURN
                if now > until:
                    raise Busy from None
                time.sleep(PAUSE)

    def __exit__(self, *_: object) -> None:
        lockf(self._descriptor, LOCK_UN)
