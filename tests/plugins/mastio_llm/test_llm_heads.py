"""What goes up beside the body of a call: the query, and the headers."""

from __future__ import annotations

from typing import Any

import pytest

from mastio.exchange.errors import Blocked
from mastio.exchange.values import RequestHead, Route
from mastio_llm.texts import Above, open_layout

ROUTE = Route("/v1/chat/completions", ("POST",), frozenset({"agent"}), "llm.chat", "", "openai")


def open_texts(headers: list[tuple[bytes, bytes]], query: str = "", named: frozenset[bytes] = frozenset()) -> Any:
    head = RequestHead("id", "POST", ROUTE.path, b"", {}, headers, ROUTE, None, "127.0.0.1")
    above = Above(head, "gpt-4o", frozenset({"openai"}), named, query)
    return open_layout(above, "whole").request(b'{"a":"b"}', {"a": "b"})


def test_a_named_header_and_the_query_are_looked_at_whatever_they_look_like() -> None:
    headers = [(b"x-title", b"blue heron"), (b"x-other", b"blue heron")]
    texts = open_texts(headers, "?key=hunter2", frozenset({b"x-title"}))
    assert [one.text for one in texts.passages][:2] == ["?key=hunter2", "blue heron"]
    for number in (0, 1):
        with pytest.raises(Blocked):
            texts.replace({number: "<X>"})


def test_an_optional_header_with_a_value_is_left_out() -> None:
    headers = [(b"user-agent", b"me@example.org 1"), (b"accept", b"*/*")]
    texts = open_texts(headers)
    assert texts.passages[0].name == "user-agent"
    assert texts.replace({0: "<X>"}) == b'{"a":"b"}' and headers == [(b"accept", b"*/*")]
