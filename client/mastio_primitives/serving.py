"""A uvicorn server for a command: it calls back when it listens, and a signal is a normal end. For plugins."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn


def make_config(app: Any, protocol: type[Any], *, backlog: int, keep_alive: int, drain: int) -> uvicorn.Config:
    """The configuration of a server that logs nothing and says nothing of itself. `keep_alive`: seconds that an idle
    connection is kept; `drain`: seconds that open exchanges have to end."""
    return uvicorn.Config(
        app,
        interface="asgi3",
        http=protocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level="critical",
        proxy_headers=False,
        server_header=False,
        date_header=False,
        backlog=backlog,
        timeout_keep_alive=keep_alive,
        timeout_graceful_shutdown=drain,
    )


class Server(uvicorn.Server):
    """`started` is called once connections are accepted. SIGTERM and SIGINT let open exchanges end; `run` returns."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Unlike the library's, does not raise the signal again afterwards."""
        ours = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in ours}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def tcp_url(listener: socket.socket) -> str:
    """The URL of a listening TCP socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
