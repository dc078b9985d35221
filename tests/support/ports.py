"""TCP ports for tests that two test processes can never both take.

Each process leases a block of ports below the range that the kernel gives to outgoing connections. The lease is a lock
on a file and ends with the process. A search for a free port would be a race: another process may take the port
between the search and the use.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

FIRST, LAST, BLOCK = 12000, 32000, 500
"""The range that is divided, and the size of a block. Linux's own range for outgoing connections begins at 32768."""


def _lease() -> int:
    """The first port of a block that no other process holds. Raises `OSError` when every block is leased."""
    folder = Path(tempfile.gettempdir()) / f"mastio-test-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    for first in range(FIRST, LAST, BLOCK):
        descriptor = os.open(folder / str(first), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        return first  # the descriptor stays open, and so the lock held, until the process ends
    raise OSError("Every block of test ports is leased; end the test runs that hold them.")


def _cycle() -> Iterator[int]:
    first = _lease()
    yield from itertools.cycle(range(first, first + BLOCK))


_ports = _cycle()


def take_port() -> int:
    """A port of this process's block on which nothing listens; the least recently used one."""
    for _ in range(BLOCK):
        port = next(_ports)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue  # a program outside the tests, or an appliance that still ends
            return port
    raise OSError("Each port of this process's block is in use.")
