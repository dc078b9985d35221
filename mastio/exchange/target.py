"""The rules for upstream destinations: one judge of URLs, one of addresses. Pure; resolving and connecting is
`mastio.outbound.resolver`'s and `mastio.outbound.upstream`'s.

Addresses are judged by an explicit table rather than by `ipaddress.is_global`, which calls `64:ff9b::a9fe:a9fe`
(a translated metadata address) public. Whatever is not plainly public needs to be allowed by the admin who described
the upstream; what no admin can mean by a range (metadata services, multicast) is not opened by one. Sources: IANA IPv4
and IPv6 Special-Purpose Address Registries (RFC 6890), IANA IPv6 Address Space (RFC 4291 §2.4), RFC 6052, RFC 8215,
RFC 7526, RFC 4380, RFC 5214; for the metadata services, their owners' documentation.

URLs are parsed here, and the connecting code builds them again from the parts: no two parsers need to agree on one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ip_network(text) for text in texts)


NEVER = _networks(
    "0.0.0.0/8",  # this network; the kernel takes 0.0.0.0 as itself
    "224.0.0.0/4",  # multicast
    "255.255.255.255/32",  # broadcast
    "::/128",  # unspecified
    "ff00::/8",  # multicast
)
"""Not opened by anything."""

ONLY_ITSELF = _networks(
    "169.254.0.0/16",  # link-local: the metadata services of most clouds
    "100.100.100.200/32",  # metadata, Alibaba Cloud
    "168.63.129.16/32",  # wire server, Azure: a public address
    "192.0.0.192/32",  # metadata, Oracle Cloud
    "fd00:c1::a9fe:a9fe/128",  # metadata, Oracle Cloud
    "fd00:42::42/128",  # metadata, Scaleway
    "fd00:ec2::/32",  # metadata, name service and pod identities, AWS
    "fd20:ce::254/128",  # metadata, Google Cloud
    "fe80::/10",  # link-local
)
"""Opened by the very address, not by a range that it lies in."""

NOT_PUBLIC = (
    *NEVER,
    *ONLY_ITSELF,
    *_networks(
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared (carrier-grade NAT)
        "127.0.0.0/8",  # loopback
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
        "240.0.0.0/4",  # reserved
        "::/3",  # not global unicast: loopback, mapped, compatible, translated, discard …
        "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID …
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # 6bone, given back
        "3fff::/20",  # documentation
        "4000::/2",  # not global unicast: segment routing …
        "8000::/1",  # not global unicast: unique local, site-local …
    ),
)

_LOW_IPV4 = _networks(
    "::/96",  # IPv4-compatible
    "::ffff:0:0/96",  # IPv4-mapped
    "::ffff:0:0:0/96",  # IPv4-translated
    "64:ff9b::/96",  # NAT64
)
_LOCAL_NAT64, _TEREDO, _6TO4 = _networks("64:ff9b:1::/48", "2001::/32", "2002::/16")

_URL = re.compile(
    r"(?P<scheme>https?)://"
    r"(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(?::(?P<port>[1-9][0-9]{0,4}))?"
    r"(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?(?P<fragment>#.*)?",
    re.IGNORECASE,
)
_RESOLVER = re.compile(
    r"((?P<v4>[0-9.]+)|\[(?P<v6>[0-9a-fA-F:.]+)\])(:(?P<port>[1-9][0-9]{0,4}))?|(?P<bare>[0-9a-fA-F:.]+)"
)
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_BASE_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)*")
_PATH = re.compile(r"/([!$&-;=@-\[\]-_a-z{-~]|%[0-9A-Fa-f]{2})*")
_QUERY = re.compile(r"[!$-;=?-\[\]-_a-z{-~]*")
"""The characters of a query: those of real URLs, brackets and braces included, but none that ends a line, a header or a
quotation.
"""

_DOTS = re.compile(r"(\.|%2e){1,2}", re.IGNORECASE)
MAX_URL = 4096
MAX_NAME = 253
"""Bytes of a host's name (RFC 1035 §2.3.4)."""


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
        return parse_address(self.host)

    @property
    def origin(self) -> str:
        """Scheme, host and port as a URL has them, the port always."""
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


