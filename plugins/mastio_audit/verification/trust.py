"""The trusted keys of a log's verification, and the signed checkpoints that the log is compared with. Pure.

Somebody who pinned one key of the log believes the others for one reason: the log holds a note by which a believed key
names the next (`mastio_audit.log.keys`). Who pinned none believes what the place says of itself. That shows damage, and
tampering by who cannot sign; against who can, only a key or a checkpoint from elsewhere helps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from mastio_audit.log.chain import ChainError
from mastio_audit.log.keys import read_succession
from mastio_primitives.transparency import notes
from mastio_primitives.transparency.merkle import Tree
from mastio_primitives.transparency.notes import Checkpoint, Note, NoteError, Verifier

_SUCCESSION, _START = b'"kind":"audit.key"', b'"kind":"appliance.start"'


class Keyring:
    """The keys that may sign for a log, as far as is known by now."""

    def __init__(self, pinned: Iterable[Verifier] = ()) -> None:
        self.known = list(dict.fromkeys(pinned))
        self.pinned = bool(self.known)

    def believe(self, *verifiers: Verifier) -> None:
        """Trusts the keys that the log's source names. Has no effect if keys were pinned."""
        if not self.pinned:
            self._add(*verifiers)

    def learn(self, entry: bytes) -> None:
        """Learns the keys that a verified entry announces, if any."""
        if _SUCCESSION in entry:
            request = _request(entry, "audit.key")
            try:
                self._add(read_succession(request["note"], self.known))
            except (NoteError, KeyError, AttributeError):
                self._believe_vkey(request)
        elif _START in entry:
            self._believe_vkey(_request(entry, "appliance.start"))

    def _believe_vkey(self, request: dict[str, Any]) -> None:
        vkey = request.get("vkey")
        if not self.pinned and isinstance(vkey, str):
            try:
                self._add(notes.parse_vkey(vkey))
            except NoteError:
                return

    def _add(self, *verifiers: Verifier) -> None:
        self.known += [one for one in dict.fromkeys(verifiers) if one not in self.known]


def _request(entry: bytes, kind: str) -> dict[str, Any]:
    """The member `request` of an entry of that kind, else nothing."""
    document = orjson.loads(entry)
    return (document["request"] or {}) if document["kind"] == kind else {}


@dataclass(frozen=True, slots=True)
class Signed:
    """A signed checkpoint from somewhere. `name` says where, for messages. Its signatures are not verified yet."""

    name: str
    note: Note
    checkpoint: Checkpoint


def parse_signed(name: str, content: bytes) -> list[Signed]:
    """The checkpoints of a file, one or several. Raises `NoteError`."""
    found = []
    for one in notes.split_notes(content):
        note = notes.parse_note(one)
        found.append(Signed(name, note, notes.parse_checkpoint(note.text)))
    return found


class Prefixes:
    """Compares checkpoints with a log while it grows; their signatures are verified when the log has told all its keys.

    A log that was written anew from some entry on is in order by itself. It differs from a checkpoint somewhere after
    the one before that still fits: that is the index that is named, unless the log itself tells it more exactly.

    A checkpoint that nobody who is believed signed says nothing of any entry. It is a problem without an index.
    """

    def __init__(self) -> None:
        self._waiting: deque[Signed] = deque()
        self._compared: list[tuple[Signed, bool]] = []
        self.verified = 0
        self.problems: list[str] = []
        self.mismatch: ChainError | None = None
        self.size = 0
        """Of the first checkpoint that the log does not fit."""
        self.may_end_early = False
        """True if a copy is verified that may be older than a signed checkpoint."""
        self.beyond: int | None = None
        """The size of a checkpoint that such a copy ends before."""

    def expect(self, signed: Iterable[Signed]) -> None:
        self._waiting = deque(sorted([*self._waiting, *signed], key=lambda one: one.checkpoint.size))

    def compare(self, tree: Tree) -> None:
        """The log has this tree now. Call at each size."""
        while self._waiting and self._waiting[0].checkpoint.size == tree.size:
            one = self._waiting.popleft()
            self._compared.append((one, one.checkpoint.root == tree.root))

    def finish(self, keys: Keyring, size: int | None) -> None:
        """The log ends at `size`. None: it is broken, so nobody knows whether it once was longer."""
        since = 0
        for one, fits in [one for one in self._compared if self._is_signed(one[0], keys)]:
            if not fits:
                self.size = one.checkpoint.size
                self.mismatch = ChainError(
                    f"from here on it is not the log of the checkpoint of size {self.size}", since
                )
                return
            since = one.checkpoint.size
            self.verified += 1
        if size is not None and (longer := [one for one in self._waiting if self._is_signed(one, keys)]):
            if self.may_end_early:
                self.beyond = longer[0].checkpoint.size
                return
            self.size = longer[0].checkpoint.size
            self.mismatch = ChainError(f"it is missing: there is a checkpoint of size {self.size}", size)

    def _is_signed(self, one: Signed, keys: Keyring) -> bool:
        try:
            notes.verify_checkpoint(one.note, keys.known)
        except NoteError as error:
            self.problems.append(f"{one.name}: {error}")
            return False
        return True
