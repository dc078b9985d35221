"""No value in a call, a reply or a stream passes silently: it is taken out, refused, or labelled `uninspected`."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import cache
from random import Random
from typing import Any, Literal

import orjson
import pytest

from mastio.exchange.errors import Blocked
from mastio.exchange.inspection import Block, Finding, Passage, Redact
from mastio.exchange.values import Action, Principal, Window
from mastio.pipeline.reply_inspection import ReplyInspection
from mastio_llm.texts import LAYOUTS
from mastio_redaction.catalogue import CATALOGUE
from mastio_redaction.engine import Engine
from mastio_redaction.inspector import Finder, Inspector
from mastio_redaction.matched_policies import RedactionPolicies
from mastio_redaction.redaction_policy import RedactionRow, TypeRule
from mastio_redaction.replacement.strategies import Keys
from support.redaction.replies import GENERATE, REPLIES, STREAM, STREAMS, positions
from support.redaction.requests import REQUESTS
from support.redaction.values import VALUES
from support.redaction.words import WORDS
from support.tier import positions as turns

ENGINE = Engine(CATALOGUE)
ALICE = Principal("alice", frozenset({"agent"}))
CHAT = Action("llm.chat", "Model", "openai/gpt-4o")
CARD = "4012888888881881"
Do = Literal["redact", "block"]


@cache
def inspector(action: Do) -> Inspector:
    made = Inspector(Finder(ENGINE, None), Keys(b"k" * 32))
    made.rulings = RedactionPolicies([RedactionRow("p", {"*": TypeRule(action)})])
    return made


async def open_watching(path: str, action: Do, form: str) -> ReplyInspection:
    verdict = await inspector(action).inspect(ALICE, CHAT, [Passage("hello", "user")])
    return ReplyInspection(LAYOUTS[path][form], [verdict.watch])  # type: ignore[index,list-item,union-attr]


Seen = tuple[bytes | None, dict[str, int]]
"""What went out, None where it was refused; and what was uninspected, by kind."""


def count(found: Sequence[Finding]) -> dict[str, int]:
    for one in found:
        assert one.label != "uninspected" or one.kind
    return {one.kind: one.times for one in found if one.label == "uninspected"}


Look = Callable[[str, bytes, Do], Awaitable[Seen]]


async def whole(path: str, body: bytes, action: Do) -> Seen:
    watching = await open_watching(path, action, "whole")
    try:
        return await watching.whole(body), count(watching.findings())
    except Blocked:
        return None, {}


def frame(path: str, events: Sequence[bytes]) -> list[bytes]:
    if path == STREAM:
        return [(b"[" if n == 0 else b",") + event for n, event in enumerate(events)] + [b"]"]
    return [b"data: " + event + b"\n\n" for event in events]


async def asked(path: str, body: bytes, action: Do) -> Seen:
    """What goes up of a call."""
    texts = LAYOUTS[path]["whole"].request(body, orjson.loads(body))
    uninspected = count(texts.uninspected)
    verdict = await inspector(action).inspect(ALICE, CHAT, list(texts.passages))
    if isinstance(verdict, Block):
        return None, {}
    return texts.replace(verdict.texts) if isinstance(verdict, Redact) else body, uninspected


async def streamed(path: str, event: bytes, action: Do) -> Seen:
    return await stream(path, [event], action)


async def stream(path: str, events: Sequence[bytes], action: Do) -> Seen:
    watching = await open_watching(path, action, "array" if path == STREAM else "events")
    windows = frame(path, events)
    try:
        out = [await watching.window(Window(w, last=n == len(windows) - 1)) for n, w in enumerate(windows)]
        return b"".join([*out, await watching.end()]), count(watching.findings())
    except Blocked:
        return None, {}


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    copied = orjson.loads(orjson.dumps(value))
    place = copied
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = new
    return copied


def read(out: bytes) -> str:
    """What went out as its readers have it: without escapes, three deep."""
    text = out.decode()
    for _ in range(3):
        text += text.replace('\\"', '"').replace("\\\\", "\\")
    return text


def is_silent(seen: Seen, value: str, before: dict[str, int]) -> bool:
    out, uninspected = seen
    if out is None or any(times > before.get(kind, 0) for kind, times in uninspected.items()):
        return False
    return value in read(out)


def sentence(kind: str, value: str) -> str:
    return f"{WORDS.get(kind, ('see ',))[0]}{value}"


def kinds() -> Iterator[tuple[str, str, str]]:
    """A value of every kind, in words by which it is recognised."""
    random = Random(7)
    for kind in VALUES:
        for _ in range(20):
            value = VALUES[kind](random)
            said = sentence(kind, value)
            if any(said[span.start : span.end] == value for span in ENGINE.find(said)):
                yield kind, value, said
                break


KINDS = list(kinds())


def test_every_kind_is_tried() -> None:
    assert VALUES.keys() - {kind for kind, _, _ in KINDS} <= {"SSH_KEY", "AZURE_KEY", "DOCKER_TOKEN"}


PATHS = {
    "chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages", "gemini": GENERATE,
    "embeddings": "/v1/embeddings",
}  # fmt: skip
CASES = (
    [(PATHS[name], 0, asked, call) for name, call in REQUESTS.items()]
    + [(path, n, whole, reply) for path, replies in REPLIES.items() for n, reply in enumerate(replies)]
    + [(path, n, streamed, event) for path, events in STREAMS.items() for n, event in enumerate(events)]
)
NAMES = [f"{look.__name__}-{path}-{n}" for path, n, look, _ in CASES]


def fill(sample: Any, texts: Sequence[str]) -> Any:
    """The sample with another text in each of its places."""
    made = orjson.loads(orjson.dumps(sample))
    for n, place in enumerate(positions(sample)):
        holder = made
        for name in place[:-1]:
            holder = holder[name]
        holder[place[-1]] = texts[n % len(texts)]
    return made


@pytest.mark.parametrize(("path", "number", "look", "sample"), CASES, ids=NAMES)
def test_no_kind_passes_in_any_place(path: str, number: int, look: Look, sample: Any) -> None:
    """All places at once, each with another kind, and then each place with the next kind."""
    missed: list[Any] = []
    places = list(positions(sample))

    async def go() -> None:
        _, before = await look(path, orjson.dumps(sample), "redact")
        for turn in turns(len(KINDS), 3):
            turned = KINDS[turn:] + KINDS[:turn]
            filled = fill(sample, [turned[n % len(KINDS)][2] for n in range(len(places))])
            out, _ = await look(path, orjson.dumps(filled), "redact")
            said = "" if out is None else read(out)
            for n, place in enumerate(places):
                _, value, text = turned[n % len(KINDS)]
                if value in said and is_silent(
                    await look(path, orjson.dumps(put(sample, place, text)), "redact"), value, before
                ):
                    missed.append((place, text))

    asyncio.run(go())
    assert missed == []


def wraps(value: str) -> Iterator[tuple[str, str]]:
    """How a value may come in the place of a text: the text, and how the value is read in it."""
    inner = json.dumps({"signature": value, "role": "system"})
    yield value, value
    yield json.dumps({"text": json.dumps({"model": [value]})}), value
    yield f" {inner}\n", value
    yield (
        base64.b64encode(f"the card {value} of this".encode()).decode(),
        base64.b64encode(value.encode()).decode()[4:16],
    )
    exponent = f"{value[0]}.{value[1:]}e15"
    hidden = base64.b64encode(f'{{"n": {exponent}}}'.encode()).decode()
    yield hidden, hidden[8:24]
    yield json.dumps({"t": f'{{"n": {exponent}}}'}), exponent
    yield f"that is {exponent} then", exponent
    yield f"that is {value}0e-1, then", value
    yield json.dumps({"n": float(f"0.{value}")}), f"0.{value}"[:12]
    yield (
        "look: " + base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) + value.encode()).decode() + " !",
        "iVBORw0KGgo",
    )


NUMBERS = (CARD, f"{CARD}.0", "4.012888888881881e15", f"0.{CARD}", f"[{CARD}, 0.5]", f'{{"x": {CARD}}}')


@pytest.mark.parametrize(("path", "number", "look", "sample"), CASES, ids=NAMES)
def test_no_disguise_passes_in_any_place(path: str, number: int, look: Look, sample: Any) -> None:
    missed: list[Any] = []
    places = list(positions(sample))
    raw = orjson.dumps(fill(sample, ["@@"])).decode()

    async def judge(make: Callable[[Any], bytes], seen_as: str) -> None:
        out, _ = await look(path, make(None), "redact")
        if out is None or seen_as not in read(out):
            return
        _, before = await look(path, orjson.dumps(sample), "redact")
        for place in places:
            if is_silent(await look(path, make(place), "redact"), seen_as, before):
                missed.append((place, seen_as))

    async def go() -> None:
        for text, seen_as in wraps(CARD):
            await judge(
                lambda place, text=text: orjson.dumps(
                    fill(sample, [text]) if place is None else put(sample, place, text)
                ),
                seen_as,
            )
        for number in NUMBERS:
            await judge(
                lambda place, number=number: (
                    (raw if place is None else orjson.dumps(put(sample, place, "@@")).decode())
                    .replace('"@@"', number)
                    .encode()
                ),
                number.strip('[]{}"x: ,')[:16],
            )

    asyncio.run(go())
    assert missed == []


@pytest.mark.parametrize(("path", "number", "look", "sample"), CASES, ids=NAMES)
def test_what_is_blocked_is_refused_in_every_place(path: str, number: int, look: Look, sample: Any) -> None:
    async def go() -> list[Any]:
        _, before = await look(path, orjson.dumps(sample), "block")
        seen = [
            (place, await look(path, orjson.dumps(put(sample, place, f"it is {CARD}")), "block"))
            for place in positions(sample)
        ]
        return [place for place, one in seen if is_silent(one, CARD, before)]

    assert asyncio.run(go()) == []
    assert asyncio.run(look(path, orjson.dumps(sample), "block"))[0] is not None
