"""A redirect leads nowhere that the agent could not have gone itself, and takes no credential elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mastio_egress.connections.connection import ConnectionRow
from mastio_egress.connections.credentials import Outgoing
from mastio_egress.redirects import REDIRECTS, Hop, follow, make_absolute, rewrite_location

ROW = ConnectionRow(
    "api", "https://api.example/base", paths=("/v1/*", "/"), redirects=True, redirect_hosts=("files.example",)
)
OWN, OTHER = "https://api.example:443", "https://files.example:443"
HEADERS = [("accept", "*/*"), ("cookie", "a=1"), ("content-type", "text/plain"), ("referer", "x"), ("x-mine", "2")]


def hop(method: str = "GET", body: bytes | None = b"", path: str = "/v1/a/b?c=d", origin: str = OWN) -> Hop:
    return Hop(origin, Outgoing(method, path, HEADERS, body))


def led(location: str | bytes, status: int = 302, row: ConnectionRow = ROW, asked: Hop | None = None) -> Hop | None:
    sent = location if isinstance(location, bytes) else location.encode()
    return follow(row, asked or hop(), status, [sent])


# --- followed --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("https://api.example/base/v1/x", "/v1/x"),
        ("HTTPS://API.EXAMPLE:443/base/v1/x?y=%2F..", "/v1/x?y=%2F.."),
        ("//api.example/base/v1/x", "/v1/x"),
        ("/base/v1/x", "/v1/x"),
        ("x?y#z", "/v1/a/x?y"),
        ("../x", "/v1/x"),
        ("?e=f", "/v1/a/b?e=f"),
        ("", "/v1/a/b?c=d"),
        ("/base/v1/%7ex", "/v1/~x"),
        ("https://api.example/base/", "/"),
    ],
)
@pytest.mark.parametrize("status", sorted(REDIRECTS))
def test_within_the_connection(status: int, location: str, path: str) -> None:
    assert led(location, status) == Hop(OWN, Outgoing("GET", path, HEADERS, b""))


@pytest.mark.parametrize(
    "location",
    [
        "http://api.example/base/v1/x", "https://api.example:8443/base/v1/x", "https://api.example/v1/x", "/v1/x",
        "https://api.example/base/admin", "/base", "/base/v1/../admin", "/base/v1/%2e%2e/admin", "../../../admin",
        "/base/v1/..;/admin", "/base/v1/a%2fb", "/base/v1//x", "/based/v1/x", "https://evil.example/base/v1/x",
        "https://user@api.example/base/v1/x", "https://api.example@evil.example/base/v1/x", "//evil.example/base/v1/x",
        "https://api.example.evil.example/base/v1/x", "https://api.example\\@evil.example/base/v1/x", "/\\evil.example",
        "https://127.0.0.1/base/v1/x", "https://2130706433/base/v1/x", "javascript:alert(1)", "file:///etc/passwd",
        "ftp://api.example/base/v1/x", "/base/v1/x\r\nx-injected: 1", "/base/v1/x y", "/base/v1/\t", "/base/v1/\u00e9",
        "https://api.example.:443/base/v1/x", "https://api.example:99999/base/v1/x", "https://[::1/base/v1/x",
        "https:///base/v1/x", "https:/base/v1/x", "https:v1/x", "https://\u0430pi.example/base/v1/x",
    ],
)  # fmt: skip
def test_nowhere_else(location: str) -> None:
    for status in REDIRECTS:
        assert led(location, status) is None


def test_what_a_redirect_asks_for() -> None:
    """RFC 9110 §15.4."""
    no_body = [("accept", "*/*"), ("cookie", "a=1"), ("referer", "x"), ("x-mine", "2")]
    for status, method, expected in (
        (301, "POST", ("GET", b"", no_body)),
        (302, "POST", ("GET", b"", no_body)),
        (303, "POST", ("GET", b"", no_body)),
        (303, "PUT", ("GET", b"", no_body)),
        (303, "HEAD", ("HEAD", b"", HEADERS)),
        (301, "PUT", ("PUT", b"body", HEADERS)),
        (302, "DELETE", ("DELETE", b"body", HEADERS)),
        (307, "POST", ("POST", b"body", HEADERS)),
        (308, "PUT", ("PUT", b"body", HEADERS)),
    ):
        found = led("x", status, asked=hop(method, b"" if method == "HEAD" else b"body"))
        assert found is not None
        assert (found.asked.method, found.asked.body, found.asked.headers) == expected


@pytest.mark.parametrize(
    ("status", "method"), [(307, "POST"), (308, "POST"), (307, "GET"), (301, "PUT"), (302, "PATCH")]
)
def test_a_body_that_is_gone_is_not_sent_again(status: int, method: str) -> None:
    assert led("x", status, asked=hop(method, None)) is None
    assert led("x", status, asked=hop(method, b"body")) is not None


def test_a_body_that_is_gone_is_not_missed_where_none_is_sent() -> None:
    for status in (301, 302, 303):
        found = led("x", status, asked=hop("POST", None))
        assert found is not None and (found.asked.method, found.asked.body) == ("GET", b"")


def test_methods_and_paths_are_judged_again() -> None:
    row = replace(ROW, methods=("POST",))
    assert led("x", 303, row, hop("POST", b"body")) is None, "it would become a GET"
    assert led("x", 307, row, hop("POST", b"body")) is not None


@pytest.mark.parametrize("status", [200, 201, 300, 304, 305, 306, 309, 400, 401, 500])
def test_other_statuses_are_no_redirects(status: int) -> None:
    assert led("x", status) is None


def test_only_where_the_connection_says_so_and_only_one_location() -> None:
    assert led("x", row=replace(ROW, redirects=False)) is None
    assert follow(ROW, hop(), 302, []) is None and follow(ROW, hop(), 302, [b"x", b"x"]) is None


# --- to others -------------------------------------------------------------------------------------------------------


def test_to_a_named_host_without_cookies_and_bodies() -> None:
    found = led("https://Files.Example/any/where?signed=1#x")
    headers = [("accept", "*/*"), ("content-type", "text/plain")]
    assert found == Hop(OTHER, Outgoing("GET", "/any/where?signed=1", headers, b""))
    assert led("https://files.example", 303, asked=hop("POST", b"body")) is not None


@pytest.mark.parametrize(
    "location",
    ["http://files.example/x", "https://files.example:8443/x", "https://a.files.example/x", "https://x@files.example/x",
     "https://files.example./x", "https://files.example/a/../b", "https://files.example/a b"],
)  # fmt: skip
def test_only_to_the_named_host(location: str) -> None:
    assert led(location) is None


@pytest.mark.parametrize(
    ("status", "method", "body"), [(307, "POST", b"x"), (308, "PUT", b""), (302, "DELETE", b""), (307, "GET", b"x")]
)
def test_no_body_and_no_change_at_others(status: int, method: str, body: bytes) -> None:
    assert led("https://files.example/x", status, asked=hop(method, body)) is None


def test_others_lead_nowhere() -> None:
    """Not back either: that request would have the credential."""
    for location in ("https://api.example/base/v1/x", "/x", "https://files.example/y"):
        assert led(location, asked=hop(origin=OTHER)) is None


# --- shown -----------------------------------------------------------------------------------------------------------


def shown(location: str, row: ConnectionRow = ROW, asked: str = "/v1/a/b?c=d") -> str | None:
    rewritten = rewrite_location(row, location.encode("utf-8"), asked, "/v1/egress/api")
    return None if rewritten is None else rewritten.decode()


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("https://api.example/base/v1/x?y#z", "/v1/egress/api/v1/x?y#z"),
        ("https://api.example/base/admin", "/v1/egress/api/admin"),
        ("/base/x", "/v1/egress/api/x"),
        ("x", "/v1/egress/api/v1/a/x"),
        ("?e", "/v1/egress/api/v1/a/b?e"),
        ("/elsewhere?x#y", "https://api.example:443/elsewhere?x"),
        ("/base", "https://api.example:443/base"),
        ("../../../../x", "https://api.example:443/x"),
        ("/v1/egress/other/x", "https://api.example:443/v1/egress/other/x"),
        ("https://api.example/elsewhere", "https://api.example/elsewhere"),
        ("https://other.example/x?{y}", "https://other.example/x?{y}"),
        ("http://api.example/base/x", "http://api.example/base/x"),
        ("//other.example/x", "//other.example/x"),
        ("app://callback?code=1", "app://callback?code=1"),
        ("mailto:a@b.example", "mailto:a@b.example"),
    ],
)
def test_what_the_caller_is_shown(location: str, expected: str) -> None:
    assert shown(location) == expected


@pytest.mark.parametrize(
    "location",
    [
        "https://user:pw@api.example/base/x", "https://user@other.example/", "//user@other.example/", "http://@h/",
        "/base/../other/x", "/base/%2e%2e/other/x", "/base/..;/x", "/base//x", "/\\other.example", "/x\r\ny", "/x y",
        "/\u00e9", "https:x/../../y{", "/x?{", "https:x", "https:///base/x", "///base/x",
    ],
)  # fmt: skip
def test_what_the_caller_is_not_shown(location: str) -> None:
    found = shown(location)
    assert found is None or found.startswith("https://api.example:443/")
    assert found is None or "@" not in found


def test_no_path_of_the_appliance_is_shown_but_the_connections() -> None:
    for location in (
        "/",
        "/v1/admin/agents",
        "v1/admin",
        "./x",
        "/base/./x",
        "/base/v1/../../v1/admin",
        "////x",
        "///x",
    ):
        for base in ("https://api.example", "https://api.example/base"):
            found = shown(location, replace(ROW, base_url=base))
            assert found is None or found.startswith(("/v1/egress/api/", "https://api.example:443/", "//"))
            assert found is None or "/../" not in found


def test_a_path_of_another_host_is_none_of_the_connections() -> None:
    there = hop(path="/a/b?c", origin=OTHER)
    assert make_absolute(ROW, there, b"/base/v1/x") == b"https://files.example:443/base/v1/x"
    assert make_absolute(ROW, there, b"x?y") == b"https://files.example:443/a/x?y"
    assert make_absolute(ROW, there, b"https://api.example/base/v1/x") == b"https://api.example:443/base/v1/x"
    assert make_absolute(ROW, there, b"https://user@files.example/") is None
    assert make_absolute(ROW, hop(), b"/base/v1/x") == b"/base/v1/x"
