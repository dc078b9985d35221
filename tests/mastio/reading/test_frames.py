"""Events as bytes: only the fields that a client reads go on, and those that can say something are texts."""

from __future__ import annotations

import pytest

from mastio.exchange.errors import DispatchError
from mastio.reading.frames import MOST_LINES, Frame, split_array, split_events
from support.cpu_cost import verify_linear


def one(raw: bytes) -> Frame:
    (frame,) = split_events(raw)
    return frame


@pytest.mark.parametrize(
    "raw",
    [
        b'data: {"a":1}\n\n', b"data:x\r\n\r\n", b"event: content_block_delta\ndata: {}\n\n",
        b"event: response.mcp_list_tools.in_progress\ndata: {}\n\n", b"id: 12\nretry: 3000\ndata: {}\n\n", b":\n\n",
        b"event: ping\n\n", b"event:\ndata: {}\n\n", b"data\n\n", b"data: a\ndata: b\n\n", b"\xef\xbb\xbfdata: {}\n\n",
    ],
)  # fmt: skip
def test_what_an_api_sends_keeps_its_bytes(raw: bytes) -> None:
    frame = one(raw)
    assert (frame.raw, frame.fields) == (raw, ())


@pytest.mark.parametrize(
    ("raw", "goes_on"),
    [
        (b": 4111 1111 1111 1111\n\n", b":\n\n"),
        (b": a\n: b\ndata: {}\n\n", b":\ndata: {}\n\n"),
        (b"event: a\nevent: b\ndata: {}\n\n", b"event: b\ndata: {}\n\n"),
        (b"secret: 4111\ndata: {}\r\r", b"data: {}\r\r"),
        (b"retry: 4111111111111111\r\ndata: a\r\ndata: b\r\n\r\n", b"data: a\r\ndata: b\r\n\r\n"),
        (b"Data: x\n4111111111111111\ndata: y\n\n", b"data: y\n\n"),
        (b" data: x\ndata: y\n\n", b"data: y\n\n"),
    ],
)
def test_comments_and_unknown_fields_are_left_out(raw: bytes, goes_on: bytes) -> None:
    frame = one(raw)
    assert (frame.raw, frame.fields) == (goes_on, ())


@pytest.mark.parametrize("name", ["event", "id"])
@pytest.mark.parametrize("value", ["4111111111111111", "Jane Roe", "1234567", "a.b.c.d.e.f.g.h.i"])
def test_a_name_and_an_id_that_say_something_are_texts(name: str, value: str) -> None:
    for raw in (f"{name}: {value}\ndata: {{}}\n\n", f"{name}:{value}\ndata: {{}}\n\n", f"{name}: {value}\n\n"):
        frame = one(raw.encode())
        assert frame.fields == ((name, value),)
        changed = frame.with_fields({name: "<A\nB>"})
        assert value not in changed.raw.decode() and f"{name}: <A B>\n" in changed.raw.decode()
        if frame.data:
            assert f"{name}: <A B>\ndata: x\n\n".encode() == changed.with_data(b"x")


def test_only_the_line_of_a_field_is_changed() -> None:
    changed = one(b"data: x event: Jane Roe\nevent: Jane Roe\n\n").with_fields({"event": "<A>"})
    assert changed.raw == b"data: x event: Jane Roe\nevent: <A>\n\n"
    changed = one(b"\xef\xbb\xbfevent: Jane Roe\ndata: x\n\n").with_fields({"event": "<A>"})
    assert b"Jane" not in changed.raw and changed.head == b"event: <A>\ndata: "


def test_of_several_fields_the_last_one_counts() -> None:
    frame = one(b"id: 4111111111111111\nid: 7\nevent: Jane\nevent: John\ndata: {}\n\n")
    assert frame.fields == (("event", "John"),) and frame.raw == b"id: 7\nevent: John\ndata: {}\n\n"


@pytest.mark.parametrize("line", [b": x\n", b"id: Jane\n", b"event: John\n", b"other: x\n", b"data: x\n", b"x\n"])
def test_an_event_has_so_many_lines_and_costs_no_more(line: bytes) -> None:
    most = MOST_LINES - 1
    verify_linear(lambda: one(line * (most // 10) + b"data: {}\n\n"), lambda: one(line * most + b"data: {}\n\n"))
    with pytest.raises(DispatchError, match="lines"):
        one(line * (MOST_LINES + 1) + b"\n")


def test_the_last_line_has_no_end() -> None:
    assert [frame.data for frame in split_events(b"data: a\n\ndata: b")] == [b"a", b"b"]


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(DispatchError, match="cannot be inspected"):
        one(b"id: \xff\xfe\ndata: {}\n\n")
    with pytest.raises(DispatchError, match="cannot be inspected"):
        list(split_array(b'["\xff"]'))


def test_an_event_gets_another_name() -> None:
    frame = one(b"event: begin\ndata: {}\n\n")
    assert frame.with_event("begin", "go").with_data(b"1") == b"event: go\ndata: 1\n\n"
    assert frame.with_event("other", "go") == frame
