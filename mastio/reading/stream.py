"""Takes the texts out of a streamed reply, shows them to inspectors piece by piece, and puts them back into the events.
Pure.

A stream has channels. A channel is one text that continues from event to event (an answer, a thought, the arguments of
a tool). Text of a channel that an inspector holds back goes out with the channel's next event. If the channel ends
first, it goes out in an additional event, which is a copy of the channel's last one. All other texts of an event are
inspected as whole texts.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import orjson

from mastio.exchange.errors import Blocked, DispatchError
from mastio.exchange.inspection import (
    UNINSPECTED,
    Block,
    Carrier,
    Filter,
    Finding,
    Passage,
    Redact,
    Watch,
    merge,
    open_filter,
)
from mastio.http.strictjson import JsonError, parse
from mastio.reading.blobs import LONG_BLOB, Sieve
from mastio.reading.document import Document, SkippedText
from mastio.reading.fragments import Channel, JsonText, PlainText
from mastio.reading.frames import Frame, is_object_to_others, split_array, split_events
from mastio.reading.piecemeal import drop_piecemeal

Key = tuple[Any, ...]
"""The name of a channel."""

ALL: Key = ()
"""The beginning of every channel's name."""

TURN = 16 * 1024
"""Bytes of events that are inspected before other exchanges get their turn."""

MAX_CHANNELS = 1024
MAX_CLEAN = 4096
"""The most texts that are remembered as clean, and the most characters of one. Most of them are ids that come with
every event."""

TAIL = 64
"""Characters that are kept from the end of a piece, because a number may be cut between events."""

MAX_LABEL = 256
"""Characters of a label that are remembered."""

_DISGUISED = re.compile(r"[\s,:\[]-?(?:[0-9][0-9.]{0,40}[eE][+-]?[0-9]|[0-9]{1,6}\.[0-9]{10})")
"""A number with an exponent, or a fraction of many digits."""


