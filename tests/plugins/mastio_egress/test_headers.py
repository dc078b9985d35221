"""Headers that belong to one hop, prove who somebody is or speak for the appliance go no further; all others do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from aiohttp.http_writer import _serialize_headers
from multidict import CIMultiDict

from mastio.errors import BadRequest, DispatchError
from mastio.presented import HEADERS
from mastio_egress.headers import MOST, declared_length, incoming, outgoing, reply_length

ROOT = Path(__file__).parents[3]
SET_BY_THE_EDGE = [
    name.lower().encode()
    for name in re.findall(r"proxy_set_header (\S+)", (ROOT / "nginx/snippets/identity.conf").read_text("utf-8"))
]
HOP = [b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"proxy-authorization",
       b"proxy-connection", b"proxy-anything"]  # fmt: skip
ASKED = ("accept-encoding", "identity")


def up(*headers: tuple[bytes, bytes], keep: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    passed = outgoing(list(headers), keep)
    assert passed[-1] == ASKED and passed.count(ASKED) == 1
    return passed[:-1]


@pytest.mark.parametrize(
    "name",
    [
        *SET_BY_THE_EDGE, *sorted(HEADERS), *HOP, b"dpop", b"cookie", b"via", b"x-forwarded-for",
        b"x-forwarded-anything", b"x-request-id", b"expect", b"host", b"content-length", b"mastio-anything",
        b"x-http-method-override", b"x-original-url", b"x-enrollment-proof", b"true-client-ip",
    ],
)  # fmt: skip
def test_what_does_not_go_upstream(name: bytes) -> None:
    assert up((name, b"1"), (b"x-mine", b"2")) == [("x-mine", "2")]


def test_the_edge_sets_something() -> None:
    assert len(SET_BY_THE_EDGE) > 15 and b"x-edge-secret" in SET_BY_THE_EDGE


@pytest.mark.parametrize("name", [b"x_edge_secret", b"x_api_key", b"x_forwarded_for", b"x_http_method_override"])
def test_underscores_make_no_other_name(name: bytes) -> None:
    assert up((name, b"1")) == []


@pytest.mark.parametrize("value", [b"x-one", b"close, X-One ,x-two", b"X-ONE,,"])
def test_what_connection_names_is_of_one_hop(value: bytes) -> None:
    headers = [(b"connection", value), (b"x-one", b"1"), (b"x-three", b"3")]
    assert up(*headers) == [("x-three", "3")]
    assert incoming(headers) == [(b"x-three", b"3")]


def test_everything_else_goes_upstream_in_its_order_and_twice() -> None:
    headers = [(b"accept", b"*/*"), (b"x-amz-target", b"a"), (b"content-type", b"text/plain"), (b"range", b"bytes=1-"),
               (b"accept", b"text/html"), (b"content-encoding", b"gzip"), (b"traceparent", b"00-1"), (b"origin", b"x"),
               (b"if-none-match", b'"e"'), (b"x-empty", b""), (b"x-tab", b"a\tb")]  # fmt: skip
    assert up(*headers) == [(name.decode(), value.decode()) for name, value in headers]


def test_nobody_is_asked_for_a_compressed_reply() -> None:
    assert outgoing([(b"accept-encoding", b"gzip, br")]) == [ASKED]


def test_cookies_go_up_only_where_they_may_come_down() -> None:
    assert up((b"cookie", b"a=1")) == []
    assert up((b"cookie", b"a=1"), keep=("Set-Cookie",)) == [("cookie", "a=1")]
    assert up((b"authorization", b"x"), keep=("authorization",)) == []


@pytest.mark.parametrize("value", ["caf\u00e9", "\u20ac", "plain"])
def test_values_keep_their_bytes(value: str) -> None:
    """As the client library writes them."""
    (pair,) = up((b"x-name", value.encode()))
    assert value.encode() in _serialize_headers("GET / HTTP/1.1", CIMultiDict([pair]))


def test_latin_1_keeps_its_letters() -> None:
    assert up((b"x-name", b"caf\xe9")) == [("x-name", "caf\u00e9")]


@pytest.mark.parametrize("value", [b"a\rb", b"a\nb", b"a\0b", b"a\x1bb", b"a\x7fb", b"\x0b"])
def test_control_characters_are_refused(value: bytes) -> None:
    with pytest.raises(BadRequest):
        outgoing([(b"x-name", value)])
    assert incoming([(b"x-name", value), (b"x-other", b"1")]) == [(b"x-other", b"1")]


@pytest.mark.parametrize("name", [b"", b"a b", b"a:b", b"a\r\nb", b"caf\xe9", b"a\0"])
def test_odd_names_are_refused(name: bytes) -> None:
    with pytest.raises(BadRequest):
        outgoing([(name, b"1")])
    assert incoming([(name, b"1")]) == []


# --- the reply -------------------------------------------------------------------------------------------------------

OURS = [b"x-request-id", b"mastio-receipt", b"x-cost-usd", b"x-cache", b"x-provider", b"x-tokens-input", b"x-model",
        b"server-timing", b"strict-transport-security", b"x-accel-redirect", b"x-accel-buffering", b"x-accel-anything",
        b"alt-svc", b"dpop-nonce", b"clear-site-data", b"x-edge-secret", b"content-length"]  # fmt: skip
BY_RULE = [b"set-cookie", b"www-authenticate", b"authentication-info", b"refresh"]


@pytest.mark.parametrize("name", [*OURS, *HOP, b"proxy-authenticate"])
def test_what_never_comes_back(name: bytes) -> None:
    assert incoming([(name, b"1"), (b"etag", b"2")], keep=(name.decode(), name.decode().title())) == [(b"etag", b"2")]


@pytest.mark.parametrize("name", BY_RULE)
def test_what_comes_back_where_an_admin_says_so(name: bytes) -> None:
    headers = [(name, b"1"), (b"etag", b"2"), (name, b"3")]
    assert incoming(headers) == [(b"etag", b"2")]
    assert incoming(headers, keep=(name.decode().title(),)) == headers
    assert incoming(headers, keep=("etag",)) == [(b"etag", b"2")]


def test_a_kept_header_that_connection_names_is_of_one_hop() -> None:
    assert incoming([(b"connection", b"set-cookie"), (b"set-cookie", b"1")], keep=("set-cookie",)) == []


def test_everything_else_comes_back_as_it_is() -> None:
    headers = [(b"content-type", b"text/html; charset=latin-1"), (b"access-control-allow-origin", b"*"),
               (b"vary", b"a"), (b"content-disposition", b"attachment"), (b"x-ratelimit-remaining", b"7"),
               (b"vary", b"b"), (b"retry-after", b"3"), (b"location", b"/x"), (b"x-name", b"caf\xe9"),
               (b"link", b"<x>")]  # fmt: skip
    assert incoming(headers) == headers


def test_more_than_the_edge_takes_is_refused() -> None:
    assert incoming([(b"x-long", b"x" * (MOST - 10))])
    with pytest.raises(DispatchError):
        incoming([(b"x-long", b"x" * (MOST // 2)), (b"x-more", b"x" * (MOST // 2))])


# --- lengths ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "length"), [([], None), ([b"0"], 0), ([b"17"], 17), ([b"17", b"17"], 17), ([b"9" * 18], 10**18 - 1)]
)
def test_lengths(values: list[bytes], length: int | None) -> None:
    headers = [(b"content-length", value) for value in values]
    assert (declared_length(headers), reply_length(headers)) == (length, length)


@pytest.mark.parametrize("values", [[b"1", b"2"], [b""], [b"-1"], [b"+1"], [b"1,1"], [b"0x1"], [b" 1"], [b"9" * 19]])
def test_odd_lengths_are_refused(values: list[bytes]) -> None:
    headers = [(b"content-length", value) for value in values]
    with pytest.raises(BadRequest):
        declared_length(headers)
    with pytest.raises(DispatchError):
        reply_length(headers)


def test_parts_are_asked_for_only_where_nothing_is_looked_for() -> None:
    asked = [(b"range", b"bytes=0-9"), (b"if-range", b'"x"'), (b"x-range", b"1")]
    assert dict(outgoing(asked)) == {"range": "bytes=0-9", "if-range": '"x"', "x-range": "1", **IDENTITY}
    assert dict(outgoing(asked, (), parts=False)) == {"x-range": "1", **IDENTITY}


IDENTITY = {"accept-encoding": "identity"}


@pytest.mark.parametrize("name", [b"mastio_receipt", b"x_request_id", b"x_accel_redirect", b"clear_site_data"])
def test_underscores_speak_for_nobody_either(name: bytes) -> None:
    assert incoming([(name, b"1"), (b"x_mine", b"2")]) == [(b"x_mine", b"2")]
