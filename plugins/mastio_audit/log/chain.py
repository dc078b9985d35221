"""The rules of the log as pure functions: entry to canonical bytes, chaining, verification from the bytes. Pure.

An entry is one JSON object with exactly the members of `FIELDS`, in the canonical form of RFC 8785. The stored bytes
are what is hashed: leaf hash = SHA-256(0x00 ‖ bytes) (RFC 6962 §2.1), and `prev` of an entry is the leaf hash of the
one before it, so a hash chain and a Merkle tree over the same leaves are two views of one log.

Canonical by restriction: an entry holds only strings, integers within ±(2^53-1), booleans, null, lists and objects
with ASCII names. For such values, sorting names by byte is RFC 8785's order (§3.2.3), and orjson's strings and
integers are its forms (§3.2.2). Everything else is refused, so no rule for floating point is ever needed.

No clock, store or network here. `mastio_audit.log.sequencer` stamps with `append`, the stores keep the bytes, and
`mastio_audit.verification.store` feeds them back to `Verifier`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import NoneType
from typing import Any

import orjson

from mastio.exchange.values import Entry, Phase
from mastio_primitives.transparency.merkle import Frontier, Node, Tree, leaf_hash

VERSION = 1
FIELDS = (
    *("agent", "credential", "decision", "id", "kind", "outcome", "phase", "prev"),
    *("request", "response", "seq", "target", "time", "usage", "v"),
)
"""The members of an entry, in canonical order."""

MAX_ENTRY = 65_535
"""Longest entry in bytes: entry bundles of C2SP tlog-tiles carry 16-bit lengths."""

LONG = 4096
"""Bytes of an entry that is shortened, where it has anything long."""

MAX_DEPTH = 16

Row = tuple[int, bytes]
"""`(seq, entry bytes)` as a store keeps it."""

_CANONICAL = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
_SCALARS = frozenset((str, int, bool, NoneType))
_MAX_STAMP = 256  # what `stamp` adds at most: three names and values, and `v`
_NAMES = ("id", "kind", "phase")
_TEXTS = ("agent", "target")
_OBJECTS = ("credential", "decision", "request", "response", "outcome", "usage")
_INTEGER = frozenset((int,))
_TEXT, _OBJECT = frozenset((str, NoneType)), frozenset((dict, NoneType))
_PHASES = frozenset(("intent", "outcome", "event"))
_ALTERED = "it is not what the next entry was chained to"
_WRONG_TYPE = "a member has a value of the wrong type"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


class ChainError(ValueError):
    """A value that cannot be an entry, or a log that is not what was written; `index` is the first bad one then."""

    def __init__(self, message: str, index: int | None = None) -> None:
        super().__init__(message if index is None else f"entry {index}: {message}")
        self.message = message
        self.index = index


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the log: the number of entries, the leaf hash of the last (32 zero bytes while there is none), and the
    frontier of the Merkle tree over them (`mastio_primitives.transparency.merkle`)."""

    size: int = 0
    last_hash: bytes = bytes(32)
    frontier: Frontier = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry in canonical pieces, all but `prev`, `seq` and `time`, which it gets with its place in the log."""

    id: str
    phase: Phase
    before_prev: bytes
    before_seq: bytes
    target: bytes
    usage: bytes


def draft(entry: Entry, shorten: Callable[[Entry], Entry] | None = None) -> Draft:
    """Encode all that does not depend on the place in the log. `shorten` is called for an entry that is long.

    Raises `ChainError` for what has no canonical form.
    """
    if not _has_types(entry):
        raise ChainError(_WRONG_TYPE)
    content = {
        "agent": entry.agent,
        "credential": _plain(entry.credential),
        "decision": _plain(entry.decision),
        "id": entry.id,
        "kind": entry.kind,
        "outcome": _plain(entry.outcome),
        "phase": entry.phase,
    }
    wire = {"request": _plain(entry.request), "response": _plain(entry.response)}
    before_prev, before_seq = encode(content)[:-1], encode(wire)[1:-1]
    made = Draft(entry.id, entry.phase, before_prev, before_seq, encode(entry.target), encode(_plain(entry.usage)))
    size = len(before_prev) + len(before_seq) + len(made.target) + len(made.usage)
    if size > LONG and shorten is not None:
        return draft(shorten(entry))
    if size > MAX_ENTRY - _MAX_STAMP:
        raise ChainError(f"an entry may have {MAX_ENTRY} bytes at most")
    return made


def encode(value: Any) -> bytes:
    """The canonical form (RFC 8785). Raises `ChainError` for anything outside the values the module names."""
    try:
        encoded = orjson.dumps(value, option=_CANONICAL)
    except orjson.JSONEncodeError as error:
        raise ChainError(str(error)) from error
    _check_values((value,), MAX_DEPTH)
    if not encoded.isascii():
        _check_names(value)
    return encoded


def stamp(made: Draft, seq: int, prev: str, time: bytes) -> bytes:
    """The entry's bytes at its place. `prev` is the leaf hash before it in hex, `time` the text of `timestamp`."""
    return b'%b,"prev":"%b",%b,"seq":%d,"target":%b,"time":"%b","usage":%b,"v":1}' % (
        made.before_prev,
        prev.encode(),
        made.before_seq,
        seq,
        made.target,
        time,
        made.usage,
    )


