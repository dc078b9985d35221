"""Where the appliance may connect: one judge of base URLs, one of addresses. Pure; resolving and connecting is
`mastio.upstream`'s.

Addresses are judged by an explicit table rather than by `ipaddress.is_global`, which calls `64:ff9b::a9fe:a9fe`
(a translated metadata address) public. Whatever is not plainly public needs to be allowed by the admin who described
the upstream. Sources: IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), RFC 6052, RFC 7526, RFC 4380.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

NOT_PUBLIC: tuple[Network, ...] = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared (carrier-grade NAT)
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, cloud metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relay
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
        "::/96",  # unspecified, loopback, IPv4-compatible
        "::ffff:0:0/96",  # IPv4-mapped
        "64:ff9b::/96",  # translated
        "64:ff9b:1::/48",  # translated, local use
        "100::/64",  # discard
        "2001::/23",  # protocol assignments, Teredo, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fc00::/7",  # unique local, cloud metadata
        "fe80::/10",  # link-local
        "fec0::/10",  # site-local
        "ff00::/8",  # multicast
    )
)

_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)*")


class TargetError(ValueError):
    """The appliance may not connect there. The text says why, for the admin or the log."""


@dataclass(frozen=True, slots=True)
class Target:
    """A base URL, taken apart. `host` is a lower-case name or bare address; `path` has no trailing slash."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def address(self) -> Address | None:
        """The address, where the host is written as one."""
        try:
            return ip_address(self.host)
        except ValueError:
            return None


def parse_base_url(url: str) -> Target:
    """An http(s) base URL without user, query, fragment or anything encoded. Raises `TargetError`."""
    if not url.isascii() or any(c <= " " or c == "\x7f" for c in url) or "\\" in url:
        raise TargetError("The URL has characters that do not belong in one.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise TargetError("The URL is not valid.") from error
    if parts.scheme not in ("http", "https"):
        raise TargetError("The URL must begin with https:// or http://.")
    if "@" in parts.netloc or parts.query or parts.fragment or "?" in url or "#" in url:
        raise TargetError("The URL must not have a user, a query or a fragment.")
    host = parts.hostname or ""
    if "[" not in parts.netloc and not _HOST.fullmatch(host):
        raise TargetError("The URL's host is not a plain name or address.")
    if looks_numeric(host):
        raise TargetError("The URL's host is an address in an unusual spelling.")
    path = parts.path.rstrip("/")
    if not _PATH.fullmatch(path) or any(segment in (".", "..") for segment in path.split("/")):
        raise TargetError("The URL's path is not a plain one.")
    return Target(parts.scheme, host, port or (443 if parts.scheme == "https" else 80), path)


def looks_numeric(host: str) -> bool:
    """True for what a resolver would take as an IPv4 address though it is not in dotted-decimal form."""
    try:
        ip_address(host)
    except ValueError:
        last = host.rstrip(".").rpartition(".")[2]
        return last.isdigit() or bool(re.fullmatch(r"0x[0-9a-f]*", last))
    return False


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """CIDRs or single addresses. Raises `TargetError`."""
    try:
        return tuple(ip_network(text) for text in texts)
    except ValueError as error:
        raise TargetError("An allowed address is not a CIDR.") from error


def is_public(address: Address) -> bool:
    return not any(address in network for network in NOT_PUBLIC if network.version == address.version)


def verify_addresses(addresses: Iterable[Address], allowed: tuple[Network, ...]) -> None:
    """Every one must be public or allowed: a mixed answer is refused whole. Raises `TargetError`."""
    for address in addresses:
        if not is_public(address) and not any(address in n for n in allowed if n.version == address.version):
            raise TargetError(f"The address {address} is neither public nor allowed.")
