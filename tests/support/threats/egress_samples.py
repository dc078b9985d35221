"""Hosts in odd spellings, inner addresses, what names that lead inward resolve to, and broken replies of upstreams."""

from __future__ import annotations

import gzip

ODD_HOSTS = (
    "127.1", "127.0.1", "0x7f000001", "0x7f.0.0.1", "2130706433", "0177.0.0.1", "017700000001", "127.0.0.1.",
    "127.0.0.1%00", "%3127.0.0.1", "①②⑦.⓪.⓪.①", "１２７.0.0.1", "[::1%25lo]", "[::1%lo]", "user@127.0.0.1",
    "user:pass@127.0.0.1", "127.0.0.1\\@example.com", "127.0.0.1#@example.com", "127.0.0.1?@example.com", "",
    "exa mple.com", "example.com\r\nHost: inner", "localhost\x00.example.com", "xn--0.example", "-a.example", ".",
)  # fmt: skip

LITERALS = (
    "127.0.0.1", "127.0.0.2", "[::1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[0:0:0:0:0:ffff:7f00:2]", "0.0.0.0", "[::]", "169.254.169.254",
    "[fd00:ec2::254]", "100.100.100.200", "10.0.0.1", "192.168.0.1", "224.0.0.1", "255.255.255.255", "[ff02::1]",
    "168.63.129.16", "[fe80::1]", "198.18.0.1", "203.0.113.9", "[2001:db8::1]",
)  # fmt: skip

ANSWERS: dict[str, tuple[str, ...]] = {
    "loopback": ("127.0.0.1",), "other": ("127.0.0.2",), "six": ("::1",), "mapped": ("::ffff:127.0.0.1",),
    "nat64": ("64:ff9b::7f00:1",), "metadata": ("169.254.169.254",), "private": ("10.1.2.3",), "any": ("0.0.0.0",),
    "mixed": ("203.0.113.7", "127.0.0.1"), "mixed6": ("2001:4860:4860::8888", "::1"),
    "mixed46": ("8.8.8.8", "::1"),
}  # fmt: skip

BOMB = gzip.compress(b"\0" * (64 * 1024 * 1024))
BROKEN: dict[str, tuple[bytes, tuple[int, ...]]] = {
    "silent": (b"", (502,)),
    "half a head": (b"HTTP/1.1 200 OK\r\ncontent-", (502,)),
    "no http": (b"hello\r\n\r\n", (502,)),
    "shorter than it says": (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort", (502,)),
    "two lengths": (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", (502,)),
    "length and chunks": (
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", (200, 502),
    ),
    "bad chunk": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n", (502,)),
    "negative length": (b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", (502,)),
    "a huge head": (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 100_000 + b"\r\n\r\n", (502,)),
    "many headers": (b"HTTP/1.1 200 OK\r\n" + b"x-y: z\r\n" * 20_000 + b"\r\n", (502,)),
    "a folded header": (b"HTTP/1.1 200 OK\r\nx-a: b\r\n c\r\ncontent-length: 0\r\n\r\n", (200, 502)),
    "a bomb": (
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(BOMB) + BOMB, (502,),
    ),
    "no gzip": (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc", (502,)),
    "an unknown coding": (b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 3\r\n\r\nabc", (502,)),
    "orders to the edge": (
        b"HTTP/1.1 200 OK\r\nx-accel-redirect: /v1/admin/agents\r\nx-accel-buffering: yes\r\ncontent-length: 2\r\n\r\n"
        b"ok",
        (200,),
    ),
    "cookies": (
        b"HTTP/1.1 200 OK\r\nset-cookie: a=b\r\nwww-authenticate: Basic\r\ncontent-length: 2\r\n\r\nok", (200,),
    ),
}  # fmt: skip
