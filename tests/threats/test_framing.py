"""Framing: what is not one plain HTTP request is refused, and nothing that is hidden in it is carried out.

Every request here is an agent's, proven by its certificate: put right, it is a chat call that is answered. Raw bytes
over TLS, since no client library would send them.
"""

from __future__ import annotations

import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

import pytest

from mastio_client import Identity
from support.appliance import Appliance, Stub, wait_until
from support.threats.judge import (
    CHAT,
    RAW,
    TALLY,
    Answer,
    Judge,
    Refusal,
    connect,
    edge_lines,
    message,
    read_answer,
    refusal,
    send_raw,
    spoken,
)

LINE = b"POST /v1/chat/completions HTTP/1.1"
JSON = b"Content-Type: application/json"
LENGTH = b"Content-Length: %d" % len(RAW)
CHUNKED = b"Transfer-Encoding: chunked"
CHUNK = b"%x\r\n%s\r\n" % (len(RAW), RAW)
CHUNKS = CHUNK + b"0\r\n\r\n"
HIDDEN = b"GET /v1/agents/self HTTP/1.1\r\nHost: localhost\r\n\r\n"

MALFORMED = Refusal((400,), ("bad_request",), ("edge",))
NOWHERE = Refusal((400, 404), ("bad_request", "not_found"), ("edge",))


def ask(*headers: bytes, line: bytes = LINE, body: bytes = b"", host: bytes = b"Host: localhost") -> bytes:
    return message([line, *([host] if host else []), JSON, *headers], body)


GOOD = ask(LENGTH, body=RAW)
GOOD_CHUNKED = ask(CHUNKED, body=CHUNKS)


@dataclass(frozen=True)
class Case:
    """A bad request and the same one made right."""

    bad: bytes
    expected: Refusal = MALFORMED
    good: bytes = GOOD


def line(text: bytes, expected: Refusal = NOWHERE) -> Case:
    return Case(ask(LENGTH, line=text, body=RAW), expected)


def path(text: bytes, expected: Refusal = NOWHERE) -> Case:
    return line(b"POST " + text + b" HTTP/1.1", expected)


def chunks(body: bytes) -> Case:
    return Case(ask(CHUNKED, body=body), MALFORMED, GOOD_CHUNKED)


def coding(value: bytes) -> Case:
    unknown = Refusal((400, 501), ("bad_request",), ("edge",))
    return Case(ask(b"Transfer-Encoding: " + value, body=CHUNKS), unknown, GOOD_CHUNKED)


def hosts(*values: bytes) -> Case:
    return Case(ask(*(b"Host: " + value for value in values), LENGTH, host=b"", body=RAW))