def timestamp(seconds: float) -> bytes:
    """Unix time as RFC 3339 in UTC with six decimals."""
    return (
        datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").removesuffix("+00:00").encode() + b"Z"
    )


@dataclass(frozen=True, slots=True)
class Appended:
    """The data to store: the rows, the tree nodes that they completed, and the head after them."""

    rows: list[Row]
    nodes: list[Node]
    head: Head


def append(head: Head, drafts: Iterable[Draft], time: float) -> Appended:
    """Give the drafts the next places, in order. `time` is Unix time. Raises `ChainError` for a head that is none."""
    if len(head.frontier) != head.size.bit_count():
        raise ChainError("the frontier in the head does not fit its size", max(head.size - 1, 0))
    rows: list[Row] = []
    last_hash, at, tree = head.last_hash, timestamp(time), Tree(head.size, head.frontier)
    for seq, made in enumerate(drafts, head.size):
        entry = stamp(made, seq, last_hash.hex(), at)
        last_hash = leaf_hash(entry)
        tree.add(last_hash)
        rows.append((seq, entry))
    return Appended(rows, tree.nodes, Head(tree.size, last_hash, tree.frontier))


def unknown_outcome(intent: bytes) -> Draft:
    """The outcome that closes an intent whose exchange was cut: nobody knows how it ended."""
    document = parse(intent)
    return draft(
        Entry(
            id=document["id"],
            phase="outcome",
            kind=document["kind"],
            target=document["target"],
            agent=document["agent"],
            outcome={"status": "unknown"},
        )
    )


def parse(entry: bytes) -> dict[str, Any]:
    """Stored bytes back to the document. Raises `ChainError` unless they are the canonical form of an entry."""
    if type(entry) is not bytes or len(entry) > MAX_ENTRY:
        raise ChainError("the row is not the bytes of an entry")
    try:
        document = orjson.loads(entry)
    except orjson.JSONDecodeError as error:
        raise ChainError("the bytes are not JSON") from error
    if type(document) is not dict or tuple(document) != FIELDS:
        raise ChainError("the members are not exactly those of an entry, in canonical order")
    if encode(document) != entry:
        raise ChainError("the bytes are not in canonical form (RFC 8785)")
    if not (_is_content(document) and _is_place(document)):
        raise ChainError(_WRONG_TYPE)
    return document


class Verifier:
    """Recomputes a log from its stored bytes, one row after the other, in order; memory grows with open intents only.

    Checks for each row: canonical form, `seq` contiguous, `prev` equal to the leaf hash of the row before, and
    pairing: an outcome closes the one open intent with its id, an intent's id is not open already. `finish` compares
    with the head. Each raises `ChainError` with the first bad index; after that the verifier is spent.

    Which one is bad when `prev` of k+1 and the bytes of k disagree? The entry after says: if it still vouches for
    k+1 as stored, k was altered, else k+1. So that case is reported one row late.

    `tree` grows with the rows: what it says of nodes and root is recomputed as well.

    `tail` starts in the middle: the first row's `prev` is taken as it stands, and pairing and tree are left out.
    """

    def __init__(self, tail: int | None = None) -> None:
        self.head = Head(tail or 0)
        self.tree = Tree()
        self.open: dict[str, int] = {}
        self._whole = tail is None
        self._expected: str | None = self.head.last_hash.hex() if tail is None else None
        self._doubt: int | None = None
        self._before = self._undoubted = self.tree.frontier
        self._vouched = ""

    def add(self, seq: int, entry: bytes) -> None:
        """Verify the next row. Raises `ChainError`."""
        index = self.head.size
        try:
            document = parse(entry)
        except ChainError as error:
            raise self._bad(error.message, index) from error
        chained = document["prev"] == self._expected or self._expected is None
        if self._doubt is not None:
            raise ChainError(_ALTERED, self._doubt if chained else self._doubt + 1)
        if seq != index or document["seq"] != index:
            place = index if chained else min(index, max(document["seq"], 0))
            raise ChainError(f"row {seq} with seq {document['seq']} stands at {index}", place)
        if chained:
            self._pair(document, index)
        elif index == 0:
            raise ChainError("prev of the first entry is not 64 zeros", index)
        else:
            self._doubt, self._undoubted = index - 1, self._before
            self._vouched = document["prev"]
        last_hash = leaf_hash(entry)
        if self._whole:
            self._before = self.tree.frontier
            self.tree.add(last_hash)
        self.head = Head(index + 1, last_hash)
        self._expected = last_hash.hex()

    def finish(self, head: Head | None) -> None:
        """Compare with the log's head (None: it has none). Raises `ChainError`."""
        size = self.head.size
        if head is not None and head.size > size:
            raise self._bad("it is missing", size)
        if head is not None and head.size < size:
            raise self._bad("the head does not cover it", max(head.size, 0))
        fits = head is not None and head.last_hash == self.head.last_hash
        if self._doubt is not None:
            raise ChainError(_ALTERED, self._doubt if fits else self._doubt + 1)
        if not fits:
            raise ChainError("the head was not made for it", max(size - 1, 0))
        if self._whole and head is not None and head.frontier != self.tree.frontier:
            raise ChainError("the frontier in the head is not that of the tree up to it", max(size - 1, 0))

    def settle(self, root: bytes | None) -> None:
        """In place of `finish`, for a log without a head: decide what the last row left in doubt.

        `root`: what the root hash over exactly these rows should be; it decides as a next row would, or the head. None:
        not known. Raises `ChainError`.
        """
        if self._doubt is None:
            return
        tree = Tree(self._doubt, self._undoubted)
        with contextlib.suppress(ValueError):
            tree.add(bytes.fromhex(self._vouched))
            tree.add(self.head.last_hash)
        raise ChainError(_ALTERED, self._doubt if root is None or tree.root == root else self._doubt + 1)

    def _bad(self, message: str, index: int) -> ChainError:
        """An error at `index`, or at the entry in doubt: nothing is there to clear it."""
        return ChainError(message, index) if self._doubt is None else ChainError(_ALTERED, self._doubt)

    def _pair(self, document: dict[str, Any], index: int) -> None:
        exchange, phase = document["id"], document["phase"]
        if not self._whole or phase == "event":
            return
        if phase == "intent":
            if exchange in self.open:
                raise ChainError(f"its id has an open intent already, entry {self.open[exchange]}", index)
            self.open[exchange] = index
        elif self.open.pop(exchange, None) is None:
            raise ChainError("an outcome without an open intent before it", index)


