import pytest

from mastio.http.strictjson import parse
from mastio_llm.dialects import OPERATIONS
from mastio_llm.dialects.openai import read_usage
from mastio_llm.dialects.sse import MAX_EVENT, EventTooLong, Splitter

STREAM = (
    b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
    b": keep-alive\r\n\r\n"
    b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5}}\n\n'
    b"data: [DONE]\n\n"
)


CHAT = OPERATIONS["/v1/chat/completions"].stream


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
def test_bytes_stay_as_they_are_at_every_chunk_border(size: int) -> None:
    splitter = Splitter(CHAT)
    windows = [splitter.feed(STREAM[start : start + size]) for start in range(0, len(STREAM), size)]
    released = [window for window in windows if window is not None]
    assert b"".join(window.data for window in released) == STREAM
    assert [window.last for window in released].count(True) == 1 and released[-1].last
    assert splitter.usage == {"input_tokens": 3, "output_tokens": 5}


def test_nothing_after_the_end_is_released() -> None:
    window = Splitter(CHAT).feed(b"data: [DONE]\n\ndata: more\n\n")
    assert window is not None and window.data == b"data: [DONE]\n\n" and window.last


def test_a_terminator_inside_a_text_is_not_the_end() -> None:
    splitter = Splitter(CHAT)
    splitter.feed(b'data: {"choices":[{"delta":{"content":"data: [DONE]"}}]}\n\n')
    assert not splitter.done


def test_an_event_without_end_is_refused() -> None:
    splitter = Splitter(CHAT)
    with pytest.raises(EventTooLong):
        for _ in range(MAX_EVENT // 65536 + 2):
            splitter.feed(b"x" * 65536)


@pytest.mark.parametrize(
    ("text", "usage"),
    [
        (b'{"usage":{"prompt_tokens":1,"completion_tokens":2}}', {"input_tokens": 1, "output_tokens": 2}),
        (b'{"usage":{"prompt_tokens":1}}', {"input_tokens": 1}),
        (b'{"usage":{"prompt_tokens":1.5,"completion_tokens":true}}', None),
        (b'{"usage":{"prompt_tokens":-1}}', None),
        (b'{"usage":null}', None),
        (b"[]", None),
    ],
)
def test_usage_is_whole_numbers_or_nothing(text: bytes, usage: dict[str, int] | None) -> None:
    assert read_usage(parse(text)) == usage
