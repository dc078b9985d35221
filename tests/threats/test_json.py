"""JSON: what has two meanings, or none, is refused; what has one is taken as it is, to the letter."""

from __future__ import annotations

import gzip
import json
import ssl
import time
import zlib
from collections.abc import Iterable, Iterator

import httpx
import pytest

from mastio_client import Identity
from support.appliance import Appliance, wait_until
from support.threats.json_doors import DOORS, MIB, TOKENS, Door
from support.threats.judge import CHAT, RAW, TALLY, Answer, Judge, Refusal, chat, connect, message, refusal
from support.vectors import vectors


class Caller:
    """Knocks at a door as who may enter there."""

    def __init__(self, appliance: Appliance, agent: Identity, door: Door) -> None:
        self._appliance = appliance
        self._agent = agent
        self._door = door

    def open(self) -> httpx.Client:
        if self._door.path == CHAT:
            return self._appliance.by_certificate(self._agent)
        return self._appliance.admin() if self._door.path == TOKENS else self._appliance.client()

    def ask(self, body: bytes, headers: dict[str, str] | None = None, client: httpx.Client | None = None) -> Answer:
        sent = {"Content-Type": "application/json"} if headers is None else headers
        if client is not None:
            return Answer.of(client.post(self._door.path, content=body, headers=sent))
        with self.open() as fresh:
            return Answer.of(fresh.post(self._door.path, content=body, headers=sent))


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> Door:
    return DOORS[request.param]


@pytest.fixture
def caller(appliance: Appliance, agent: Identity, door: Door) -> Caller:
    return Caller(appliance, agent, door)


def verify_twin(judge: Judge, caller: Caller, door: Door) -> None:
    judge.mark()
    right = caller.ask(json.dumps(door.right()).encode())
    judge.served(right, status=door.status, upstream=door.path == CHAT)


# --- not JSON -------------------------------------------------------------------------------------------------------

FRAGMENTS = {
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deepobjects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "unclosed": b"[" * 100_000,
    "deepish": b"[" * 2_000 + b"]" * 2_000,
    "toodeep": b"[" * 128 + b"]" * 128,
    "digits": b"1" * 5_000,
    "negative": b"-" + b"1" * 5_000,
    "exponent": b"1e400",
    "nan": b"NaN",
    "infinity": b"Infinity",
    "minusinfinity": b"-Infinity",
    "twice": b'{"a":1,"a":2}',
    "twicecoded": b'{"a":1,"\\u0061":2}',
    "twicedeep": b'[[{"b":{"a":1,"a":1}}]]',
    "twiceproto": b'{"__proto__":1,"__proto__":2}',
    "highsurrogate": b'"\\ud800"',
    "lowsurrogate": b'"\\udc00"',
    "swapped": b'"\\udc00\\ud800"',
    "surrogatename": b'{"\\ud800":1}',
    "surrogatebytes": b'"\xed\xa0\x80"',
    "overlong": b'"\xc0\xaf"',
    "latin1": '"é"'.encode("latin-1"),
    "beyond": b'"\xf4\x90\x80\x80"',
    "rawcontrol": b'"a\nb"',
    "rawnul": b'"a\0b"',
    "comma": b"[1,]",
    "comment": b"1/* one */",
    "single": b"'a'",
    "hex": b"0x10",
    "zero": b"01",
    "plus": b"+1",
    "bare": b"abc",
    "badescape": b'"\\x41"',
    "twovalues": b"1}{",
    "trailingnul": b"1}\0",
}


@pytest.mark.parametrize("name", FRAGMENTS)
def test_what_is_not_strict_json_is_refused(judge: Judge, caller: Caller, door: Door, name: str) -> None:
    body = door.with_member(FRAGMENTS[name])
    expected = refusal(400, "invalid_json", door.by)
    if len(body) > door.limit:
        expected = refusal(413, "payload_too_large", "app", "edge")
    judge.mark()
    judge.refused(caller.ask(body), expected, door.path)
    verify_twin(judge, caller, door)


def whole(door: Door) -> dict[str, bytes]:
    text = json.dumps(door.right())
    first = next(iter(door.right()))
    return {
        "bom": b"\xef\xbb\xbf" + text.encode(),
        "utf16": text.encode("utf-16"),
        "utf16le": text.encode("utf-16-le"),
        "utf32": text.encode("utf-32"),
        "membertwice": text.encode()[:-1] + f',"{first}":"x"}}'.encode(),
        "memberfirst": f'{{"{first}":"x",'.encode() + text.encode()[1:],
        "membercoded": text.encode()[:-1] + f',"\\u{ord(first[0]):04x}{first[1:]}":"x"}}'.encode(),
        "doubled": text.encode() * 2,
        "cut": text.encode()[:-1],
        "gzip": gzip.compress(text.encode()),
        "form": b"model=gpt-4o&messages=%5B%5D",
        "xml": b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY y SYSTEM "file:///etc/passwd">]><x>&y;</x>',
    }


