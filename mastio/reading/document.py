"""The texts of a JSON document: every string, every name that is not the API's own, and every number that is long
enough to identify somebody. No text is left out because it stands in an unexpected place. Pure.

A document can contain documents: a string that is itself JSON (such as the arguments of a tool) is read as JSON, and so
is text in base64. Names have the API's meaning only at the API's own places. In nested documents, in arguments and in
results, a role does not make a text a system text, and no member is left out because of its name.

Content that is not text (pictures, sounds, files, tokens, data that a provider has sealed) is counted as uninspected.
Changed texts are put back in place: every byte that is not part of a text stays as it came.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any, Literal, NamedTuple, Self

import orjson

from mastio.exchange.errors import Blocked
from mastio.exchange.inspection import UNINSPECTED, Carrier, Finding, Passage
from mastio.http.strictjson import Allowance, JsonError, TooManyValues, mask_escapes, parse
from mastio.reading.blobs import LEAST, LONG_BLOB, Blob, find_blobs, read_blob
from mastio.reading.naming import (
    ROWS,
    Heads,
    find_heads,
    find_names,
    is_holder,
    is_pair,
    is_row,
    name_inside,
    read_heads,
)
from mastio.reading.numbers import FEWEST_CODES, LONG_NUMBER, has_codes, has_many_digits, is_long, write_plain

MAX_NESTED = 4
"""The greatest depth of documents in strings of documents. A deeper one is read as plain text."""

MAX_TEXTS = 100_000
"""The most texts in one body. A body with more is refused: its inspection would delay all other exchanges."""

FEW_NUMBERS = 64
"""A longer list of short numbers is an embedding, a sound or tokens. It is not read as text."""

NUMBERS = frozenset((int, float))

BLOBS = frozenset(
    {"data", "file_data", "b64_json", "partial_image_b64", "result", "url", "image_url", "bytes", "delta"}
)
"""Members in which an API has base64 of content that is not text."""

SEALED = frozenset({"signature", "encrypted_content", "thoughtSignature", "thought_signature", "encrypted_index"})
"""Members that a provider made. The provider takes them back only unchanged."""

REMOTE = frozenset({"image_url", "file_url", "file_id", "fileUri", "file_uri", "video_url", "audio_url"})
"""Members that name content that the provider fetches. The appliance does not see that content."""

VECTORS = frozenset({"embedding", "embeddings"})
"""Members in which an API has vectors, as numbers or in base64. A vector contains no text."""

TOKENS = frozenset({"input", "prompt"})
"""Members in which a list of numbers is a tokenized text."""

FOREIGN = frozenset({"input", "args", "arguments", "metadata", "labels", "default", "example", "examples", "const"})
"""Members whose object is defined by the caller and is not a part of the API."""

RESULTS = frozenset({"response", "output"})
"""Members whose object is the result of a tool."""

MEDIA_TYPES = ("media_type", "mimeType", "mime_type")

STRUCTURAL = frozenset({
    "role", "type", "object", "model", "finish_reason", "finishReason", "stop_reason", "status", "mode", "format",
    "detail", "service_tier", "system_fingerprint", "media_type", "mimeType", "mime_type", "effort", "summary_type",
    "encoding_format", "modelVersion", "truncation", "verbosity", "tool_choice", "phase",
})  # fmt: skip
"""Members that hold one of the values that an API offers. They are not inspected as long as they look like such a
value."""

IDS = frozenset({
    "id", "call_id", "tool_call_id", "tool_use_id", "item_id", "response_id", "responseId", "previous_response_id",
    "system_fingerprint",
})  # fmt: skip
"""Members that hold an id of an API. They are not inspected as long as they look like an id that an API issues."""

TIMES = frozenset({"created", "created_at", "completed_at", "expires_at"})
"""Members that hold seconds since 1970. They are not inspected as long as the value is such a time."""

CARRIERS: Mapping[str, Carrier] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "model": "assistant",
    "tool": "tool", "function": "tool",
}  # fmt: skip
"""Carriers by the value of the member `role`."""

TYPES: Mapping[str, Carrier] = {
    "tool_result": "tool", "function_call_output": "tool", "custom_tool_call_output": "tool", "mcp_tool_result": "tool",
    "web_search_tool_result": "tool", "document": "tool", "search_result": "tool",
    "function_call": "assistant", "tool_use": "assistant", "custom_tool_call": "assistant", "output_text": "assistant",
}  # fmt: skip
"""Carriers by the value of the member `type`."""

MEMBERS: Mapping[str, Carrier] = {
    "system": "system", "instructions": "system", "systemInstruction": "system", "system_instruction": "system",
    "tools": "definition", "functions": "definition", "response_format": "definition",
    "functionResponse": "tool", "function_response": "tool", "functionCall": "assistant", "function_call": "assistant",
    "tool_calls": "assistant", "choices": "assistant", "candidates": "assistant", "output": "assistant",
}  # fmt: skip
"""Carriers by the name of the member that holds the text."""

TURNS = frozenset({
    "", "messages", "contents", "input", "message", "delta", "systemInstruction", "system_instruction", "output",
    "item", "response",
})  # fmt: skip
"""Members whose objects name the carrier of their texts by `role`."""

_MODEL = re.compile(
    r"(?=[A-Za-z])(?=.{1,256}\Z)(?!.*[0-9]{9})(?!(?:[^0-9]*[0-9]){15})(?!.*@[^0-9])"
    r"[A-Za-z0-9]{1,24}(?:[._:/~@-]+[A-Za-z0-9]{1,24})*"
)
"""A model's name. A person's number, a mail address or a key does not match."""

_SEAL = re.compile(r"[A-Za-z0-9+/_-]{64,}={0,2}")

_CHOSEN = re.compile(r"(?:[a-z]{1,24}|[A-Z]{2,24})(?:[._/-](?:[a-z]{1,24}|[A-Z]{2,24})){0,6}(?:_20\d{6})?")
"""A value that an API offers: words that are all in lower case or all in upper case, unlike the name of a person."""

_GIVEN_OUT = re.compile(
    r"(?:chatcmpl|cmpl|msg|resp|call|toolu|srvtoolu|fc|ctc|rs|ws|item|fp)[-_](?!.*[0-9]{7})[A-Za-z0-9]{4,64}"
)
_BEGINS, _ENDS = ("{", "["), ("}", "]")
_LEAF = re.compile(rb'"[^"]*"|-?[0-9][0-9.eE+-]*')
"""A string or a number, in a text whose escapes are masked."""

Kind = Literal["string", "name", "number"]


class SkippedText(str):
    """A string that a document skips, because other code has inspected it already."""

    __slots__ = ()


class Leaf(NamedTuple):
    """One text of a document. `ordinal`: its position among the strings and numbers of its document, from 1. `owner`:
    the key of that document. It is not the document itself: a reference cycle would keep a body in memory long after
    its exchange."""

    owner: object
    ordinal: int
    kind: Kind
    text: str
    carrier: Carrier
    name: str = ""


Notes = dict[str, list[int]]
"""Uninspected content: count and bytes by kind."""


class Document:
    """The texts of a JSON document or of a plain text. `names` are the API's own: members with such a name give only
    their value to read. Without names the API is not known, and no member is taken for one of an API. `allowance`: the
    bound for all documents within this one together. `notes`: the uninspected content of the document that contains
    this one."""

    __slots__ = (
        "_allowance", "_children", "_count", "_depth", "_floats", "_key", "_names", "_notes", "_raw", "_value", "_wrap",
        "leaves",
    )  # fmt: skip

    def __init__(
        self,
        raw: bytes,
        value: Any,
        names: frozenset[str],
        carrier: Carrier = "other",
        depth: int = 0,
        wrap: str | None = None,
        allowance: Allowance | None = None,
        notes: Notes | None = None,
    ) -> None:
        self._key = object()
        self._allowance = allowance or Allowance()
        self._notes: Notes = {} if notes is None else notes
        self._raw = raw
        self._value = value
        self._names = names
        self._depth = depth
        self._wrap = wrap  # what stands before base64, where that is how the document came
        self._count = 0
        self._children: list[tuple[int, Document]] = []
        self._floats: list[int] = []
        self.leaves: list[Leaf] = []
        try:
            self._walk(value, carrier, "", "", is_api=depth == 0 and bool(names))
        except RecursionError as error:  # documents in documents, each as deep as one may be
            raise Blocked("There are documents in it that are nested too deeply to be looked into.") from error
        if self._floats:
            self._write_floats()

    @classmethod
    def of_text(
        cls,
        text: str,
        names: frozenset[str],
        carrier: Carrier,
        depth: int = 0,
        wrap: str | None = None,
        own: str = "",
        notes: Notes | None = None,
    ) -> Self:
        """The document of a body that is plain text and not JSON."""
        document = cls(text.encode(), None, names, carrier, depth, wrap, None, notes)
        document.leaves.append(Leaf(document._key, 1, "string", text, carrier, own))
        document._note_within(text)
        return document

    @property
    def uninspected(self) -> Sequence[Finding]:
        return [Finding(UNINSPECTED, 100, times, kind, size) for kind, (times, size) in self._notes.items()]

    def _note(self, kind: str, size: int) -> None:
        counted = self._notes.setdefault(kind, [0, 0])
        counted[0] += 1
        counted[1] += size

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
        """Add a text. Raises `Blocked` for more than `MAX_TEXTS`."""
        if len(self.leaves) >= MAX_TEXTS:
            raise Blocked(f"There are more than {MAX_TEXTS} texts in it, which nobody looks into.")
        self.leaves.append(Leaf(self._key, self._count, kind, text, carrier, own))

    def _walk(self, value: Any, carrier: Carrier, own: str, place: str, *, is_api: bool) -> None:
        """Collect the texts of a value. `own`: the name that its author gives it. `place`: the member that holds it.
        `is_api`: True if names have the API's meaning."""
        if type(value) is list:
            self._walk_list(value, carrier, own, place, is_api)
            return
        if type(value) is not dict:
            self._see(place, value, carrier, own, "", is_api)
            return
        if is_api and carrier != "tool":
            carrier = _find_carrier(value, carrier, place)
        media_type = ""
        heads = () if is_api else find_heads(value)
        given: tuple[str, ...] | None = None  # looked for once, and only where a member needs it
        if is_api:
            media_type = next((value[n] for n in MEDIA_TYPES if n in value and type(value[n]) is str), "")
        for name, item in value.items():
            self._count += 1
            whose = MEMBERS.get(name, carrier) if is_api and carrier != "tool" else carrier
            called = name
            if name in self._names or not name:
                called = ""
            else:
                self._keep("name", name, carrier)
                if len(name) >= LONG_BLOB:
                    self._note_within(name)
            if not is_api and is_holder(name):
                given = find_names(value) if given is None else given
                called = name_inside(given, name, own, item) or called
            if heads and name in ROWS and type(item) is list:
                self._walk_rows([item] if is_row(item, heads) else item, heads, whose)
            else:
                self._see(name, item, whose, called, media_type, is_api)

    def _walk_list(self, value: list[Any], carrier: Carrier, own: str, place: str, is_api: bool) -> None:
        if len(value) > FEW_NUMBERS or (is_api and place in TOKENS):
            kinds = set(map(type, value))
            if kinds and kinds <= NUMBERS:
                self._skip_numbers(value, carrier, own, _kind_of_list(place) if is_api else "numbers")
                return
        if len(value) >= FEWEST_CODES and has_codes(value):
            self._note("numbers", len(orjson.dumps(value)))
        if not is_api and value:
            heads = read_heads(value[0]) if len(value) > 1 else ()
            if heads:
                self._walk_rows(value[:1], (), carrier)
                self._walk_rows(value[1:], heads, carrier)
                return
            if not own and is_pair(value):
                self._walk_rows([value], tuple(name for label in value[::2] for name in ("", label)), carrier)
                return
        for item in value:
            if type(item) is dict:
                self._walk(item, carrier, own, place, is_api=is_api)
            elif type(item) is list:  # a pair in it has a name of its own
                self._walk(item, carrier, own if is_api else "", place, is_api=is_api)
            else:
                self._see("", item, carrier, own, "", is_api)

    def _walk_rows(self, rows: list[Any], heads: Heads, carrier: Carrier) -> None:
        """Collect the texts of the rows of a table. Each cell gets the name of its column."""
        for row in rows:
            if type(row) is not list:
                self._see("", row, carrier, "", "", False)
                continue
            for item, called in zip_longest(row, heads[: len(row)], fillvalue=""):
                self._see("", item, carrier, called, "", False)

    def _skip_numbers(self, value: list[Any], carrier: Carrier, own: str, kind: str) -> None:
        """Read only the large numbers of a long list. Note the whole list as uninspected, unless `kind` is empty."""
        start = self._count
        for n, number in enumerate(value, 1):
            if not -LONG_NUMBER < number < LONG_NUMBER:
                self._count = start + n
                self._see_number(number, carrier, own)
        self._count = start + len(value)
        if kind:
            self._note(kind, len(orjson.dumps(value)))

    def _see(self, name: str, value: Any, carrier: Carrier, own: str, media_type: str, is_api: bool) -> None:
        kind = type(value)
        if kind is str:
            self._count += 1
            if value and not (is_api and self._is_structural(name, value)):
                self._take(name, value, carrier, own, media_type, is_api)
        elif kind is dict:
            inner = is_api and name not in FOREIGN and not (name in RESULTS and carrier == "tool")
            self._walk(value, carrier, own, name, is_api=inner)
        elif kind is list:
            self._walk(value, carrier, own, name, is_api=is_api and (name not in FOREIGN or name in TOKENS))
        elif kind is int or kind is float:
            self._count += 1
            if is_long(value):
                if not (is_api and _is_time(name, value)):
                    self._see_number(value, carrier, own)
            elif has_many_digits(value):
                self._note("numbers", len(repr(value)))
        elif isinstance(value, SkippedText):
            self._count += 1

    def _see_number(self, value: float, carrier: Carrier, own: str) -> None:
        if type(value) is float:
            self._floats.append(len(self.leaves))
        self._keep("number", str(value), carrier, own)

    def _write_floats(self) -> None:
        """Give each float the digits that it has in the source: the parsed number may have lost some."""
        wanted = {self.leaves[at].ordinal: at for at in self._floats}
        last = max(wanted)
        for ordinal, match in enumerate(_LEAF.finditer(mask_escapes(self._raw)), 1):
            if ordinal in wanted:
                at = wanted[ordinal]
                self.leaves[at] = self.leaves[at]._replace(text=write_plain(match[0].decode()))
            if ordinal >= last:
                return

    def _take(self, name: str, text: str, carrier: Carrier, own: str, media_type: str, is_api: bool) -> None:
        child, is_noted = None, False
        if self._depth < MAX_NESTED:
            child = self._open(text, carrier)
            is_expected = is_api and name in BLOBS
            if child is None and len(text) >= LEAST and (is_expected or " " not in text[:LEAST]):
                blob = read_blob(text, media_type, is_expected=is_expected)
                is_noted = blob is not None
                if blob is None:
                    if is_expected and len(text) >= LONG_BLOB:
                        is_noted = self._note_spaced(text, media_type)
                elif is_expected and blob.text is None and _is_skipped(blob, media_type):
                    self._note(blob.kind, len(text))
                    return
                else:
                    child = self._open_blob(blob, text, own, is_silent=is_api and name in VECTORS)
        if child is None:
            if is_api and name in REMOTE:
                self._note("remote", 0)
            if len(text) >= LONG_BLOB and not is_noted:
                self._note_within(text)
            self._keep("string", text, carrier, own)
        elif child.leaves:
            self._children.append((self._count, child))
            self.leaves += child.leaves

    def _note_spaced(self, text: str, media_type: str) -> bool:
        """True if base64 with spaces or line ends in it decodes; it is then noted as uninspected. It remains a text,
        but a lenient reader decodes it."""
        blob = read_blob("".join(text.split()), media_type, is_expected=True)
        if blob is not None:
            self._note(blob.kind, len(text))
        return blob is not None

    def _note_within(self, text: str) -> None:
        """Note as uninspected the base64 within a text that does not decode to text."""
        for start, end, kind in find_blobs(text):
            self._note(kind, end - start)

    def _open(self, text: str, carrier: Carrier, wrap: str | None = None) -> Document | None:
        """The document in a string; None for plain text. `wrap`: the characters before the base64 that the string came
        in; None if it came without. Raises `Blocked` if the documents exceed the allowance."""
        bare = text.strip() if text[:1].isspace() or text[-1:].isspace() else text
        if bare[:1] not in _BEGINS or bare[-1:] not in _ENDS:
            return None
        raw = text.encode()
        try:
            value = parse(raw, self._allowance)
        except TooManyValues as error:
            raise Blocked("There are more values in it than are taken apart.") from error
        except JsonError:
            return None
        return Document(raw, value, self._names, carrier, self._depth + 1, wrap, self._allowance, self._notes)

    def _open_blob(self, blob: Blob, text: str, own: str, *, is_silent: bool) -> Document | None:
        """The document of the text in base64. None if the base64 has no text: the string is then inspected as it
        stands."""
        if blob.text is not None:
            child = self._open(blob.text, "tool", blob.head)
            if child is not None:
                return child
            return Document.of_text(blob.text, self._names, "tool", self._depth + 1, blob.head, own, self._notes)
        if len(text) >= LONG_BLOB and not is_silent:
            self._note(blob.kind, len(text))
        return None

    def _is_structural(self, name: str, value: str) -> bool:
        """True if a string in a member of an API is not inspected. A sealed one is noted as uninspected."""
        if name in IDS and _GIVEN_OUT.fullmatch(value) is not None:
            return True
        if name in STRUCTURAL:
            return (_MODEL if name == "model" else _CHOSEN).fullmatch(value) is not None
        if name not in SEALED or _SEAL.fullmatch(value) is None:
            return False
        self._note("sealed", len(value))
        return True


