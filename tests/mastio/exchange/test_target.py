import time
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from random import Random

import pytest

from mastio.exchange.target import (
    NEVER,
    NOT_PUBLIC,
    ONLY_ITSELF,
    Address,
    TargetError,
    carried,
    is_public,
    parse_base_url,
    parse_networks,
    parse_url,
    verify_addresses,
    verify_not_own,
    verify_resolver,
)

ANYWHERE = parse_networks(["0.0.0.0/0", "::/0"])
INNER = [
    "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "192.0.0.1", "192.0.2.1", "192.31.196.1", "192.52.193.1", "192.88.99.1", "192.175.48.1", "198.18.0.1",
    "198.19.255.255", "198.51.100.1", "203.0.113.1", "240.0.0.1", "255.255.255.254", "::1", "::ffff:127.0.0.1",
    "::ffff:8.8.8.8", "::7f00:1", "::808:808", "::ffff:0:7f00:1", "64:ff9b::7f00:1", "64:ff9b::808:808",
    "64:ff9b:1::808:808", "100::1", "100:0:0:1::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1",
    "2002:7f00:1::", "2002:808:808::1", "2620:4f:8000::1", "3ffe::1", "3fff::1", "4000::1", "5f00::1", "fc00::1",
    "fd12:3456::1", "fec0::1", "2a00::5efe:10.0.0.1", "2a00::200:5efe:10.0.0.1", "2a00::5efe:7f00:1",
]  # fmt: skip
METADATA = [
    "169.254.169.254", "169.254.170.2", "169.254.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192",
    "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42", "fe80::1", "fe80::a9fe:a9fe",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "::ffff:169.254.169.254", "::a9fe:a9fe", "2002:a9fe:a9fe::1",
    "2a00::5efe:a9fe:a9fe", "::ffff:0:a9fe:a9fe", "64:ff9b::a83f:8110",
]  # fmt: skip
NOWHERE = [
    "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.250", "255.255.255.255", "::", "ff02::1", "ff0e::1",
    "::ffff:0.0.0.0", "64:ff9b::e000:1", "::ffff:255.255.255.255", "2002::1", "64:ff9b:1:a9fe:a9:fe00::",
    "fe80::1%eth0", "2a00::1%lo",
]  # fmt: skip


@pytest.mark.parametrize("address", INNER)
def test_what_is_not_public_is_opened_by_itself_or_by_its_ranges(address: str) -> None:
    one = ip_address(address)
    assert not is_public(one)
    with pytest.raises(TargetError):
        verify_addresses([one], ())
    verify_addresses([one], parse_networks([address]))
    verify_addresses([one], ANYWHERE)


@pytest.mark.parametrize("address", METADATA)
def test_metadata_is_opened_by_itself_only(address: str) -> None:
    one = ip_address(address)
    assert not is_public(one)
    for allowed in ((), ANYWHERE):
        with pytest.raises(TargetError):
            verify_addresses([one], allowed)
    verify_addresses([one], parse_networks([address]))


@pytest.mark.parametrize("address", NOWHERE)
def test_what_nothing_opens(address: str) -> None:
    one = ip_address(address)
    for allowed in ((), ANYWHERE, parse_networks([address.partition("%")[0]])):
        with pytest.raises(TargetError):
            verify_addresses([one], allowed)


def test_what_carries_an_address_needs_both_to_be_allowed() -> None:
    carrier = ip_address("64:ff9b::a00:1")
    assert carried(carrier) == (IPv4Address("10.0.0.1"),)
    for allowed in (["64:ff9b::/96"], ["10.0.0.0/8"]):
        with pytest.raises(TargetError):
            verify_addresses([carrier], parse_networks(allowed))
    verify_addresses([carrier], parse_networks(["64:ff9b::/96", "10.0.0.0/8"]))
    verify_addresses([ip_address("64:ff9b::808:808")], parse_networks(["64:ff9b::/96"]))


