"""The texts of a JSON document: every string, every name that is not the API's own, every number that is long enough
to be somebody's. Nothing is left out because it stands where nobody expected it.

Documents lie in documents: a string that is itself JSON (the arguments of a tool, say) is read as such, and so is text
in base64. Texts are put back in place: every byte that is not part of one stays as it came.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple, Self

import orjson

from mastio.errors import Blocked
from mastio.inspection import Carrier, Passage
from mastio.strictjson import Allowance, JsonError, TooManyValues, mask_escapes, parse

MAX_NESTED = 4
"""How deep documents may lie in strings of documents; what is deeper is read as the text that it is."""

MAX_TEXTS = 100_000
"""In one body: more is no message, and would keep everybody else waiting."""

FLOATS = {float}

LONG_NUMBER = 1_000_000
"""Shorter numbers are counts and sizes, and nobody's."""

LONG_BLOB = 256
"""Shorter base64 is text to whoever inspects it."""

BLOBS = frozenset(
    {"data", "file_data", "b64_json", "partial_image_b64", "result", "url", "image_url", "bytes", "delta"}
)
"""Members that may hold base64."""

SEALED = frozenset({"signature", "encrypted_content", "thoughtSignature", "thought_signature", "encrypted_index"})
"""Members that a provider made, and takes back only as they are."""

STRUCTURAL = frozenset({
    "role", "type", "object", "model", "finish_reason", "finishReason", "stop_reason", "status", "mode", "format",
    "detail", "service_tier", "system_fingerprint", "media_type", "mimeType", "mime_type", "effort", "summary_type",
    "encoding_format", "modelVersion", "truncation", "verbosity", "tool_choice", "phase",
})  # fmt: skip
"""Members that choose from what an API offers: left alone as long as that is how they look."""

IDS = frozenset({
    "id", "call_id", "tool_call_id", "tool_use_id", "item_id", "response_id", "responseId", "previous_response_id",
    "system_fingerprint",
})  # fmt: skip
"""Members that name a thing of an API: left alone as long as they look like what an API gave out."""

TIMES = frozenset({"created", "created_at", "completed_at", "expires_at"})
"""Members that are seconds since 1970: left alone as long as they are."""

CARRIERS: Mapping[str, Carrier] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "model": "assistant",
    "tool": "tool", "function": "tool",
}  # fmt: skip
"""By the member `role`."""

TYPES: Mapping[str, Carrier] = {
    "tool_result": "tool", "function_call_output": "tool", "custom_tool_call_output": "tool", "mcp_tool_result": "tool",
    "web_search_tool_result": "tool", "document": "tool", "search_result": "tool",
    "function_call": "assistant", "tool_use": "assistant", "custom_tool_call": "assistant", "output_text": "assistant",
}  # fmt: skip
"""By the member `type`."""

MEMBERS: Mapping[str, Carrier] = {
    "system": "system", "instructions": "system", "systemInstruction": "system", "system_instruction": "system",
    "tools": "definition", "functions": "definition", "response_format": "definition",
    "functionResponse": "tool", "function_response": "tool", "functionCall": "assistant", "function_call": "assistant",
    "tool_calls": "assistant", "choices": "assistant", "candidates": "assistant", "output": "assistant",
}  # fmt: skip
"""By the name of the member that it is in."""

_CHOSEN = re.compile(r"[A-Za-z]{1,24}(?:[._/-][A-Za-z]{1,24}){0,6}(?:_20\d{6})?")
_GIVEN_OUT = re.compile(
    r"(?:chatcmpl|cmpl|msg|resp|call|toolu|srvtoolu|fc|ctc|rs|ws|item|fp)[-_](?!.*[0-9]{7})[A-Za-z0-9]{4,64}"
)
_LEAF = re.compile(rb'"[^"]*"|-?[0-9][0-9.eE+-]*')
"""A string or a number, in a text whose escapes are masked."""

_DATA_URL = re.compile(r"data:([a-z0-9.+/-]*)(?:;[a-z]+=[^;,]*)*;base64,", re.IGNORECASE)
_MAGIC = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"%PDF-", b"ID3", b"OggS", b"PK\x03\x04", b"fLaC", b"BM", b"II*\0",
)  # fmt: skip

Kind = Literal["string", "name", "number"]


