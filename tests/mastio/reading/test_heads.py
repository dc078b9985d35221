"""What stands before a body: which headers are looked at, and what becomes of what is found there."""

from __future__ import annotations

import pytest

from mastio.exchange.errors import Blocked
from mastio.exchange.inspection import Passage
from mastio.reading.heads import Headed, leave_out, read_headers, read_reply_header, write_reply_header

WORDS = ["Sommer2024", "password=hunter2", "1234", "1980-01-31", "00:1b:44:11:3a:b7", "blue heron"]


@pytest.mark.parametrize("value", WORDS)
def test_a_value_is_not_left_alone_for_its_looks(value: str) -> None:
    for name in ("x-title", "x-pin", "date-of-birth"):
        assert [one.text for one in read_headers([(name, value.encode())])] == [value]
        assert read_reply_header(name.encode(), value.encode()) == Passage(value, "other", name)
    assert not list(read_headers([("accept-language", value.encode())]))
    assert len(list(read_headers([("accept-language", value.encode())], {"accept-language"}))) == 1, "an admin named it"


def test_what_a_protocol_says_is_not_looked_at() -> None:
    said = {
        "user-agent": "OpenAI/Python 1.99.9", "accept": "*/*", "anthropic-version": "2023-06-01", "date": "Sun, 22 Nov",
        "x-stainless-arch": "x64", "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    }  # fmt: skip
    assert not list(read_headers((name, value.encode()) for name, value in said.items()))


@pytest.mark.parametrize("digits", ["411111111111111100000000000000aa", "078051120aaaaaaaaaaaaaaaaaaaaaaa"])
def test_a_trace_that_could_be_a_number_is_looked_at(digits: str) -> None:
    value = f"00-{digits}-00f067aa0ba902b7-01"
    assert [one.text for one in read_headers([("traceparent", value.encode())])] == [value]


@pytest.mark.parametrize(
    ("value", "said"),
    [(b'a; filename="M\xfcller 7.pdf"', 'a; filename="M\xfcller 7.pdf"'), ("=?utf-8?q?a?= \xe9".encode(), "a \xe9")],
)
def test_letters_of_latin_1_are_read(value: bytes, said: str) -> None:
    assert [one.text for one in read_headers([("content-disposition", value)])] == [said]


def test_a_header_that_a_call_does_not_need_is_left_out() -> None:
    sent = [("user-agent", "a"), ("if-match", "b"), (b"user-agent", b"c")]
    passages = [Passage("a", "other", "user-agent"), Passage("b", "other", "if-match")]

    def headed(*named: str) -> Headed:
        return Headed([Passage("/", "other")], passages, None, "the URL", lambda n: leave_out(sent, named, n))

    for number, named in ((0, ""), (2, ""), (1, "user-agent")):
        with pytest.raises(Blocked):
            headed(named).replace({number: "x"})
        assert len(sent) == 3
    assert headed().replace({1: "x"}) == b"" and sent == [("if-match", "b")]


@pytest.mark.parametrize(
    ("value", "was", "now", "goes_on"),
    [
        (b"/a%2Fb/%3CT_1%3E?c=%26", "/a/b/<T_1>?c=&", "/a/b/Jane R\xf6e?c=&", b"/a%2Fb/Jane%20R%C3%B6e?c=%26"),
        (b"%3CT%3E", "<T>", "a/b\r\n", b"a%2Fb%0D%0A"), (b"/%20/<T>", "/ /<T>", "/ /", b"/%20/"),
        (b"/%20<T>/<U>", "/ <T>/<U>", "/ a/b", None), (b"/<T>", "/<T>", "/a", b"/a"), (b"/<T>", "/<T>", "/\n", None),
        (b"/\xe9%20<T>", "/\ufffd <T>", "/\ufffd a", None),
    ],
)  # fmt: skip
def test_another_text_of_a_quoted_value_is_quoted(value: bytes, was: str, now: str, goes_on: bytes | None) -> None:
    assert write_reply_header(value, was, now) == goes_on
