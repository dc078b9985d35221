"""Upstreams for tests: listeners that count who connects, on any address of this machine, with or without TLS.

What one does with a connection is a function of its `Link`; without one it answers each request with `200` and `ok`.
Framing is read strictly: a request that is not whole is never taken for one.
"""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType

PATIENCE = 20.0
"""Seconds that anything may take at most."""

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Cut(Exception):
    """The other side ended in the middle of a request."""


@dataclass
class Seen:
    """A request that arrived whole. `chunks` are the sizes of its chunks, None with a length or without a body."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes = b""
    chunks: list[int] | None = None

    def header(self, name: str) -> str | None:
        """The only value; fails where there are two."""
        found = [value for other, value in self.headers if other.lower() == name]
        assert len(found) < 2, found
        return found[0] if found else None


class Link:
    """One accepted connection."""

    def __init__(self, connection: socket.socket, upstream: Upstream) -> None:
        self.connection = connection
        self.upstream = upstream
        self._stream = connection.makefile("rb")

    def read_head(self) -> Seen | None:
        """None where there is no other request."""
        line = self._stream.readline(65536)
        if not line:
            return None
        headers = []
        while (more := self._stream.readline(65536)) != b"\r\n":
            if not more.endswith(b"\r\n"):
                raise Cut
            name, _, value = more[:-2].partition(b":")
            headers.append((name.decode("latin-1"), value.strip().decode("latin-1")))
        method, path, _ = line.decode("latin-1").rstrip("\r\n").split(" ")
        self.upstream.heads += 1
        return Seen(method, path, headers)

    def read_pieces(self, seen: Seen) -> Iterator[bytes]:
        """The body as it comes."""
        length, coding = seen.header("content-length"), seen.header("transfer-encoding")
        assert length is None or coding is None, "both framings at once"
        if coding is not None:
            assert coding == "chunked"
            seen.chunks = []
            while size := int(self._line(), 16):
                seen.chunks.append(size)
                yield self._exactly(size)
                assert self._exactly(2) == b"\r\n"
            assert self._line() == b""
        left = int(length or 0)
        while left:
            piece = self._exactly(min(left, 65536))
            left -= len(piece)
            yield piece

    def read(self) -> Seen | None:
        """One whole request; kept in `Upstream.seen`."""
        seen = self.read_head()
        if seen is not None:
            seen.body = b"".join(self.read_pieces(seen))
            self.upstream.seen.append(seen)
        return seen

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def is_left(self, seconds: float = PATIENCE) -> bool:
        """Whether the other side ends the connection within this time; what it still sends is thrown away."""
        self.connection.settimeout(seconds)
        try:
            while self.connection.recv(65536):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        return True

    def _line(self) -> bytes:
        line = self._stream.readline(65536)
        if not line.endswith(b"\r\n"):
            raise Cut
        return line[:-2]

    def _exactly(self, size: int) -> bytes:
        data = self._stream.read(size)
        if len(data) != size:
            raise Cut
        return data


def answer_all(link: Link) -> None:
    while link.read() is not None:
        link.send(OK)


@dataclass
class Upstream:
    """A listener, open while it is a context. `connects` counts connections, also those that never say a word."""

    address: str = "127.0.0.1"
    port: int = 0
    tls: ssl.SSLContext | None = None
    act: Callable[[Link], None] = answer_all
    connects: int = 0
    heads: int = 0
    open: int = 0
    cuts: int = 0
    """Connections that ended in the middle of a request."""
    seen: list[Seen] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    """The server names of TLS, None where none was sent."""

    def __enter__(self) -> Upstream:
        family = socket.AF_INET6 if ":" in self.address else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((self.address, self.port))
        self._listener.listen(512)
        self.port = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._links: set[socket.socket] = set()
        if self.tls is not None:
            self.tls.sni_callback = lambda link, name, context: self.names.append(name)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for link in tuple(self._links):
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def url(self, host: str | None = None, path: str = "") -> str:
        host = host or (f"[{self.address}]" if ":" in self.address else self.address)
        return f"{'http' if self.tls is None else 'https'}://{host}:{self.port}{path}"

    def wait_closed(self, seconds: float = 5.0) -> None:
        """Until nobody is connected any more."""
        end = time.monotonic() + seconds
        while self.open:
            assert time.monotonic() < end, f"{self.open} connections are still open"
            time.sleep(0.005)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.connects += 1
                self.open += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        self._links.add(connection)
        try:
            connection.settimeout(PATIENCE)
            with connection, suppress(OSError):
                if self.tls is not None:
                    connection = self.tls.wrap_socket(connection, server_side=True)
                with connection:
                    self.act(Link(connection, self))
        except Cut:
            self.cuts += 1
        finally:
            self._links.discard(connection)
            with self._lock:
                self.open -= 1


@contextmanager
def listening(*addresses: str) -> Iterator[dict[str, Upstream]]:
    """Listeners on one port of each address, so that only the address decides who is reached."""
    for _ in range(50):
        opened: dict[str, Upstream] = {}
        try:
            port = 0
            for address in addresses:
                opened[address] = Upstream(address, port).__enter__()
                port = opened[address].port
            yield opened
            return
        except OSError:
            if len(opened) == len(addresses):
                raise
        finally:
            for one in opened.values():
                one.__exit__(None, None, None)
    raise OSError("no port is free on all of them")