@pytest.mark.parametrize(
    ("address", "inner"),
    [
        ("::1.2.3.4", ["1.2.3.4"]), ("::ffff:1.2.3.4", ["1.2.3.4"]), ("::ffff:0:1.2.3.4", ["1.2.3.4"]),
        ("64:ff9b::1.2.3.4", ["1.2.3.4"]), ("64:ff9b:1::1.2.3.4", ["1.2.3.4"]), ("2002:102:304::", ["1.2.3.4"]),
        ("2001:0:102:304:0:0:fafb:fcfd", ["1.2.3.4", "5.4.3.2"]), ("2a00:1::5efe:1.2.3.4", ["1.2.3.4"]),
        ("::1", []), ("::", ["0.0.0.0"]), ("2a00::1", []), ("1.2.3.4", []),
    ],
)  # fmt: skip
def test_what_an_address_carries(address: str, inner: list[str]) -> None:
    assert [str(one) for one in carried(ip_address(address))] == inner


def test_the_edges_of_every_range() -> None:
    """Its first and its last address are not public; the one before and the one after only where another says so."""
    for network in NOT_PUBLIC:
        first, last = network.network_address, network.broadcast_address
        assert not is_public(first) and not is_public(last)
        for outside in _neighbours(first, last):
            assert is_public(outside) == (not _in_table(outside) and all(map(is_public, carried(outside))))


def test_a_public_address_is_in_no_range_and_every_other_in_one() -> None:
    random = Random(7)
    for _ in range(4000):
        four, six = IPv4Address(random.getrandbits(32)), IPv6Address(random.getrandbits(125) | 1 << 125)
        assert is_public(four) == (not _in_table(four))
        assert is_public(six) == (not _in_table(six) and all(map(is_public, carried(six))))
        assert not is_public(IPv6Address(random.getrandbits(128) & ~(7 << 125)))
        for carrier in (0xFFFF << 32, 0x64FF9B << 96, 0xFFFF << 48):
            with pytest.raises(TargetError):
                verify_addresses([IPv6Address(carrier | int(four))], ())


def test_the_table_is_no_smaller_than_what_the_library_knows() -> None:
    """`ipaddress` is no judge of what is public, but what it says is not must not be public here."""
    random = Random(8)
    for _ in range(4000):
        for address in (IPv4Address(random.getrandbits(32)), IPv6Address(random.getrandbits(128))):
            inner = address.is_private or address.is_multicast or address.is_reserved or not address.is_global
            assert not (inner and is_public(address)), address


def _in_table(address: Address) -> bool:
    return any(address in network for network in NOT_PUBLIC if network.version == address.version)


def _neighbours(first: Address, last: Address) -> list[Address]:
    most = (1 << first.max_prefixlen) - 1
    return [type(first)(at) for at in (int(first) - 1, int(last) + 1) if 0 <= at <= most]


def test_the_tables_do_not_contradict_each_other() -> None:
    assert set(NEVER) | set(ONLY_ITSELF) <= set(NOT_PUBLIC)
    assert ip_network("168.63.129.16/32") in ONLY_ITSELF  # it would be public otherwise


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "168.63.129.15", "223.255.255.255", "11.0.0.0",
        "169.253.0.1", "2606:4700::1111", "2a00::1", "2001:200::1", "2003::1", "2a00::5efe:808:808", "3fff:1000::1",
    ],
)  # fmt: skip
def test_public(address: str) -> None:
    verify_addresses([ip_address(address)], ())
    assert is_public(ip_address(address))


def test_a_mixed_answer_is_refused_whole() -> None:
    with pytest.raises(TargetError):
        verify_addresses([ip_address("8.8.8.8"), ip_address("127.0.0.1")], parse_networks(["10.0.0.0/8"]))


def test_our_own_addresses() -> None:
    public, loopback = ip_address("8.8.8.8"), ip_address("127.0.0.1")
    allowed, ours = parse_networks(["127.0.0.0/8"]), frozenset({9443})
    verify_not_own(loopback, 9444, allowed, ours)
    verify_not_own(public, 443, parse_networks(["8.8.8.8"]), ours)
    for address, port, opened in ((loopback, 9443, allowed), (public, 443, ()), (public, 9443, ANYWHERE)):
        with pytest.raises(TargetError):
            verify_not_own(address, port, opened, ours)


