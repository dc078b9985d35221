"""A path means one thing, to us as to any upstream, and stays below the connection's base URL."""

from __future__ import annotations

from random import Random
from time import perf_counter
from urllib.parse import urljoin, urlsplit

import pytest

from mastio.exchange.errors import BadRequest
from mastio_egress.connections.connection import ConnectionRow
from mastio_egress.connections.paths import find_upstream_path, is_allowed

ROW = ConnectionRow("api", "https://api.example/base")


@pytest.mark.parametrize(
    ("rest", "path"),
    [
        ("v1/users/1", "/v1/users/1"),
        ("v1/users/", "/v1/users/"),
        ("", "/"),
        ("a;v=1/b;w=2,3", "/a;v=1/b;w=2,3"),
        ("a:b@c!$&'()*+,=~_.-", "/a:b@c!$&'()*+,=~_.-"),
        ("%7euser/%41%2d%5F", "/~user/A-_"),
        ("a%3fb%23c%20d", "/a%3Fb%23c%20d"),
        ("caf%c3%a9", "/caf%C3%A9"),
        ("...", "/..."),
        (".well-known/x", "/.well-known/x"),
        ("a..b/..c/d..", "/a..b/..c/d.."),
        ("100%25", "/100%25"),
        ("%253f", "/%253f"),
    ],
)
def test_paths_that_are_plain(rest: str, path: str) -> None:
    assert find_upstream_path(ROW, rest, b"") == path


CLIMBING = [
    "..", ".", "a/..", "a/../b", "../b", "./a", "a/.", "%2e%2e", "%2E.", ".%2e/b", "a/%2e", "%2e%2e%2f", "a%2fb",
    "a%2Fb", "a%5cb", "a\\b", "..\\b", "%00", "a%00b", "a%0d%0ab", "a%7fb", "//b", "a//b", "/b", "a/;/../b", "..;/b",
    "..;x=1/b",
    ".;/b", "%2e%2e;/b", "%252e%252e/b", "%252e%252e%252fb", "a%252fb", "a%25252fb", "a%255cb", "%252e", "a%2500",
    "..%3b/b", "..%253b/b", "%c0%ae%c0%ae/b", "a%c0%afb", "%ff", "a%e0%80%afb", "%25252525252541",
]  # fmt: skip


@pytest.mark.parametrize("rest", CLIMBING)
def test_paths_that_might_climb(rest: str) -> None:
    with pytest.raises(BadRequest) as caught:
        find_upstream_path(ROW, rest, b"")
    assert caught.value.code == "invalid_path"
    assert not is_allowed(ROW, "GET", f"/{rest}")


@pytest.mark.parametrize(
    "rest",
    [
        "a b", "a\tb", "a\r\nb", "caf\u00e9", "a?b", "a#b", "%", "%4", "%zz", "a|b", 'a"b', "a<b>", "a{b}", "a^b",
        "a`b", "a\u2044b", "a\uff0fb", "[a]",
    ],
)  # fmt: skip
def test_characters_that_are_of_no_path(rest: str) -> None:
    with pytest.raises(BadRequest):
        find_upstream_path(ROW, rest, b"")


@pytest.mark.parametrize(
    "query", [b"a=1&b=%2e%2e%2F&c", b"", b'q={"a":[1|2]}', b"a=1?b=2/../..", b"%zz&&=", b"x=//y@z"]
)
def test_queries_keep_their_bytes(query: bytes) -> None:
    assert find_upstream_path(ROW, "a", query) == ("/a?" + query.decode() if query else "/a")


@pytest.mark.parametrize("query", [b"a b", b"a\r\nb", b"a\0", b"caf\xc3\xa9", b"a#b", b"\x7f", b"a\tb"])
def test_queries_that_are_not_plain(query: bytes) -> None:
    with pytest.raises(BadRequest):
        find_upstream_path(ROW, "a", query)


@pytest.mark.parametrize("path", ["a" * 8000, "a/" * 4000, "%41" * 2600, "%25" * 2600, "a;" * 4000, "%2e" * 2600])
def test_long_paths_take_no_time(path: str) -> None:
    started = perf_counter()
    for end in ("", "|", "%", "/..", "/."):
        is_allowed(ConnectionRow("api", "https://api.example", paths=("/*a*a*a*a*b",)), "GET", f"/{path}{end}")
    assert perf_counter() - started < 1


@pytest.mark.parametrize("seed", range(20))
def test_no_path_leaves_the_base(seed: int) -> None:
    """Whatever is put together of odd pieces: refused, or below the base URL to a reader of the standard library."""
    random = Random(seed)
    pieces = ["..", ".", "/", "a", "%2e", "%2f", ";", "%5c", "\\", "%25", "2e", "%00", "@", ":", "//", "?", "%c0%ae"]
    found = 0
    for _ in range(3000):
        rest = "".join(random.choices(pieces, k=random.randint(1, 6)))
        try:
            path = find_upstream_path(ROW, rest, b"")
        except BadRequest:
            continue
        found += 1
        parts = urlsplit(urljoin(ROW.base_url, "/base" + path))
        assert parts.netloc == "api.example" and (parts.path + "/").startswith("/base/")
    assert found > 50


# --- what a connection has -------------------------------------------------------------------------------------------


def row(*paths: str, methods: tuple[str, ...] = ()) -> ConnectionRow:
    return ConnectionRow("api", "https://api.example", methods=methods, paths=paths or ("*",))


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*", "/"), ("*", "/a/b?c=d"), ("/v1/*", "/v1/users"), ("/v1/*", "/v1/users/1/keys"), ("/v1/*", "/v1/"),
        ("/v1/users", "/v1/%75sers"), ("/v1/%75sers", "/v1/users"), ("/a%2cb", "/a%2Cb"), ("/*/keys", "/a/b/keys"),
        ("/a?c", "/abc"), ("/a[bc]d", "/acd"), ("/x", "/x?y=z"), ("/a;v=*", "/a;v=1"),
    ],
)  # fmt: skip
def test_paths_that_are_allowed(glob: str, path: str) -> None:
    assert is_allowed(row("/other", glob), "GET", path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("/v1/*", "/v1"), ("/v1/*", "/v2/v1/x"), ("/v1/*", "/V1/x"), ("/v1/users", "/v1/users/"), ("/x", "/x;admin=1"),
        ("/v1/*", "/v1/../admin"), ("/v1/*", "/v1/%2e%2e/admin"), ("/v1/*", "/v1/..;/admin"), ("/v1/*", "v1/users"),
        ("v1/*", "/v1/users"), ("/a", "/a\n"), ("/a", "/b?/a"), ("/x", ""), ("*", ""), ("*", "https://other/"),
        ("*", "//other/x"),
    ],
)  # fmt: skip
def test_paths_that_are_not_allowed(glob: str, path: str) -> None:
    assert not is_allowed(row(glob), "GET", path)


def test_no_glob_allows_nothing() -> None:
    assert not is_allowed(ConnectionRow("api", "https://api.example", paths=()), "GET", "/")


def test_methods() -> None:
    assert is_allowed(row(methods=("GET", "PURGE")), "PURGE", "/") and is_allowed(row(), "M-SEARCH", "/")
    for method in ("POST", "get", "Get", "GET ", "", "HEAD"):
        assert not is_allowed(row(methods=("GET",)), method, "/")


@pytest.mark.parametrize("method", ["TRACE", "TRACK", "CONNECT", "trace", "get", "", "GET\r\n", "G" * 40])
def test_methods_that_no_connection_has(method: str) -> None:
    assert not is_allowed(row(), method, "/")
    assert not is_allowed(row(methods=(method,)), method, "/")
