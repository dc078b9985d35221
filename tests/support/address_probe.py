"""Run in a network namespace of its own, where this machine has every address that nobody may connect to by default.

    cd tests && unshare -rn python -m support.address_probe

Prints as JSON, for each address and each way to name it, what came of a request and how many connections arrived there:
when nothing is allowed, when it is one of our own ports, when it is within a range that is allowed, and itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from ipaddress import ip_address
from typing import Any

import uvloop

from mastio.exchange.errors import DispatchError
from mastio.outbound.connector import OwnEndpoints
from mastio.outbound.resolver import Resolver
from mastio.outbound.upstream import Pool, Pools
from support.dns_server import Names
from support.raw_upstream import Upstream

ADDRESSES = (
    "10.1.2.3", "100.64.1.2", "100.100.100.200", "127.9.9.9", "168.63.129.16", "169.254.169.254", "169.254.170.2",
    "172.31.1.2", "192.0.0.192", "192.0.2.7", "192.88.99.1", "192.168.1.2", "198.18.0.1", "198.51.100.1", "203.0.113.1",
    "93.184.216.34", "::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "100::1", "2001:db8::1",
    "2001:0:102:304:0:0:fafb:fcfd", "2002:7f00:1::1", "2606:2800:220:1::1", "2a00:1::5efe:a9fe:a9fe", "3fff::1",
    "fc00::1", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fec0::1",
)  # fmt: skip
TIMEOUTS = {"connect": 2.0, "read": 2.0, "total": 4.0}


async def ask(pool: Pool) -> str:
    try:
        async with pool.send("GET", "/", [], b"") as reply:
            return (await reply.read(10)).decode()
    except DispatchError as error:
        return error.code


async def look(names: Names, address: str) -> list[dict[str, Any]]:
    """Of the address as it is written, and of a name that leads to it."""
    name = f"a{int(ip_address(address)):x}.example"
    names.say(name, address)
    found = []
    for host in (None, name):

        async def attempt(allowed: tuple[str, ...], *, own: bool = False, host: str | None = host) -> list[Any]:
            with Upstream(address) as there:
                pools = Pools(OwnEndpoints(frozenset({there.port} if own else ())), Resolver([names.server]))
                said = await ask(pools.open(there.url(host), allowed, TIMEOUTS))
                await pools.close()
                return [said, there.connects]

        found.append(
            {
                "refused": {"unnamed": await attempt(()), "own": await attempt((address,), own=True)},
                "in a range": await attempt(("0.0.0.0/0", "::/0")),
                "itself": await attempt((address,)),
            }
        )
    return found


async def main() -> None:
    with Names() as names:
        print(json.dumps({address: await look(names, address) for address in ADDRESSES}))


def take_addresses() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in ADDRESSES:
        if not ip_address(address).is_loopback:
            size = ip_address(address).max_prefixlen
            subprocess.run(["ip", "address", "add", f"{address}/{size}", "dev", "lo"], check=True)


if __name__ == "__main__":
    take_addresses()
    uvloop.run(main())
    sys.exit(0)
