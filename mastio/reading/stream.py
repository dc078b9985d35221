"""Texts taken out of a streamed reply, shown to inspectors piece by piece, and put back: the events stay events.

A stream has channels: each a text that goes on from event to event (an answer, a thought, the arguments of a tool).
What an inspector holds back of a channel goes out with the channel's next event; and where the channel ends first, in
an event more, which is a copy of its last one. All other texts of an event are looked at as whole ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import orjson

from mastio.errors import Blocked, DispatchError
from mastio.inspection import Block, Carrier, Filter, Redact, Watch
from mastio.reading.document import Document, Said, drop_piecemeal
from mastio.reading.fragments import Channel, JsonText, PlainText
from mastio.strictjson import JsonError, parse

Key = tuple[Any, ...]
"""Names a channel."""

ALL: Key = ()
"""The beginning of every channel's name."""

MAX_CHANNELS = 1024
MAX_CLEAN = 4096
"""Characters, and texts, that are remembered as having nothing in them: ids, mostly, that come with every event."""

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
_LINE = re.compile(rb"[^\r\n]+")
_GAP = re.compile(r"[\s,\[\]]*")
_DECODER = json.JSONDecoder()


class Delta(NamedTuple):
    """A piece of a channel: the string `holder[member]`. `is_json`: the channel's text is JSON."""

    channel: Key
    holder: dict[str, Any]
    member: str
    carrier: Carrier = "assistant"
    is_json: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """How texts come in the events of a dialect.

    `deltas` finds the pieces of channels in an event. `ends` names, by their beginnings, the channels that are over
    with it. `strip` leaves of an event, which is a copy, only what carries its deltas. `names` are the dialect's own.
    `numbered`: the member that counts the events, where there is one.
    """

    deltas: Callable[[dict[str, Any]], Iterator[Delta]]
    ends: Callable[[dict[str, Any]], Iterable[Key]]
    strip: Callable[[dict[str, Any]], None]
    names: frozenset[str]
    numbered: str | None = None


class Frame(NamedTuple):
    """One event. `head` and `tail` are what its data stands between; `data` is empty where it has none."""

    head: bytes
    data: bytes
    tail: bytes


