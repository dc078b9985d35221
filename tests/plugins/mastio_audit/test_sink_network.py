"""When a receiver counts as having everything, and when it does not: over UDP, TCP and TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from functools import partial

import pytest
import trustme

from mastio.outbound.connector import OwnEndpoints
from mastio.outbound.upstream import Pools
from mastio_audit.log.chain import Row
from mastio_audit.sinks import ANYWHERE
from mastio_audit.sinks.network import Connect, SyslogSink
from mastio_audit.sinks.sink import SinkError
from support.syslog_receivers import TcpReceiver

ROWS: list[Row] = [(index, b"%d" % index * 300) for index in range(500)]


def render(index: int, entry: bytes) -> bytes:
    return entry


def connect_to(host: str, port: int, kind: socket.SocketKind) -> Connect:
    return partial(Pools().connect, host, port, kind, ("127.0.0.1/32",))


def sink_to(
    port: int, tls: ssl.SSLContext | None = None, *, host: str = "127.0.0.1", patience: float = 10
) -> SyslogSink:
    return SyslogSink(host, connect_to(host, port, socket.SOCK_STREAM), render, tls, patience=patience)


def entries(rows: Sequence[Row]) -> list[bytes]:
    return [entry for _, entry in rows]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def server_side(authority: trustme.CA, name: str = "localhost") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def client_side(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


@pytest.fixture(params=["tcp", "tls"])
def pair(request: pytest.FixtureRequest, authority: trustme.CA) -> tuple[ssl.SSLContext | None, ssl.SSLContext | None]:
    return (server_side(authority), client_side(authority)) if request.param == "tls" else (None, None)


Pair = tuple[ssl.SSLContext | None, ssl.SSLContext | None]


async def test_a_receiver_that_reads_confirms(pair: Pair) -> None:
    server, client = pair
    with TcpReceiver(tls=server) as receiver:
        sink = sink_to(receiver.port, client, host="localhost")
        await sink.deliver(ROWS)
        assert receiver.messages() == entries(ROWS)
        await sink.deliver(ROWS[:1])
        assert len(receiver.streams) == 2
        assert receiver.refused == 0


@pytest.mark.parametrize("limit", [1, 1000, 50_000])
async def test_a_receiver_that_dies_confirms_nothing(pair: Pair, limit: int) -> None:
    server, client = pair
    with TcpReceiver(tls=server, break_after=[limit]) as receiver:
        with pytest.raises(SinkError, match=r"cannot be reached|TLS failed"):  # told at once, not by patience
            await sink_to(receiver.port, client, host="localhost").deliver(ROWS)
        await sink_to(receiver.port, client, host="localhost").deliver(ROWS)
        assert receiver.messages()[-500:] == entries(ROWS)


async def test_a_receiver_that_takes_all_but_the_last_byte_confirms_nothing() -> None:
    whole = len(b"".join(b"%d %b" % (len(entry), entry) for entry in entries(ROWS[:3])))
    with TcpReceiver(break_after=[whole - 1]) as receiver, pytest.raises(SinkError):
        await sink_to(receiver.port, patience=5).deliver(ROWS[:3])


async def test_a_receiver_that_never_reads_confirms_nothing(pair: Pair) -> None:
    server, client = pair
    with TcpReceiver(tls=server, deaf=True) as receiver, pytest.raises(SinkError, match="does not answer"):
        await sink_to(receiver.port, client, host="localhost", patience=0.5).deliver(ROWS[:2])


async def test_a_slow_receiver_confirms_in_the_end() -> None:
    with TcpReceiver(slow=0.1) as receiver:
        await sink_to(receiver.port).deliver(ROWS)
        assert receiver.messages() == entries(ROWS)


async def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(SinkError, match="cannot be reached"):
        await sink_to(port).deliver(ROWS)


async def test_a_name_that_leads_nowhere() -> None:
    with pytest.raises(SinkError, match="cannot be reached"):
        await sink_to(1, host="nowhere.invalid").deliver(ROWS)


async def test_a_certificate_of_another_authority_is_refused(authority: trustme.CA) -> None:
    with TcpReceiver(tls=server_side(trustme.CA())) as receiver:
        with pytest.raises(SinkError, match="certificate is not accepted"):
            await sink_to(receiver.port, client_side(authority), host="localhost").deliver(ROWS)
        assert receiver.messages() == []


async def test_a_certificate_for_another_name_is_refused(authority: trustme.CA) -> None:
    with TcpReceiver(tls=server_side(authority, "other.example")) as receiver:
        with pytest.raises(SinkError, match="certificate is not accepted"):
            await sink_to(receiver.port, client_side(authority), host="localhost").deliver(ROWS)
        assert receiver.messages() == []


async def test_a_receiver_without_tls_is_refused(authority: trustme.CA) -> None:
    with TcpReceiver() as receiver:
        with pytest.raises(SinkError):
            await sink_to(receiver.port, client_side(authority), host="localhost", patience=1).deliver(ROWS)
        assert b"000" not in bytes(receiver.streams[0])


async def test_a_receiver_that_wants_a_certificate_gets_one(authority: trustme.CA) -> None:
    server = server_side(authority)
    server.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(server)
    known = client_side(authority)
    authority.issue_cert("sender").configure_cert(known)
    with TcpReceiver(tls=server) as receiver:
        with pytest.raises(SinkError):
            await sink_to(receiver.port, client_side(authority), host="localhost", patience=5).deliver(ROWS)
        assert receiver.messages() == []
        await sink_to(receiver.port, known, host="localhost").deliver(ROWS)
        assert receiver.messages() == entries(ROWS)


async def test_a_receiver_that_ends_tls_by_closing_tcp_confirms(authority: trustme.CA) -> None:
    context = server_side(authority)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def serve() -> bytes:
            connection, _ = listener.accept()
            with context.wrap_socket(connection, server_side=True) as secured:
                said = b""
                while piece := secured.recv(65536):
                    said += piece
                return said

        answer = asyncio.get_running_loop().run_in_executor(None, serve)
        await sink_to(port, client_side(authority), host="localhost").deliver(ROWS)
        assert (await answer).endswith(entries(ROWS)[-1])


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
async def test_a_receiver_is_where_it_may_be(kind: socket.SocketKind) -> None:
    """Nothing reaches one that is not, whichever way it is named; what is the matter is said."""
    with TcpReceiver() as receiver:
        pools = Pools(OwnEndpoints(frozenset({receiver.port})))
        for host, allowed, own, why in (
            ("127.0.0.1", (), Pools(), "neither public nor allowed"),
            ("localhost", ("10.0.0.0/8",), Pools(), "neither public nor allowed"),
            ("169.254.169.254", ANYWHERE, Pools(), "metadata"),
            ("0.0.0.0", ANYWHERE, Pools(), "none that can be connected to"),
            ("127.1", ANYWHERE, Pools(), "unusual spelling"),
            ("127.0.0.1", ANYWHERE, pools, "own"),
        ):
            sink = SyslogSink(host, partial(own.connect, host, receiver.port, kind, allowed), render)
            with pytest.raises(SinkError, match=why):
                await sink.deliver(ROWS[:3])
        assert receiver.streams == []
        if kind is socket.SOCK_STREAM:
            for host in ("127.0.0.1", "localhost"):
                connect = partial(Pools().connect, host, receiver.port, kind, ANYWHERE)
                await SyslogSink(host, connect, render).deliver(ROWS[:3])
            assert len(receiver.streams) == 2


async def test_a_datagram_for_each_entry() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5)
        sink = SyslogSink("127.0.0.1", connect_to("127.0.0.1", receiver.getsockname()[1], socket.SOCK_DGRAM), render)
        await sink.deliver(ROWS[:20])
        assert [receiver.recv(65536) for _ in range(20)] == entries(ROWS[:20])


async def test_the_event_loop_goes_on_while_a_batch_is_formatted() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    with TcpReceiver() as receiver:
        counting = asyncio.create_task(count())
        await sink_to(receiver.port).deliver(ROWS)
        counting.cancel()
    assert turns >= 50
