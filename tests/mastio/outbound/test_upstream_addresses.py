"""Nobody is connected to who may not be: every spelling, every answer, with 0 connects at listeners that count them.

Each has its twin: the very same, allowed, arrives.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest

from mastio.exchange.errors import DispatchError
from mastio.exchange.target import ONLY_ITSELF, Address, TargetError, parse_networks
from mastio.outbound.connector import ForbiddenAddress, Judge, OwnEndpoints, is_local
from mastio.outbound.resolver import RESOLVE_EVERY, Resolver
from mastio.outbound.upstream import Pool, Pools
from support.dns_server import Answer, Names
from support.raw_upstream import Upstream, listening

FORBIDDEN = "upstream_forbidden_address"
TIMEOUTS = {"connect": 2.0, "read": 2.0, "total": 4.0}
LOOPBACKS = ("127.0.0.1", "127.0.0.2", "::1")
UNSHARE = ("unshare", "--map-root-user", "--net")
CAN_UNSHARE = (
    shutil.which("unshare") is not None
    and shutil.which("ip") is not None
    and subprocess.run([*UNSHARE, "ip", "link", "set", "lo", "up"], capture_output=True, check=False).returncode == 0
)
TESTS = Path(__file__).parents[2]
Listeners = dict[str, Upstream]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def names() -> Iterator[Names]:
    with Names() as names:
        yield names


@pytest.fixture
def listeners() -> Iterator[Listeners]:
    with listening(*LOOPBACKS) as listeners:
        yield listeners


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def pools(names: Names, clock: Clock) -> AsyncIterator[Pools]:
    pools = Pools(resolver=Resolver([names.server], 1.0, clock))
    yield pools
    await pools.close()


async def ask(pool: Pool) -> bytes:
    async with pool.send("GET", "/", [], b"") as reply:
        return await reply.read(100)


async def refusal(pool: Pool) -> str:
    with pytest.raises(DispatchError) as caught:
        await ask(pool)
    return caught.value.code


def connects(listeners: Listeners) -> int:
    return sum(listener.connects for listener in listeners.values())


SPELLINGS = [
    "127.0.0.1", "127.0.0.2", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:2]", "[::127.0.0.1]",
    "localhost", "a.localhost", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1",
    "017700000001", "127.0.0.01", "127.0.0.1.", "localhost.", "①②⑦.0.0.1", "127。0。0。1", "１２７.0.0.1", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "%31%32%37.0.0.1", "localhost%00.example", "[::1%25lo]", "[::1%lo]", "0.0.0.0", "0", "[::]", "user@127.0.0.1",
    "a.example@127.0.0.1", "127.0.0.1\\@a.example", "127.0.0.1#@a.example", "127.0.0.1?@a.example",
    "a.example\t@127.0.0.1", "127.0.0.1\r\n",
    " 127.0.0.1", "xn--127-.0.0.1", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::ffff:0:127.0.0.1]",
]  # fmt: skip
ALLOWED = {
    "127.0.0.1": "127.0.0.1", "127.0.0.2": "127.0.0.2", "[::1]": "::1", "[0:0:0:0:0:0:0:1]": "::1",
    "[::ffff:127.0.0.1]": "127.0.0.1", "[::ffff:7f00:2]": "127.0.0.2", "localhost": "127.0.0.1",
    "a.localhost": "127.0.0.1",
}  # fmt: skip
"""Spellings that lead somewhere once that is allowed. All others do not even then."""


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_no_spelling_of_an_inner_address_is_connected_to(
    pools: Pools, names: Names, listeners: Listeners, spelling: str
) -> None:
    port = listeners["127.0.0.1"].port
    try:
        pool = pools.open(f"http://{spelling}:{port}", (), TIMEOUTS)
    except TargetError:
        return
    assert await refusal(pool) == FORBIDDEN
    assert connects(listeners) == 0 and not names.asked


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_what_is_allowed_is_connected_to_there_and_nowhere_else(
    pools: Pools, listeners: Listeners, spelling: str
) -> None:
    port, there = listeners["127.0.0.1"].port, ALLOWED.get(spelling)
    allowed = ("0.0.0.0/0", "::/0") if there is None else (there, f"::ffff:{there}/128" if "." in there else there)
    try:
        pool = pools.open(f"http://{spelling}:{port}", allowed, TIMEOUTS)
    except TargetError:
        assert there is None
        return
    if there is None:
        assert await refusal(pool) in (FORBIDDEN, "upstream_unreachable", "upstream_timeout")
        assert connects(listeners) == 0
    else:
        assert await ask(pool) == b"ok"
        assert connects(listeners) == listeners[there].connects == 1


@pytest.mark.parametrize(
    "said",
    [
        ["127.0.0.1"], ["127.0.0.2"], ["::1"], ["::ffff:127.0.0.1"], ["127.0.0.1", "::1"], ["8.8.8.8", "127.0.0.1"],
        ["127.0.0.1", "8.8.8.8"], ["2606:4700::1111", "::1"], ["8.8.8.8", "::1"], ["0.0.0.0"], ["::"],
        ["64:ff9b::7f00:1"], ["2002:7f00:1::"], ["::127.0.0.1"], ["169.254.169.254", "127.0.0.1"], ["10.0.0.1", "::1"],
        ["8.8.8.8"] * 3 + ["127.0.0.2"],
    ],
    ids=",".join,
)  # fmt: skip
@pytest.mark.parametrize("through", [(), ("b.example", "c.example")], ids=["plain", "chain"])
async def test_no_answer_leads_inside(
    pools: Pools, names: Names, listeners: Listeners, said: list[str], through: tuple[str, ...]
) -> None:
    """Not even beside a public one: all are looked at before any is used."""
    names.say("a.example", *said, through=through)
    assert await refusal(pools.open(f"http://a.example:{listeners['::1'].port}", (), TIMEOUTS)) == FORBIDDEN
    assert connects(listeners) == 0


@pytest.mark.parametrize("there", LOOPBACKS)
async def test_an_allowed_answer_is_connected_to_by_its_name(
    pools: Pools, names: Names, listeners: Listeners, there: str
) -> None:
    names.say("a.example", there)
    assert await ask(pools.open(f"http://a.example:{listeners[there].port}/v1", (there,), TIMEOUTS)) == b"ok"
    assert connects(listeners) == listeners[there].connects == 1
    assert listeners[there].seen[0].header("host") == f"a.example:{listeners[there].port}"
    assert listeners[there].seen[0].path == "/v1/"


async def test_a_mixed_answer_is_refused_whole(pools: Pools, names: Names, listeners: Listeners) -> None:
    names.say("a.example", "127.0.0.2", "127.0.0.1")
    port = listeners["127.0.0.1"].port
    assert await refusal(pools.open(f"http://a.example:{port}", ("127.0.0.2",), TIMEOUTS)) == FORBIDDEN
    assert connects(listeners) == 0
    assert await ask(pools.open(f"http://a.example:{port}", ("127.0.0.0/8",), TIMEOUTS)) == b"ok"


async def test_a_name_that_turns_inward(pools: Pools, names: Names, listeners: Listeners, clock: Clock) -> None:
    """A kept connection goes on to where it was judged; the next one is judged again."""
    names.say_in_turn("a.example", Answer(("127.0.0.2",)), Answer(("127.0.0.1",)))
    pool = pools.open(f"http://a.example:{listeners['127.0.0.1'].port}", ("127.0.0.2",), TIMEOUTS)
    assert await ask(pool) == b"ok"
    clock.now += RESOLVE_EVERY + 1
    assert await ask(pool) == b"ok"
    assert (listeners["127.0.0.2"].connects, len(listeners["127.0.0.2"].seen), len(names.asked)) == (1, 2, 2)
    listeners["127.0.0.2"].__exit__(None, None, None)
    listeners["127.0.0.2"].wait_closed()
    assert await refusal(pool) == FORBIDDEN
    assert listeners["127.0.0.1"].connects == 0


async def test_one_cache_and_a_judge_for_each(pools: Pools, names: Names, listeners: Listeners) -> None:
    names.say("a.example", "127.0.0.1", ttl=60)
    url = f"http://a.example:{listeners['127.0.0.1'].port}"
    assert await ask(pools.open(url, ("127.0.0.1",), TIMEOUTS)) == b"ok"
    assert await refusal(pools.open(url, (), TIMEOUTS)) == FORBIDDEN
    assert await refusal(pools.open(url, ("127.0.0.2",), TIMEOUTS)) == FORBIDDEN
    assert (connects(listeners), names.count("a.example")) == (1, 1)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "a.example", "[::ffff:127.0.0.1]"])
async def test_the_appliance_never_connects_to_itself(names: Names, listeners: Listeners, host: str) -> None:
    names.say("a.example", "127.0.0.1")
    port = listeners["127.0.0.1"].port
    for own, arrives in ((OwnEndpoints(frozenset({port})), False), (OwnEndpoints(frozenset({port - 1})), True)):
        pools = Pools(own, Resolver([names.server]))
        pool = pools.open(f"http://{host}:{port}", ("127.0.0.0/8", "::1", "::ffff:0:0/96"), TIMEOUTS)
        if arrives:
            assert await ask(pool) == b"ok"
        else:
            assert await refusal(pool) == FORBIDDEN
        assert connects(listeners) == arrives
        await pools.close()


async def test_nor_by_its_public_name(names: Names, listeners: Listeners) -> None:
    """Wherever that leads: to a balancer in front of it, perhaps."""
    names.say("mastio.example", "127.0.0.1")
    port = listeners["127.0.0.1"].port
    pools = Pools(OwnEndpoints(doors=frozenset({("mastio.example", port)})), Resolver([names.server]))
    for host in ("mastio.example", "MASTIO.example"):
        assert await refusal(pools.open(f"http://{host}:{port}", ("127.0.0.1",), TIMEOUTS)) == FORBIDDEN
    assert connects(listeners) == 0 and not names.asked
    names.say("other.example", "127.0.0.1")
    assert await ask(pools.open(f"http://other.example:{port}", ("127.0.0.1",), TIMEOUTS)) == b"ok"
    await pools.close()


def test_which_addresses_are_this_machine() -> None:
    for text in ("127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1"):
        assert is_local(parse_networks([text])[0].network_address), text
    for text in ("8.8.8.8", "198.51.100.7", "2606:4700::1111", "::ffff:8.8.8.8"):
        assert not is_local(parse_networks([text])[0].network_address), text
    for _, _, _, _, address in socket.getaddrinfo(socket.gethostname(), 80, type=socket.SOCK_STREAM):
        assert is_local(parse_networks([address[0]])[0].network_address)


def test_a_public_address_of_this_machine_has_to_be_allowed() -> None:
    def is_ours(address: Address) -> bool:
        return str(address) == "8.8.8.8"

    public, other = (parse_networks([text])[0].network_address for text in ("8.8.8.8", "8.8.4.4"))
    with pytest.raises(ForbiddenAddress):
        Judge((), OwnEndpoints(), is_ours).verify([other, public], 443)
    Judge((), OwnEndpoints(), is_ours).verify([other], 443)
    Judge(parse_networks(["8.8.8.8"]), OwnEndpoints(), is_ours).verify([other, public], 443)


@pytest.mark.skipif(not CAN_UNSHARE, reason="no network namespace can be made here")
def test_listeners_on_forbidden_addresses_themselves() -> None:
    """In a namespace where this machine has them all: private, shared, translated, metadata, public and our own."""
    probe = [*UNSHARE, sys.executable, "-m", "support.address_probe"]
    done = subprocess.run(probe, capture_output=True, check=True, timeout=120, cwd=TESTS)
    found = json.loads(done.stdout)
    assert len(found) > 30
    for address, rows in found.items():
        only_itself = any(ip_address(address) in network for network in ONLY_ITSELF) or "a9fe:a9fe" in address
        for row in rows:
            assert row["refused"] == {"unnamed": [FORBIDDEN, 0], "own": [FORBIDDEN, 0]}, (address, row)
            assert row["in a range"] == ([FORBIDDEN, 0] if only_itself else ["ok", 1]), (address, row)
            assert row["itself"] == ["ok", 1], (address, row)


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
async def test_raw_connections_are_judged_alike(
    pools: Pools, names: Names, listeners: Listeners, kind: socket.SocketKind
) -> None:
    names.say("a.example", "127.0.0.1", "8.8.8.8")
    names.say("b.example", "127.0.0.2")
    port = listeners["127.0.0.1"].port
    for host, allowed in (
        ("a.example", ()), ("127.0.0.1", ()), ("127.1", ("127.0.0.1",)), ("::1", ()),
        ("b.example", ("127.0.0.1",)), ("169.254.169.254", ("0.0.0.0/0",)), ("0.0.0.0", ("0.0.0.0/0",)),
        ("2130706433", ("0.0.0.0/0",)), ("224.0.0.1", ("0.0.0.0/0",)),
    ):  # fmt: skip
        with pytest.raises(OSError):
            await pools.connect(host, port, kind, allowed)
    assert connects(listeners) == 0
    for host, there in (("b.example", "127.0.0.2"), ("127.0.0.2", "127.0.0.2"), ("::1", "::1")):
        with await pools.connect(host, port, kind, (there,)) as link:
            assert link.getpeername()[0] == there


async def test_no_proxy_of_the_environment(pools: Pools, listeners: Listeners, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, listeners["127.0.0.2"].url())
    assert await ask(pools.open(listeners["127.0.0.1"].url(), ("127.0.0.1",), TIMEOUTS)) == b"ok"
    assert listeners["127.0.0.2"].connects == 0