# --- URLs ---------------------------------------------------------------------------------------------------------


def parse_base_url(url: str) -> Target:
    """An http(s) base URL without user, query, fragment or anything encoded. Raises `TargetError`."""
    found, host, port = _take_apart(url)
    if found["query"] is not None or found["fragment"] is not None:
        raise TargetError("The URL must not have a query or a fragment.")
    path = (found["path"] or "").rstrip("/")
    if not _BASE_PATH.fullmatch(path) or _has_dots(path):
        raise TargetError("The URL's path is not a plain one.")
    return Target(found["scheme"].lower(), host, port, path)


def parse_url(url: str) -> tuple[Target, str]:
    """An absolute http(s) URL, as a redirect names one: where it leads, and path and query as they are to be sent
    there; the fragment is dropped. The target's own path is empty. Raises `TargetError`."""
    found, host, port = _take_apart(url)
    path, query = found["path"] or "/", found["query"]
    if not _PATH.fullmatch(path) or _has_dots(path) or not _QUERY.fullmatch(query or ""):
        raise TargetError("The URL's path or query is not a plain one.")
    return Target(found["scheme"].lower(), host, port, ""), path if query is None else f"{path}?{query}"


def parse_address(host: str) -> Address | None:
    """The address that is written out as `host`; None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def verify_resolver(text: str) -> None:
    """The address of a name server, `HOST`, `HOST:PORT` or `[HOST]:PORT`. Raises `TargetError`."""
    found = _RESOLVER.fullmatch(text)
    address = None if found is None else parse_address(found["v4"] or found["v6"] or found["bare"])
    if found is None or address is None or _is_scoped(address) or int(found["port"] or 53) > 65535:
        raise TargetError("A name server is an IP address, with :PORT where it is not 53.")


def _take_apart(url: str) -> tuple[re.Match[str], str, int]:
    """The parts, the host and the port. Raises `TargetError`."""
    if len(url) > MAX_URL:
        raise TargetError("The URL is too long.")
    if not url.isascii() or any(c <= " " or c == "\x7f" for c in url) or "\\" in url:
        raise TargetError("The URL has characters that do not belong in one.")
    if not url.lower().startswith(("http://", "https://")):
        raise TargetError("The URL must begin with https:// or http://.")
    authority = re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0]
    if "@" in authority:
        raise TargetError("The URL must not have a user.")
    found = _URL.fullmatch(url)
    if found is None:
        raise TargetError("The URL is not valid: its host is not a plain name or address, or its port not a number.")
    port = int(found["port"] or (443 if found["scheme"].lower() == "https" else 80))
    if port > 65535:
        raise TargetError("The URL's port is not one.")
    return found, _read_host(found["host"].lower()), port


def _read_host(host: str) -> str:
    """A name as it is resolved, or an address in its one canonical spelling. Raises `TargetError`."""
    if host.startswith("["):
        address = parse_address(host[1:-1])
        if not isinstance(address, IPv6Address):
            raise TargetError("The URL's host is not an IPv6 address.")
        return str(address)
    if looks_numeric(host):
        raise TargetError("The URL's host is an address in an unusual spelling.")
    if parse_address(host) is None:
        verify_name(host)
    return host


def verify_name(host: str) -> None:
    """A lower-case host name without a trailing dot: letters, digits and hyphens (RFC 1123 §2.1), internationalised
    labels (RFC 5890 §2.3.2.1) only as they would be written again. Raises `TargetError`."""
    labels = host.split(".")
    if len(host) > MAX_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        raise TargetError("The URL's host is not a plain name or address.")
    if not all(_is_plain_idn(label) for label in labels if label.startswith("xn--")):
        raise TargetError("The URL's host has an internationalised label that stands for something else.")


def _is_plain_idn(label: str) -> bool:
    """True if the label decodes to non-ASCII letters that no normalisation turns into other letters, digits or dots."""
    try:
        text = label[4:].encode("ascii").decode("punycode")
        again = text.encode("punycode").decode("ascii")
    except (UnicodeError, ValueError, OverflowError):
        return False
    return (
        again == label[4:]
        and not text.isascii()
        and unicodedata.normalize("NFKC", text) == text == text.lower()
        and all(unicodedata.category(c)[0] in "LMN" or c in "-·・" for c in text)
    )


def _has_dots(path: str) -> bool:
    return any(_DOTS.fullmatch(segment) for segment in path.split("/"))


def looks_numeric(host: str) -> bool:
    """True for what a resolver would take as an IPv4 address though it is not in dotted-decimal form."""
    if parse_address(host) is not None:
        return False
    last = host.rstrip(".").rpartition(".")[2]
    return last.isdigit() or bool(re.fullmatch(r"0x[0-9a-f]*", last))


# --- addresses ----------------------------------------------------------------------------------------------------


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """CIDRs or single addresses. Raises `TargetError`."""
    try:
        networks = tuple(ip_network(text) for text in texts)
    except ValueError as error:
        raise TargetError("An allowed address is not a CIDR.") from error
    if any(_is_scoped(network.network_address) for network in networks):
        raise TargetError("An allowed address must not name an interface.")
    return networks


def is_public(address: Address) -> bool:
    """True if a connection to the address needs no admin permission. False also for an address that embeds an
    IPv4 address that is not public.
    """
    return not _within(address, NOT_PUBLIC) and all(is_public(inner) for inner in carried(address))


def carried(address: Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 address leads to, where a mechanism of transition says so."""
    if isinstance(address, IPv4Address):
        return ()
    bits = int(address)
    low = IPv4Address(bits & 0xFFFFFFFF)
    if _within(address, _LOW_IPV4):
        return () if bits == 1 else (low,)  # ::1 is loopback
    if address in _LOCAL_NAT64:
        # The longest prefix has it at the end; of the shorter ones it cannot be told where it is (RFC 6052 §2.2).
        return (low,) if bits & 0xFFFFFF else (IPv4Address(0),)
    if address in _6TO4:
        return (IPv4Address(bits >> 80 & 0xFFFFFFFF),)
    if address in _TEREDO:
        return IPv4Address(bits >> 64 & 0xFFFFFFFF), IPv4Address(~bits & 0xFFFFFFFF)
    if bits >> 32 & 0xFCFFFFFF == 0x00005EFE:  # ISATAP (RFC 5214 §6.1)
        return (low,)
    return ()


