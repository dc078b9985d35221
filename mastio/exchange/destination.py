"""The facts about an action's destination that policies can read, from the base URL alone. Pure."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple

from mastio.exchange.target import parse_base_url, parse_networks

LOCAL_NAMES = (".local", ".localhost", ".internal", ".lan", ".home.arpa", ".intranet")
LOCAL_NETWORKS = parse_networks(
    ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "::1", "fc00::/7", "fe80::/10")
)
"""Those whose packets stay (RFC 1918, 3927, 4193, 4291). What is merely not public is not here: NAT64 leads out."""


class Destination(NamedTuple):
    """The location of an upstream. `local`: its address or name is on this machine or in a private network."""

    host: str
    local: bool


@lru_cache(maxsize=1024)
def find_destination(base_url: str) -> Destination:
    host = parse_base_url(base_url).host.rstrip(".")
    return Destination(host, is_local(host))


def is_local(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(LOCAL_NAMES)
    return any(address in network for network in LOCAL_NETWORKS if network.version == address.version)
