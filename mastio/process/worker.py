"""One process that serves: the app of one plane under uvicorn, on a socket that the supervisor opened.

`python -m mastio.process.data_plane --data DIR --slot N --fd FD --memory FD`; `mastio.control.program` takes the same.
The socket outlives the process, so that connections wait in its backlog while a killed one is replaced; so does the
memory of the host.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import itertools
import logging
import os
import signal
import socket
import sys
from pathlib import Path

import uvicorn
import uvloop

from mastio.exchange.errors import ConfigurationError
from mastio.host.host_memory import HostMemory
from mastio.host.liveness import process_name
from mastio.host.memory import give_back, keep_bodies_apart, look_at_older
from mastio.http.protocol import JoiningProtocol
from mastio.process.app import App, Program, open_app
from mastio.settings import read_settings

KEEP_ALIVE = 75
"""Longer than the edge keeps an idle connection (60 s), so that the edge never writes into a closing one."""

DRAIN = 20
"""Seconds that open exchanges have to finish after SIGTERM."""

QUIET = 20.0
"""Seconds without a request after which a worker counts as idle."""

PR_SET_PDEATHSIG = 1
LOG_LINE = "%(asctime)s %(levelname)s %(name)s %(message)s"


async def serve(
    program: Program, data: Path, slot: int, listener: socket.socket, host_memory: HostMemory, config: Path | None
) -> None:
    """Serve until SIGTERM, then let open exchanges finish."""
    keep_bodies_apart()
    name = process_name(slot)
    async with open_app(data, slot, host_memory, program, config) as app:
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=JoiningProtocol,
                ws="none",
                lifespan="off",
                access_log=False,
                log_config=None,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=DRAIN,
                backlog=4096,
            )
        )
        (data / "run" / f"{name}.pid").write_text(f"{os.getpid()}\n")
        give_back()
        tasks = [asyncio.create_task(give_back_when_idle(app)), asyncio.create_task(free_cycles())]
        # uvicorn raises the signal once more when it has ended; by default that would skip everything that closes.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, say_closing, server)
        program.announce(data)
        (data / "run" / f"{name}.ready").touch()
        try:
            await server.serve(sockets=[listener])
        finally:
            for task in tasks:
                task.cancel()


def say_closing(server: uvicorn.Server) -> None:
    """From now on each answer ends its connection: the worker is about to be replaced. The edge closes those that are
    idle after `keepalive_timeout`, so that in the end none is left on which a request could be lost."""
    JoiningProtocol.is_closing = True
    for connection in server.server_state.connections:
        cycle = getattr(connection, "cycle", None)
        if cycle is not None and not cycle.response_started:
            cycle.keep_alive = False


async def free_cycles() -> None:
    for minutes in itertools.count(1):
        await asyncio.sleep(60.0)
        look_at_older(minutes)


async def give_back_when_idle(app: App) -> None:
    """After a quiet while, once, until there is work again."""
    given, seen = True, app.requests
    while True:
        await asyncio.sleep(QUIET)
        if app.requests != seen:
            given, seen = False, app.requests
        elif not given:
            give_back()
            given = True


def main(program: Program) -> int:
    """Run one process of this program. Returns its exit status."""
    parser = argparse.ArgumentParser(prog=f"mastio {program.plane}")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--slot", type=int, required=True)
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--memory", type=int, required=True)
    args = parser.parse_args()
    # Without its supervisor it would hold the log's slot unseen.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    settings, _ = read_settings(args.config or args.data / "mastio.toml")
    logging.basicConfig(
        level=settings.server.log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
        stream=sys.stderr,
    )
    try:
        listener, host_memory = socket.socket(fileno=args.fd), HostMemory(args.memory)
        uvloop.run(serve(program, args.data, args.slot, listener, host_memory, args.config))
    except ConfigurationError as error:
        print(f"mastio: {error.message} {error.hint}", file=sys.stderr)
        return 2
    except asyncio.CancelledError:
        return 0
    return 0