@pytest.mark.parametrize("text", ["10.0.0.1", "10.0.0.1:5353", "::1", "[::1]:53", "[::1]"])
def test_name_servers(text: str) -> None:
    verify_resolver(text)


@pytest.mark.parametrize(
    "text",
    ["", "dns.example", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0", "[::1", "fe80::1%eth0", "1.1.1.1,2"],
)
def test_what_is_no_name_server(text: str) -> None:
    with pytest.raises(TargetError):
        verify_resolver(text)


@pytest.mark.parametrize("text", ["10.0.0.1/8", "fe80::1%eth0", "fe80::%eth0/64", "a.example", "10.0.0.0/33", ""])
def test_what_is_no_network(text: str) -> None:
    with pytest.raises(TargetError):
        parse_networks([text])


REFUSED_HOSTS = [
    "", ".", "a.example.", "a..example", ".a.example", "-a.example", "a-.example", "a_b.example", "127.1", "0x7f000001",
    "0x7f.1", "2130706433", "0177.0.0.1", "127.0.0.01", "127.0.0.1.", "1.2.3", "1.2.3.4.5", "256.1.1.1", "a.0x1",
    "a.example.1", "①②⑦.0.0.1", "127。0。0。1", "１２７.0.0.1", "%31%32%37.0.0.1", "127%2e0.0.1", "a.example%00.b",
    "ⓐ.example", "user@a.example", "user:pass@a.example", "@a.example", "a.example@", "a.example\\@b.example",
    "a\tb.example", "a b.example", "a\r\nb.example", "a\x00b.example", "[::1", "::1", "[::1%25lo]", "[fe80::1%eth0]",
    "[v1.a]", "[]",
    "[127.0.0.1]", "[a.example]", "[::g]", "[::1]a", "*.example", "a,b.example", "a;b.example", "a'b.example",
    "l" * 64 + ".example", "a." * 126 + "ab", "xn--", "xn--a.example", "xn--\x20.example", "xn--abc-.example",
    "xn--lsh.example", "xn--57h.example", "xn--kgb.xn--", "xn--zzzzzzzzzzzz999999.example",
]  # fmt: skip


@pytest.mark.parametrize("host", REFUSED_HOSTS)
@pytest.mark.parametrize("port", ["", ":8443"])
def test_refused_hosts(host: str, port: str) -> None:
    for read in (parse_base_url, parse_url):
        with pytest.raises(TargetError):
            read(f"https://{host}{port}/v1")


@pytest.mark.parametrize("port", ["0", "65536", "99999", "", "x", "-1", "+1", "080", "8 0", "８０", "80:80", "1e3"])
def test_refused_ports(port: str) -> None:
    for host in ("a.example", "[::1]"):
        with pytest.raises(TargetError):
            parse_base_url(f"https://{host}:{port}")
        with pytest.raises(TargetError):
            parse_url(f"https://{host}:{port}/")


@pytest.mark.parametrize(
    "host",
    ["a.example", "a", "xn--strae-oqa.example", "xn--bcher-kva.example", "xn--fiqs8s", "l" * 63 + ".example",
     "r3---sn-x.example", "1a.example", "a.1b", "127.0.0.1", "0x7f.example"],
)  # fmt: skip
def test_accepted_hosts(host: str) -> None:
    assert parse_base_url(f"https://{host}:1").host == host
    assert parse_url(f"http://{host}:65535/")[0].port == 65535


@pytest.mark.parametrize(
    ("written", "host"),
    [("[0:0:0:0:0:0:0:1]", "::1"), ("[2A00::0001]", "2a00::1"), ("[::ffff:7f00:1]", "::ffff:7f00:1")],
)
def test_an_address_has_one_spelling(written: str, host: str) -> None:
    assert ip_address(parse_base_url(f"https://{written}/v1").host) == ip_address(host)
    assert parse_base_url(f"https://{written}/v1").host == str(ip_address(host))


def test_whatever_is_accepted_is_what_it_looks_like() -> None:
    """Any text: what is taken has a host that another reader finds too, and nothing of it is a user, a control or an
    address in disguise."""
    random, taken = Random(9), 0
    parts = ["a", "b.example", "127", ".", "0.0.1", ":", "8080", "@", "/", "//", "?", "#", "[", "]", "::1", "%", "2e",
             "\\", "\n", "\t", "\0", " ", "xn--", "①", "。", "é", "http:", "https:", "-", "_", "0x7f", ";"]  # fmt: skip
    for _ in range(20_000):
        url = random.choice(["https://", "http://", "https:/", "", "//"]) + "".join(
            random.choice(parts) for _ in range(random.randint(1, 7))
        )
        try:
            target = parse_base_url(url)
        except TargetError:
            continue
        taken += 1
        assert url.isascii() and url.isprintable() and not set(url) & set("\\%?# ")
        assert "@" not in url.split("/")[2]
        assert url.partition("://")[2].lower().startswith((target.host.lower(), "["))
        assert 0 < target.port < 65536
        assert parse_base_url(f"{target.origin}{target.path}") == target
    assert taken > 100


@pytest.mark.parametrize(
    ("url", "host", "sent"),
    [
        ("https://a.example", "a.example", "/"), ("https://a.example/a%20b?c=%2F&d#e", "a.example", "/a%20b?c=%2F&d"),
        ("https://a.example?x", "a.example", "/?x"), ("HTTP://A.example/a//b/", "a.example", "/a//b/"),
        ("https://[2a00::1]:8443/?", "2a00::1", "/?"),
    ],
)  # fmt: skip
def test_where_a_redirect_leads(url: str, host: str, sent: str) -> None:
    target, path = parse_url(url)
    assert (target.host, target.path, path) == (host, "", sent)


@pytest.mark.parametrize("part", ["/a", "a", "/", "a.", "-", "%20", "//", "xn--"])
@pytest.mark.parametrize("end", ['"', "%", " ", "\\", "é"])
def test_what_is_long_and_odd_is_refused_quickly(part: str, end: str) -> None:
    began = time.process_time()
    for before in ("https://", "https://a.example/", "https://a.example/?"):
        for read in (parse_base_url, parse_url):
            for url in (f"{before}{part * 500}{end}", f"{before}{part * (4000 // len(part))}{end}"):
                with suppress(TargetError):
                    read(url)
    assert time.process_time() - began < 0.2


@pytest.mark.parametrize(
    "url",
    [
        "/relative", "//a.example/", "ftp://a.example/", "https://a.example/../x", "https://a.example/%2e%2E/x",
        "https://a.example/a/.", "https://a.example/%zz", "https://a.example/%", "https://a.example/a b",
        "https://a.example/a\r\nx: y", "https://a.example/?a b", "https://a.example/\"", "https://a.example/é",
        "https://a.example/" + "a" * 5000, "https:a.example", "https:///a.example",
    ],
)  # fmt: skip
def test_refused_redirects(url: str) -> None:
    with pytest.raises(TargetError):
        parse_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example", "//a.example", "https://", "https://user@a.example", "https://a.example/?q", "https://a.example/#f",
        "https://a.example?", "https://a.example:99999", "https://a.example:x", "https://127.1", "https://0x7f000001",
        "https://2130706433", "https://0177.0.0.1", "https://a.example/%2e%2e", "https://a.example/../x",
        "https://a.example/a b", "https://a.exa\nmple", "https://①②⑦.0.0.1", "https://a_b.example", "https://a.example\\@b.example",
        "https://[::1", "file:///etc/passwd",
    ],
)  # fmt: skip
def test_refused_base_urls(url: str) -> None:
    with pytest.raises(TargetError):
        parse_base_url(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://api.openai.com/v1", ("https", "api.openai.com", 443, "/v1")),
        ("http://127.0.0.1:8080/v1/", ("http", "127.0.0.1", 8080, "/v1")),
        ("https://[2606:4700::1]:8443", ("https", "2606:4700::1", 8443, "")),
        ("https://API.Example/openai/deployments/gpt-4", ("https", "api.example", 443, "/openai/deployments/gpt-4")),
    ],
)
def test_accepted_base_urls(url: str, expected: tuple[str, str, int, str]) -> None:
    target = parse_base_url(url)
    assert (target.scheme, target.host, target.port, target.path) == expected