class StreamRewriter:
    """`inspection.Rewriter` for the events, or the array, of a dialect."""

    def __init__(self, shape: Shape, form: Literal["events", "array"], watches: Sequence[Watch]) -> None:
        self._shape = shape
        self._is_array = form == "array"
        self._watches = watches
        self._channels: dict[Key, tuple[Channel, Frame]] = {}
        self._clean: set[str] = set()
        self._added = 0
        self._before = 0  # the number of the last event that came

    async def feed(self, window: bytes, last: bool) -> bytes:
        frames = list(split_array(window) if self._is_array else split_events(window))
        final = max((n for n, frame in enumerate(frames) if frame.data), default=None) if last else None
        pieces = [await self._rewrite(frame, is_final=n == final) for n, frame in enumerate(frames)]
        if last and final is None:
            pieces.insert(0, self._end(ALL))
        return b"".join(pieces)

    async def end(self) -> bytes:
        return self._end(ALL)

    async def _rewrite(self, frame: Frame, is_final: bool) -> bytes:
        if not frame.data:
            return self._close_array(frame) if self._is_array else frame.head
        if frame.data.strip() == b"[DONE]":
            return self._end(ALL) + b"".join(frame)
        try:
            event = parse(frame.data)
        except JsonError as error:
            raise DispatchError("The provider sent an event that is not valid JSON.") from error
        if not isinstance(event, dict):
            raise DispatchError("The provider sent an event that is none of its API.")
        ended = [*self._shape.ends(event), *([ALL] if is_final else ())]
        changed = self._feed(event, ended, frame)
        if changed:
            drop_piecemeal(event)
        before = b"".join(self._end(key) for key in ended)
        data = await self._look(event, frame.data, changed)
        if (numbered := self._shape.numbered) is not None and numbered in event:
            data = self._number(data, numbered, event[numbered])
        if self._is_array and before:
            return frame.head + before + data + frame.tail
        return before + frame.head + data + frame.tail

    def _feed(self, event: dict[str, Any], ended: Sequence[Key], frame: Frame) -> bool:
        """Show the channels their pieces. Whether anything of the event is another now."""
        changed = False
        deltas = list(self._shape.deltas(event))
        last = {delta.channel: n for n, delta in enumerate(deltas)}
        for n, delta in enumerate(deltas):
            text = delta.holder[delta.member]
            channel = self._find(delta, frame)
            new = channel.feed(text)
            if last[delta.channel] == n and any(delta.channel[: len(key)] == key for key in ended):
                new += channel.close()
                del self._channels[delta.channel]
            delta.holder[delta.member] = Said(new)
            changed = changed or new != text
        return changed

    def _find(self, delta: Delta, frame: Frame) -> Channel:
        open_one = self._channels.get(delta.channel)
        if open_one is None:
            if len(self._channels) >= MAX_CHANNELS:
                raise DispatchError("The provider's stream has more texts at once than anybody reads.")

            def open_filters() -> Sequence[Filter]:
                return [watch.open(delta.carrier) for watch in self._watches]

            channel: Channel = JsonText(open_filters) if delta.is_json else PlainText(open_filters())
        else:
            channel = open_one[0]
        self._channels[delta.channel] = (channel, frame)
        return channel

    async def _look(self, event: dict[str, Any], data: bytes, changed: bool) -> bytes:
        """The event's data, its other texts looked at."""
        document = Document(orjson.dumps(event) if changed else data, event, self._shape.names, "assistant")
        is_clean = True
        for watch in self._watches:
            new = [n for n, leaf in enumerate(document.leaves) if leaf.text not in self._clean]
            if not new:
                break
            passages = document.passages
            verdict = await watch.look([passages[n] for n in new])
            if isinstance(verdict, Block):
                raise Blocked(verdict.message, verdict.findings)
            if isinstance(verdict, Redact):
                changed, is_clean = True, False
                data = document.replace({new[n]: text for n, text in verdict.texts.items()})
                event = parse(data)
                for delta in list(self._shape.deltas(event)):
                    delta.holder[delta.member] = Said(delta.holder[delta.member])
                document = Document(data, event, self._shape.names, "assistant")
        else:
            if is_clean and len(self._clean) < MAX_CLEAN:
                self._clean.update(leaf.text for leaf in document.leaves if len(leaf.text) < MAX_CLEAN)
        return document.replace({}) if changed else data

    def _end(self, key: Key) -> bytes:
        """Close these channels: events with what was still held back of them."""
        made = []
        for name in [name for name in self._channels if name[: len(key)] == key]:
            channel, frame = self._channels.pop(name)
            if held := channel.close():
                made.append(self._carry(name, held, frame))
        return b"".join(made)

    def _carry(self, name: Key, held: str, frame: Frame) -> bytes:
        """An event more, made of the channel's last one."""
        event = parse(frame.data)
        for delta in list(self._shape.deltas(event)):
            delta.holder[delta.member] = held if delta.channel == name else ""
        self._shape.strip(event)
        if (numbered := self._shape.numbered) is not None and numbered in event:
            self._added += 1
            event[numbered] = self._before + self._added
        data = orjson.dumps(event)
        return data + b",\r\n" if self._is_array else frame.head + data + frame.tail

    def _number(self, data: bytes, numbered: str, count: object) -> bytes:
        """The event's data, counted anew where there are more now."""
        if not isinstance(count, int):
            return data
        self._before = count
        if not self._added:
            return data
        return orjson.dumps({**orjson.loads(data), numbered: count + self._added})

    def _close_array(self, frame: Frame) -> bytes:
        """The end of an array has no event of its own, and comes after all of them."""
        if b"]" not in frame.head:
            return frame.head
        held = self._end(ALL)
        return b",\r\n" + held.removesuffix(b",\r\n") + frame.head if held else frame.head


def split_events(window: bytes) -> Iterator[Frame]:
    """The events of a window, which ends with one. Lines of data become one (WHATWG HTML §9.2.6)."""
    start = 0
    for match in _END.finditer(window):
        yield _frame(window[start : match.start()], match.group())
        start = match.end()
    if start < len(window):
        yield _frame(window[start:], b"")


def _frame(event: bytes, tail: bytes) -> Frame:
    lines = _LINE.findall(event)
    data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
    if not any(data):
        return Frame(event + tail, b"", b"")
    newline = tail[: len(tail) // 2] or b"\n"
    others = [line + newline for line in lines if not line.startswith(b"data")]
    return Frame(b"".join((*others, b"data: ")), b"\n".join(data), tail)


def split_array(window: bytes) -> Iterator[Frame]:
    """The elements of a piece of an array that holds only whole ones, with what stands before each of them."""
    text = window.decode()
    at = 0
    while at < len(text):
        gap = _GAP.match(text, at)
        start = gap.end() if gap is not None else at
        if start >= len(text):
            yield Frame(text[at:].encode(), b"", b"")
            return
        try:
            _, end = _DECODER.raw_decode(text, start)
        except ValueError as error:
            raise DispatchError("The provider sent an element that is not valid JSON.") from error
        yield Frame(text[at:start].encode(), text[start:end].encode(), b"")
        at = end
