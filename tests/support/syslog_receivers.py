"""Receivers of syslog for tests: a strict reader of RFC 5424, of counted messages, and servers that misbehave."""

from __future__ import annotations

import re
import socket
import ssl
import threading
from dataclasses import dataclass, field

HEADER = re.compile(
    rb"<(0|[1-9][0-9]{0,2})>1 "
    rb"(-|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)) "
    rb"([\x21-\x7e]{1,255}) ([\x21-\x7e]{1,48}) ([\x21-\x7e]{1,128}) ([\x21-\x7e]{1,32}) "
)
SD_NAME = re.compile(rb'[^=\] "\x00-\x20\x7f-\xff]{1,32}')


@dataclass(frozen=True)
class Message:
    """One message of RFC 5424 §6, taken apart."""

    facility: int
    severity: int
    timestamp: str
    host: str
    app: str
    process: str
    kind: str
    data: dict[str, dict[str, str]]
    body: bytes


def read_message(raw: bytes) -> Message:
    """§6 to the letter. Raises `ValueError`."""
    found = HEADER.match(raw)
    if found is None or int(found[1]) > 191:
        raise ValueError("the header is not one of RFC 5424")
    data, rest = _read_data(raw[found.end() :])
    if rest and not rest.startswith(b" "):
        raise ValueError("something stands after the structured data")
    priority = int(found[1])
    return Message(priority // 8, priority % 8, *(part.decode() for part in found.groups()[1:]), data, rest[1:])


def _read_data(rest: bytes) -> tuple[dict[str, dict[str, str]], bytes]:
    if rest.startswith(b"-"):
        return {}, rest[1:]
    data: dict[str, dict[str, str]] = {}
    while rest.startswith(b"["):
        name = SD_NAME.match(rest, 1)
        if name is None or name[0].decode() in data:
            raise ValueError("no SD-ID, or one twice")
        parameters: dict[str, str] = {}
        rest = rest[name.end() :]
        while rest.startswith(b" "):
            key = SD_NAME.match(rest, 1)
            if key is None or rest[key.end() : key.end() + 2] != b'="':
                raise ValueError("no SD-PARAM")
            value, rest = _read_value(rest[key.end() + 2 :])
            parameters[key[0].decode()] = value
        if not rest.startswith(b"]"):
            raise ValueError("the element does not end")
        data[name[0].decode()] = parameters
        rest = rest[1:]
    if not data:
        raise ValueError("no structured data")
    return data, rest


def _read_value(rest: bytes) -> tuple[str, bytes]:
    """§6.3.3: quote, backslash and closing bracket are escaped, and nothing else is."""
    value = bytearray()
    at = 0
    while True:
        byte = rest[at : at + 1]
        if byte == b'"':
            return value.decode("utf-8"), rest[at + 1 :]
        if byte in (b"]", b"") or byte < b" ":
            raise ValueError("the value holds what it may not hold")
        if byte == b"\\":
            if rest[at + 1 : at + 2] not in (b'"', b"\\", b"]"):
                raise ValueError("a backslash before nothing special")
            at += 1
        value += rest[at : at + 1]
        at += 1


def split_frames(stream: bytes) -> tuple[list[bytes], bytes]:
    """The counted messages of a stream (RFC 6587 §3.4.1), and what is left of one that is not whole."""
    frames = []
    while (found := re.match(rb"([1-9][0-9]{0,8}) ", stream)) is not None:
        end = found.end() + int(found[1])
        if len(stream) < end:
            break
        frames.append(stream[found.end() : end])
        stream = stream[end:]
    if stream and not re.match(rb"[1-9][0-9]{0,8}(?: |\Z)", stream):
        raise ValueError("the stream is out of step")
    return frames, stream


@dataclass
class TcpReceiver:
    """Takes connections and keeps what each of them brought. `break_after`: bytes of a connection after which it is
    dropped with the rest unread, once for each number in the list. `deaf`: connections are taken and never read."""

    port: int = 0
    tls: ssl.SSLContext | None = None
    break_after: list[int] = field(default_factory=list)
    deaf: bool = False
    slow: float = 0.0
    streams: list[bytearray] = field(default_factory=list)
    refused: int = 0

    def __enter__(self) -> TcpReceiver:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._listener.settimeout(0.05)
        self.port = self._listener.getsockname()[1]
        self._stop = threading.Event()
        self._deaf: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._listener.close()
        for connection in self._deaf:
            connection.close()

    def messages(self) -> list[bytes]:
        """All whole messages, connection after connection."""
        return [frame for stream in list(self.streams) for frame in split_frames(bytes(stream))[0]]

    def _accept(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            if self.deaf:
                self.streams.append(bytearray())
                self._deaf.append(connection)
                continue
            with connection:
                connection.settimeout(20)
                try:
                    self._serve(connection)
                except OSError:
                    self.refused += 1

    def _serve(self, connection: socket.socket) -> None:
        if self.tls is None:
            self._read(connection)
            return
        with self.tls.wrap_socket(connection, server_side=True) as secured:
            self._read(secured)
            secured.settimeout(1)
            secured.unwrap()

    def _read(self, connection: socket.socket) -> None:
        stream = bytearray()
        self.streams.append(stream)
        limit = self.break_after.pop(0) if self.break_after else None
        while limit is None or len(stream) < limit:
            piece = connection.recv(65536 if limit is None else min(65536, limit - len(stream)))
            if not piece:
                return
            stream += piece
            self._stop.wait(self.slow)
