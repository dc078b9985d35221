"""A DNS server for tests, on loopback: says of each name what the test tells it to, and remembers what it was asked.

An `Answer` may differ from one time to the next (rebinding), mix public and inner addresses, come late or never, be an
error, be cut off in UDP (so that it is asked again in TCP), or lead through a chain of other names. RFC 1035 §4.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address, ip_address
from types import TracebackType

A, CNAME, AAAA = 1, 5, 28
NO_ERROR, SERVER_FAILURE, NO_NAME, REFUSED = 0, 2, 3, 5
RESPONSE, TRUNCATED = 0x8180, 0x0200


@dataclass(frozen=True)
class Answer:
    """What is said of a name. `through` are names that it leads through before it ends; `delay` in seconds."""

    addresses: tuple[str, ...] = ()
    ttl: int = 0
    code: int = NO_ERROR
    delay: float = 0.0
    delay_aaaa: float | None = None
    silent: bool = False
    truncated: bool = False
    through: tuple[str, ...] = ()


@dataclass
class Names:
    """The server, open while it is a context. `say` names; whatever was not said does not exist."""

    asked: list[tuple[str, int]] = field(default_factory=list)
    """Each question in its order: name and type."""

    by_tcp: int = 0

    def __post_init__(self) -> None:
        self._said: dict[str, list[Answer]] = {}
        self._turns: dict[tuple[str, int], int] = {}
        self._lock = threading.Lock()
        self._udp, self._tcp = _open_pair()
        self.port: int = self._udp.getsockname()[1]

    @property
    def server(self) -> str:
        """For the setting `resolvers`."""
        return f"127.0.0.1:{self.port}"

    def say(self, name: str, *addresses: str, **more: object) -> None:
        """From now on this is said of the name."""
        self.say_in_turn(name, Answer(addresses, **more))  # type: ignore[arg-type]

    def say_in_turn(self, name: str, *answers: Answer) -> None:
        """One after the other, the last one for ever. A and AAAA of one lookup get the same one."""
        with self._lock:
            self._said[name] = list(answers)
            self._turns = {key: turn for key, turn in self._turns.items() if key[0] != name}

    def count(self, name: str, kind: int = A) -> int:
        return self.asked.count((name, kind))

    def __enter__(self) -> Names:
        for serve in (self._serve_udp, self._serve_tcp):
            threading.Thread(target=serve, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._tcp.shutdown(socket.SHUT_RDWR)
        self._tcp.close()
        wake = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        wake.sendto(b"", self._udp.getsockname())
        wake.close()

    def _serve_udp(self) -> None:
        with self._udp:
            while True:
                question, where = self._udp.recvfrom(4096)
                if not question:
                    return
                delay, reply = self._reply(question, in_udp=True)
                if delay:
                    threading.Thread(target=self._send_later, args=(delay, reply, where), daemon=True).start()
                elif reply:
                    self._udp.sendto(reply, where)

    def _send_later(self, delay: float, reply: bytes, where: tuple[str, int]) -> None:
        time.sleep(delay)
        with suppress(OSError):
            self._udp.sendto(reply, where)

    def _serve_tcp(self) -> None:
        while True:
            try:
                link, _ = self._tcp.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(link,), daemon=True).start()

    def _talk(self, link: socket.socket) -> None:
        with link, suppress(OSError), link.makefile("rb") as stream:
            while len(size := stream.read(2)) == 2:
                self.by_tcp += 1
                delay, reply = self._reply(stream.read(struct.unpack("!H", size)[0]), in_udp=False)
                if not reply:
                    return
                time.sleep(delay)
                link.sendall(struct.pack("!H", len(reply)) + reply)

    def _reply(self, question: bytes, *, in_udp: bool) -> tuple[float, bytes]:
        """After how many seconds what is said; nothing: for ever silent."""
        name, kind, end = _read_question(question)
        with self._lock:
            self.asked.append((name, kind))
            answer = self._next(name, kind)
        delay = answer.delay if kind != AAAA or answer.delay_aaaa is None else answer.delay_aaaa
        if answer.silent:
            return 0.0, b""
        records = [] if in_udp and answer.truncated else _records(name, kind, answer)
        flags = RESPONSE | answer.code | (TRUNCATED if in_udp and answer.truncated else 0)
        head = question[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0)
        return delay, head + question[12:end] + b"".join(records)

    def _next(self, name: str, kind: int) -> Answer:
        said = self._said.get(name)
        if said is None:
            return Answer(code=NO_NAME)
        turn = self._turns.get((name, kind), 0)
        self._turns[name, kind] = turn + 1
        return said[min(turn, len(said) - 1)]


def _open_pair() -> tuple[socket.socket, socket.socket]:
    """One port for UDP and TCP."""
    for _ in range(50):
        tcp = socket.create_server(("127.0.0.1", 0), backlog=16)
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with suppress(OSError):
            udp.bind(tcp.getsockname())
            return udp, tcp
        udp.close()
        tcp.close()
    raise OSError("no port is free for both")


def _read_question(question: bytes) -> tuple[str, int, int]:
    """Name, type, and where the question ends."""
    labels, at = [], 12
    while size := question[at]:
        labels.append(question[at + 1 : at + 1 + size].decode("ascii").lower())
        at += 1 + size
    return ".".join(labels), struct.unpack_from("!H", question, at + 1)[0], at + 5


def _records(name: str, kind: int, answer: Answer) -> list[bytes]:
    if answer.code != NO_ERROR:
        return []
    chain = [name, *answer.through]
    records = [
        _record(here, CNAME, answer.ttl, _name(there)) for here, there in zip(chain, answer.through, strict=False)
    ]
    for text in answer.addresses:
        address = ip_address(text)
        if kind == (A if isinstance(address, IPv4Address) else AAAA):
            records.append(_record(chain[-1], kind, answer.ttl, address.packed))
    return records


def _record(name: str, kind: int, ttl: int, data: bytes) -> bytes:
    return _name(name) + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


def _name(name: str) -> bytes:
    return b"".join(bytes((len(label),)) + label.encode("ascii") for label in name.split(".")) + b"\0"
