"""Only listed headers of a request go up; headers of a reply come back unless they speak for the appliance."""

from __future__ import annotations

import re

import pytest
from aiohttp.http_writer import _serialize_headers
from multidict import CIMultiDict

from mastio.exchange.errors import BadRequest, Denied, DispatchError
from mastio.exchange.presented_credentials import HEADERS
from mastio.http.edge import TEMPLATES
from mastio.outbound.request_headers import is_sendable
from mastio_egress.header_policy import MOST, declared_length, incoming, left_out, outgoing, reply_length

SET_BY_THE_EDGE = [
    name.lower().encode()
    for name in re.findall(r"proxy_set_header (\S+)", (TEMPLATES / "snippets/identity.conf").read_text("utf-8"))
]
HOP = [b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"proxy-authorization",
       b"proxy-connection", b"proxy-anything"]  # fmt: skip
ASKED = ("accept-encoding", "identity")


MINE = ("x-mine", "x-one", "x-two", "x-three", "x-name")


def up(
    *headers: tuple[bytes, bytes], keep: tuple[str, ...] = (), named: tuple[str, ...] = MINE
) -> list[tuple[str, str]]:
    passed = outgoing(list(headers), keep, named=named)
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
    assert not is_sendable(name) and up((name, b"1"), named=(name.decode(),)) == []


def test_the_edge_sets_something() -> None:
    assert len(SET_BY_THE_EDGE) > 15 and b"x-edge-secret" in SET_BY_THE_EDGE


@pytest.mark.parametrize("name", [b"x_edge_secret", b"x_api_key", b"x_forwarded_for", b"x_http_method_override"])
def test_underscores_make_no_other_name(name: bytes) -> None:
    assert up((name, b"1")) == [] and not is_sendable(name)


@pytest.mark.parametrize("value", [b"x-one", b"close, X-One ,x-two", b"X-ONE,,"])
def test_what_connection_names_is_of_one_hop(value: bytes) -> None:
    headers = [(b"connection", value), (b"x-one", b"1"), (b"x-three", b"3")]
    assert up(*headers) == [("x-three", "3")]
    assert incoming(headers) == [(b"x-three", b"3")]


def test_listed_headers_go_upstream_in_their_order_and_lists_twice() -> None:
    headers = [(b"accept", b"*/*"), (b"content-type", b"text/plain"), (b"range", b"bytes=1-"), (b"prefer", b""),
               (b"accept", b"text/html"), (b"content-encoding", b"gzip"), (b"traceparent", b"00-1"),
               (b"if-none-match", b'"e"'), (b"x-mine", b""), (b"x-one", b"a\tb")]  # fmt: skip
    assert up(*headers) == [(name.decode(), value.decode()) for name, value in headers]


ACTS = [b"destination", b"overwrite", b"depth", b"if", b"lock-token", b"soapaction", b"idempotency-key",
        b"x-amz-target", b"x-amz-copy-source", b"x-amz-acl", b"x-amz-tagging", b"x_amz_target", b"x-goog-copy-source",
        b"x-goog-if-generation-match", b"x-ms-copy-source", b"x-ms-delete-snapshots"]  # fmt: skip
OTHERS = [b"origin", b"referer", b"x-stainless-os", b"x-anything", b"sec-fetch-mode", b"amz-sdk-request",
          b"x-amz-date", b"x-amz-content-sha256", b"x-amz-checksum-crc32", b"x-goog-api-client", b"api-version",
          b"x-ms-client-request-id", b"content_type", b"baggage"]  # fmt: skip


@pytest.mark.parametrize("name", ACTS)
def test_what_says_what_is_done_is_refused_unless_an_admin_named_it(name: bytes) -> None:
    with pytest.raises(Denied, match=name.decode()):
        up((name, b"1"))
    assert up((name, b"1"), named=(name.decode(),)) == [(name.decode(), "1")]


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_listed_is_left_out_unless_an_admin_named_it(name: bytes) -> None:
    headers = [(name, b"1"), (b"accept", b"*/*"), (b"te", b"x"), (b"authorization", b"x")]
    assert up(*headers) == [("accept", "*/*")]
    assert left_out(headers, outgoing(headers)) == [name.decode()]
    assert up(*headers, named=(name.decode(),)) == [(name.decode(), "1"), ("accept", "*/*")]


@pytest.mark.parametrize("name", [b"content-type", b"user-agent", b"if-range", b"x-mine"])
def test_a_header_that_is_no_list_is_there_once(name: bytes) -> None:
    with pytest.raises(BadRequest, match="more than once"):
        up((name, b"1"), (name, b"2"))


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
    asked = [(b"range", b"bytes=0-9"), (b"if-range", b'"x"'), (b"accept", b"1")]
    assert dict(outgoing(asked)) == {"range": "bytes=0-9", "if-range": '"x"', "accept": "1", **IDENTITY}
    assert dict(outgoing(asked, (), parts=False)) == {"accept": "1", **IDENTITY}


IDENTITY = {"accept-encoding": "identity"}


@pytest.mark.parametrize("name", [b"mastio_receipt", b"x_request_id", b"x_accel_redirect", b"clear_site_data"])
def test_underscores_speak_for_nobody_either(name: bytes) -> None:
    assert incoming([(name, b"1"), (b"x_mine", b"2")]) == [(b"x_mine", b"2")]
