"""A stream is asked for what it used, and says so to nobody who did not ask. Bytes in, bytes out."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from mastio.http.strictjson import set_member
from mastio_llm.attempt import RouteCandidate
from mastio_llm.dialects import OPERATIONS
from mastio_llm.dialects.openai import ask_chat_usage, hide_chat_usage
from mastio_llm.dialects.operation import AsksUsage
from mastio_llm.dialects.sse import Splitter
from mastio_llm.provider import ProviderRow
from mastio_llm.routing.candidates import Choice

CHAT = OPERATIONS["/v1/chat/completions"]


@pytest.mark.parametrize(
    ("raw", "asked", "sent"),
    [
        (b'{ "model": "m", "stream": true}', "silent",
         b'{"stream_options":{"include_usage":true}, "model": "m", "stream": true}'),
        (b' {"model":"m","stream":true}', "silent",
         b' {"stream_options":{"include_usage":true},"model":"m","stream":true}'),
        (b'{"stream_options":null,"model":"m","stream":true}', "no",
         b'{"stream_options":{"include_usage":true},"model":"m","stream":true}'),
        (b'{"stream":true,"a":{"stream_options":1},"stream_options" : {"include_usage":false}\n}', "no",
         b'{"stream":true,"a":{"stream_options":1},"stream_options" : {"include_usage":true}}'),
        (b'{"stream":true,"stream_options":{"include_usage":true}}', "yes",
         b'{"stream":true,"stream_options":{"include_usage":true}}'),
        (b'{"stream":true,"stream_options":"x"}', "yes", b'{"stream":true,"stream_options":"x"}'),
        *((raw, "yes", raw) for raw in (b'{"stream":true,"stream_options":{"include_usage":1}}',
                                        b'{"stream":true,"stream_options":{"include_usage":"true"}}')),
        (b'{"stream":false}', "always", b'{"stream":false}'),
        (b'{"a":"\\"stream_options\\":{}","stream_\\u006fptions":{"x":","},"stream":true}', "no",
         b'{"a":"\\"stream_options\\":{}","stream_\\u006fptions":{"x":",","include_usage":true},"stream":true}'),
    ],
)  # fmt: skip
def test_every_other_byte_goes_up_as_it_is(raw: bytes, asked: Any, sent: bytes) -> None:
    document = {"model": "m", "messages": [], **orjson.loads(raw)}
    assert CHAT.find({}, b"", document).usage == asked
    assert ask_chat_usage(raw, asked) == sent


@pytest.mark.parametrize("value", [None, 1, "a,}", {"x": [1, {"y": "}"}]}, [], True])
def test_a_member_is_set_wherever_it_stands(value: Any) -> None:
    encoded = orjson.dumps(value)
    for raw in (b'{"m":%b}', b'{ "a":[{"m":1}], "m" : %b , "z":"\\\\"}', b'{"a":"m","m":%b\n,"b":1}'):
        body = raw % encoded
        for new in ({"n": 1}, "s", None):
            assert orjson.loads(set_member(body, "m", new, is_new=False)) == {**orjson.loads(body), "m": new}
    with pytest.raises(KeyError):
        set_member(b'{"a":{"m":1}}', "m", 1, is_new=False)


@pytest.mark.parametrize(("asked", "rewrites"), [("always", 0), ("yes", 0), ("silent", 0), ("no", 1)])
def test_a_body_whose_members_are_searched_is_rewritten(asked: AsksUsage, rewrites: int) -> None:
    """A long one beside the event loop. What is only added to its beginning takes no time."""
    document = {"model": "m", "messages": [], "stream": True}
    call = CHAT.find({}, b"", document)._replace(usage=asked)
    choice = Choice(ProviderRow("stub", "openai", "https://stub.test/v1"), "m", renamed=False)
    assert RouteCandidate(CHAT, call, choice, None, "", None).rewrites(None) == bool(rewrites)


NULL = b'data: {"choices":[{"delta":{"content":"a"}}],"usage":null}\n\n'
PLAIN = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'


UNASKED = (
    b"event: chunk\r\nid: 7\r\n"
    b'data: {"choices":[{"finish_reason":"stop"}],"n":12345678901234567890123,"usage":{"prompt_tokens":1}}\r\n\r\n'
)
"""Of a provider that says in its last chunk what was used, whoever asks."""


@pytest.mark.parametrize(
    ("data", "left"),
    [
        (PLAIN, PLAIN), (NULL, PLAIN), (USAGE, b""), (NULL + USAGE + b"data: [DONE]\n\n", PLAIN + b"data: [DONE]\n\n"),
        (b'data: {"choices":[{"delta":{"content":", \\"usage\\": null"}}]}\n\n',) * 2,
        (UNASKED, UNASKED), (UNASKED + USAGE, UNASKED),
        (b'data: {"error":{"usage":"x"}}\n\n',) * 2,
        (b'data: {"usage":{"prompt_tokens":1}}\n\n',) * 2,
        (b'data: not json "usage"\n\n',) * 2, (b": comment\n\n",) * 2,
        (NULL.replace(b"\n\n", b"\r\n\r\n"), PLAIN.replace(b"\n\n", b"\r\n\r\n")),
    ],
)  # fmt: skip
def test_who_did_not_ask_does_not_see_it(data: bytes, left: bytes) -> None:
    assert hide_chat_usage(data) == left


def test_a_count_that_goes_on_is_none_of_what_will_be_written() -> None:
    running = b'data: {"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}\n\n'
    splitter = Splitter(CHAT.stream)
    splitter.feed(running)
    assert splitter.usage == {"input_tokens": 9}
    splitter.feed(b"data: [DONE]\n\n")
    assert splitter.usage == {"input_tokens": 9, "output_tokens": 1}
    splitter = Splitter(CHAT.stream)
    splitter.feed(USAGE)
    assert splitter.usage == {"input_tokens": 1, "output_tokens": 2}, "all is written, whoever leaves now"
