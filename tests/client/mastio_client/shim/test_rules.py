"""What the shim lets in and passes on: values in, values out."""

from __future__ import annotations

import json

import pytest

from mastio.exchange.errors import ConfigurationError
from mastio_client.shim.caller import encode_piece
from mastio_client.shim.rules import (
    ShimRefusal,
    build_head,
    encode_error,
    forward,
    give_back,
    host_names,
    is_plain_target,
    parse_listen,
    verify_caller,
)
from mastio_primitives.codes import CODES

HOSTS = host_names("127.0.0.1", 9480)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("127.0.0.1:9480", ("127.0.0.1", 9480)),
        ("localhost:0", ("127.0.0.1", 0)),
        ("127.9.9.9:1", ("127.9.9.9", 1)),
        ("[::1]:65535", ("::1", 65535)),
    ],
)
def test_a_loopback_address_is_taken(text: str, found: tuple[str, int]) -> None:
    assert parse_listen(text) == found


@pytest.mark.parametrize(
    "text",
    ["0.0.0.0:9480", "[::]:9480", "192.0.2.1:9480", "9480", ":9480", "127.0.0.1", "127.0.0.1:65536", "127.0.0.1:-1",
     "::1:9480", "[::ffff:192.0.2.1]:1", "example.com:9480", "localhost.:9480", "127.0.0.1:94８0", "127.1:9480", ""],
)  # fmt: skip
def test_any_other_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="loopback"):
        parse_listen(text)


@pytest.mark.parametrize("host", [b"localhost:9480", b"127.0.0.1:9480", b"[::1]:9480", b"LocalHost:9480"])
@pytest.mark.parametrize("site", [None, b"none", b"same-origin", b"None"])
def test_a_program_of_this_machine_comes_in(host: bytes, site: bytes | None) -> None:
    more = [] if site is None else [(b"sec-fetch-site", site)]
    verify_caller([(b"host", host), (b"sec-fetch-mode", b"cors"), *more], HOSTS)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"host", b"evil.example:9480")],
        [(b"host", b"localhost")],
        [(b"host", b"localhost:9481")],
        [(b"host", b"localhost.:9480")],
        [(b"host", b"127.0.0.1:9480.evil.example")],
        [(b"host", b"localhost:9480"), (b"host", b"localhost:9480")],
        [(b"host", b"localhost:9480"), (b"origin", b"https://evil.example")],
        [(b"host", b"localhost:9480"), (b"origin", b"http://localhost:9480")],
        [(b"host", b"localhost:9480"), (b"origin", b"null")],
        [(b"host", b"localhost:9480"), (b"origin", b"")],
        [(b"host", b"localhost:9480"), (b"sec-fetch-site", b"cross-site")],
        [(b"host", b"localhost:9480"), (b"sec-fetch-site", b"same-site")],
        [(b"host", b"localhost:9480"), (b"sec-fetch-site", b"none"), (b"sec-fetch-site", b"cross-site")],
    ],
)
def test_a_web_page_does_not(headers: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(ShimRefusal) as refused:
        verify_caller(headers, HOSTS)
    assert refused.value.code == "not_for_pages"


def test_the_port_may_be_left_out_where_it_is_the_default() -> None:
    verify_caller([(b"host", b"localhost")], host_names("127.0.0.1", 80))
    verify_caller([(b"host", b"[::1]:7")], host_names("::1", 7))
    verify_caller([(b"host", b"127.0.0.9:7")], host_names("127.0.0.9", 7))


def test_credentials_and_what_is_of_the_connection_stay_behind() -> None:
    secret = [
        (name, b"secret")
        for name in (b"authorization", b"x-api-key", b"x-goog-api-key", b"api-key", b"dpop", b"cookie",
                     b"proxy-authorization")
    ]  # fmt: skip
    hop = [(b"connection", b"keep-alive, X-Mine"), (b"x-mine", b"1"), (b"keep-alive", b"5"), (b"te", b"trailers"),
           (b"transfer-encoding", b"chunked"), (b"upgrade", b"h2c"), (b"trailer", b"x"), (b"expect", b"100-continue"),
           (b"host", b"localhost:9480"), (b"content-length", b"5")]  # fmt: skip
    kept = [
        (b"anthropic-version", b"2023-06-01"),
        (b"anthropic-beta", b"a,b"),
        (b"anthropic-beta", b"c"),
        (b"openai-organization", b"org"),
        (b"user-agent", b"Some/1.0 (\xe9)"),
        (b"accept-encoding", b"gzip, br"),
        (b"content-encoding", b"gzip"),
        (b"x-request-id", b"mine"),
    ]
    assert forward([*secret, *kept[:3], *hop, *kept[3:]]) == kept


@pytest.mark.parametrize("value", [b"a\nb", b"a\r\nb: c", b"a\0"])
def test_a_header_that_would_not_stay_one_line_is_refused(value: bytes) -> None:
    with pytest.raises(ShimRefusal) as refused:
        forward([(b"x-odd", value)])
    assert refused.value.code == "bad_request"


def test_the_reply_keeps_what_is_the_callers() -> None:
    kept = [(b"content-type", b"text/event-stream"), (b"mastio-receipt", b"7"), (b"www-authenticate", b"DPoP"),
            (b"content-length", b"3"), (b"retry-after", b"1")]  # fmt: skip
    own = [
        (b"dpop-nonce", b"n"),
        (b"set-cookie", b"a=b"),
        (b"connection", b"close"),
        (b"transfer-encoding", b"chunked"),
    ]
    assert give_back([*own, *kept]) == kept


@pytest.mark.parametrize("target", [b"/v1/models", b"/v1/models?a=%20b&&c", b"/v1/%6dodels", b"//x", b"/"])
def test_a_path_goes_as_it_came(target: bytes) -> None:
    assert is_plain_target(target)
    assert build_head("GET", target, [(b"a", b"b")]) == b"GET " + target + b" HTTP/1.1\r\na: b\r\n\r\n"


@pytest.mark.parametrize("target", [b"", b"*", b"http://x/", b"/a b", b"/a\r\nb: c", b"/\xc3\xa9", b"/a\x7f"])
def test_what_could_not_stand_in_a_request_line_does_not(target: bytes) -> None:
    assert not is_plain_target(target)


def test_errors_are_in_the_callers_dialect() -> None:
    status, body = encode_error(b"/v1/chat/completions", "appliance_unreachable", "No connection.")
    error = json.loads(body)["error"]
    assert (status, error["code"], error["type"]) == (502, "appliance_unreachable", "server_error")
    assert error["message"] == f"No connection. {CODES['appliance_unreachable'].hint}"
    status, body = encode_error(b"/v1/messages", "invalid_client", "Revoked.")
    document = json.loads(body)
    assert (status, document["type"], document["error"]["type"]) == (401, "error", "authentication_error")
    for code in ("not_for_pages", "bad_request"):
        assert encode_error(b"/", code, "No.")[0] == CODES[code].status


def test_pieces_of_a_body() -> None:
    assert encode_piece(b"abc", False) == b"abc"
    assert encode_piece(b"", True) == b""
    assert encode_piece(b"x" * 17, True) == b"11\r\n" + b"x" * 17 + b"\r\n"
    assert encode_piece(b"x", True, last=True) == b"1\r\nx\r\n0\r\n\r\n"
    assert encode_piece(b"", True, last=True) == b"0\r\n\r\n"
