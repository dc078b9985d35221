from ipaddress import ip_address

import pytest

from mastio.target import TargetError, is_public, parse_base_url, parse_networks, verify_addresses


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
        "172.31.255.255", "192.168.1.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
        "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::7f00:1",
        "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1",
        "2002:7f00:1::", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "3fff::1", "5f00::1",
    ],
)  # fmt: skip
def test_not_public(address: str) -> None:
    assert not is_public(ip_address(address))
    with pytest.raises(TargetError):
        verify_addresses([ip_address(address)], ())
    verify_addresses([ip_address(address)], parse_networks([address]))


@pytest.mark.parametrize("address", ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00::1"])
def test_public(address: str) -> None:
    verify_addresses([ip_address(address)], ())
    assert is_public(ip_address(address))


def test_a_mixed_answer_is_refused_whole() -> None:
    with pytest.raises(TargetError):
        verify_addresses([ip_address("8.8.8.8"), ip_address("127.0.0.1")], parse_networks(["10.0.0.0/8"]))


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