def verify(rows: Iterable[Row], head: Head | None) -> Verifier:
    """Verify a whole log, or raise `ChainError` with the first bad index."""
    verifier = Verifier()
    for seq, entry in rows:
        verifier.add(seq, entry)
    verifier.finish(head)
    return verifier


def verify_tail(start: int, rows: Iterable[Row], head: Head) -> None:
    """Verify that the rows from `start` on are chained to each other and to the head, or raise `ChainError`."""
    verifier = Verifier(tail=start)
    for seq, entry in rows:
        verifier.add(seq, entry)
    verifier.finish(head)


def _plain(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return value if value is None or type(value) is dict else dict(value)


def _check_values(values: Collection[Any], depth: int) -> None:
    if _SCALARS.issuperset(map(type, values)):
        return
    for value in values:
        kind = type(value)
        if kind not in _SCALARS:
            if depth == 0:
                raise ChainError(f"an entry nests {MAX_DEPTH} levels at most")
            if kind is dict:
                _check_values(value.values(), depth - 1)
            elif kind is list or kind is tuple:
                _check_values(value, depth - 1)
            else:
                raise ChainError(f"a value of type {kind.__name__} has no place in an entry")


def _check_names(value: Any) -> None:
    """Only where a byte is not ASCII: the order of names by byte and by UTF-16 unit would differ there."""
    if isinstance(value, dict):
        if not "".join(value).isascii():
            raise ChainError("names of members are ASCII")
        _check_names(list(value.values()))
    elif isinstance(value, list | tuple):
        for member in value:
            _check_names(member)


def _has_types(entry: Entry) -> bool:
    """As `_is_content`, for what plugins hand over: there any mapping is an object."""
    if entry.phase not in _PHASES or not entry.id or not entry.kind:
        return False
    if type(entry.id) is not str or type(entry.kind) is not str:
        return False
    if type(entry.agent) not in _TEXT or type(entry.target) not in _TEXT:
        return False
    for value in (entry.credential, entry.decision, entry.request, entry.response, entry.outcome, entry.usage):
        if type(value) not in _OBJECT and not isinstance(value, Mapping):
            return False
    return entry.usage is None or _INTEGER.issuperset(map(type, entry.usage.values()))


def _is_content(document: Mapping[str, Any]) -> bool:
    for name in _NAMES:
        if type(document[name]) is not str or not document[name]:
            return False
    for name in _TEXTS:
        if type(document[name]) not in _TEXT:
            return False
    for name in _OBJECTS:
        if type(document[name]) not in _OBJECT:
            return False
    usage = document["usage"]
    return document["phase"] in _PHASES and (usage is None or _INTEGER.issuperset(map(type, usage.values())))


def _is_place(document: Mapping[str, Any]) -> bool:
    return (
        type(document["v"]) is int
        and document["v"] == VERSION
        and type(document["seq"]) is int
        and type(document["prev"]) is str
        and type(document["time"]) is str
        and _TIME.fullmatch(document["time"]) is not None
    )