class Said(str):
    """A string of a document that is not for its reader: somebody else has looked at it."""

    __slots__ = ()


class Leaf(NamedTuple):
    """`ordinal`: the how-manieth string or number of its document, which `owner` names. It does not hold it: a circle
    would keep a body long after its exchange."""

    owner: object
    ordinal: int
    kind: Kind
    text: str
    carrier: Carrier
    name: str = ""


class Document:
    """`names` are the API's own: members with such a name give only their value to read. Without any the API is not
    known, and no member is taken to be one that only an API would fill. `allowance`: what the documents in it may
    weigh, all together."""

    __slots__ = ("_allowance", "_children", "_count", "_depth", "_key", "_names", "_raw", "_value", "_wrap", "leaves")

    def __init__(
        self,
        raw: bytes,
        value: Any,
        names: frozenset[str],
        carrier: Carrier = "other",
        depth: int = 0,
        wrap: str | None = None,
        allowance: Allowance | None = None,
    ) -> None:
        self._key = object()
        self._allowance = allowance or Allowance()
        self._raw = raw
        self._value = value
        self._names = names
        self._depth = depth
        self._wrap = wrap  # what stands before base64, where that is how the document came
        self._count = 0
        self._children: list[tuple[int, Document]] = []
        self.leaves: list[Leaf] = []
        self._walk(value, carrier)

    @classmethod
    def of_text(
        cls, text: str, names: frozenset[str], carrier: Carrier, depth: int = 0, wrap: str | None = None
    ) -> Self:
        """A body that is text, and no JSON."""
        document = cls(text.encode(), None, names, carrier, depth, wrap)
        document.leaves.append(Leaf(document._key, 1, "string", text, carrier))
        return document

    @property
    def passages(self) -> Sequence[Passage]:
        return [Passage(leaf.text, leaf.carrier, leaf.name) for leaf in self.leaves]

    def place(self, number: int) -> str:
        return self._find(self.leaves[number])

    def _find(self, leaf: Leaf) -> str:
        if leaf.owner is self._key:
            return self._path(leaf.ordinal)
        for ordinal, child in self._children:
            if leaf in child.leaves:
                outer, inner = self._path(ordinal), child._find(leaf)
                return f"{outer}: {inner}" if inner else outer
        return ""

    def _path(self, ordinal: int) -> str:
        return next(islice(_paths(self._value, ""), ordinal - 1, None), "")

    def replace(self, texts: Mapping[int, str]) -> bytes:
        wanted: dict[object, dict[int, str]] = {}
        for number, text in texts.items():
            leaf = self.leaves[number]
            wanted.setdefault(leaf.owner, {})[leaf.ordinal] = text
        return self._splice(wanted)

    def _splice(self, wanted: Mapping[object, Mapping[int, str]]) -> bytes:
        own = dict(wanted.get(self._key, {}))
        for ordinal, child in self._children:
            if child._is_in(wanted):
                own[ordinal] = child._encode(child._splice(wanted))
        if not own:
            return self._raw
        if self._value is None:  # text, and no JSON
            return own[1].encode()
        pieces: list[bytes] = []
        end = 0
        for ordinal, match in enumerate(_LEAF.finditer(mask_escapes(self._raw)), 1):
            if ordinal in own:
                pieces += (self._raw[end : match.start()], orjson.dumps(own[ordinal]))
                end = match.end()
        return b"".join((*pieces, self._raw[end:]))

    def _is_in(self, wanted: Mapping[object, Mapping[int, str]]) -> bool:
        return self._key in wanted or any(child._is_in(wanted) for _, child in self._children)

    def _encode(self, raw: bytes) -> str:
        return raw.decode() if self._wrap is None else self._wrap + b64encode(raw).decode()

    def _keep(self, kind: Kind, text: str, carrier: Carrier, own: str = "") -> None:
        """Raises `Blocked` for more texts than can be looked into."""
        if len(self.leaves) >= MAX_TEXTS:
            raise Blocked(f"There are more than {MAX_TEXTS} texts in it, which nobody looks into.")
        self.leaves.append(Leaf(self._key, self._count, kind, text, carrier, own))

    def _walk(self, value: Any, carrier: Carrier, own: str = "") -> None:
        """`own`: what its writer calls it."""
        if type(value) is dict:
            role, kind = value.get("role"), value.get("type")
            if type(role) is str and role in CARRIERS:
                carrier = CARRIERS[role]
            if type(kind) is str and kind in TYPES:
                carrier = TYPES[kind]
            for name, item in value.items():
                self._count += 1
                if name in self._names or not name:
                    self._see(name, item, MEMBERS.get(name, carrier), "")
                else:
                    self._keep("name", name, carrier)
                    self._see(name, item, MEMBERS.get(name, carrier), name)
        elif type(value) is list:
            if set(map(type, value)) == FLOATS:  # an embedding: nobody's, and there may be millions
                self._count += len(value)
                return
            for item in value:
                self._see("", item, carrier, own)
        else:
            self._see("", value, carrier, own)

    def _see(self, name: str, value: Any, carrier: Carrier, own: str) -> None:
        kind = type(value)
        if kind is str:
            self._count += 1
            if value and not (self._names and _is_structural(name, value)):
                self._take(name, value, carrier, own)
        elif kind is dict or kind is list:
            self._walk(value, carrier, own)
        elif kind is int or kind is float:
            self._count += 1
            is_long = kind is int and not -LONG_NUMBER < value < LONG_NUMBER
            if is_long and not (self._names and _is_time(name, value)):
                self._keep("number", str(value), carrier, own)
        elif isinstance(value, Said):
            self._count += 1

    def _take(self, name: str, text: str, carrier: Carrier, own: str) -> None:
        child = self._open(name, text, carrier) if self._depth < MAX_NESTED else None
        if child is None:
            self._keep("string", text, carrier, own)
        else:
            if child.leaves:
                self._children.append((self._count, child))
                self.leaves += child.leaves

    def _open(self, name: str, text: str, carrier: Carrier) -> Document | None:
        """The document in a string. None for a plain text; an empty document for one that cannot be read. Raises
        `Blocked` when the documents weigh more than the allowance."""
        if text[0] in "{[" and text[-1] in "}]":
            raw = text.encode()
            try:
                value = parse(raw, self._allowance)
                return Document(raw, value, self._names, carrier, self._depth + 1, None, self._allowance)
            except TooManyValues as error:
                raise Blocked("There are more values in it than are taken apart.") from error
            except JsonError:
                return None
        if len(text) < LONG_BLOB or name not in BLOBS:
            return None
        return self._open_blob(text, carrier)

    def _open_blob(self, text: str, carrier: Carrier) -> Document | None:
        url = _DATA_URL.match(text)
        head = url.group() if url else ""
        try:
            start = b64decode(text[len(head) : len(head) + 64])
            if start.startswith(_MAGIC) or start[4:8] == b"ftyp":
                return Document(b"", [], self._names)
            inner = b64decode(text[len(head) :], validate=True).decode()
        except binascii.Error:
            return None
        except UnicodeDecodeError:
            return Document(b"", [], self._names)
        return Document.of_text(inner, self._names, "tool", self._depth + 1, head)


