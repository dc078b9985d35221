"""Texts taken out of a streamed reply, shown to inspectors piece by piece, and put back: the events stay events.

A stream has channels: each a text that goes on from event to event (an answer, a thought, the arguments of a tool).
What an inspector holds back of a channel goes out with the channel's next event; and where the channel ends first, in
an event more, which is a copy of its last one. All other texts of an event are looked at as whole ones.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import orjson

from mastio.errors import Blocked, DispatchError
from mastio.inspection import UNINSPECTED, Block, Carrier, Filter, Finding, Passage, Redact, Watch, merge, open_filter
from mastio.reading.document import Document, Said, drop_piecemeal
from mastio.reading.fragments import Channel, JsonText, PlainText
from mastio.strictjson import JsonError, parse

Key = tuple[Any, ...]
"""Names a channel."""

ALL: Key = ()
"""The beginning of every channel's name."""

TURN = 16 * 1024
"""Bytes of events that are looked at before others get their turn."""

MAX_CHANNELS = 1024
MAX_CLEAN = 4096
"""Characters, and texts with their names, that are remembered as having nothing in them: ids, mostly, that come with
every event."""

TAIL = 64
"""Characters by which a number may be cut between events."""

_EXPONENT = re.compile(r"[\s,:\[]-?[0-9][0-9.]{0,40}[eE][+-]?[0-9]")
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
    """One event, as it came in `raw`. `head` and `tail` are what its data stands between, `joint` what stands between
    the lines of it; `data` is empty where it has none."""

    raw: bytes
    head: bytes = b""
    data: bytes = b""
    tail: bytes = b""
    joint: bytes = b"\n"

    def with_data(self, data: bytes) -> bytes:
        return self.head + data.replace(b"\n", self.joint) + self.tail