def is_model(name: str) -> bool:
    """True if `name` looks like a model's name, which is not searched."""
    return _MODEL.fullmatch(name) is not None


def _kind_of_list(place: str) -> str:
    """The label for a list of numbers at this place of an API, `tokens` or `numbers`; empty for vectors."""
    if place in VECTORS:
        return ""
    return "tokens" if place in TOKENS else "numbers"


def _find_carrier(value: Mapping[str, Any], carrier: Carrier, place: str) -> Carrier:
    """The carrier of the texts of an API object, by its own `role` and `type`."""
    role, kind = value.get("role"), value.get("type")
    if type(role) is str and role in CARRIERS and place in TURNS:
        carrier = CARRIERS[role]
    return TYPES[kind] if type(kind) is str and kind in TYPES else carrier


def _is_skipped(blob: Blob, media_type: str) -> bool:
    """True if a blob where the API has one is what it says. One that says something else is looked at all the same."""
    return blob.kind != "binary" or (not media_type and not blob.head)


def _is_time(name: str, value: float) -> bool:
    """True if the value is a time from 2001 to 2096 in seconds, in a member that holds times."""
    return name in TIMES and 10**9 <= value < 4 * 10**9


def _paths(value: Any, path: str) -> Iterator[str]:
    """The paths of all strings and numbers, names included, in the order of their ordinals."""
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