REFUSED = {
    # length and coding: where does the body end?
    "clte": Case(ask(LENGTH, CHUNKED, body=CHUNKS), good=GOOD_CHUNKED),
    "tecl": Case(ask(CHUNKED, b"Content-Length: 4", body=b"0\r\n\r\n" + HIDDEN), good=GOOD_CHUNKED),
    "clcl": Case(ask(LENGTH, b"Content-Length: 1", body=RAW)),
    "cllist": Case(ask(b"Content-Length: %d, %d" % (len(RAW), len(RAW)), body=RAW)),
    "clplus": Case(ask(b"Content-Length: +%d" % len(RAW), body=RAW)),
    "clhex": Case(ask(b"Content-Length: 0x%x" % len(RAW), body=RAW)),
    "clminus": Case(ask(b"Content-Length: -1", body=RAW)),
    "clhuge": Case(ask(b"Content-Length: 99999999999999999999999", body=RAW)),
    "tespace": Case(ask(b"Transfer-Encoding : chunked", body=CHUNKS), good=GOOD_CHUNKED),
    "tetab": Case(ask(b"Transfer-Encoding:\x0bchunked", body=CHUNKS), Refusal((400, 501), (), ("edge",))),
    "tex": coding(b"xchunked"),
    "teidentity": coding(b"identity"),
    "telist": coding(b"gzip, chunked"),
    "tetwice": coding(b"chunked, chunked"),
    "tetwo": Case(ask(CHUNKED, b"Transfer-Encoding: identity", body=CHUNKS), good=GOOD_CHUNKED),
    "teold": Case(ask(CHUNKED, line=b"POST /v1/chat/completions HTTP/1.0", body=CHUNKS), good=GOOD_CHUNKED),
    # chunks
    "chunkend": chunks(b"%x\r\n%sXX0\r\n\r\n" % (len(RAW), RAW)),
    "chunkshort": chunks(b"%x\r\n%s\r\n0\r\n\r\n" % (len(RAW) - 1, RAW)),
    "chunkhex": chunks(b"0x%x\r\n%s\r\n0\r\n\r\n" % (len(RAW), RAW)),
    "chunkminus": chunks(b"-1\r\n%s\r\n0\r\n\r\n" % RAW),
    "chunkhuge": chunks(b"ffffffffffffffffff\r\n%s\r\n0\r\n\r\n" % RAW),
    "chunkword": chunks(b"zz\r\n%s\r\n0\r\n\r\n" % RAW),
    # host
    "nohost": Case(ask(LENGTH, host=b"", body=RAW)),
    "twohosts": hosts(b"localhost", b"evil.example"),
    "samehosts": hosts(b"localhost", b"localhost"),
    "hostslash": hosts(b"localhost/evil"),
    "hostspace": hosts(b"local host"),
    "hostnul": hosts(b"localhost\0"),
    "hostdots": hosts(b"local..host"),
    "hostbracket": hosts(b"[::1"),
    "hostbrackets": hosts(b"[localhost]"),
    "hostuser": hosts(b"a@b"),
    "hostcomma": hosts(b"x,y"),
    "hostlatin": hosts("lócalhost".encode("latin-1")),
    "hostutf8": hosts("lócalhost".encode()),
    "hostport": hosts(b"localhost:https"),
    "hostports": hosts(b"localhost:1:2"),
    "hostquote": hosts(b'"localhost"'),
    "hostcoded": hosts(b"local%68ost"),
    "hosterrorpage": hosts(b"x,/.edge/problem/400"),
    "absolute": path(b"https://evil.example/v1/chat/completions", MALFORMED),
    "plain": path(b"http://evil.example:80/v1/chat/completions", MALFORMED),
    "lookalike": path(b"https://localhost.evil.example/v1/chat/completions", MALFORMED),
    "userinfo": path(b"https://localhost@evil.example/v1/chat/completions", MALFORMED),
    # one canonical path
    "dot": path(b"/v1/./chat/completions"),
    "dotdot": path(b"/v1/x/../chat/completions"),
    "dotend": path(b"/v1/chat/completions/."),
    "dotdotend": path(b"/v1/chat/completions/x/.."),
    "outside": path(b"/../v1/chat/completions"),
    "slashes": path(b"/v1//chat/completions"),
    "trailing": path(b"/v1/chat/completions/"),
    "codeddot": path(b"/v1/%2e%2e/v1/chat/completions"),
    "codedslash": path(b"/v1/chat%2fcompletions"),
    "codedback": path(b"/v1/chat%5ccompletions"),
    "backslash": path(b"/v1\\chat\\completions"),
    "codednul": path(b"/v1/chat/completions%00"),
    "codedletter": path(b"/v1/c%68at/completions"),
    "codedtwice": path(b"/v1/%252e%252e/chat/completions"),
    "codedline": path(b"/v1/chat/completions%0d%0aX:y"),
    "upper": path(b"/V1/chat/completions"),
    "semicolon": path(b"/v1/chat/completions;x=y"),
    "nul": path(b"/v1/chat/completions\0", MALFORMED),
    "control": path(b"/v1/chat/completions\x01", MALFORMED),
    "halfcode": path(b"/v1/chat/completions%2", NOWHERE),
    "latin": path("/v1/chat/complétions".encode("latin-1")),
    # header lines
    "headernul": Case(ask(LENGTH, b"X-A: a\0b", body=RAW)),
    "bareCR": Case(ask(LENGTH, b"X-A: a\rX-B: b", body=RAW)),
    "fold": Case(ask(LENGTH, b"X-A: a", b" folded", body=RAW)),
    "foldtab": Case(ask(LENGTH, b"X-A: a", b"\tfolded", body=RAW)),
    "namespace": Case(ask(LENGTH, b"X A: b", body=RAW)),
    "huge": Case(ask(LENGTH, b"X-A: " + b"a" * 9216, body=RAW), refusal(431, "headers_too_large", "edge")),
    "hugeline": Case(
        ask(LENGTH, line=LINE.replace(b" HTTP", b"?" + b"a" * 9216 + b" HTTP"), body=RAW),
        Refusal((400, 414, 431), ("bad_request", "headers_too_large"), ("edge",)),
    ),
    "many": Case(
        ask(LENGTH, *(b"X-%d: a" % n for n in range(110)), body=RAW), refusal(431, "headers_too_large", "app"),
        ask(LENGTH, *(b"X-%d: a" % n for n in range(90)), body=RAW),
    ),
    "heavy": Case(
        ask(LENGTH, *(b"X-%d: %s" % (n, b"a" * 7000) for n in range(8)), body=RAW),
        refusal(431, "headers_too_large", "edge"),
        ask(LENGTH, *(b"X-%d: %s" % (n, b"a" * 3000) for n in range(2)), body=RAW),
    ),
    # methods and versions
    "trace": line(b"TRACE /v1/chat/completions HTTP/1.1", refusal(405, "method_not_allowed", "edge")),
    "connect": line(b"CONNECT evil.example:443 HTTP/1.1", Refusal((400, 405), (), ("edge",))),
    "get": line(b"GET /v1/chat/completions HTTP/1.1", refusal(405, "method_not_allowed", "app")),
    "put": line(b"PUT /v1/chat/completions HTTP/1.1", refusal(405, "method_not_allowed", "app")),
    "lower": line(b"post /v1/chat/completions HTTP/1.1", Refusal((400, 405), (), ("edge",))),
    "http9": line(b"POST /v1/chat/completions HTTP/9.9", Refusal((400, 505), (), ("edge",))),
    "spaces": line(b"POST  /v1/chat/completions x HTTP/1.1", MALFORMED),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_malformed_request_is_refused(appliance: Appliance, agent: Identity, judge: Judge, name: str) -> None:
    case = REFUSED[name]
    answer = send_raw(appliance, case.bad, agent)
    judge.refused(answer, case.expected, spoken(answer))
    judge.mark()
    judge.served(send_raw(appliance, case.good, agent))


# --- what is odd but has one meaning: carried out as that, once -----------------------------------------------------

NORMAL = {
    "extension": ask(CHUNKED, body=b"%x;a=b\r\n%s\r\n0\r\n\r\n" % (len(RAW), RAW)),
    "extensions": ask(CHUNKED, body=b"%x;%s\r\n%s\r\n0\r\n\r\n" % (len(RAW), b"a" * 1_000_000, RAW)),
    "trailer": ask(CHUNKED, b"Trailer: X-A", body=CHUNK + b"0\r\nX-A: b\r\n\r\n"),
    "nocolon": ask(LENGTH, b"X-A", body=RAW),
    "barelf": ask(LENGTH, body=RAW).replace(b"\r\n", b"\n", 2),
    "pieces": ask(CHUNKED, body=b"".join(b"1\r\n%c\r\n" % byte for byte in RAW) + b"0\r\n\r\n"),
    "zeros": ask(CHUNKED, body=b"0000%x\r\n%s\r\n0000\r\n\r\n" % (len(RAW), RAW)),
    "foreignhost": ask(LENGTH, host=b"Host: evil.example", body=RAW),
    "hostaddress": ask(LENGTH, host=b"Host: 127.0.0.1:9443", body=RAW),
    "hostipv6": ask(LENGTH, host=b"Host: [::1]:9443", body=RAW),
    "hostupper": ask(LENGTH, host=b"Host: LOCALHOST.", body=RAW),
    "hostunder": ask(LENGTH, host=b"Host: my_agent-1.example", body=RAW),
    "twinlength": ask(LENGTH, b"Content_Length: 3", b"Transfer_Encoding: chunked", body=RAW),
}


@pytest.mark.parametrize("name", NORMAL)
def test_what_is_odd_has_one_meaning(appliance: Appliance, agent: Identity, judge: Judge, name: str) -> None:
    """The very body reached the provider, in one exchange, and nothing after it was taken for a request."""
    judge.served(send_raw(appliance, NORMAL[name], agent))
    intent = judge.entries()[0]
    assert intent["request"]["bytes"] == len(RAW)
    assert len(judge.entries()) == 2


@pytest.mark.parametrize("text", [b"GET /health\r\n", b"GET /livez\n", b"GET /v1/agents/self\r\n"])
def test_a_request_without_a_version_is_refused(
    appliance: Appliance, agent: Identity, judge: Judge, text: bytes
) -> None:
    """HTTP/0.9 has no head to answer with: the connection is closed, and nothing is carried out."""
    with connect(appliance, agent) as tls:
        tls.sendall(text)
        assert tls.recv(4096) == b""
    judge.cut()
    assert judge.entries() == []
    for version in (b"HTTP/1.0", b"HTTP/1.1"):
        assert health(appliance, agent, b"GET /health " + version + b"\r\nHost: localhost\r\n\r\n") == 200
    judge.harmless()


def test_http_1_0_needs_no_host(appliance: Appliance, agent: Identity) -> None:
    assert health(appliance, agent, b"GET /health HTTP/1.0\r\n\r\n") == 200


def health(appliance: Appliance, agent: Identity, request: bytes) -> int:
    answer = send_raw(appliance, request, agent)
    assert answer is not None
    return answer.status


def test_the_absolute_form_for_us_is_ours(appliance: Appliance, agent: Identity, judge: Judge) -> None:
    target = f"{appliance.base_url}{CHAT}".encode()
    judge.served(send_raw(appliance, ask(LENGTH, line=b"POST " + target + b" HTTP/1.1", body=RAW), agent))


# --- identity in places where only the edge may put it ---------------------------------------------------------------


def identity_headers(appliance: Appliance, agent: Identity) -> dict[str, list[bytes]]:
    """All that the edge tells the app, with the edge's real secret: the most that a caller could know."""
    certificate = quote((agent.folder / "agent.crt").read_text(), safe="").encode()
    secret = (appliance.data / "secrets" / "edge.key").read_bytes().strip()
    edge = {b"Secret": secret, b"Certificate": certificate, b"Address": b"10.0.0.1"}
    plain = [b"X-Edge-%s: %s" % pair for pair in edge.items()]
    others = [b"X-Client-Cert: ", b"X-SSL-Client-Cert: ", b"X-Forwarded-Client-Cert: ", b"Client-Cert: "]
    return {
        "plain": plain,
        "underscored": [line.replace(b"-", b"_", 2) for line in plain],
        "mixed": [line.replace(b"-", b"_", 1) for line in plain],
        "upper": [line.upper().replace(secret.upper(), secret) for line in plain],
        "foreign": [name + certificate for name in others],
        "names": [b"X-User: agent-one", b"X-Remote-User: agent-one", b"X-Client-DN: CN=agent-one"],
        "verify": [b"X-Client-Verify: SUCCESS", b"X-SSL-Client-Verify: SUCCESS", b"X-Client-Cert: " + certificate],
    }


PLACES = ("plain", "underscored", "mixed", "upper", "foreign", "names", "verify")


@pytest.mark.parametrize("where", ["header", "trailer"])
@pytest.mark.parametrize("name", PLACES)
def test_nobody_can_say_who_they_are(
    appliance: Appliance, agent: Identity, judge: Judge, name: str, where: str
) -> None:
    lines = identity_headers(appliance, agent)[name]
    trailer = CHUNK + b"0\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n"
    bad = ask(LENGTH, *lines, body=RAW) if where == "header" else ask(CHUNKED, body=trailer)
    answer = send_raw(appliance, bad)  # a stranger: no certificate
    judge.refused(answer, refusal(401, "missing_credential"), CHAT)
    assert all(entry["agent"] is None for entry in judge.entries())
    judge.mark()
    judge.served(send_raw(appliance, bad, agent))
    assert judge.entries()[0]["agent"] == "agent-one"


@pytest.mark.parametrize("where", ["header", "trailer"])
def test_nobody_can_be_somebody_else(
    appliance: Appliance, agent: Identity, other: Identity, judge: Judge, where: str
) -> None:
    """An agent that claims to be another is itself."""
    lines = identity_headers(appliance, agent)["plain"]
    trailer = CHUNK + b"0\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n"
    bad = ask(LENGTH, *lines, body=RAW) if where == "header" else ask(CHUNKED, body=trailer)
    judge.served(send_raw(appliance, bad, other))
    assert {entry["agent"] for entry in judge.entries()} == {"agent-two"}


# --- HTTP/2 ----------------------------------------------------------------------------------------------------------


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name: bytes, value: bytes) -> bytes:
    """A header field that is not indexed (RFC 7541 §6.2.2)."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def open_stream(
    stream: int, *more: tuple[bytes, bytes], path: bytes = b"/v1/agents/self", authority: bytes = b"localhost"
) -> bytes:
    fields = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", authority), (b":path", path), *more]
    return frame(1, 0x5, stream, b"".join(literal(*field) for field in fields))  # END_STREAM, END_HEADERS


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0)
CANCEL = struct.pack(">I", 8)


def status_of_stream(tls: ssl.SSLSocket, stream: int) -> int | None:
    """The HTTP/2 status of one stream, as far as the static table has it; None when the connection or stream ended."""
    reader = tls.makefile("rb")
    while head := reader.read(9):
        size, kind, number = int.from_bytes(head[:3], "big"), head[3], int.from_bytes(head[5:9], "big")
        payload = reader.read(size)
        if (number == stream and kind == 3) or kind == 7:
            return None
        if number == stream and kind == 1:
            return {0x88: 200, 0x8C: 400, 0x8D: 404}.get(payload[0], 0)
    return None


def http2(appliance: Appliance, agent: Identity, request: bytes, stream: int) -> int | None:
    with connect(appliance, agent, "h2") as tls:
        assert tls.selected_alpn_protocol() == "h2"
        try:
            tls.sendall(PREFACE + request)
            return status_of_stream(tls, stream)
        except (ConnectionError, ssl.SSLError):
            return None


def storm(appliance: Appliance, agent: Identity, count: int = 500) -> bool:
    """A connection that opens so many streams and resets every one at once, until the edge has read them all or has
    ended it: True then."""
    streams = b"".join(open_stream(n) + frame(3, 0, n, CANCEL) for n in range(1, 2 * count, 2))
    with connect(appliance, agent, "h2") as tls:
        try:
            tls.sendall(PREFACE + streams + frame(6, 0, 0, bytes(8)))
            reader = tls.makefile("rb")
            while head := reader.read(9):
                if head[3:5] == b"\6\1":  # the answer to the ping
                    return False
                if head[3] == 7:  # GOAWAY
                    return True
                reader.read(int.from_bytes(head[:3], "big"))
        except (ConnectionError, ssl.SSLError):
            pass
        return True


def test_rapid_reset_harms_nobody(appliance: Appliance, agent: Identity, judge: Judge) -> None:
    """CVE-2023-44487 on four connections: others are answered meanwhile, and all is as before afterwards."""
    threads = [threading.Thread(target=storm, args=(appliance, agent), daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert http2(appliance, agent, open_stream(1), 1) == 200, "it is answered during the storm"
    for thread in threads:
        thread.join(15)
    assert not any(thread.is_alive() for thread in threads)
    wait_until(lambda: all(shape == 2 for shape in shapes(judge).values()), 10, "every exchange is closed")
    judge.mark()
    asked = time.monotonic()
    judge.served(send_raw(appliance, GOOD, agent))
    assert time.monotonic() - asked < 5, "latency is back to normal"
    TALLY.refused.add("rapid-reset")
    TALLY.served.add("rapid-reset")


def test_a_connection_has_a_thousand_streams_at_most(appliance: Appliance, agent: Identity, judge: Judge) -> None:
    """Whatever their fate: who wants more has to come again, by a handshake, and is counted."""
    assert storm(appliance, agent, 1500)
    wait_until(lambda: all(shape == 2 for shape in shapes(judge).values()), 10, "every exchange is closed")
    assert len(shapes(judge)) <= 1000
    judge.mark()
    judge.served(send_raw(appliance, GOOD, agent))


def shapes(judge: Judge) -> Counter[str]:
    return Counter(entry["id"] for entry in judge.entries())


HTTP2_BAD = {
    "upper": open_stream(1, (b"X-A", b"b")),
    "pseudo": open_stream(1, (b":path", b"/health")),
    "codeddot": open_stream(1, path=b"/v1/agents/%2e%2e/agents/self"),
    "host": open_stream(1, (b"host", b"evil.example/x")),
    "authority": open_stream(1, authority=b"a@b"),
    "authoritylist": open_stream(1, authority=b"x,y"),
    "line": open_stream(1, (b"x-a", b"b\r\nx-edge-secret: c")),
}


@pytest.mark.parametrize("name", HTTP2_BAD)
def test_malformed_http2_is_refused(appliance: Appliance, agent: Identity, judge: Judge, name: str) -> None:
    assert http2(appliance, agent, HTTP2_BAD[name], 1) in (None, 400)
    judge.cut()
    assert judge.entries() == []
    assert http2(appliance, agent, open_stream(1), 1) == 200
    judge.harmless()


# --- slow ------------------------------------------------------------------------------------------------------------


def drip(piece: bytes, pause: float, seconds: float) -> Iterator[bytes]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield piece
        time.sleep(pause)


def slow_headers() -> Iterator[bytes]:
    yield b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
    yield from drip(b"X-A: b\r\n", 0.2, 6)


def slow_line() -> Iterator[bytes]:
    yield from drip(b"P", 0.2, 6)


def stalled_body() -> Iterator[bytes]:
    yield ask(b"Content-Length: 1000", body=RAW)


def stalled_chunk() -> Iterator[bytes]:
    yield ask(CHUNKED, body=b"ffff\r\n" + RAW)


SLOW = {"headers": slow_headers, "line": slow_line, "body": stalled_body, "chunk": stalled_chunk}


@pytest.mark.parametrize("name", SLOW)
def test_slowness_is_cut_off(impatient: tuple[Appliance, Stub], request: pytest.FixtureRequest, name: str) -> None:
    """Sixteen slow ones at once, where the edge waits one second; somebody else is answered all the while."""
    appliance, stub = impatient
    agent = appliance.enroll(f"slow-{name}")
    judge = Judge(appliance, stub, request.node.name)
    started = time.monotonic()
    answers: list[Answer | None] = []
    threads = [
        threading.Thread(target=lambda: answers.append(cut(appliance, agent, SLOW[name])), daemon=True)
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    judge.served(send_raw(appliance, GOOD, agent))
    for thread in threads:
        thread.join(10)
    assert time.monotonic() - started < 8, "they were cut off in time"
    assert len(answers) == 16 and all(answer is None or answer.status == 408 for answer in answers)
    judge.mark()
    judge.cut()


def cut(appliance: Appliance, agent: Identity, pieces: Callable[[], Iterator[bytes]]) -> Answer | None:
    try:
        return send_raw(appliance, pieces(), agent)
    except (ConnectionError, ssl.SSLError):
        return None


def test_half_a_request_is_nothing(appliance: Appliance, agent: Identity, judge: Judge) -> None:
    """The client hangs up within its body: nothing is carried out and nothing is left open."""
    with connect(appliance, agent) as tls:
        tls.sendall(ask(b"Content-Length: 1000", body=RAW))
    judge.served(send_raw(appliance, GOOD, agent))
    assert len(judge.entries()) == 2
    with connect(appliance, agent) as tls:
        tls.sendall(GOOD)
        assert read_answer(tls) is not None


def test_what_the_edge_refuses_has_a_line_in_its_log(appliance: Appliance, agent: Identity) -> None:
    """A path in an odd spelling is not shown: it might be one that an agent wrote values into."""
    hidden, log = b'"path":"(not shown)"', appliance.data / "logs" / "edge-access.log"
    before = log.read_bytes().count(hidden)
    for odd in (b"/v1/marked-dot/./x", b"/v1/marked-nowhere"):
        send_raw(appliance, path(odd).bad, agent)
    assert b'"status":400' in b"".join(edge_lines(appliance, hidden, before + 1)[before:])
    assert b'"status":404' in edge_lines(appliance, b"/v1/marked-nowhere")[0]
