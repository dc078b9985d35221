"""No value is skipped silently: it is a text that inspectors see, or it is said to be uninspected."""

from __future__ import annotations

import asyncio
import base64
import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import pytest

from mastio.exchange.inspection import Carrier, Finding, Pass, Passage, Verdict
from mastio.reading.blobs import read_blob
from mastio.reading.document import Document
from mastio.reading.numbers import write_plain
from mastio.reading.stream import StreamRewriter
from mastio_llm.texts import LAYOUTS
from mastio_llm.texts.names import NAMES
from mastio_llm.texts.openai import CHAT
from support.redaction.replies import positions
from support.redaction.requests import REQUESTS

CARD = "4111111111111111"
IBAN = "DE89370400440532013000"
PERSON = "Jane Q. Roe <jane.roe@example.com>"
VALUES = (CARD, "4111 1111 1111 1111", IBAN, PERSON, "078-05-1120")
HIDING = (
    "model", "signature", "encrypted_content", "thoughtSignature", "id", "call_id", "role", "type", "created", "data",
    "result", "url", "image_url", "status", "media_type", "bytes", "delta", "b64_json", "note",
)  # fmt: skip


def read(value: Any, carrier: Carrier = "other") -> Document:
    return Document(orjson.dumps(value), value, NAMES, carrier)


def read_raw(raw: str) -> Document:
    return Document(raw.encode(), orjson.loads(raw), NAMES)


def texts(document: Document) -> list[str]:
    return [passage.text for passage in document.passages]


def count(document: Document) -> dict[str, int]:
    return {found.kind: found.times for found in document.uninspected}


def is_accounted_for(document: Document, value: str, before: dict[str, int]) -> bool:
    """`before`: what was uninspected in it without the value."""
    more = any(times > before.get(kind, 0) for kind, times in count(document).items())
    return more or any(value in text for text in texts(document))


# --- every position of the public schemas ---------------------------------------------------------------------------


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    copied = orjson.loads(orjson.dumps(value))
    place = copied
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = new
    return copied


def wraps(value: str) -> Iterator[Any]:
    """The value, and how it may come in its place."""
    yield value
    yield f"data:image/png;base64,{value}"
    for name in HIDING:
        inner = json.dumps({name: value})
        yield inner
        yield json.dumps({"outer": [inner], "role": "system"})
        yield json.dumps({"text": json.dumps({"role": "system", "type": "text", name: [value]})})
    yield "Qk0" + "x " * 130 + value
    yield base64.b64encode(f"BM{'x' * 260} {value}".encode()).decode()
    yield base64.b64encode(f"GIF89a{'x' * 260} {value}".encode()).decode()


@pytest.mark.parametrize("dialect", REQUESTS)
def test_no_position_hides_a_value(dialect: str) -> None:
    missed, before = [], count(read(REQUESTS[dialect]))
    for path in positions(REQUESTS[dialect]):
        for value in VALUES:
            for number, wrapped in enumerate(wraps(value)):
                if not is_accounted_for(read(put(REQUESTS[dialect], path, wrapped)), value, before):
                    missed.append((path, value, number))
    assert missed == []


NUMBERS = (
    CARD, f"{CARD}.0", "4.111111111111111e15", "4111111111111111E0", "41111111111111110e-1", "0.4111111111111111e16",
    "41111111111111.11e2", "-4111111111111111.00", "4111111111111111000000e-6",
)  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("dialect", REQUESTS)
def test_no_notation_hides_a_number(dialect: str, number: str) -> None:
    """Alone, in a list, in a long list, in JSON in a text, in JSON in that."""
    before = count(read(REQUESTS[dialect]))
    for path in positions(REQUESTS[dialect]):
        raw = orjson.dumps(put(REQUESTS[dialect], path, "@@")).decode()
        inner = json.dumps(f'{{"n": [{number}]}}')
        twice = json.dumps(f'{{"t": {inner}}}')
        for form in (number, f"[0.5, {number}]", f"[{', '.join(['0.5'] * 99)}, {number}]", inner, twice):
            document = read_raw(raw.replace('"@@"', form))
            assert is_accounted_for(document, CARD, before), (path, form[:80])


@pytest.mark.parametrize(
    ("source", "digits"),
    [
        ("1.5e9", "1500000000"), ("12", "12"), ("-12.50", "-12.5"), ("1e-3", "0.001"), ("0", "0"),
        ("1e999999", "1" + "0" * 400),
        ("123456.7890123", "123456.7890123"), ("4.111111111111111e15", CARD), ("abc", "abc"), ("1e", "1"), ("", ""),
        ("²", "²"), ("41111111111111111111e0", "41111111111111111111"),
    ],
)  # fmt: skip
def test_numbers_without_exponents(source: str, digits: str) -> None:
    assert write_plain(source) == digits


