"""Server-sent events of the OpenAI dialect: bytes in, whole events out as windows. Pure; the bytes stay as they are.

WHATWG HTML §9.2.6: an event ends at a blank line; lines end with CRLF, LF or CR. `data: [DONE]` ends the stream and
is the last window: whoever has it holds a complete answer.
"""

from __future__ import annotations

import re
from typing import Any

from mastio.exchange import Window
from mastio.strictjson import JsonError, parse

MAX_EVENT = 4 * 1024 * 1024

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_DATA = re.compile(rb"^data:[ ]?([^\r\n]*)", re.MULTILINE)


class EventTooLong(ValueError):
    """An event longer than `MAX_EVENT`: the upstream does not keep to the protocol."""


class Splitter:
    """Cuts a stream into windows of whole events. `usage` is the provider's own count, once it has come by."""

    def __init__(self) -> None:
        self._rest = b""
        self.usage: dict[str, int] | None = None
        self.done = False

    def feed(self, chunk: bytes) -> Window | None:
        """All events that are complete now, as one window; None while there is none. Raises `EventTooLong`."""
        buffer = self._rest + chunk if self._rest else chunk
        end = 0
        for match in _END.finditer(buffer):
            event = buffer[end : match.end()]
            end = match.end()
            self._look(event)
            if self.done:
                break
        self._rest = b"" if self.done else buffer[end:]
        if len(self._rest) > MAX_EVENT:
            raise EventTooLong
        return Window(buffer[:end], last=self.done) if end else None

    def _look(self, event: bytes) -> None:
        data = b"\n".join(_DATA.findall(event))
        if data.strip() == b"[DONE]":
            self.done = True
        elif b'"usage"' in data:
            try:
                self.usage = read_usage(parse(data)) or self.usage
            except JsonError:
                return


def read_usage(document: Any) -> dict[str, int] | None:
    """The provider's count of tokens (`prompt_tokens`, `completion_tokens`), or None where it gave none."""
    usage = document.get("usage") if isinstance(document, dict) else None
    if not isinstance(usage, dict):
        return None
    counts = {"input_tokens": usage.get("prompt_tokens"), "output_tokens": usage.get("completion_tokens")}
    known = {name: value for name, value in counts.items() if type(value) is int and 0 <= value < 2**53}
    return known or None
