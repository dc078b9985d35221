"""The first obstacle on the way to an upstream: each step can fail, and only that one is named."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from mastio.outbound.reachability import FailedStep
from mastio.outbound.resolver import ResolveError, Resolver
from mastio.outbound.tls import make_context
from mastio.outbound.upstream import Pools

CA = trustme.CA()
LEAF = CA.issue_cert("127.0.0.1", "good.example")
PEM = CA.cert_pem.bytes().decode()
DER = x509.load_pem_x509_certificate(LEAF.cert_chain_pems[0].bytes()).public_bytes(Encoding.DER)
PIN = hashlib.sha256(DER).hexdigest()
HERE = ("127.0.0.1",)


class Names(Resolver):
    """Knows one name, and is slow for another."""

    async def resolve(self, host: str) -> Any:
        if host == "slow.example":
            await asyncio.sleep(60)
        if host != "good.example":
            raise ResolveError("The name could not be resolved: not found.")
        return (ip_address("127.0.0.1"),)


@asynccontextmanager
async def server(tls: bool) -> AsyncIterator[int]:
    """Takes connections; with `tls`, speaks it as 127.0.0.1."""
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        LEAF.configure_cert(context)

    async def take(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"no TLS here\r\n")
        writer.close()

    async with await asyncio.start_server(take, "127.0.0.1", 0, ssl=context) as opened:
        yield opened.sockets[0].getsockname()[1]


async def examine(url: str, *, tls: bool = True, allowed: tuple[str, ...] = HERE, **more: Any) -> FailedStep | None:
    pools = Pools(resolver=Names())
    try:
        async with server(tls) as port:
            return await pools.examine(url.format(port=port), allowed, **more)
    finally:
        await pools.close()


def ours() -> ssl.SSLContext:
    return make_context(PEM, None, None)


CASES: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "http": ("http://127.0.0.1:{port}", {"tls": False}, None),
    "https, own authority": ("https://127.0.0.1:{port}/v1", {}, None),
    "https, pinned": ("https://127.0.0.1:{port}", {"pin": PIN}, None),
    "a name": ("http://good.example:{port}", {"tls": False}, None),
    "no such name": ("http://absent.example:{port}", {}, "resolve"),
    "an address that is not allowed": ("https://127.0.0.1:{port}", {"allowed": ()}, "address"),
    "a name with such an address": ("https://good.example:{port}", {"allowed": ("10.0.0.0/8",)}, "address"),
    "a metadata service": ("http://169.254.169.254", {"allowed": ("0.0.0.0/0",)}, "address"),
    "nobody listens": ("http://127.0.0.1:1", {}, "connect"),
    "an authority that is not trusted": ("https://127.0.0.1:{port}", {}, "tls"),
    "no TLS": ("https://127.0.0.1:{port}", {"tls": False}, "tls"),
    "another certificate than the pinned one": ("https://127.0.0.1:{port}", {"pin": "ab" * 32}, "tls"),
}


@pytest.mark.parametrize("name", CASES)
async def test_the_first_obstacle_is_named(name: str) -> None:
    url, more, step = CASES[name]
    if name == "https, own authority":
        pools = Pools()
        async with server(True) as port:
            assert await pools.examine(url.format(port=port), HERE, ours()) is None
        await pools.close()
        return
    obstacle = await examine(url, **more)
    assert (None if obstacle is None else obstacle.step) == step, obstacle


async def test_without_connecting_nobody_is_connected_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        pools = Pools()
        assert await pools.examine(url, HERE, connects=False) is None
        assert (await pools.examine(url, (), connects=False)).step == "address"  # type: ignore[union-attr]
        await pools.close()
        with pytest.raises(BlockingIOError):
            listener.accept()


async def test_a_name_that_takes_too_long_is_not_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mastio.outbound.reachability.RESOLVE_WITHIN", 0.05)
    obstacle = await examine("https://slow.example:{port}")
    assert obstacle is not None and obstacle.step == "resolve" and "in time" in obstacle.reason
