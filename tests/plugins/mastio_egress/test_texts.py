"""What an inspector sees of a request to an API that nobody knows, and what becomes of its texts."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from mastio.exchange.errors import Blocked
from mastio.exchange.inspection import Pass, Passage, Redact, Texts
from mastio.exchange.values import RequestHead
from mastio.http.strictjson import parse
from mastio_egress.connections.connection import ConnectionRow
from mastio_egress.plugin import ROUTES
from mastio_egress.texts import Form, Lines, open_layout, read_text

CARD = "4111111111111111"
ESCAPED = CARD.replace("1", "\\u0031")


def head(content_type: str = "", path: str = "", query: bytes = b"", *more: tuple[bytes, bytes]) -> RequestHead:
    headers = [(b"content-type", content_type.encode())] if content_type else []
    params = {"connection": "api", "path": path}
    return RequestHead("id", "POST", "/", query, params, [*headers, *more], ROUTES[0], None, "127.0.0.1")


def read(raw: bytes, asked: RequestHead | None = None, document: Any = None) -> Texts:
    row = ConnectionRow("api", "https://api.example", inspect_request=True)
    return open_layout(row, asked or head()).request(raw, document)


def texts(found: Texts) -> list[str]:
    return [passage.text for passage in found.passages]


def redacted(found: Texts) -> bytes:
    """With a token in the place of each card."""
    return found.replace({n: t.replace(CARD, "<CARD>") for n, t in enumerate(texts(found)) if CARD in t})


# --- bodies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "raw", "after"),
    [
        ("application/json", f'{{"a": "{CARD}"}}', '{"a": "<CARD>"}'),
        ("text/plain", f'{{"a": "{ESCAPED}"}}', '{"a": "<CARD>"}'),
        ("", f'[1, "{ESCAPED}"]', '[1, "<CARD>"]'),
        ("application/json", f'{{"signature": "{CARD}"}}', '{"signature": "<CARD>"}'),
        ("application/json", f'{{"model": "{CARD}"}}', '{"model": "<CARD>"}'),
        ("application/json", f'{{"{CARD}": 1}}', '{"<CARD>": 1}'),
        ("application/json", f'{{"created": {CARD}}}', '{"created": "<CARD>"}'),
        ("application/json", json.dumps({"a": json.dumps({"b": CARD})}), '{"a": "{\\"b\\": \\"<CARD>\\"}"}'),
        ("text/plain; charset=UTF-8", f"my card {CARD}\n", "my card <CARD>\n"),
        ("text/xml; charset='utf-8'", f"<a>{CARD}</a>", "<a><CARD></a>"),
        ("application/x-www-form-urlencoded", f"a=1&b=x+{CARD}%21&c=%7e&d", "a=1&b=x+%3CCARD%3E%21&c=%7e&d"),
        ("application/x-www-form-urlencoded", f"{CARD}=%7e&=", "%3CCARD%3E=%7e&="),
        ("application/x-www-form-urlencoded; charset=utf-8", f"a=1&a={CARD}&a=1", "a=1&a=%3CCARD%3E&a=1"),
        ("Application/X-WWW-Form-URLencoded", "payload=%7B%22a%22%3A%22" + ESCAPED.replace("\\", "%5C") + "%22%7D",
         "payload=%7B%22a%22%3A%22%3CCARD%3E%22%7D"),
        ("application/x-ndjson", f'{{"a": 1}}\n\n{{"b": "{ESCAPED}"}}\nnot {CARD}\n',
         '{"a": 1}\n\n{"b": "<CARD>"}\nnot <CARD>\n'),
        ("", f'{{"index": {{}}}}\r\n{{"b": "{ESCAPED}"}}\r\n', '{"index": {}}\r\n{"b": "<CARD>"}\r\n'),
    ],
)  # fmt: skip
def test_a_card_is_found_and_replaced(content_type: str, raw: str, after: str) -> None:
    document = parse(raw.encode()) if content_type == "application/json" else None
    found = read(raw.encode(), head(content_type), document)
    assert redacted(found).decode() == after
    assert redacted(read(after.encode(), head(content_type))).decode() == after


@pytest.mark.parametrize(
    "raw", [b"a=1&b=%zz", b"&&", b"a", b"a==b=", b"caf%C3%A9=%F0%9F%8E%BC", b"a=%7B%22b%22%3A1%7D"]
)
def test_forms_keep_their_bytes(raw: bytes) -> None:
    assert Form(raw).replace({}) == raw
    assert Form(raw + b"&x=secret").replace({len(Form(raw).passages) + 1: "y z"}) == raw + b"&x=y+z"


def test_names_say_what_values_are() -> None:
    passages = Form(b"password=hunter2&user=me").passages
    assert [(p.text, p.name) for p in passages] == [
        ("password", ""),
        ("hunter2", "password"),
        ("user", ""),
        ("me", "user"),
    ]


def test_lines_say_where_they_are() -> None:
    found = Lines(b'{"a": 1}\n{"b": ["x"]}', "user")
    assert texts(found) == ["a", "b", "x"] and found.place(2) == "line 2: b[0]"


@pytest.mark.parametrize(
    ("content_type", "raw"),
    [
        ("", b"\xff\xfe"),
        ("application/octet-stream", b"\x80"),
        ("text/plain", CARD.encode("utf-16-le")),
        ("text/plain; charset=utf-7", CARD.encode()),
        ('text/plain; charset="UTF-16"', b"x"),
        ("text/plain;charset=ibm037", CARD.encode("cp037")),
        ("application/x-www-form-urlencoded", b"a=%ff"),
        ("application/x-www-form-urlencoded", b"caf\xc3\xa9=1"),
        ("text/plain", b'{"a": 1, "a": "' + ESCAPED.encode() + b'"}'),
        ("text/plain", b'{"a": NaN, "b": "' + ESCAPED.encode() + b'"}'),
        ("application/x-ndjson", b'{"a": 1}\n{"b": 1, "b": "x"}\n'),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\n\x89PNG\r\n\x1a\n\r\n--x--"),
    ],
)
def test_what_nobody_can_look_into_is_refused(content_type: str, raw: bytes) -> None:
    with pytest.raises(Blocked):
        read(raw, head(content_type))


@pytest.mark.parametrize("coding", [b"gzip", b"br", b"identity, gzip"])
def test_encoded_bodies_are_refused(coding: bytes) -> None:
    with pytest.raises(Blocked):
        read(b"x", head("text/plain", "", b"", (b"content-encoding", coding)))
    assert texts(read(b"x", head("text/plain", "", b"", (b"content-encoding", b"identity")))) == ["x"]


def test_more_texts_than_anybody_looks_into() -> None:
    with pytest.raises(Blocked):
        read(b'{"a": "b", "c": "d"}\n' * 25_001)


# --- the URL ---------------------------------------------------------------------------------------------------------


def test_path_and_query_are_texts() -> None:
    asked = head("text/plain", "users/caf%C3%A9+1/%2Bx", b"to=%34111&msg=a+b&flag&x=%7B%22y%22%3A%22z%22%7D")
    assert read(b"body", asked).passages == [
        Passage("users/caf\u00e9+1/+x", "other", "path"),
        Passage("to", "other"),
        Passage("4111", "other", "to"),
        Passage("msg", "other"),
        Passage("a b", "other", "msg"),
        Passage("flag", "other"),
        Passage("x", "other"),
        Passage("y", "other"),
        Passage("z", "other", "y"),
        Passage("body", "user"),
    ]


@pytest.mark.parametrize(("path", "query"), [(CARD, b""), ("x", b"a=" + CARD.encode()), ("x", CARD.encode())])
@pytest.mark.parametrize("raw", [b"", b"body"])
def test_what_is_to_be_redacted_in_a_url_is_refused(raw: bytes, path: str, query: bytes) -> None:
    found = read(raw, head("text/plain", path, query))
    with pytest.raises(Blocked, match="URL"):
        redacted(found)
    assert found.place(0) == "the URL"


def test_a_body_is_redacted_behind_a_url() -> None:
    found = read(f"card {CARD}".encode(), head("text/plain", "x", b"a=b"))
    assert redacted(found) == b"card <CARD>"


@pytest.mark.parametrize(("path", "query"), [("%ff", b""), ("", b"a=%ff"), ("", b"%c3=1")])
def test_urls_that_are_no_text_are_refused(path: str, query: bytes) -> None:
    with pytest.raises(Blocked):
        read(b"", head("", path, query))


def test_requests_are_looked_into_only_where_the_connection_says_so() -> None:
    row = ConnectionRow("api", "https://api.example", inspect_response=True)
    assert not open_layout(row, head("", CARD)).request(b"\xff", None).passages


# --- replies ---------------------------------------------------------------------------------------------------------


class Watching:
    async def look(self, passages: list[Passage]) -> Any:
        found = {n: p.text.replace(CARD, "<CARD>") for n, p in enumerate(passages) if CARD in p.text}
        return Redact(found) if found else Pass()


def layout() -> Any:
    return open_layout(ConnectionRow("api", "https://api.example", inspect_response=True), head())


def test_whole_replies() -> None:
    raw = json.dumps({"signature": CARD, "id": "call_x", "n": [CARD]}).encode()
    found = layout().reply(raw, json.loads(raw))
    assert redacted(found) == raw.replace(CARD.encode(), b"<CARD>")
    assert [p.carrier for p in found.passages] == ["tool"] * len(found.passages)


async def test_events_are_looked_into_one_by_one() -> None:
    rewriter = layout().stream([Watching()])
    window = f'event: x\nid: 7\ndata: {{"text": "{ESCAPED}"}}\n\ndata: plain {CARD}\n\n: ping\n\ndata: [1]\n\n'
    out = b"".join([piece async for piece in rewriter.feed(window.encode(), True)])
    assert out.decode() == 'event: x\nid: 7\ndata: {"text": "<CARD>"}\n\ndata: plain <CARD>\n\n:\n\ndata: [1]\n\n'


def test_a_text_that_looks_like_json_is_one() -> None:
    assert texts(read_text(b'{"a": "b"}', "tool")) == ["a", "b"]
    assert texts(read_text(b"{a: b}", "tool")) == ["{a: b}"]
    assert texts(read_text(b"", "tool")) == [""]


def test_what_stands_before_the_body_is_labelled_too() -> None:
    blob = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256))).decode()
    ((kind, size),) = [(one.kind, one.size) for one in read(b"", head("", f"a/{blob}")).uninspected]
    assert kind in ("image", "binary") and size >= len(blob) - 2
    assert not read(b"", head("", "a/b")).uninspected


def test_every_header_that_goes_up_is_a_text_but_words_and_cookies() -> None:
    row = ConnectionRow("api", "https://api.example", inspect_request=True)
    headers = [
        (b"user-agent", b"OpenAI/Python 1.99.9"), (b"accept", b"*/*"), (b"cookie", CARD.encode()),
        (b"traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), (b"tracestate", CARD.encode()),
        (b"if-match", b'"' + CARD.encode() + b'"'), (b"x-left-out", CARD.encode()),
        (b"content-disposition", b"attachment; filename*=UTF-8''%34111.pdf"),
    ]  # fmt: skip
    asked = head("", "", b"", *headers)
    sent = [(name.decode(), "") for name, _ in headers if name != b"x-left-out"]
    found = list(open_layout(row, asked, sent).request(b"", None).passages)
    assert [one.name for one in found] == ["tracestate", "if-match", "content-disposition"]
    assert found[-1].text == "attachment; filename*=UTF-8''4111.pdf"
    texts = open_layout(row, asked, sent).request(b"", None)
    assert texts.replace({0: "<CARD>"}) == b"" and "tracestate" not in dict(sent) and "if-match" in dict(sent)
    with pytest.raises(Blocked):
        texts.replace({1: "<CARD>"})


@pytest.mark.parametrize("value", [b"=?utf-8?B?" + b"A" * 2000 + b"?=", b"=?none?Q?=41?=", b"=?utf-8?B?A?="])
def test_a_header_that_nobody_can_read_is_refused(value: bytes) -> None:
    row = ConnectionRow("api", "https://api.example", inspect_request=True)
    with pytest.raises(Blocked, match="header"):
        _ = open_layout(row, head("", "", b"", (b"user-agent", value)), [("user-agent", "")]).request(b"", None)


@pytest.mark.parametrize(
    ("value", "said"),
    [(b"=?utf-8?Q?=34111?=", "4111"), (b"=?iso-8859-1?B?NDExMQ==?= x", "4111 x"), (b"a =? b #", "a =? b #")],
)
def test_encoded_words_of_a_header_are_read(value: bytes, said: str) -> None:
    row = ConnectionRow("api", "https://api.example", inspect_request=True)
    found = open_layout(row, head("", "", b"", (b"user-agent", value)), [("user-agent", "")]).request(b"", None)
    assert [one.text for one in found.passages] == [said]
