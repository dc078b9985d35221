"""A provider that refuses, resets, hangs, lies, trickles or floods: a stated answer in the caller's dialect, exactly
one outcome, other providers unaffected, no connection left, and the next call works. Every dialect, plain and streamed.
"""

from __future__ import annotations

import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import httpx
import pytest

from mastio_client import Identity
from support.appliance import Appliance, Stub, wait_until
from support.ports import take_port
from support.scripted_provider import KEY
from support.threats.faulty_provider import FAULTS, HOLD, LAST, ODD_EVENTS, REDIRECTS, Faulty, Right, Step, chunk, says
from support.threats.faulty_scene import (
    FLOODED,
    KINDS,
    Scene,
    asked,
    describe,
    described,
    open_scene,
    rss,
    tcp_sockets,
    verify_nothing_is_left,
    watch,
)
from support.threats.judge import BODY, CHAT


@pytest.fixture(scope="module")
def scene(appliance: Appliance, agent: Identity, stub: Stub) -> Iterator[Scene]:
    with open_scene(appliance, agent, stub, {kind: Faulty(kind) for kind in KINDS}) as opened:
        yield opened


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2 * len(KINDS)) as threads:
        yield threads


def for_each_kind(check: Callable[[str], None]) -> None:
    """Run a check for the three kinds at once: they wait for timeouts, each at a provider of its own."""
    with ThreadPoolExecutor(len(KINDS)) as threads:
        for done in [threads.submit(check, kind) for kind in KINDS]:
            done.result()


# --- the faults ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("name", FAULTS)
def test_each_fault(scene: Scene, pool: ThreadPoolExecutor, name: str, stream: bool) -> None:
    fault, memory = FAULTS[name], rss(scene.appliance)

    def check(kind: str) -> None:
        provider, right, started = scene.faulty[kind], Right(kind, stream), time.monotonic()
        provider.fault, provider.reads = fault.act, fault.reads
        reply = watch(scene, pool, kind, stream, f"faulty-{kind}" if fault.is_ended_by_time else "")
        assert time.monotonic() - started < (8 if fault.is_ended_by_time else 30)
        scene.verify(reply, fault.expected(stream), right)
        verify_nothing_is_left(scene, provider)
        scene.twin(kind, stream)
        verify_nothing_is_left(scene, provider)

    for_each_kind(check)
    assert rss(scene.appliance) < memory + len(KINDS) * FLOODED


@contextmanager
def nobody(how: str) -> Iterator[int]:
    """A port where nobody answers: `refuses`, or lets nobody in because its queue is full."""
    if how == "refuses":
        yield take_port()
        return
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port: int = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        yield port
        for one in waiting:
            one.close()


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("how", ["refuses", "full"])
def test_nobody_at_home(scene: Scene, pool: ThreadPoolExecutor, how: str, stream: bool) -> None:
    code = "upstream_unreachable" if how == "refuses" else "upstream_timeout"

    def check(kind: str) -> None:
        name = f"nobody-{kind}"
        with nobody(how) as port, described(scene.appliance, **describe(name, kind, port, connect=1)):
            started = time.monotonic()
            reply = watch(scene, pool, kind, stream, name)
            assert time.monotonic() - started < 4
            scene.verify(reply, code, Right(kind, stream))
            wait_until(lambda: tcp_sockets(scene.appliance, port) == 0, 2, "the worker's descriptors are closed")

    for_each_kind(check)