def verify_addresses(addresses: Iterable[Address], allowed: tuple[Network, ...]) -> None:
    """Every one must be public or allowed: a mixed answer is refused whole. Raises `TargetError`."""
    for address in addresses:
        _verify(address, allowed)


def _verify(address: Address, allowed: tuple[Network, ...]) -> None:
    inner = carried(address)
    if _is_scoped(address) or any(_within(one, NEVER) for one in (address, *inner)):
        raise TargetError(f"The address {address} is none that can be connected to.")
    if is_public(address) or _is_listed(address, allowed):
        return
    for one in (address, *inner):
        if _within(one, ONLY_ITSELF) and not _is_listed(one, allowed):
            raise TargetError(f"The address {address} is one of metadata or of the link, and not allowed by itself.")
        if not is_public(one) and not _within(one, allowed):
            raise TargetError(f"The address {address} is neither public nor allowed.")


def verify_not_own(address: Address, port: int, allowed: tuple[Network, ...], own_ports: frozenset[int]) -> None:
    """For an address of this very machine: not where the appliance itself listens, and a public one only when it is
    allowed. Raises `TargetError`."""
    if port in own_ports:
        raise TargetError(f"The address {address} and port {port} are the appliance's own.")
    if not _within(address, allowed):
        raise TargetError(f"The address {address} is this machine's own, and not allowed.")


def _is_scoped(address: Address) -> bool:
    return isinstance(address, IPv6Address) and address.scope_id is not None


def _within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks if network.version == address.version)


def _is_listed(address: Address, networks: Iterable[Network]) -> bool:
    """True if the list contains the address itself, not only a network around it."""
    return any(
        network.prefixlen == network.max_prefixlen and network.network_address == address for network in networks
    )
