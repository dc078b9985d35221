"""The part of verification that is the same for entries of every source: chain, tree, keys, checkpoints; its report.
Pure: the entries are handed in.

A place adds what it has beside them: stored hashes and a head (`store`), tiles (`served`), or nothing but a
checkpoint after the last entry (`export`).
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass

from mastio_audit.log.chain import ChainError, Verifier
from mastio_audit.verification.trust import Keyring, Prefixes, parse_signed
from mastio_primitives.transparency.notes import Checkpoint, NoteError

Progress = Callable[[int, int | None], None]
"""Told how many entries are verified, and of how many (None: nobody knows yet)."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a verification: the first `size` entries hold, up to the leaf hash `head`. `problem` is None when
    that is all of it.

    `root`: of the tree over as many as were looked at, in hex, and as a checkpoint has it. `checkpoints`: how many the
    log begins with. `first_bad`: before it everything holds; None with a problem: no entry can be named. `beyond`: the
    size of a checkpoint that was signed later than this copy of the log was made, so that it cannot be compared.
    """

    size: int
    head: str
    root: str
    root_base64: str
    checkpoints: int
    open_intents: int
    keys: tuple[str, ...]
    pinned: bool
    first_bad: int | None = None
    problem: str | None = None
    beyond: int | None = None


class Recomputation:
    """A log that is recomputed entry by entry."""

    def __init__(self, keys: Keyring) -> None:
        self.verifier = Verifier()
        self.tree = self.verifier.tree
        self.keys = keys
        self.problems: list[str] = []
        """Problems of the source as a whole, not of single entries."""
        self._prefixes = Prefixes()

    def allow_later_checkpoints(self) -> None:
        """Accept checkpoints of more entries than there are: a copy may be older than they are."""
        self._prefixes.may_end_early = True

    @property
    def size(self) -> int:
        return self.verifier.head.size

    def add(self, seq: int, entry: bytes) -> None:
        """The next row. Raises `ChainError`."""
        if not self.size:
            self._prefixes.compare(self.tree)
        self.verifier.add(seq, entry)
        self.keys.learn(entry)
        self._prefixes.compare(self.tree)

    def expect(self, name: str, content: bytes) -> list[Checkpoint]:
        """Signed checkpoints, one or several, that the log must begin with, none of less than was added already.

        They are returned; what is none is a problem of the place that `name` says.
        """
        try:
            signed = parse_signed(name, content)
        except NoteError as error:
            self.problems.append(f"{name}: {error}")
            return []
        self._prefixes.expect(signed)
        return [one.checkpoint for one in signed]

    def report(self, broken: ChainError | None, size: int | None = None) -> Report:
        """The report of what was found. `broken`: the error that ended the verification. `size`: that of the log, where
        all of it was read.

        A checkpoint that does not fit is told where the log itself does not say more exactly what is bad.
        """
        prefixes = self._prefixes
        prefixes.compare(self.tree)
        prefixes.finish(self.keys, size if broken is None else None)
        found = broken
        if prefixes.mismatch is not None and (broken is None or (broken.index or 0) >= prefixes.size):
            found = prefixes.mismatch
        head, root = self.verifier.head, self.tree.root
        problems = [*self.problems, *prefixes.problems]
        index = None if found is None else found.index
        return Report(
            size=head.size if index is None else min(head.size, index),
            head=head.last_hash.hex(),
            root=root.hex(),
            root_base64=base64.b64encode(root).decode(),
            checkpoints=prefixes.verified,
            open_intents=len(self.verifier.open),
            keys=tuple(map(str, self.keys.known)),
            pinned=self.keys.pinned,
            first_bad=index,
            problem=found.message if found is not None else problems[0] if problems else None,
            beyond=prefixes.beyond,
        )