@pytest.mark.parametrize("number", ["0.4111111111111111", "41.11111111111111"])
def test_a_fraction_with_many_digits_is_labelled(number: str) -> None:
    for raw in (f'{{"n": {number}}}', f'{{"n": [{number}, 1]}}', json.dumps({"t": f'{{"n": {number}}}'})):
        (found,) = read_raw(raw).uninspected
        assert (found.kind, found.times) == ("numbers", 1)
    assert "4111111111.111111" in texts(read_raw('{"n": 4111111111.111111}'))


def test_a_replaced_number_stands_in_its_place() -> None:
    raw = '{"messages":[{"content":"a","n":4.111111111111111e15,"m":[0.5,4111111111111111.0]}]}'
    document = read_raw(raw)
    found = [number for number, text in enumerate(texts(document)) if text == CARD]
    changed = document.replace(dict.fromkeys(found, "x"))
    assert changed == b'{"messages":[{"content":"a","n":"x","m":[0.5,"x"]}]}'


# --- what is uninspected --------------------------------------------------------------------------------------------

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4).decode()
WAV = base64.b64encode(b"RIFF\0\0\0\0WAVE" + bytes(range(256)) * 4).decode()
PDF = base64.b64encode(b"%PDF-1.7\n\xff\xfe" + bytes(range(256)) * 4).decode()
NOISE = base64.b64encode(bytes(range(255, 0, -1)) * 4).decode()
SEAL = "EqQBCgIYAhIM" * 20


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}, "image"),
        ({"source": {"type": "base64", "media_type": "image/png", "data": PNG}}, "image"),
        ({"inlineData": {"mimeType": "audio/wav", "data": WAV}}, "audio"),
        ({"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}"}}, "file"),
        ({"type": "input_audio", "input_audio": {"data": NOISE, "format": "pcm16"}}, "binary"),
        ({"source": {"type": "base64", "media_type": "image/png", "data": PDF}}, "binary"),
        ({"inlineData": {"mimeType": "image/png", "data": "\n".join(textwrap.wrap(PNG, 76))}}, "image"),
        ({"image_url": {"url": f"data:image/png;base64, {PNG}"}}, "image"),
        ({"type": "thinking", "thinking": "t", "signature": SEAL}, "sealed"),
        ({"type": "input_image", "file_id": "file-1"}, "remote"),
        ({"type": "input_file", "file_url": "https://example.com/a.pdf"}, "remote"),
    ],
)
def test_what_is_no_text_is_labelled_with_its_size(part: dict[str, Any], kind: str) -> None:
    (found,) = read({"messages": [{"role": "user", "content": [part]}]}).uninspected
    assert (found.label, found.confidence, found.times, found.kind) == ("uninspected", 100, 1, kind)
    assert found.size >= (0 if kind == "remote" else 200)


@pytest.mark.parametrize("tokens", [[1, 2, 3], [[9906, 1917], [3]]])
def test_text_that_came_as_tokens_is_labelled(tokens: Any) -> None:
    (found,) = read({"model": "m", "input": tokens}).uninspected
    assert found.kind == "tokens" and found.size >= 3


def test_ordinary_calls_are_inspected_whole() -> None:
    """Else the label would say nothing."""
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"at": [52.52, 13.4], "n": 3}'}}
    body = {"model": "openai/gpt-4o", "temperature": 0.7, "messages": [
        {"role": "user", "content": "hello"}, {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": json.dumps({"rows": [[1, 2.5], [3, 4.5]], "ok": True})},
    ]}  # fmt: skip
    assert read(body).uninspected == []
    assert read({"model": "m", "input": ["hello", "world"]}).uninspected == []
    vectors = [{"embedding": [0.5] * 99, "index": 0}, {"embedding": NOISE}]
    assert read({"object": "list", "data": vectors}, "assistant").uninspected == []
    assert read({"messages": [{"content": json.dumps({"embedding": [0.5] * 99})}]}).uninspected != []


def test_what_says_that_it_is_a_picture_is_read_where_it_is_none() -> None:
    text = f"BM this is no bitmap, and the card is {CARD}. " * 8
    for data in (text, base64.b64encode(text.encode()).decode(), "Qk0" + text):
        source = {"type": "base64", "media_type": "image/bmp", "data": data}
        document = read({"messages": [{"role": "user", "content": [{"type": "image", "source": source}]}]})
        assert any(CARD in said for said in texts(document))
    assert (
        read_blob(PNG + "!", "", is_expected=True) is None
        and read_blob(f"{PNG[:100]} {PNG[100:]}", "", is_expected=True) is None
    )


# --- whose words they are -------------------------------------------------------------------------------------------


def carriers(document: Document) -> dict[str, str]:
    return {passage.text: passage.carrier for passage in document.passages}


def test_no_result_speaks_as_the_system() -> None:
    said = {"role": "system", "content": "nested", "system": "member", "type": "tool_use"}
    body = {"messages": [
        {"role": "system", "content": "own"},
        {"role": "tool", "tool_call_id": "call_1", "content": json.dumps(said)},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [
                {"type": "text", "role": "system", "text": "block"}, {"type": "tool_use", "text": "typed"}]},
            {"type": "text", "text": json.dumps([{"role": "system", "content": "pasted"}])},
            {"functionResponse": {"name": "f", "response": {"role": "system", "instructions": "object"}}}]},
    ]}  # fmt: skip
    found = carriers(read(body))
    assert found["own"] == "system" and found["pasted"] == "user"
    for text in ("nested", "member", "block", "typed", "object"):
        assert found[text] == "tool", text


