"""The texts of streams in every dialect: found whatever way they are cut, put back so that clients read the same."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import pytest

from mastio.exchange.errors import DispatchError
from mastio.exchange.inspection import Pass, Passage, Redact
from mastio_llm.texts import LAYOUTS

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
GEMINI = "/v1beta/models/{model...}:streamGenerateContent"
SECRET, TOKEN = "4111-1111", "<CARD_1>"


class Holding:
    """Lets no beginning of the secret go before it is clear what it is; and so for each text."""

    def __init__(self) -> None:
        self.held = ""

    def feed(self, text: str) -> str:
        text = (self.held + text).replace(SECRET, TOKEN)
        keep = next((n for n in range(len(SECRET) - 1, 0, -1) if text.endswith(SECRET[:n])), 0)
        self.held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def close(self) -> str:
        held, self.held = self.held, ""
        return held


class Watching:
    def __init__(self) -> None:
        self.seen: list[str] = []

    def open(self, carrier: str) -> Any:
        return Holding()

    async def look(self, passages: Sequence[Passage]) -> Any:
        self.seen += [passage.text for passage in passages]
        found = {n: p.text.replace(SECRET, TOKEN) for n, p in enumerate(passages) if SECRET in p.text}
        return Redact(found) if found else Pass()

    def findings(self) -> list[Any]:
        return []


def events(*documents: Any, end: bytes = b"") -> list[bytes]:
    named = [b"event: " + d["type"].encode() + b"\n" if "type" in d else b"" for d in documents]
    made = [name + b"data: " + json.dumps(d).encode() + b"\n\n" for name, d in zip(named, documents, strict=True)]
    return [*made, end] if end else made


def rewrite(path: str, form: str, windows: list[bytes], closes: bool = False) -> bytes:
    async def go() -> bytes:
        rewriter = LAYOUTS[path][form].stream([Watching()])  # type: ignore[index]
        out = [
            piece
            for n, w in enumerate(windows)
            async for piece in rewriter.feed(w, not closes and n == len(windows) - 1)
        ]
        return b"".join([*out, await rewriter.end()])

    return asyncio.run(go())


def documents(stream: bytes) -> Iterator[Any]:
    for event in stream.split(b"\n\n"):
        data = b"".join(line[6:] for line in event.split(b"\n") if line.startswith(b"data: "))
        if data and data != b"[DONE]":
            yield orjson.loads(data)


def chat_chunk(delta: Any, finish: Any = None, index: int = 0) -> Any:
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": index, "delta": delta, "finish_reason": finish}]}  # fmt: skip


def call(arguments: str, **more: Any) -> Any:
    return {"tool_calls": [{"index": 0, **more, "function": {"arguments": arguments}}]}


TEXT = f"It is {SECRET}, not 4111-11, says {SECRET}, 4111-"
CLEAN = TEXT.replace(SECRET, TOKEN)
ARGUMENTS = json.dumps({"card": SECRET, "n": 1, "e\u00e9": f'"{SECRET}" 4111'})
CLEAN_ARGUMENTS = json.loads(ARGUMENTS.replace(SECRET, TOKEN))


def cuts(text: str) -> Iterator[list[str]]:
    for at in range(1, len(text)):
        yield [text[:at], text[at:]]
    yield list(text)
    yield [text]


@pytest.mark.parametrize("finish", ["finish", "done only", "neither"])
def test_chat(finish: str) -> None:
    for pieces in cuts(TEXT):
        chunks = [chat_chunk({"role": "assistant", "content": ""}), *(chat_chunk({"content": p}) for p in pieces)]
        chunks += [chat_chunk({"reasoning": p}, index=1) for p in pieces]
        chunks += [chat_chunk({}, "stop"), chat_chunk({}, "stop", 1)] if finish == "finish" else []
        out = rewrite(CHAT, "events", events(*chunks, end=b"data: [DONE]\n\n" if finish != "neither" else b""))
        said = {"content": "", "reasoning": ""}
        finished = set()
        for event in documents(out):
            for choice in event["choices"]:
                assert choice["index"] not in finished, "nothing comes after the end of a choice"
                for name, text in choice["delta"].items():
                    said[name] = said.get(name, "") + text
                if choice["finish_reason"]:
                    finished.add(choice["index"])
        assert said == {"role": "assistant", "content": CLEAN, "reasoning": CLEAN}
        assert out.endswith(b"[DONE]\n\n") == (finish != "neither")


def test_chat_tools() -> None:
    for pieces in cuts(ARGUMENTS):
        first = chat_chunk(call("", id="call_1", type="function"))
        first["choices"][0]["delta"]["tool_calls"][0]["function"]["name"] = "pay"
        chunks = [first, *(chat_chunk(call(p)) for p in pieces), chat_chunk({}, "tool_calls")]
        said, names = "", []
        for event in documents(rewrite(CHAT, "events", events(*chunks, end=b"data: [DONE]\n\n"))):
            for part in event["choices"][0]["delta"].get("tool_calls", []):
                said += part["function"].get("arguments", "")
                names += [part["function"]["name"]] if "name" in part["function"] else []
        assert (json.loads(said), names) == (CLEAN_ARGUMENTS, ["pay"])


def test_a_finishing_chunk_with_text_has_all_that_was_held_back() -> None:
    chunks = [chat_chunk({"content": "4111-"}), chat_chunk({"content": "11"}, "stop")]
    out = list(documents(rewrite(CHAT, "events", events(*chunks, end=b"data: [DONE]\n\n"))))
    assert [event["choices"][0]["delta"]["content"] for event in out] == ["", "4111-11"]


def test_messages() -> None:
    for text, kind, member in ((TEXT, "text_delta", "text"), (ARGUMENTS, "input_json_delta", "partial_json")):
        for pieces in cuts(text):
            deltas = [
                {"type": "content_block_delta", "index": 0, "delta": {"type": kind, member: piece}} for piece in pieces
            ]
            made = events(
                {"type": "message_start", "message": {"id": "m", "content": []}},
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                *deltas,
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
                {"type": "message_stop"},
            )
            out = rewrite(MESSAGES, "events", made)
            kinds = [event["type"] for event in documents(out)]
            assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
            said = "".join(e["delta"][member] for e in documents(out) if e["type"] == "content_block_delta")
            assert (said if member == "text" else json.loads(said)) == (CLEAN if member == "text" else CLEAN_ARGUMENTS)
            assert out.count(b"event: content_block_delta\n") == kinds.count("content_block_delta")


def test_responses() -> None:
    for pieces in cuts(TEXT):
        place = {"item_id": "i", "output_index": 0, "content_index": 0}
        deltas = [{"type": "response.output_text.delta", **place, "delta": piece} for piece in pieces]
        listed = [
            *deltas,
            {"type": "response.output_text.done", **place, "text": TEXT},
            {"type": "response.completed", "response": {"output": [{"content": [{"text": TEXT}]}]}},
        ]
        made = [{**event, "sequence_number": n} for n, event in enumerate(listed)]
        out = list(documents(rewrite(RESPONSES, "events", events(*made))))
        assert [event["sequence_number"] for event in out] == list(range(len(out)))
        assert "".join(event["delta"] for event in out if "delta" in event) == CLEAN
        assert out[-2]["text"] == CLEAN
        assert out[-1]["response"]["output"][0]["content"][0]["text"] == CLEAN


def test_a_beginning_that_is_held_back_whole_comes_in_a_piece_of_its_own() -> None:
    """There is no piece behind it that it could go out with."""
    begin, held = {"type": "content_block_start", "index": 0}, SECRET[:6]
    for name in ("text", "thinking"):
        sent = events(
            {**begin, "content_block": {"type": name, name: held}}, {"type": "content_block_stop", "index": 0},
        )  # fmt: skip
        start, piece, stop = documents(rewrite(MESSAGES, "events", sent))
        assert start["content_block"] == {"type": name, name: ""}
        assert piece == {"type": "content_block_delta", "index": 0, "delta": {"type": f"{name}_delta", name: held}}
        assert stop["type"] == "content_block_stop"
    place = {"item_id": "m", "output_index": 0, "content_index": 0}
    sent = events(
        {"type": "response.content_part.added", **place, "part": {"type": "output_text", "text": held}},
        {"type": "response.output_text.done", **place, "text": held},
    )
    added, piece, done = documents(rewrite(RESPONSES, "events", sent))
    assert (added["type"], added["part"]["text"]) == ("response.content_part.added", "")
    assert piece == {"type": "response.output_text.delta", **place, "delta": held}
    assert done["text"] == held


def test_a_stream_that_is_cut_leaves_no_cycle() -> None:
    call = {"index": 0, "function": {"arguments": '{"a": "'}}
    windows = events({"choices": [{"index": 0, "delta": {"content": "a", "tool_calls": [call]}}]})

    async def cut() -> weakref.ref[Any]:
        rewriter: Any = LAYOUTS[CHAT]["events"].stream([Watching()])
        async for _ in rewriter.feed(windows[0], False):
            pass
        return weakref.ref(rewriter)

    gc.disable()
    try:
        assert asyncio.run(cut())() is None
    finally:
        gc.enable()


def content(text: str, finish: str | None = None) -> Any:
    made: dict[str, Any] = {"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}]}
    if finish:
        made["candidates"][0]["finishReason"] = finish
        made["usageMetadata"] = {"totalTokenCount": 3}
    return made


@pytest.mark.parametrize("form", ["events", "array"])
@pytest.mark.parametrize("finish", ["with text", "alone", "never"])
def test_gemini(form: str, finish: str) -> None:
    for pieces in cuts(TEXT):
        made = [content(piece) for piece in pieces]
        if finish == "with text":
            made[-1] = content(pieces[-1], "STOP")
        elif finish == "alone":
            made.append({"candidates": [{"finishReason": "STOP", "index": 0}]})
        if form == "events":
            out = list(documents(rewrite(GEMINI, form, events(*made), closes=True)))
        else:
            windows = [(b",\r\n" if n else b"[") + json.dumps(element).encode() for n, element in enumerate(made)]
            for end in ([b"\n]"], []):
                joined = windows if end else [*windows[:-1], windows[-1] + b"]"]
                out = json.loads(rewrite(GEMINI, form, [*joined, *end]))
        said = [part["text"] for e in out for part in e["candidates"][0].get("content", {}).get("parts", [])]
        assert "".join(said) == CLEAN
        assert sum("finishReason" in e["candidates"][0] for e in out) == (finish != "never")


def test_functions_of_gemini_come_whole() -> None:
    made = {"candidates": [{"content": {"parts": [{"functionCall": {"name": "pay", "args": {SECRET: [SECRET, 1]}}}]}}]}
    out = list(documents(rewrite(GEMINI, "events", events(made))))
    assert out[0]["candidates"][0]["content"]["parts"][0]["functionCall"]["args"] == {TOKEN: [TOKEN, 1]}


def test_what_has_nothing_in_it_keeps_its_bytes() -> None:
    made = [
        b":\n\n",
        b'event: x\r\nid: 7\r\ndata: {"choices" : [{"index":0,"delta":{"content":"plain \\u00e9"}}]}\r\n\r\n',
        b'data: {"choices":[],\ndata: "usage":{"total_tokens":3}}\n\n',
        b"data: [DONE]\n\n",
    ]
    out = rewrite(CHAT, "events", made)
    assert out.replace(b',\n"usage"', b',\ndata: "usage"') == b"".join(made)


def test_what_only_others_read_as_an_event_is_refused() -> None:
    """A client that is less strict would put its pieces together with those of other events."""
    for bad in (b'data: {"a":1,"a":2}\n\n', b'data: {"a":NaN}\n\n', b'data: {"a":1e999}\n\n'):
        with pytest.raises(DispatchError, match="cannot be inspected"):
            rewrite(CHAT, "events", [bad])


def test_more_texts_at_once_than_anybody_reads_are_refused() -> None:
    with pytest.raises(DispatchError, match="at once"):
        rewrite(CHAT, "events", events(*(chat_chunk({"content": "4"}, index=n) for n in range(1100))))


@pytest.mark.parametrize(
    "event",
    [
        b'data: {"choices":[{"delta"\n\n',
        b'data:{"a":\rdata: 1}\r\r',
        b"data: one\r\ndata: two\r\n\r\n",
        b'event: odd\nid: 7\nretry: 300\n:\ndata:  {"choices":[]}\n\n',
        b"data: [1, 2]\n\n",
        b'\xef\xbb\xbfdata: {"choices": []}\n\n',
    ],
)
def test_what_is_not_changed_keeps_its_bytes(event: bytes) -> None:
    windows = [*events(chat_chunk({"content": "hello"})), event, *events(chat_chunk({}, "stop"))]
    assert rewrite(CHAT, "events", list(windows)) == b"".join(windows)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (b'data: {"choices":[{"4111-1111"\n\n', b'data: {"choices":[{"<CARD_1>"\n\n'),
        (b": odd\r\ndata: one\r\ndata: 4111-1111\r\n\r\n", b":\r\ndata: one\r\ndata: <CARD_1>\r\n\r\n"),
        (b'data: ["4111-1111"]\n\n', b'data: ["<CARD_1>"]\n\n'),
        (b'\xef\xbb\xbfdata: {"x":"4111-1111"}\n\n', b'data: {"x":"<CARD_1>"}\n\n'),
        (b'data: {"x":\ndata: "4111-1111"}\n\n', b'data: {"x":\ndata: "<CARD_1>"}\n\n'),
    ],
)
@pytest.mark.parametrize("is_last", [True, False])
def test_what_is_no_event_of_the_api_is_a_text(event: bytes, said: bytes, is_last: bool) -> None:
    first = events(chat_chunk({"content": "hello 4111"}))
    end = [] if is_last else events(chat_chunk({"content": "!"}))
    out = rewrite(CHAT, "events", [*first, event, *end])
    assert said in out
    assert SECRET.encode() not in out
    assert "".join(c["delta"]["content"] for e in documents(out.replace(said, b"")) for c in e["choices"]) == (
        "hello 4111" + "!" * (not is_last)
    )


@pytest.mark.parametrize(("path", "form"), [(CHAT, "events"), (GEMINI, "array")])
def test_what_is_no_text_is_refused(path: str, form: str) -> None:
    with pytest.raises(DispatchError, match="cannot be inspected"):
        rewrite(path, form, [b"data: \xff\xfe\n\n" if form == "events" else b'[{"a":"\xff"}]'])
    with pytest.raises(DispatchError, match="not valid JSON"):
        rewrite(GEMINI, "array", [b'[{"a":' + b"[" * 50_000])


def test_a_flood_comes_out_in_pieces() -> None:
    window = b"".join(events(chat_chunk({"content": "hello"}))) * 2_000

    async def go() -> list[bytes]:
        return [piece async for piece in LAYOUTS[CHAT]["events"].stream([Watching()]).feed(window, False)]  # type: ignore[index]

    pieces = asyncio.run(go())
    assert b"".join(pieces) == window
    assert max(map(len, pieces)) < 20_000


def test_a_text_that_was_clean_under_one_name_is_looked_at_under_another() -> None:
    class Naming(Watching):
        async def look(self, passages: Sequence[Passage]) -> Any:
            found = {n: TOKEN for n, passage in enumerate(passages) if passage.name == "imei"}
            return Redact(found) if found else Pass()

    async def go() -> bytes:
        rewriter = LAYOUTS["/v1/chat/completions"]["events"].stream([Naming()])
        windows = events({"x": {"a": "490154203237518"}}, {"x": {"imei": "490154203237518"}}, end=b"data: [DONE]\n\n")
        return b"".join([piece for window in windows for piece in [p async for p in rewriter.feed(window, last=False)]])

    first, second = list(documents(asyncio.run(go())))[:2]
    assert first == {"x": {"a": "490154203237518"}} and second == {"x": {"imei": TOKEN}}


def test_a_value_in_streamed_arguments_is_opened_under_its_name() -> None:
    opened: list[str] = []

    class Named(Watching):
        def open_named(self, carrier: str, name: str) -> Any:
            opened.append(name)
            return Holding()

    async def go() -> None:
        rewriter = LAYOUTS["/v1/responses"]["events"].stream([Named()])
        for piece in ('{"im', 'ei":"4901', '54203237518"}'):
            event = {
                "type": "response.function_call_arguments.delta",
                "item_id": "i",
                "output_index": 0,
                "delta": piece,
            }
            _ = [out async for out in rewriter.feed(events(event)[0], last=False)]

    asyncio.run(go())
    assert opened == ["imei"]