@pytest.mark.parametrize("name", whole(DOORS["chat"]))
def test_a_body_that_is_not_one_json_value_is_refused(judge: Judge, caller: Caller, door: Door, name: str) -> None:
    body = whole(door)[name]
    judge.mark()
    judge.refused(caller.ask(body), refusal(400, "invalid_json", door.by), door.path)
    verify_twin(judge, caller, door)


WRONG_KINDS = {"list": b"[]", "text": b'"model"', "number": b"1", "null": b"null", "true": b"true", "empty": b""}


@pytest.mark.parametrize("name", WRONG_KINDS)
def test_a_body_that_is_no_object_is_refused(judge: Judge, caller: Caller, door: Door, name: str) -> None:
    judge.mark()
    expected = Refusal((400, 422), ("invalid_json", "invalid_body"), (door.by,))
    judge.refused(caller.ask(WRONG_KINDS[name]), expected, door.path)
    verify_twin(judge, caller, door)


# --- declared wrongly -----------------------------------------------------------------------------------------------


def bomb() -> bytes:
    """100 MiB of spaces in 100 KiB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(b" " * MIB) for _ in range(100)) + packer.flush()


DECLARED = {
    "text": {"Content-Type": "text/plain"},
    "form": {"Content-Type": "application/x-www-form-urlencoded"},
    "multipart": {"Content-Type": "multipart/form-data; boundary=x"},
    "lookalike": {"Content-Type": "application/jsonx"},
    "problem": {"Content-Type": "application/problem+json"},
    "untyped": {"Content-Type": ""},
    "gzip": {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    "br": {"Content-Type": "application/json", "Content-Encoding": "br"},
    "deflate": {"Content-Type": "application/json", "Content-Encoding": "deflate"},
    "zstd": {"Content-Type": "application/json", "Content-Encoding": "zstd"},
    "twice": {"Content-Type": "application/json", "Content-Encoding": "gzip, gzip"},
}


@pytest.mark.parametrize("name", DECLARED)
def test_a_body_that_is_declared_as_something_else_is_refused(
    judge: Judge, caller: Caller, door: Door, name: str
) -> None:
    """Once with a body that is JSON all the same, once packed as it says."""
    text = json.dumps(door.right()).encode()
    for body in (text, gzip.compress(text)):
        judge.mark()
        answer = caller.ask(body, DECLARED[name])
        judge.refused(answer, refusal(415, "unsupported_media_type", door.by), door.path)
    verify_twin(judge, caller, door)


def test_a_bomb_is_not_unpacked(judge: Judge, caller: Caller, door: Door) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    started = time.monotonic()
    judge.mark()
    expected = Refusal((413, 415), ("unsupported_media_type", "payload_too_large"), ("app", "edge", door.by))
    judge.refused(caller.ask(bomb(), headers), expected, door.path)
    assert time.monotonic() - started < 5
    verify_twin(judge, caller, door)


# --- large ----------------------------------------------------------------------------------------------------------


class Flood:
    """200 MiB, piece by piece, as far as the other side takes them."""

    def __init__(self, head: list[bytes], chunked: bool) -> None:
        length = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % (200 * MIB)
        self._head = message([*head, b"Host: localhost", b"Content-Type: application/json", length])
        self._chunked = chunked
        self.sent = 0

    def pieces(self) -> Iterator[bytes]:
        yield self._head
        piece = b" " * 65_536
        for _ in range(200 * MIB // len(piece)):
            yield b"%x\r\n%s\r\n" % (len(piece), piece) if self._chunked else piece
            self.sent += len(piece)


@pytest.mark.parametrize("how", ["length", "chunked"])
def test_two_hundred_megabytes_are_cut_off(
    appliance: Appliance, agent: Identity, judge: Judge, caller: Caller, door: Door, how: str
) -> None:
    head = [f"POST {door.path} HTTP/1.1".encode()]
    if door.path == TOKENS:
        head.append(b"Authorization: Bearer " + (appliance.data / "secrets" / "admin-token").read_bytes().strip())
    flood = Flood(head, how == "chunked")
    started = time.monotonic()
    judge.mark()
    answer = pour(appliance, agent if door.path == CHAT else None, flood.pieces())
    assert time.monotonic() - started < 10
    assert flood.sent < 32 * MIB, "it stopped listening"
    if answer is None:
        judge.cut()
    else:
        judge.refused(answer, refusal(413, "payload_too_large", "edge", "app"), door.path)
    verify_twin(judge, caller, door)


def pour(appliance: Appliance, identity: Identity | None, pieces: Iterable[bytes]) -> Answer | None:
    """Sends until the other side says something or hangs up; what it said."""
    heard = b""
    with connect(appliance, identity) as tls:
        try:
            for piece in pieces:
                tls.sendall(piece)
                if heard := listen(tls):
                    break
            while not is_whole(heard) and (more := tls.recv(65_536)):
                heard += more
        except (ConnectionError, ssl.SSLError):
            pass
    return parse_answer(heard) if b"\r\n\r\n" in heard else None


def listen(tls: ssl.SSLSocket) -> bytes:
    """What has come so far, without waiting."""
    tls.settimeout(0)
    try:
        return tls.recv(65_536)
    except (ssl.SSLWantReadError, BlockingIOError):
        return b""
    finally:
        tls.settimeout(15)


def is_whole(raw: bytes) -> bool:
    if b"\r\n\r\n" not in raw:
        return False
    answer = parse_answer(raw)
    return len(answer.body) >= int(answer.header("content-length") or 0)


def parse_answer(raw: bytes) -> Answer:
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = [line.partition(": ") for line in lines]
    return Answer(int(first.split(" ")[1]), [(name.lower(), value) for name, _, value in pairs], body)


@pytest.mark.parametrize("name", ["flat", "list", "long"])
def test_a_million_members_take_bounded_time(appliance: Appliance, agent: Identity, judge: Judge, name: str) -> None:
    """Within the limit of size it may be served; others are served within 5 s whatever becomes of it."""
    door = DOORS["chat"]
    fragments = {
        "flat": b"{" + b",".join(b'"%05x":1' % n for n in range(900_000)) + b"}",
        "list": b"[" + b",".join([b"{}"] * 3_000_000) + b"]",
        "long": b'"' + b"\\u0041" * 1_500_000 + b'"',
    }
    started = time.monotonic()
    answer = chat(appliance, agent, door.with_member(fragments[name]))
    assert answer.status in (200, 400, 413, 422), answer.body[:300]
    judge.mark()
    judge.served(chat(appliance, agent))
    assert time.monotonic() - started < 10


def test_memory_is_back_to_normal(appliance: Appliance, agent: Identity) -> None:
    """After a body of the full size, many times over: no more than two such bodies above what it was."""

    for _ in range(20):  # a worker that was idle has given back pages of its code
        assert chat(appliance, agent, RAW).status == 200
    before = rss(appliance)
    body = DOORS["chat"].with_member(b'"' + b"a" * (9 * MIB) + b'"')
    for _ in range(5):
        assert chat(appliance, agent, body).status == 200
    wait_until(lambda: rss(appliance) < before + 24 * MIB, 5, "memory is back to normal")


def rss(appliance: Appliance) -> int:
    return appliance.memory()


# --- the test suite of others ---------------------------------------------------------------------------------------

Y_REFUSED = {"y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"}
"""Valid JSON with two meanings."""


@pytest.mark.parametrize("where", ["chat", "admin"])
def test_what_must_not_be_parsed_is_refused(appliance: Appliance, agent: Identity, judge: Judge, where: str) -> None:
    """Each n_ file as a body, and as a value in a body that is right otherwise."""
    files = sorted((vectors("jsontestsuite") / "test_parsing").glob("n_*.json"))
    assert len(files) >= 188
    door = DOORS[where]
    caller = Caller(appliance, agent, door)
    wrong = {}
    with caller.open() as client:
        for file in files:
            raw = file.read_bytes()
            for kind, body in (("alone", raw), ("inside", door.with_member(raw))):
                answer = caller.ask(body, client=client)
                if refused_as_json(door, answer, body):
                    TALLY.refused.add(f"{where}-{kind}-{file.name}")
                    TALLY.served.add(f"{where}-{kind}-{file.name}")
                else:
                    wrong[f"{kind} {file.name}"] = (answer.status, answer.body[:200])
    assert wrong == {}
    assert judge.arrivals() == []
    verify_twin(judge, caller, door)


def refused_as_json(door: Door, answer: Answer, body: bytes) -> bool:
    if len(body) > door.limit:
        return answer.status == 413
    if not body:
        return answer.status in (400, 422)
    document = answer.document
    code = document["error"]["code"] if door.path == CHAT else document["code"]
    return (answer.status, code) == (400, "invalid_json")


def test_what_must_be_parsed_is_taken(appliance: Appliance, agent: Identity) -> None:
    """The y_ files as a value: the twins of the n_ files."""
    files = sorted((vectors("jsontestsuite") / "test_parsing").glob("y_*.json"))
    door = DOORS["chat"]
    caller = Caller(appliance, agent, door)
    statuses = {}
    with caller.open() as client:
        for file in files:
            statuses[file.name] = caller.ask(door.with_member(file.read_bytes()), client=client).status
    assert {name for name, status in statuses.items() if status != 200} == Y_REFUSED


def test_what_may_be_parsed_is_never_a_failure(appliance: Appliance, agent: Identity) -> None:
    files = sorted((vectors("jsontestsuite") / "test_parsing").glob("i_*.json"))
    door = DOORS["chat"]
    caller = Caller(appliance, agent, door)
    with caller.open() as client:
        statuses = {caller.ask(door.with_member(file.read_bytes()), client=client).status for file in files}
    assert statuses <= {200, 400}
