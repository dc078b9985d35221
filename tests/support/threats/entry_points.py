"""Where a test knocks: at the edge as everybody does, or at one worker's own socket, as only the edge can.

Behind the edge's back a test says what the edge would say, with the edge's real secret: so what the app decides by
itself, and what one certain worker does, is seen alone.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import httpx

from mastio_client import Identity
from support.appliance import Appliance, plain_transport
from support.threats.agent_kit import Headers
from support.threats.judge import Answer, connect, read_answer

Door = Callable[[], socket.socket]
"""Opens a connection of its own."""


def edge_secret(appliance: Appliance) -> str:
    return (appliance.data / "secrets" / "edge.key").read_text().strip()


def as_shown(*pems: Path) -> str:
    """X-Edge-Certificate, as nginx writes a PEM."""
    return quote("".join(pem.read_text() for pem in pems), safe="")


def said_by_edge(appliance: Appliance, certificate: str = "") -> Headers:
    """What the edge adds to a request of a caller who showed this certificate."""
    said = [("X-Edge-Secret", edge_secret(appliance)), ("X-Edge-Address", "127.0.0.1")]
    return [*said, ("X-Edge-Certificate", certificate)]


def socket_file(appliance: Appliance, slot: int) -> Path:
    return appliance.data / "run" / f"app-{slot}.sock"


def open_worker(appliance: Appliance, slot: int, certificate: str = "") -> httpx.Client:
    """A client of one worker."""
    return httpx.Client(
        transport=plain_transport(socket_file(appliance, slot)),
        base_url="http://mastio",
        headers=said_by_edge(appliance, certificate),
        timeout=30,
    )


def edge_door(appliance: Appliance, identity: Identity | None = None) -> Door:
    return lambda: connect(appliance, identity)


def worker_door(appliance: Appliance, slot: int) -> Door:
    return _door_of(socket_file(appliance, slot))


def control_door(appliance: Appliance) -> Door:
    return _door_of(appliance.data / "run" / "control.sock")


def _door_of(file: Path) -> Door:
    def open_() -> socket.socket:
        opened = socket.socket(socket.AF_UNIX)
        opened.settimeout(30)
        opened.connect(str(file))
        return opened

    return open_


def write_request(method: str, path: str, headers: Iterable[tuple[str, str]], body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers)]).encode() + b"\r\n\r\n" + body


def at_once(attempts: Sequence[tuple[Door, bytes]]) -> list[Answer]:
    """Each request on a connection of its own. All are opened first; then all are sent at the same moment."""
    barrier = threading.Barrier(len(attempts))

    def one(attempt: tuple[Door, bytes]) -> Answer:
        door, request = attempt
        with door() as opened:
            barrier.wait(30)
            opened.sendall(request)
            answer = read_answer(opened)
        assert answer is not None, "the connection was cut without an answer"
        return answer

    with ThreadPoolExecutor(len(attempts)) as pool:
        return list(pool.map(one, attempts))