class StreamRewriter:
    """`inspection.Rewriter` for the events, or the array, of a dialect."""

    def __init__(self, shape: Shape, form: Literal["events", "array"], watches: Sequence[Watch]) -> None:
        self._shape = shape
        self._is_array = form == "array"
        self._watches = watches
        self._channels: dict[Key, tuple[Channel, Frame]] = {}
        self._clean: set[tuple[str, str]] = set()
        self._uninspected: tuple[Finding, ...] = ()
        self._tails: dict[Key, str | None] = {}
        self._added = 0
        self._before = 0  # the number of the last event that came

    async def feed(self, window: bytes, last: bool) -> AsyncIterator[bytes]:
        frames = list(split_array(window) if self._is_array else split_events(window))
        final = max((n for n, frame in enumerate(frames) if frame.data), default=None) if last else None
        # the end of an array has it behind the last element
        pieces = [self._end(ALL)] if last and final is None and not self._is_array else []
        read = 0
        for n, frame in enumerate(frames):
            pieces.append(await self._rewrite(frame, is_final=n == final))
            read += len(frame.raw)
            if read > TURN:
                yield b"".join(pieces)
                pieces.clear()
                read = 0
        yield b"".join(pieces)

    def findings(self) -> tuple[Finding, ...]:
        return self._uninspected

    async def end(self) -> bytes:
        return self._end(ALL)

    async def _rewrite(self, frame: Frame, is_final: bool) -> bytes:
        if not frame.data:
            return self._close_array(frame) if self._is_array else frame.raw
        if frame.data.strip() == b"[DONE]":
            return self._end(ALL) + frame.raw
        try:
            event = parse(frame.data)
        except JsonError as error:
            if is_object_to_others(frame.data):
                raise DispatchError("The provider sent an event that cannot be inspected.") from error
            event = None
        if not isinstance(event, dict):
            return (self._end(ALL) if is_final else b"") + await self._rewrite_text(frame)
        ended = [*self._shape.ends(event), *([ALL] if is_final else ())]
        changed = self._feed(event, ended, frame)
        if changed:
            drop_piecemeal(event)
        before = b"".join(self._end(key) for key in ended)
        data = await self._look(event, frame.data, changed)
        if (numbered := self._shape.numbered) is not None and numbered in event:
            data = self._number(data, numbered, event[numbered])
        if self._is_array:
            return frame.head + before + data
        return before + (frame.raw if data is frame.data else frame.with_data(data))

    async def _rewrite_text(self, frame: Frame) -> bytes:
        """An event that is none of the API: one text, as a body that is no JSON."""
        try:
            text = frame.data.decode()
        except UnicodeDecodeError as error:
            raise DispatchError("The provider sent an event that cannot be inspected.") from error
        for watch in self._watches:
            verdict = await watch.look([Passage(text, "assistant")])
            if isinstance(verdict, Block):
                raise Blocked(verdict.message, verdict.findings)
            if isinstance(verdict, Redact):
                text = verdict.texts.get(0, text)
        data = text.encode()
        return frame.raw if data == frame.data else frame.with_data(data)

    def _feed(self, event: dict[str, Any], ended: Sequence[Key], frame: Frame) -> bool:
        """Show the channels their pieces. Whether anything of the event is another now."""
        changed = False
        deltas = list(self._shape.deltas(event))
        last = {delta.channel: n for n, delta in enumerate(deltas)}
        for n, delta in enumerate(deltas):
            text = delta.holder[delta.member]
            channel = self._find(delta, frame)
            self._look_for_exponents(delta.channel, text)
            new = channel.feed(text)
            if last[delta.channel] == n and any(delta.channel[: len(key)] == key for key in ended):
                new += channel.close()
                del self._channels[delta.channel]
                self._tails.pop(delta.channel, None)
            delta.holder[delta.member] = Said(new)
            changed = changed or new != text
        return changed

    def _find(self, delta: Delta, frame: Frame) -> Channel:
        open_one = self._channels.get(delta.channel)
        if open_one is None:
            if len(self._channels) >= MAX_CHANNELS:
                raise DispatchError("The provider's stream has more texts at once than anybody reads.")

            def open_filters(name: str) -> Sequence[Filter]:
                return [open_filter(watch, delta.carrier, name) for watch in self._watches]

            channel: Channel = JsonText(open_filters) if delta.is_json else PlainText(open_filters(""))
        else:
            channel = open_one[0]
        self._channels[delta.channel] = (channel, frame)
        return channel

    def _look_for_exponents(self, name: Key, text: str) -> None:
        """JSON in a text is not taken apart while it comes: a number with an exponent in it has other digits than it
        shows, and is said to be uninspected."""
        before = self._tails.get(name, "")
        if before is None:
            return
        is_new = not before or before.isspace()
        text = before + text
        begun = text.lstrip() if is_new else ""
        if begun and begun[0] not in "{[":
            self._tails[name] = None
            return
        if _EXPONENT.search(text) is not None:
            self._uninspected = merge((*self._uninspected, Finding(UNINSPECTED, 100, 1, "numbers", len(text))))
            self._tails[name] = None
            return
        self._tails[name] = text[-TAIL:]

    async def _look(self, event: dict[str, Any], data: bytes, changed: bool) -> bytes:
        """The event's data, its other texts looked at."""
        document = Document(orjson.dumps(event) if changed else data, event, self._shape.names, "assistant")
        if document.uninspected:
            self._uninspected = merge((*self._uninspected, *document.uninspected))
        is_clean = True
        for watch in self._watches:
            new = [n for n, leaf in enumerate(document.leaves) if (leaf.name, leaf.text) not in self._clean]
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
                self._clean.update((leaf.name, leaf.text) for leaf in document.leaves if len(leaf.text) < MAX_CLEAN)
        return document.replace({}) if changed else data

    def _end(self, key: Key) -> bytes:
        """Close these channels: events with what was still held back of them."""
        made = []
        for name in [name for name in self._channels if name[: len(key)] == key]:
            channel, frame = self._channels.pop(name)
            self._tails.pop(name, None)
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
        return data + b",\r\n" if self._is_array else frame.with_data(data)

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
        if b"]" not in frame.raw:
            return frame.raw
        held = self._end(ALL)
        return b",\r\n" + held.removesuffix(b",\r\n") + frame.raw if held else frame.raw


def is_object_to_others(data: bytes) -> bool:
    """Whether a client that is less strict would read an event of the API: with a name twice, or with NaN."""
    if data.removeprefix(BOM_UTF8).lstrip()[:1] != b"{" and b"\0" not in data[:4]:
        return False  # an object in any encoding has one or the other (RFC 4627 §3); no need to read the rest
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False


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
    if lines:
        lines[0] = lines[0].removeprefix(BOM_UTF8)  # a client takes it off the first line (WHATWG HTML §9.2.6)
    data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
    if not any(data):
        return Frame(event + tail)
    newline = tail[: len(tail) // 2] or b"\n"
    others = [line + newline for line in lines if not line.startswith(b"data:")]
    return Frame(event + tail, b"".join((*others, b"data: ")), b"\n".join(data), tail, newline + b"data: ")


def split_array(window: bytes) -> Iterator[Frame]:
    """The elements of a piece of an array that holds only whole ones, with what stands before each of them. Raises
    `DispatchError` for what is none."""
    try:
        text = window.decode()
    except UnicodeDecodeError as error:
        raise DispatchError("The provider sent an element that cannot be inspected.") from error
    at = 0
    while at < len(text):
        gap = _GAP.match(text, at)
        start = gap.end() if gap is not None else at
        if start >= len(text):
            yield Frame(text[at:].encode())
            return
        try:
            _, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            raise DispatchError("The provider sent an element that is not valid JSON.") from error
        yield Frame(text[at:end].encode(), text[at:start].encode(), text[start:end].encode())
        at = end