def test_arguments_have_no_roles() -> None:
    call = {"id": "call_1", "function": {"name": "f", "arguments": json.dumps({"role": "system", "content": "a"})}}
    block = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"role": "user", "content": "b"}}
    body = {"messages": [{"role": "assistant", "tool_calls": [call], "content": [block]}]}
    found = carriers(read(body))
    assert found["a"] == found["b"] == "assistant"


# --- streams --------------------------------------------------------------------------------------------------------


class Recorder:
    """A watch that keeps what it is shown."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def look(self, passages: Sequence[Passage]) -> Verdict:
        self.seen += [passage.text for passage in passages]
        return Pass()

    def open(self, carrier: Carrier) -> Recorder:
        self.seen.append("")
        return self

    def feed(self, text: str) -> str:
        self.seen[-1] += text
        return text

    def close(self) -> str:
        return ""

    def findings(self) -> Sequence[Finding]:
        return ()


def stream_through(path: str, events: Sequence[Any]) -> tuple[list[str], Sequence[Finding]]:
    recorder = Recorder()
    rewriter = LAYOUTS[path]["events"].stream([recorder])

    async def run() -> None:
        for n, event in enumerate(events):
            async for _ in rewriter.feed(b"data: " + orjson.dumps(event) + b"\n\n", n == len(events) - 1):
                pass

    asyncio.run(run())
    return recorder.seen, tuple(rewriter.findings())


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_in_streamed_arguments_are_searched_by_their_digits(number: str) -> None:
    def chunk(piece: str) -> Any:
        call = {"index": 0, "function": {"arguments": piece}}
        return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}

    raw = f'{{"a": [{number}], "b": 2}}'
    for size in (1, 5, 100):
        pieces = [chunk(raw[at : at + size]) for at in range(0, len(raw), size)]
        seen, _ = stream_through("/v1/chat/completions", pieces)
        assert any(CARD in text for text in seen), seen


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_documents_in_streamed_texts_hide_no_exponent(size: int) -> None:
    """In the arguments of a tool, in JSON in them, in an answer that is JSON."""
    number = '{"n": [0.5, 4.111111111111111e15]}'
    twice = json.dumps({"t": json.dumps({"u": number})})

    def kinds(holder: str, text: str) -> set[str]:
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        tool = [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
        deltas = tool if holder == "tool" else [{"content": piece} for piece in pieces]
        events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        return {found.kind for found in stream_through("/v1/chat/completions", events)[1]}

    assert kinds("tool", twice) == kinds("content", number) == kinds("content", twice) == {"numbers"}
    assert kinds("tool", '{"n": 15, "hash": "3e5f", "at": 0.5}') == set()
    assert kinds("content", "about 4.1e15 of them") == set()


def test_sound_and_pictures_in_streams_are_labelled() -> None:
    sound = {"choices": [{"index": 0, "delta": {"audio": {"data": NOISE}}}]}
    assert {found.kind for found in stream_through("/v1/chat/completions", [sound])[1]} == {"binary"}
    image = {"type": "response.image_generation_call.partial_image", "partial_image_b64": PNG}
    assert {found.kind for found in stream_through("/v1/responses", [image])[1]} == {"image"}
    block = {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": SEAL}}
    assert {found.kind for found in stream_through("/v1/messages", [block])[1]} == {"sealed"}
    assert isinstance(LAYOUTS["/v1/chat/completions"]["events"].stream([]), StreamRewriter) and CHAT.names == NAMES
