"""Server-sent events: bytes in, whole events out as windows. Pure; the bytes stay as they are.

WHATWG HTML §9.2.6: an event ends at a blank line; lines end with CRLF, LF or CR. What an event means is for the dialect
(`dialects.operation.Stream`); an event without one of its markers is passed on unread.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mastio.exchange.values import Window
from mastio.http.strictjson import JsonError, parse
from mastio_llm.dialects.events import END, data_of
from mastio_llm.dialects.operation import Sight, Stream, Usage

MAX_EVENT = 4 * 1024 * 1024
FAILURE = "upstream_error"
"""The code of a stream that its provider ended by saying that it cannot go on."""


class EventTooLong(ValueError):
    """An event longer than `MAX_EVENT`: the upstream does not keep to the protocol."""


class BrokenOff(ValueError):
    """The body ended before the answer did."""


class Reading:
    """The facts read from a stream so far. `done`: the last window has been given out."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.done = False
        self._counted: Usage | None = None
        self._is_final = False
        self._finished = False
        self._failed = False

    @property
    def usage(self) -> Usage | None:
        """The provider's own count, once it has come by. As long as the answer goes on nobody knows what is written."""
        counted = self._counted
        if counted is None or self._is_final or (self.done and not self._failed):
            return counted
        return {name: count for name, count in counted.items() if name != "output_tokens"}

    def close(self) -> None:
        """The body has ended. Raises `BrokenOff` when the answer has not."""
        if not self._finished or not self._stream.closes:
            raise BrokenOff

    def _look(self, data: bytes) -> None:
        sight = self._stream.look(data)
        if sight is not None:
            self._take(sight)

    def _take(self, sight: Sight) -> None:
        if sight.usage:
            self._counted = {**self._counted, **sight.usage} if self._counted else sight.usage
            self._is_final = self._is_final or sight.is_final
        self._finished = self._finished or sight.end
        self._failed = sight.failed
        self.done = sight.failed or (sight.end and not self._stream.closes)

    def _has_marker(self, data: bytes) -> bool:
        return any(marker in data for marker in self._stream.markers)

    def _window(self, data: bytes) -> Window:
        return Window(data, self.done, FAILURE if self._failed else None)


class Splitter(Reading):
    """Cuts a stream of events into windows."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream)
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> Window | None:
        """All events that are complete now, as one window; None while there is none. Raises `EventTooLong`."""
        if self._rest:
            start = max(len(self._rest) - 2, 0)
            self._rest += chunk
            end = find_end(self._rest, start)
            whole = bytes(self._rest[:end])
            del self._rest[:end]
        else:
            end = find_end(chunk, 0)
            whole = chunk[:end]
            self._rest += chunk[end:]
        if len(self._rest) > MAX_EVENT:
            raise EventTooLong
        if not end:
            return None
        return self._walk(whole) if self._has_marker(whole) else self._window(whole)

    def _walk(self, whole: bytes) -> Window:
        """Judge each event. What comes after the last one of the answer is not passed on."""
        end = 0
        for match in END.finditer(whole):
            event = whole[end : match.end()]
            end = match.end()
            if self._has_marker(event):
                self._look(b"\n".join(data_of(event)))
                if self.done:
                    return self._window(whole[:end])
        return self._window(whole)


class Unreadable(ValueError):
    """An event whose data is no JSON, where each must be."""


def read_events(data: bytes) -> Iterator[Any]:
    """The JSON values of whole events, one after the other; comments and `[DONE]` have none. Raises `Unreadable`."""
    end = 0
    for match in END.finditer(data):
        text = b"\n".join(data_of(data[end : match.end()])).strip()
        end = match.end()
        if not text or text == b"[DONE]":
            continue
        try:
            yield parse(text)
        except JsonError as error:
            raise Unreadable from error


def find_end(data: bytes | bytearray, start: int) -> int:
    """Behind the last blank line at or after `start`; 0 where there is none."""
    if data.endswith(b"\n\n"):
        return len(data)
    ends = ((data.rfind(b"\n\n", start), 2), (data.rfind(b"\n\r\n", start), 3), (data.rfind(b"\r\r", start), 2))
    return max(at + length for at, length in ends if at >= 0) if any(at >= 0 for at, _ in ends) else 0
