"""One entry as a sink shows it: parsed, weighed, and with nothing in it that could pass for a line or field of its own.

Pure. A row whose bytes are not an entry is still shown, as `audit.unreadable`: somebody altered it, and a sink that
stopped there would hide what comes after.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

import orjson

from mastio_audit.log import chain
from mastio_audit.log.chain import ChainError
from mastio_primitives.transparency.merkle import leaf_hash

UNREADABLE = "audit.unreadable"

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


class Weight(Enum):
    """The severity of an entry, as RFC 5424 §6.2.1, CEF (0 to 10) and OCSF number it."""

    INFORMATIONAL = (6, 2, 1)
    NOTICE = (5, 4, 2)
    WARNING = (4, 6, 3)
    CRITICAL = (2, 10, 5)

    @property
    def syslog(self) -> int:
        return self.value[0]

    @property
    def cef(self) -> int:
        return self.value[1]

    @property
    def ocsf(self) -> int:
        return self.value[2]


_BY_STATUS = {
    None: Weight.INFORMATIONAL,
    "ok": Weight.INFORMATIONAL,
    "cancelled": Weight.INFORMATIONAL,
    "unknown": Weight.WARNING,
}
_GRAVE_REFUSALS = (401, 403, 422)
_BY_KIND = {UNREADABLE: Weight.CRITICAL, "audit.fork": Weight.CRITICAL, "audit.resumed": Weight.WARNING}


@dataclass(frozen=True, slots=True)
class View:
    """`index` and `leaf` (hex) lead back to the log. `entry` is what was stored; `document` has the members of an
    entry. `time` is RFC 3339 in UTC and `milliseconds` the same since 1970; None and 0 where the row has none."""

    index: int
    leaf: str
    entry: bytes
    document: Mapping[str, Any]
    time: str | None
    milliseconds: int

    @property
    def readable(self) -> bool:
        return self.kind != UNREADABLE

    @property
    def kind(self) -> str:
        return str(self.document["kind"])

    def member(self, object_name: str, name: str) -> Any:
        """A member of one of the entry's objects; None where either is not there."""
        return (self.document[object_name] or {}).get(name)

    def number(self, object_name: str, name: str) -> int | None:
        value = self.member(object_name, name)
        return value if type(value) is int else None

    def text(self, object_name: str, name: str) -> str | None:
        value = self.member(object_name, name)
        return value if type(value) is str else None

    @property
    def weight(self) -> Weight:
        if self.kind in _BY_KIND:
            return _BY_KIND[self.kind]
        status = self.text("outcome", "status")
        if status == "refused" and self.number("response", "status") in _GRAVE_REFUSALS:
            return Weight.WARNING
        return _BY_STATUS.get(status, Weight.NOTICE)

    @property
    def json(self) -> bytes:
        """One line: the stored bytes, which are canonical JSON; for an unreadable row, where it stands."""
        return (
            self.entry if self.readable else orjson.dumps({"index": self.index, "leaf": self.leaf, "kind": self.kind})
        )


def view(index: int, entry: bytes) -> View:
    """The view of the row at `index`, whatever its bytes are."""
    leaf = leaf_hash(entry)
    try:
        document = chain.parse(entry)
        if document["seq"] != index:
            raise ChainError("it does not stand where it belongs")
        milliseconds = int(datetime.fromisoformat(document["time"]).timestamp() * 1000)
        return View(index, leaf.hex(), entry, document, document["time"], milliseconds)
    except ValueError:
        document = dict.fromkeys(chain.FIELDS)
        document.update(id="", kind=UNREADABLE, phase="event")
        return View(index, leaf.hex(), entry, document, None, 0)


def visible(text: str) -> str:
    """`text` with every control character, line separator and change of direction written out as `\\uXXXX`."""
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def encode(document: Mapping[str, Any]) -> bytes:
    """JSON of our own making on one line; what `visible` writes out is a JSON escape here."""
    text = orjson.dumps(document).decode()
    return _IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()
