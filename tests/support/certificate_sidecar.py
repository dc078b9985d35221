"""A forwarder of the kind that people put beside programs that cannot show a client certificate: plain TCP in, TLS with
the agent's certificate out. It looks at nothing."""

from __future__ import annotations

import contextlib
import selectors
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mastio_client import Identity
from support.appliance import Appliance


@contextmanager
def open_sidecar(appliance: Appliance, identity: Identity) -> Iterator[str]:
    """The URL to call."""
    context, target = appliance.tls(identity), int(appliance.base_url.rpartition(":")[2])

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", target)) as plain,
                context.wrap_socket(plain, server_hostname="localhost") as there,
            ):
                forward(self.request, there)

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join(5)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: Any) -> None:
        """Whoever hangs up is no error of ours."""


def forward(here: socket.socket, there: ssl.SSLSocket) -> None:
    """Until one of the two ends."""
    with selectors.DefaultSelector() as selector:
        selector.register(here, selectors.EVENT_READ, there)
        selector.register(there, selectors.EVENT_READ, here)
        while True:
            for key, _ in selector.select(60):
                source: Any = key.fileobj
                data = source.recv(65536)
                if not data:
                    return
                while isinstance(source, ssl.SSLSocket) and source.pending():
                    data += source.recv(65536)
                key.data.sendall(data)
