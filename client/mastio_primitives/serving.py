"""A uvicorn server for a command: it calls back when it listens, and a signal is a normal end. For plugins."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn


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