class Delta(NamedTuple):
    """A piece of a channel: the string `holder[member]`. `is_json`: the channel's text is JSON. `is_label`: the text is
    an id or a name. It goes out at once; if it continues in a later event, the joined label is inspected as well."""

    channel: Key
    holder: dict[str, Any]
    member: str
    carrier: Carrier = "assistant"
    is_json: bool = False
    is_label: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """The rules by which one dialect carries texts in the events of a stream.

    `deltas` finds the pieces of channels in an event. `ends` names, by their beginnings, the channels that are over
    with it. `strip` leaves of an event, which is a copy, only what carries its deltas, and makes a piece of what began
    them. `names` are the dialect's own.
    `numbered`: the member that counts the events, where there is one.
    """

    deltas: Callable[[dict[str, Any]], Iterator[Delta]]
    ends: Callable[[dict[str, Any]], Iterable[Key]]
    strip: Callable[[dict[str, Any]], None]
    names: frozenset[str]
    numbered: str | None = None


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
        self._labels: dict[Key, str] = {}
        self._sieves: dict[Key, Sieve] = {}
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
        for name in list(self._sieves):
            self._sift(name, "", is_last=True)
        return self._uninspected

    async def end(self) -> bytes:
        return self._end(ALL)

    async def _rewrite(self, frame: Frame, is_final: bool) -> bytes:
        if frame.fields:
            frame = await self._look_at_fields(frame)
        if not frame.data:
            return self._close_array(frame) if self._is_array else frame.raw
        if frame.data.strip() == b"[DONE]":
            return self._end(ALL) + frame.raw
        try:
            event = parse(frame.data)
        except JsonError as error:
            if is_object_to_others(frame.data):
                raise DispatchError("The provider sent an event that cannot be inspected.") from error
            return (self._end(ALL) if is_final else b"") + await self._rewrite_text(frame)
        if not isinstance(event, dict):
            data = await self._look(event, frame.data, False)
            return (self._end(ALL) if is_final else b"") + (frame.raw if data is frame.data else frame.with_data(data))
        ended = [*self._shape.ends(event), *([ALL] if is_final else ())]
        changed, labels, open_ones = self._feed(event, ended, frame)
        if labels:
            await self._look_at_labels(labels)
        if changed:
            drop_piecemeal(event)
        before = b"".join(self._end(key) for key in ended)
        data = await self._look(event, frame.data, changed)
        if data is not frame.data:  # what is copied later has been looked at
            seen = frame._replace(data=data)
            self._channels.update({key: (self._channels[key][0], seen) for key in open_ones})
        if (numbered := self._shape.numbered) is not None and numbered in event:
            data = self._number(data, numbered, event[numbered])
        if self._is_array:
            return frame.head + before + data
        return before + (frame.raw if data is frame.data else frame.with_data(data))

    async def _rewrite_text(self, frame: Frame) -> bytes:
        """Rewrite an event that is not JSON, as one text. Raises `DispatchError` if it is not UTF-8."""
        try:
            text = frame.data.decode()
        except UnicodeDecodeError as error:
            raise DispatchError("The provider sent an event that cannot be inspected.") from error
        self._note(Document.of_text(text, self._shape.names, "assistant").uninspected)
        data = (await self._look_at(text, "")).encode()
        return frame.raw if data == frame.data else frame.with_data(data)

    def _note(self, found: Sequence[Finding]) -> None:
        if found:
            self._uninspected = merge((*self._uninspected, *found))

    async def _look_at_fields(self, frame: Frame) -> Frame:
        """Inspect the event's name and id, which a client reads as well. Return the frame with the inspected values."""
        changed: dict[str, str] = {}
        for name, text in frame.fields:
            said = text if (name, text) in self._clean else await self._look_at(text, name)
            if said != text:
                changed[name] = said
            elif len(self._clean) < MAX_CLEAN and len(text) < MAX_CLEAN:
                self._clean.add((name, text))
        return frame.with_fields(changed) if changed else frame

    async def _look_at_labels(self, labels: Sequence[str]) -> None:
        """Inspect labels that came in several pieces, as a client joins them. Raises `Blocked` if one would have to
        change: its earlier pieces have been sent."""
        for text in labels:
            if await self._look_at(text, "") != text:
                raise Blocked("The reply has a value in a name that comes in pieces.")

    async def _look_at(self, text: str, name: str) -> str:
        """The text after inspection: the original, or its replacement."""
        for watch in self._watches:
            verdict = await watch.look([Passage(text, "assistant", name)])
            if isinstance(verdict, Block):
                raise Blocked(verdict.message, verdict.findings)
            if isinstance(verdict, Redact):
                text = verdict.texts.get(0, text)
        return text

    def _join_label(self, delta: Delta) -> str:
        """The label with this piece added; "" for the first piece and for a repeated one."""
        before, text = self._labels.get(delta.channel, ""), delta.holder[delta.member]
        if text in ("", before):
            return ""
        if not before and len(self._labels) >= MAX_CHANNELS:
            raise DispatchError("The provider's stream has more texts at once than anybody reads.")
        self._labels[delta.channel] = joined = (before + text)[-MAX_LABEL:]
        return joined if before else ""

    def _sift(self, name: Key, text: str, *, is_last: bool) -> None:
        """Note as uninspected the base64 that is not text in a text that comes in pieces."""
        sieve = self._sieves.get(name)
        if sieve is None:
            if is_last and len(text) < LONG_BLOB:
                return
            sieve = self._sieves[name] = Sieve()
        found = sieve.feed(text, is_last)
        if is_last:
            del self._sieves[name]
        self._note([Finding(UNINSPECTED, 100, 1, kind, size) for kind, size in found])

    def _feed(
        self, event: dict[str, Any], ended: Sequence[Key], frame: Frame
    ) -> tuple[bool, list[str], dict[Key, int]]:
        """Feed the channels their pieces. Return whether the event changed, the labels that continue, and the channels
        that are still open."""
        changed, labels = False, list[str]()
        deltas: list[Delta] = []
        for delta in self._shape.deltas(event):
            if not delta.is_label:
                deltas.append(delta)
            elif label := self._join_label(delta):
                labels.append(label)
        last = {delta.channel: n for n, delta in enumerate(deltas)}
        for n, delta in enumerate(deltas):
            text = delta.holder[delta.member]
            channel = self._find(delta, frame)
            self._look_for_numbers(delta.channel, text)
            new = channel.feed(text)
            is_last = last[delta.channel] == n and any(delta.channel[: len(key)] == key for key in ended)
            self._sift(delta.channel, text, is_last=is_last)
            if is_last:
                new += channel.close()
                del self._channels[delta.channel], last[delta.channel]
                self._tails.pop(delta.channel, None)
            delta.holder[delta.member] = SkippedText(new)
            changed = changed or new != text
        return changed, labels, last

    def _find(self, delta: Delta, frame: Frame) -> Channel:
        open_one = self._channels.get(delta.channel)
        if open_one is None:
            if len(self._channels) >= MAX_CHANNELS:
                raise DispatchError("The provider's stream has more texts at once than anybody reads.")

            opens = partial(_open_filters, self._watches, delta.carrier)
            channel: Channel = JsonText(opens) if delta.is_json else PlainText(opens(""))
        else:
            channel = open_one[0]
        self._channels[delta.channel] = (channel, frame)
        return channel

    def _look_for_numbers(self, name: Key, text: str) -> None:
        """Note as uninspected the numbers in JSON text that have an exponent or a fraction of many digits: such a
        number has other digits than it shows. JSON in a text is not parsed while it comes in."""
        before = self._tails.get(name, "")
        if before is None:
            return
        is_new = not before or before.isspace()
        text = before + text
        begun = text.lstrip() if is_new else ""
        if begun and begun[0] not in "{[":
            self._tails[name] = None
            return
        if _DISGUISED.search(text) is not None:
            self._note([Finding(UNINSPECTED, 100, 1, "numbers", len(text))])
            self._tails[name] = None
            return
        self._tails[name] = text[-TAIL:]

    async def _look(self, event: Any, data: bytes, changed: bool) -> bytes:
        """The event's data after inspection of its other texts. Raises `Blocked`."""
        document = Document(orjson.dumps(event) if changed else data, event, self._shape.names, "assistant")
        self._note(document.uninspected)
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
                if drop_piecemeal(event):
                    data = orjson.dumps(event)
                for delta in list(self._shape.deltas(event)) if isinstance(event, dict) else ():
                    if not delta.is_label:
                        delta.holder[delta.member] = SkippedText(delta.holder[delta.member])
                document = Document(data, event, self._shape.names, "assistant")
        else:
            if is_clean and len(self._clean) < MAX_CLEAN:
                self._clean.update((leaf.name, leaf.text) for leaf in document.leaves if len(leaf.text) < MAX_CLEAN)
        return document.replace({}) if changed else data

    def _end(self, key: Key) -> bytes:
        """Close these channels. Return events with the text of them that was still held back."""
        made = []
        for name in [name for name in self._channels if name[: len(key)] == key]:
            channel, frame = self._channels.pop(name)
            self._tails.pop(name, None)
            self._sift(name, "", is_last=True)
            if held := channel.close():
                made.append(self._carry(name, held, frame))
        return b"".join(made)

    def _carry(self, name: Key, held: str, frame: Frame) -> bytes:
        """An additional event with the text that was held back, made of the channel's last event."""
        event = parse(frame.data)
        kind = event.get("type")
        for delta in list(self._shape.deltas(event)):
            if not delta.is_label:
                delta.holder[delta.member] = held if delta.channel == name else ""
        self._shape.strip(event)
        if event.get("type") != kind:
            frame = frame.with_event(str(kind), str(event["type"]))
        if (numbered := self._shape.numbered) is not None and numbered in event:
            self._added += 1
            event[numbered] = self._before + self._added
        data = orjson.dumps(event)
        return data + b",\r\n" if self._is_array else frame.with_data(data)

    def _number(self, data: bytes, numbered: str, count: object) -> bytes:
        """The event's data, with a new number if events were added before it."""
        if not isinstance(count, int):
            return data
        self._before = count
        if not self._added:
            return data
        return orjson.dumps({**orjson.loads(data), numbered: count + self._added})

    def _close_array(self, frame: Frame) -> bytes:
        """The bytes of a frame without data. At the end of the array, additional events for all open channels stand
        before it."""
        if b"]" not in frame.raw:
            return frame.raw
        held = self._end(ALL)
        return b",\r\n" + held.removesuffix(b",\r\n") + frame.raw if held else frame.raw


def _open_filters(watches: Sequence[Watch], carrier: Carrier, name: str) -> list[Filter]:
    return [open_filter(watch, carrier, name) for watch in watches]