PIECEMEAL = frozenset({"logprobs", "logprobsResult"})
"""Members that say a text again, piece by piece: no reader finds in them what it would find in the text."""


def drop_piecemeal(value: Any) -> bool:
    """Take such members out of a document whose texts are others now. Whether there were any."""
    dropped = False
    level = [value]
    while level:
        item = level.pop()
        if isinstance(item, dict):
            for name in PIECEMEAL & item.keys():
                dropped = item.pop(name) is not None or dropped
            level += item.values()
        elif isinstance(item, list):
            level += item
    return dropped


def _is_structural(name: str, value: str) -> bool:
    if name in IDS and _GIVEN_OUT.fullmatch(value) is not None:
        return True
    if name in STRUCTURAL:
        return name == "model" or _CHOSEN.fullmatch(value) is not None
    return name in SEALED


def _is_time(name: str, value: int) -> bool:
    """Seconds from 2001 to 2096."""
    return name in TIMES and 10**9 <= value < 4 * 10**9


def _paths(value: Any, path: str) -> Iterator[str]:
    """Of every string and number, in the order of their ordinals."""
    if isinstance(value, dict):
        for name, item in value.items():
            below = f"{path}.{name}" if path else name
            yield f"{below} (name)"
            yield from _paths(item, below)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _paths(item, f"{path}[{number}]")
    elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield path