def redirect(to: str, status: str) -> Callable[[Right], Iterator[Step]]:
    headers = (f"location: {to}".encode(), b"content-length: 0")
    return says(lambda right: right.head(*headers, status=status.encode()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", REDIRECTS)
def test_no_redirect_is_followed(scene: Scene, status: str, kind: str) -> None:
    """Wherever it leads: here to another provider, which would answer."""
    inner = f"{scene.stub.url}/chat/completions"
    for to in (inner, "http://169.254.169.254/latest/", "file:///etc/passwd", "/v1/models"):
        scene.faulty[kind].fault = redirect(to, status)
        reply = scene.call(kind, stream=False)
        scene.verify(reply, "upstream_error", Right(kind, False))
        assert to not in reply.text and "location" not in reply.headers
        assert reply.headers["x-request-id"] not in {line.get("request_id") for line in scene.stub.journal()}
    scene.twin(kind, stream=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ODD_EVENTS)
def test_odd_events_are_the_providers(scene: Scene, name: str, kind: str) -> None:
    """Where nothing is translated or redacted every byte that a client reads comes through, and what they say of usage
    harms nobody."""
    right = Right(kind, stream=True)
    said = right.first + ODD_EVENTS[name] + right.body.removeprefix(right.first)
    read = said.replace(b"nonsense\n: comment\n", b":\n")
    scene.faulty[kind].fault = says(lambda right: right.whole(said))
    reply = scene.call(kind, stream=True)
    assert (reply.status_code, reply.content) == (200, read)
    assert scene.outcome(reply) == {"status": "ok"}
    usage = scene.appliance.entries_of(reply.headers["x-request-id"])[1]["usage"]
    assert all(isinstance(count, int) and 0 <= count < 2**53 for count in usage.values()), usage
    scene.twin(kind, stream=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("data", [b"\xff\xfe\xc0", b'{"usage":{},"usage":{}}', b'{"usage":{"n":1e400}}'])
def test_what_is_no_text_cannot_be_inspected(scene: Scene, data: bytes, kind: str) -> None:
    """Nor what only clients that are less strict would read."""
    right = Right(kind, stream=True)
    said = b"data: " + data + b"\n\n" + right.first + right.body.removeprefix(right.first)
    scene.faulty[kind].fault = says(lambda right: right.whole(said))
    scene.verify(scene.call(kind, stream=True), "upstream_error", right)
    scene.twin(kind, stream=True)


ODD_USAGE: dict[str, bytes] = {
    "text": b'"x"', "null": b"null", "list": b"[1]", "negative": b'{"A":-1,"B":-2}', "float": b'{"A":1.5,"B":1e300}',
    "huge": b'{"A":%d,"B":1}' % 10**30, "true": b'{"A":true,"B":"2"}', "nested": b'{"A":{"A":1},"B":[]}',
}  # fmt: skip
COUNTS = {
    "openai": ("usage", "prompt_tokens", "completion_tokens"),
    "anthropic": ("usage", "input_tokens", "output_tokens"),
    "gemini": ("usageMetadata", "promptTokenCount", "candidatesTokenCount"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ODD_USAGE)
def test_odd_counts_are_not_believed(scene: Scene, name: str, kind: str) -> None:
    member, read, wrote = (text.encode() for text in COUNTS[kind])
    counts = ODD_USAGE[name].replace(b"A", read).replace(b"B", wrote)
    body = b'{"id":"c","choices":[],"content":[],"candidates":[],"' + member + b'":' + counts + b"}"
    scene.faulty[kind].fault = says(lambda right: right.whole(body))
    reply = scene.call(kind, stream=False)
    assert (reply.status_code, reply.content) == (200, body)
    usage = scene.appliance.entries_of(reply.headers["x-request-id"])[1]["usage"]
    assert all(isinstance(count, int) and 0 <= count < 2**53 for count in usage.values()), usage
    scene.twin(kind, stream=False)


# --- headers ---------------------------------------------------------------------------------------------------------

OURS = {
    "x-request-id": b"forged", "mastio-receipt": b"7", "x-cost-usd": b"0", "x-cache": b"HIT", "x-provider": b"forged",
    "x-tokens-input": b"7", "server-timing": b"forged", "set-cookie": b"session=forged", "location": b"http://forged",
    "www-authenticate": b"Basic forged", "strict-transport-security": b"max-age=0", "x-accel-redirect": b"/forged",
    "x-accel-buffering": b"yes", "content-disposition": b"attachment", "access-control-allow-origin": b"*",
    "refresh": b"0; url=http://forged", "trailer": b"x-forged", "upgrade": b"forged", "alt-svc": b'h3=":1"',
}  # fmt: skip
"""What a provider has no business to say to our caller."""

PREFIX = {"openai": b"openai-", "anthropic": b"anthropic-", "gemini": b"x-ratelimit-"}


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_provider_cannot_speak_for_the_appliance(scene: Scene, kind: str, stream: bool) -> None:
    lines = [name.encode() + b": " + value for name, value in OURS.items()]
    scene.faulty[kind].fault = says(lambda right: right.whole(None, *lines, *lines))
    reply = scene.call(kind, stream)
    assert (reply.status_code, reply.content) == (200, Right(kind, stream).body)
    assert not any("forged" in value for value in reply.headers.values()), reply.headers
    shown = OURS.keys() & set(reply.headers)
    assert shown <= {"x-request-id", "mastio-receipt", "x-cost-usd", "x-cache", "x-provider", "x-tokens-input",
                     "server-timing", "strict-transport-security"}  # fmt: skip
    assert all(len(reply.headers.get_list(name)) == 1 for name in shown)
    assert reply.headers["x-cache"] == "BYPASS" and scene.outcome(reply) == {"status": "ok"}
    scene.twin(kind, stream)


@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_header_tells_the_appliances_own_key(scene: Scene, kind: str, status: str) -> None:
    key, prefix = KEY.encode(), PREFIX[kind]
    lines = (prefix + b"echo: " + key, b"request-id: a" + key, b"retry-after: " + key, prefix + b"good: yes")
    scene.faulty[kind].fault = says(lambda right: right.whole(None, *lines, status=status.encode()))
    reply = scene.call(kind, stream=False)
    assert reply.status_code == int(status[:3]) and reply.headers[prefix.decode() + "good"] == "yes"
    assert KEY not in str(reply.headers) and KEY not in reply.text
    scene.faulty[kind].fault = says(lambda right: right.whole(None, kind=b"application/json; key=" + key))
    assert KEY not in str(scene.call(kind, stream=False).headers)
    scene.twin(kind, stream=False)


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["twice", "many", "large", "odd"])
def test_odd_headers_harm_nobody(scene: Scene, kind: str, stream: bool, name: str) -> None:
    """The answer arrives, whatever becomes of them; and the edge can carry what is passed on."""
    prefix = PREFIX[kind]
    lines = {
        "twice": [b"content-type: text/html", b"retry-after: 1", b"retry-after: 2", b"date: now", b"date: then"],
        "many": [prefix + b"%d: a" % number for number in range(100)],
        "large": [prefix + b"%d: " % number + b"a" * 7_000 for number in range(8)],
        "odd": [prefix + b"odd: \xff\xfe\x80", prefix + b"tab: a\tb", prefix + b"empty:", b"request-id: \xc3\xa9"],
    }[name]
    scene.faulty[kind].fault = says(lambda right: right.whole(None, *lines))
    reply = scene.call(kind, stream)
    assert (reply.status_code, reply.content) == (200, Right(kind, stream).body), reply.text[:300]
    assert scene.outcome(reply) == {"status": "ok"}
    assert reply.headers.get_list("content-type") == [Right(kind, stream).type.decode()]
    scene.twin(kind, stream)


# --- one exchange must not reach into the next -----------------------------------------------------------------------

POISON = b'{"choices":[],"content":[],"candidates":[],"id":"poison"}'
FORGED = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(POISON) + POISON


@pytest.mark.parametrize("after", [0.0, 0.2])
@pytest.mark.parametrize("how", ["length", "chunks"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_behind_the_answer_is_nobodys(scene: Scene, kind: str, how: str, after: float) -> None:
    """On a connection that is to be kept: what comes unasked is not the answer to the next caller's question."""

    def act(right: Right) -> Iterator[Step]:
        if how == "length":
            kept = right.whole()
        else:
            kept = right.head(b"transfer-encoding: chunked") + chunk(right.body) + LAST
        kept = kept.replace(b"connection: close\r\n", b"")
        yield kept if after else kept + FORGED
        yield after
        if after:
            yield FORGED
        yield HOLD

    scene.faulty[kind].fault = act
    for _ in range(4):
        assert scene.call(kind, stream=False).content == Right(kind, stream=False).body
        time.sleep(2 * after)
    scene.twin(kind, stream=False)
    verify_nothing_is_left(scene, scene.faulty[kind])


# --- without end -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_events_without_end_last_as_long_as_the_caller(scene: Scene, kind: str) -> None:
    """As fast as they can be made, to a caller who reads little and then hangs up."""
    provider = scene.faulty[kind]

    def act(right: Right) -> Iterator[Step]:
        yield right.head()
        while True:
            yield right.first * 2_000

    provider.fault = act
    provider.left.clear()
    memory = rss(scene.appliance)
    path, body = asked(kind, stream=True)
    with scene.client.stream("POST", path, json=body) as reply:
        pieces = reply.iter_raw(65536)
        assert next(pieces).startswith(Right(kind, stream=True).first)
        time.sleep(1)  # it reads nothing: the provider is held up, not kept in memory
        assert rss(scene.appliance) < memory + FLOODED
        assert scene.other.post(CHAT, json=BODY).elapsed.total_seconds() < 3
        assert len(next(pieces)) > 0
    wait_until(lambda: provider.left == [True], 5, "the provider is left alone")
    verify_nothing_is_left(scene, provider)
    wait_until(lambda: len(scene.appliance.entries_of(reply.headers["x-request-id"])) == 2, 5, "the log has it")
    assert scene.outcome(reply) == {"status": "cancelled"}
    scene.twin(kind, stream=True)


# --- all of it at once -----------------------------------------------------------------------------------------------

AT_ONCE = 60
CALLS = 300


def test_all_of_it_at_once_leaves_nothing(scene: Scene) -> None:
    """Each call gets an answer of those that are stated, and one outcome; another provider answers all the while."""
    names = sorted(FAULTS.keys() - {"flood", "endlessBody"})  # each of these may take `MAX_REPLY` of memory
    draw = random.Random(7)
    for provider in scene.faulty.values():
        provider.reads = True
        provider.fault = lambda right: FAULTS[draw.choice(names)].act(right)
    before, memory = tcp_total(scene), rss(scene.appliance)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        asking = [threads.submit(scene.call, KINDS[n % 3], bool(n % 2), f"faulty-{KINDS[n % 3]}") for n in range(CALLS)]
        slowest = 0.0
        while not all(one.done() for one in asking):
            started = time.monotonic()
            assert scene.other.post(CHAT, json=BODY).status_code == 200
            slowest = max(slowest, time.monotonic() - started)
            time.sleep(0.05)
        replies = [one.result() for one in asking]
    assert slowest < 3
    told = Counter(reply.status_code for reply in replies)
    assert told.keys() <= {200, 502, 503, 504} and told[502] > 50, told
    for reply in replies:
        assert scene.outcome(reply)["status"] == ("ok" if reply.status_code == 200 and ends_well(reply) else "failed")
    for kind, provider in scene.faulty.items():
        verify_nothing_is_left(scene, provider)
        provider.fault = None
        wait_until(partial(is_well, scene, kind), 10, "it is called again")
        scene.twin(kind, stream=True)
    wait_until(lambda: tcp_total(scene) <= before, 5, "no descriptor is left")
    assert rss(scene.appliance) < memory + FLOODED


def is_well(scene: Scene, kind: str) -> bool:
    return scene.call(kind, stream=False).status_code == 200


def ends_well(reply: httpx.Response) -> bool:
    """It does not end with the error event."""
    return b"(upstream_" not in reply.content and b'"code":"upstream_' not in reply.content


def tcp_total(scene: Scene) -> int:
    return sum(tcp_sockets(scene.appliance, provider.port) for provider in scene.faulty.values())
