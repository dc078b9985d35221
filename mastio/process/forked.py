"""The process that forks: `python -m mastio.process.forked DATA CONFIG FD`, started by the supervisor through
`forking.py`.

It loads the code of a worker and of the active plugins, then forks a process for each request that comes over the
socket FD, and tells when one ends. After the first of them, which at a start is the short-lived preparation, it lets
the plugins build what all processes share (`Plugin.preload`). What only control needs, such as its framework, control
loads by itself. The fork server ends when the supervisor closes the socket. CONFIG may be empty.
"""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import runpy
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvicorn  # noqa: F401 - loaded for the processes that are forked, as are the next four
import uvloop  # noqa: F401

import mastio.host.memory
import mastio.http.protocol
import mastio.operating.whoami
import mastio.process.worker  # noqa: F401
from mastio.exchange.errors import MastioError
from mastio.plugin.loading import Active
from mastio.process.forking import MESSAGE
from mastio.process.plan import read_plan

log = logging.getLogger("mastio.forked")

MAX_DESCRIPTORS = 4


@dataclass(frozen=True, slots=True)
class Task:
    """A module to run as a program, with its arguments."""

    module: str
    arguments: tuple[str, ...]

    def run(self) -> None:
        sys.argv = [self.module, *self.arguments]
        runpy.run_module(self.module, run_name="__main__", alter_sys=True)


def load(data: Path, config: Path | None) -> list[Active]:
    """Import the active plugins and return them. The program that uses the settings reports what is wrong with them."""
    active: list[Active] = []
    with contextlib.suppress(MastioError, OSError):
        active += read_plan(data, config)[0].active
    _freeze()
    return active


def preload(active: Iterable[Active]) -> None:
    """Let the plugins build what their processes share. What cannot be built, each process reports by itself."""
    for item in active:
        if item.plugin.preload is not None:
            try:
                item.plugin.preload(item.settings)
            except Exception:
                log.exception("the plugin %s does not preload", item.plugin.name)
    _freeze()


def _freeze() -> None:
    """A collection in a forked process would copy every page that it looks at."""
    gc.collect()
    gc.freeze()


def serve(requests: socket.socket, preload: Callable[[], None]) -> Task | None:
    """Fork on request; after the first fork, preload. Returns the task in the forked process, None in this one when
    the supervisor has gone."""
    children: dict[int, int] = {}
    is_preloaded = False
    while True:
        ready, _, _ = select.select([requests.fileno(), *children], [], [])
        for pidfd in children.keys() & set(ready):
            _tell_end(requests, pidfd, children.pop(pidfd))
        if requests.fileno() not in ready:
            continue
        data, received, _, _ = socket.recv_fds(requests, MESSAGE, MAX_DESCRIPTORS)
        if not data:
            return None
        asked = json.loads(data)
        pid = os.fork()
        if pid == 0:
            requests.close()
            for pidfd in children:
                os.close(pidfd)
            return _take(asked, received)
        pidfd = os.pidfd_open(pid)
        children[pidfd] = pid
        for descriptor in received:
            os.close(descriptor)
        socket.send_fds(requests, [json.dumps({"pid": pid}).encode()], [pidfd])
        if not is_preloaded:
            is_preloaded = True
            preload()


def _take(asked: dict[str, list[str]], received: list[int]) -> Task:
    """In the forked process: its task, with its descriptors in place and signals as in a new process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    numbers = dict(zip(asked["descriptors"], received, strict=True))
    for descriptor in received:
        os.set_inheritable(descriptor, True)
    if "stdout" in numbers:
        os.dup2(numbers["stdout"], 1)
        os.close(numbers["stdout"])
    known = {f"{{{name}}}": str(number) for name, number in numbers.items()}
    return Task(str(asked["module"]), tuple(known.get(argument, argument) for argument in asked["arguments"]))


def _tell_end(requests: socket.socket, pidfd: int, pid: int) -> None:
    _, status = os.waitpid(pid, 0)
    os.close(pidfd)
    requests.send(json.dumps({"ended": pid, "status": os.waitstatus_to_exitcode(status)}).encode())


def main() -> None:
    data, config, descriptor = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the supervisor to act on
    active = load(Path(data), Path(config) if config else None)
    task = serve(socket.socket(fileno=int(descriptor)), partial(preload, active))
    if task is not None:
        task.run()


if __name__ == "__main__":
    main()
