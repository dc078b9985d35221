"""A value that a client puts together of several events: beginnings of blocks, names and ids in pieces, arguments."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from mastio.exchange.errors import Blocked
from mastio.exchange.inspection import Passage
from mastio.exchange.values import Action, Principal
from mastio_llm.texts import LAYOUTS
from mastio_redaction.catalogue import CATALOGUE
from mastio_redaction.engine import Engine
from mastio_redaction.inspector import Finder, Inspector
from mastio_redaction.matched_policies import RedactionPolicies
from mastio_redaction.redaction_policy import RedactionRow, TypeRule
from mastio_redaction.replacement.strategies import Keys

CARD = "4012888888881881"
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
GEMINI = "/v1beta/models/{model...}:streamGenerateContent"
INSPECTOR = Inspector(Finder(Engine(CATALOGUE), None), Keys(b"k" * 32))
INSPECTOR.rulings = RedactionPolicies([RedactionRow("p", {"*": TypeRule("redact")})])


def rewrite(path: str, raw: Sequence[bytes]) -> bytes:
    async def go() -> bytes:
        alice, action = Principal("alice", frozenset({"agent"})), Action("llm.chat", "Model", "p/m")
        verdict = await INSPECTOR.inspect(alice, action, [Passage("hello", "user")])
        rewriter = LAYOUTS[path]["events"].stream([verdict.watch])  # type: ignore[list-item,union-attr]
        out = [piece for window in raw for piece in [p async for p in rewriter.feed(window, last=False)]]
        return b"".join([*out, await rewriter.end()])

    return asyncio.run(go())


def frames(events: Sequence[Any]) -> list[bytes]:
    named = [f"event: {event['type']}\n".encode() if "type" in event else b"" for event in events]
    return [name + b"data: " + orjson.dumps(event) + b"\n\n" for name, event in zip(named, events, strict=True)]


def events_of(out: bytes) -> list[Any]:
    found = []
    for event in out.split(b"\n\n"):
        name, _, data = event.rpartition(b"data: ")
        if data:
            found.append(orjson.loads(data))
            assert not name or name == f"event: {found[-1]['type']}\n".encode()
    return found


def begun_block(pieces: Sequence[str], member: str = "text") -> list[Any]:
    block = {"type": member, member: pieces[0]}
    deltas = [{"type": f"{member}_delta", member: piece} for piece in pieces[1:]]
    return [{"type": "content_block_start", "index": 0, "content_block": block},
            *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": 0}]  # fmt: skip


def begun_part(pieces: Sequence[str]) -> list[Any]:
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    return [{"type": "response.content_part.added", **place, "part": {"type": "output_text", "text": pieces[0]}},
            *({"type": "response.output_text.delta", **place, "delta": piece} for piece in pieces[1:]),
            {"type": "response.output_text.done", **place, "text": ""}]  # fmt: skip


def begun_call(pieces: Sequence[str]) -> list[Any]:
    item = {"id": "fc_1", "type": "function_call", "arguments": pieces[0]}
    return [{"type": "response.output_item.added", "output_index": 0, "item": item},
            *({"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0, "delta": piece}
              for piece in pieces[1:]),
            {"type": "response.function_call_arguments.done", "item_id": "fc_1", "output_index": 0,
             "arguments": ""}]  # fmt: skip


def pieces_of_arguments(pieces: Sequence[str]) -> list[Any]:
    made = [{"jsonPath": "$.a", "stringValue": piece, "willContinue": True} for piece in pieces]
    made[-1].pop("willContinue")
    return [{"candidates": [{"content": {"parts": [{"functionCall": {"partialArgs": [one]}}]}}]} for one in made]


def strings(value: Any) -> str:
    """All strings of the texts that go on, one after the other."""
    if isinstance(value, dict):
        names = ("text", "thinking", "delta", "part", "item", "content_block", "arguments", "stringValue")
        return "".join(
            strings(below) for name, below in value.items() if name in names or isinstance(below, dict | list)
        )
    if isinstance(value, list):
        return "".join(map(strings, value))
    return value if isinstance(value, str) else ""


def cuts(text: str) -> list[list[str]]:
    return [[text[:at], text[at:]] for at in range(1, len(text))] + [list(text), [text]]


@pytest.mark.parametrize(
    ("path", "make"),
    [(MESSAGES, begun_block), (MESSAGES, lambda pieces: begun_block(pieces, "thinking")), (RESPONSES, begun_part),
     (RESPONSES, begun_call), (GEMINI, pieces_of_arguments)],
    ids=["block", "thinking", "part", "call", "arguments"],
)  # fmt: skip
def test_a_value_that_begins_before_the_first_piece_is_found(path: str, make: Any) -> None:
    for pieces in cuts(f'{{"a": "is {CARD} so"}}' if make is begun_call else f"is {CARD} so"):
        out = events_of(rewrite(path, frames(make(pieces))))
        said = "".join(map(strings, out))
        assert CARD not in said and "<CREDIT_CARD_" in said and " so" in said, pieces
        assert sum(event.get("type", "").endswith(("_start", ".added")) for event in out) == (path != GEMINI)
    clean = frames(make(["it is ", "nothing", " so"]))
    assert strings(events_of(rewrite(path, clean))).replace("_delta", "") == strings(
        events_of(b"".join(clean))
    ).replace("_delta", "")


@pytest.mark.parametrize("member", ["name", "id", "role"])
def test_a_name_that_comes_in_pieces_is_judged_as_a_whole(member: str) -> None:
    def made(pieces: Sequence[str]) -> list[bytes]:
        calls = [{"index": 0, "function": {"name": p}} if member == "name" else {"index": 0, member: p} for p in pieces]
        return frames([{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls])

    with pytest.raises(Blocked, match="comes in pieces"):
        rewrite(CHAT, made(["40128888", "8888", "1881"]))
    for right in (["get_", "weather"], ["call_1", "call_1", "call_1"], ["", "a", ""]):
        assert rewrite(CHAT, made(right)) == b"".join(made(right))


def test_a_text_in_the_place_of_sound_is_judged_as_a_whole() -> None:
    pieces = ["is 4012888", "888881881 so"]
    chat = [{"choices": [{"index": 0, "delta": {"audio": {"data": piece}}}]} for piece in pieces]
    with pytest.raises(Blocked, match="comes in pieces"):
        rewrite(CHAT, frames(chat))
    with pytest.raises(Blocked, match="comes in pieces"):
        rewrite(RESPONSES, frames([{"type": "response.audio.delta", "delta": piece} for piece in pieces]))
    sound = base64.b64encode(bytes(range(256)) * 3).decode()
    right = frames([{"choices": [{"index": 0, "delta": {"audio": {"data": one}}}]} for one in (sound, sound, "AAEC")])
    assert rewrite(CHAT, right) == b"".join(right)


def test_tokens_that_say_a_text_again_go_with_it() -> None:
    """Those of an event that repeats a whole text, too."""
    again = [{"token": CARD[at : at + 4], "logprob": -0.1} for at in range(0, 16, 4)]
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": CARD, "logprobs": again}
    done = {"type": "response.output_text.done", **place, "text": CARD, "logprobs": again}
    for event in (done, {"type": "response.content_part.done", **place, "part": part},
                  {"type": "response.completed", "response": {"output": [{"content": [part]}]}}):  # fmt: skip
        out = rewrite(RESPONSES, frames([event])).decode()
        assert "<CREDIT_CARD_" in out and "logprobs" not in out
        clean = json.loads(json.dumps(event).replace(CARD, "hello"))
        assert rewrite(RESPONSES, frames([clean])) == b"".join(frames([clean]))


def test_what_is_added_at_the_end_repeats_nothing_uninspected() -> None:
    """The event more is made of one that was looked at."""
    note = {"finishMessage": f"card {CARD}", "content": {"parts": [{"text": "4012"}]}}
    out = rewrite(GEMINI, frames([{"candidates": [note], "responseId": f"r {CARD}"}])).decode()
    assert out.count("data:") == 2 and CARD not in out


@pytest.mark.parametrize("field", ["event", "id"])
def test_fields_of_events_are_texts(field: str) -> None:
    event = f"{field}: {CARD}\ndata: {{}}\n\n"
    assert f"{field}: <CREDIT_CARD_" in rewrite(CHAT, [event.encode()]).decode()
    assert rewrite(CHAT, [f"{field}: message\ndata: {{}}\n\n".encode()]) == f"{field}: message\ndata: {{}}\n\n".encode()
