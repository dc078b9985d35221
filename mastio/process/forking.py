"""A fork server: it loads the code of the appliance once and forks each Python process of it on request.

A forked process has its imports already, so a killed worker is replaced in a fraction of the time that a new
interpreter needs, and processes share the memory of the code. Nothing but code is loaded before the fork: no key, no
database, no thread, no event loop.

`ForkServer` is the supervisor's side and needs the standard library only. `python -m mastio.process.forked` is the
other side. They talk over a socket of whole messages (SOCK_SEQPACKET): JSON, with file descriptors beside it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

MESSAGE = 65536
"""Bytes of the longest message."""

LOADED_WITHIN = 60.0
"""Seconds until the fork server must have loaded its code and forked the first process."""


class ForkError(Exception):
    """The fork server did not fork."""


class Forked:
    """A process that the fork server forked. Has the part of `subprocess.Popen` that the supervisor uses."""

    def __init__(self, server: ForkServer, pid: int, pidfd: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server = server
        self._pidfd = pidfd

    def poll(self) -> int | None:
        """The exit status, or None while it runs; negative: the signal that killed it."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, once it has ended. Raises `subprocess.TimeoutExpired`."""
        status = self._look(None if timeout is None else max(0.0, timeout))
        if status is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs; its number cannot have been given to another process."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._pidfd], [], [], seconds)[0]:
            self.returncode = self._server.status_of(self.pid)
            os.close(self._pidfd)
        return self.returncode


class ForkServer:
    """The supervisor's side. `close` ends the server; the processes that it forked get SIGTERM then."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], prepare: Callable[[], None]) -> None:
        """`command` gets the number of its descriptor as last argument; `prepare` runs in the child before it."""
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._statuses: dict[int, int] = {}
        with theirs:
            self.process = subprocess.Popen(
                [*command, str(theirs.fileno())], stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),),
                env=dict(environment), preexec_fn=prepare,
            )  # fmt: skip

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def fork(self, module: str, arguments: Sequence[str], descriptors: Mapping[str, int]) -> Forked:
        """Run a module as `python -m` does, in a forked process. Raises `ForkError`.

        `descriptors` are given to it: `{NAME}` in an argument becomes the number that the descriptor has there, and
        `stdout` becomes its standard output.
        """
        request = {"module": module, "arguments": list(arguments), "descriptors": list(descriptors)}
        try:
            socket.send_fds(self._socket, [json.dumps(request).encode()], list(descriptors.values()))
            deadline = time.monotonic() + LOADED_WITHIN
            while True:
                message, received = self._receive(max(0.0, deadline - time.monotonic()))
                if "pid" in message:
                    return Forked(self, message["pid"], received[0])
                self._statuses[message["ended"]] = message["status"]
        except (OSError, ValueError) as error:
            raise ForkError("The fork server does not answer.") from error

    def status_of(self, pid: int) -> int:
        """The exit status of a process that has ended; 0 where the server ended before it could tell. The server may
        still be loading code."""
        deadline = time.monotonic() + LOADED_WITHIN
        with contextlib.suppress(OSError, ValueError):
            while pid not in self._statuses:
                message, _ = self._receive(max(0.0, deadline - time.monotonic()))
                self._statuses[message["ended"]] = message["status"]
        return self._statuses.pop(pid, 0)

    def close(self) -> None:
        """End the server and wait for it."""
        self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
            return
        self.process.kill()
        self.process.wait()

    def _receive(self, seconds: float) -> tuple[dict[str, Any], list[int]]:
        """One message. Raises `OSError` when none comes in time, `ValueError` when the server has gone."""
        self._socket.settimeout(max(0.001, seconds))
        data, received, _, _ = socket.recv_fds(self._socket, MESSAGE, 1)
        return json.loads(data), received
