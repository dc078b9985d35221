"""A JSON array that grows: bytes in, whole elements out as windows. Pure; the bytes stay as they are.

Only brackets and strings are followed: what an element means is for the dialect.
"""

from __future__ import annotations

import re

from mastio.exchange.values import Window
from mastio_llm.dialects.operation import Stream
from mastio_llm.dialects.sse import MAX_EVENT, BrokenOff, EventTooLong, Reading

_OUTSIDE = re.compile(rb'["\[\]{}]')
_INSIDE = re.compile(rb'["\\]')


class ArraySplitter(Reading):
    """As `mastio_llm.dialects.sse.Splitter`. The array's own bracket ends it: a body without it is broken off."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream)
        self._rest = bytearray()
        self._at = 0  # where to read on, in `_rest`
        self._begin = 0  # where the element begins
        self._depth = 0
        self._in_string = False

    def feed(self, chunk: bytes) -> Window | None:
        """All elements that are complete now, as one window; None while there is none.

        Raises `EventTooLong`, and `BrokenOff` for what is no array of objects.
        """
        self._rest += chunk
        cut = 0
        while not self.done and (match := (_INSIDE if self._in_string else _OUTSIDE).search(self._rest, self._at)):
            sign = match.group()
            if sign == b"\\":
                if match.end() == len(self._rest):  # what it escapes has not come yet
                    self._at = match.start()
                    break
                self._at = match.end() + 1
                continue
            self._at = match.end()
            if sign == b'"':
                self._in_string = not self._in_string
            elif sign in b"[{":
                if self._depth < 2 and sign != b"[{"[self._depth : self._depth + 1]:
                    raise BrokenOff
                self._depth += 1
                if self._depth == 2:
                    self._begin = match.start()
            else:
                self._depth -= 1
                if self._depth == 1:
                    cut = self._at
                    self._judge(bytes(self._rest[self._begin : cut]))
                    if self.done:  # the provider's own word that it cannot go on: nothing comes after it
                        return self._release(cut, b"]")
                elif self._depth <= 0:
                    self.done = self._finished
                    if not self.done:
                        raise BrokenOff
                    return self._release(self._at)
        else:
            self._at = len(self._rest)
        if cut:
            return self._release(cut)
        self._verify_rest()
        return None

    def close(self) -> None:
        """The body has ended without its bracket."""
        raise BrokenOff

    def _judge(self, element: bytes) -> None:
        if self._has_marker(element):
            self._look(element)

    def _verify_rest(self) -> None:
        if len(self._rest) > MAX_EVENT:
            raise EventTooLong

    def _release(self, end: int, more: bytes = b"") -> Window:
        whole = bytes(self._rest[:end]) + more
        del self._rest[:end]
        self._at -= end
        self._begin -= end
        self._verify_rest()
        return self._window(whole)
