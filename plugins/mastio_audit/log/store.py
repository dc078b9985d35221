"""The database contract of the log: one durable transaction for each batch, and reads of the stored entries.

A store keeps four things and moves them together: the entries, the head (size, last leaf hash, frontier), the nodes of
the Merkle tree (derived from the entries, one for every 256 of them and so on), and the open intents (derived as well:
intents whose outcome is not stored yet, with the owner who is to record it). It knows nothing of the form of entries;
`mastio_audit.log.chain` makes the bytes and recomputes them.

Two implementations share this contract and no code: `mastio_audit.log.sqlite` and `mastio_audit.log.postgres`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mastio_audit.log.chain import Head, Row
from mastio_primitives.transparency.merkle import Frontier, Node

BUNDLE = 256
"""Entries that are archived together: a bundle of C2SP tlog-tiles."""

FORMAT = 2
"""Version of the tables, kept in the head row."""


class StoreError(Exception):
    """The operation failed. After `append`: whether the batch was stored is not known, so it must not be repeated.

    The message is one phrase without path, address or secret; the database's own error is the `__cause__`.
    """


class DamageError(StoreError):
    """The database contains data that it would not have written itself."""


@dataclass(frozen=True, slots=True)
class OpenIntent:
    """The row of an intent whose outcome is still to come. `owner` is `<node>/<slot>` of the worker that has it."""

    seq: int
    id: str
    owner: str


@dataclass(frozen=True, slots=True)
class Batch:
    """The content of one transaction: `rows` follow the head that `build` was given, `head` is the head after them.

    `opened` are intents among the rows that stay open; `closed` names earlier intents that these rows' outcomes
    close. An intent and its outcome in one batch appear in neither.
    """

    rows: Sequence[Row]
    head: Head
    nodes: Sequence[Node] = ()
    opened: Sequence[OpenIntent] = ()
    closed: Sequence[int] = ()


Build = Callable[[Head], Batch]
"""Makes the batch for the head it is given. Pure but for its own notes: it may be called again with another head
before anything is stored (the last call counts), and in another thread."""


@dataclass(frozen=True, slots=True)
class Extent:
    """The state of the log at one moment: the head row (None: it is gone), the highest `seq`
    among the entries plus one (0: no entry), and the first `seq` that is here: those before it are in an archive."""

    head: Head | None
    end: int
    start: int = 0


@dataclass(frozen=True, slots=True)
class Space:
    """Bytes: what the log takes, what it may still take of its disk, and how large that is (None: not known)."""

    used: int
    free: int | None = None
    disk: int | None = None


class LogReader(Protocol):
    """Reading a log, without any effect on it. Calls on one reader do not overlap. Raises `StoreError`."""

    async def open(self) -> None:
        """Connect. Reading must not create, repair or lock anything that a running appliance uses."""

    async def extent(self) -> Extent:
        """Head and end of the log."""

    async def read(self, start: int, limit: int) -> Sequence[Row]:
        """Up to `limit` rows with `seq` ≥ `start` in ascending order; none: the end. One short read, no snapshot."""

    async def find(self, within: range, limit: int, contained: Sequence[bytes], newest_first: bool) -> Sequence[Row]:
        """Up to `limit` rows with `seq` in `within` whose entry contains each of these bytes, in that order."""

    async def nodes(self, level: int, start: int, limit: int) -> Sequence[Node]:
        """Up to `limit` nodes of a level (1 and above) with index ≥ `start` in ascending order."""

    async def archived(self, index: int) -> bytes | None:
        """The leaf hashes of a bundle whose entries are in an archive, joined; None: they are not."""

    async def space(self) -> Space:
        """The space that the log uses and has left."""

    async def close(self) -> None:
        """Give the connection up. Never raises; closing twice is nothing; `open` may follow."""


class AuditStore(LogReader, Protocol):
    """One worker's way to append to the log, which other workers and replicas append to as well.

    Calls do not overlap: the sequencer is the only caller. What a crash leaves behind, of the process or the machine:

    | crash | left behind |
    |---|---|
    | before the commit | nothing: no entry, no gap, no number used up |
    | during the commit | all of the batch or nothing; nobody was answered, so either is right |
    | after the commit, before the answer | the batch; its intents stay open and are closed as unknown at restart |

    An error in the middle is the same three cases without the restart: hence in doubt, never repeated.
    """

    async def open(self) -> None:
        """Connect, create what is missing, and make what was stored earlier safe from an earlier failed sync.

        May be called again after `close`; then it also makes sure that nothing of the closed connection can still
        be committed later. Raises `StoreError`, or `ConfigurationError` for a database that cannot keep the
        promise (unsafe settings, unknown format): trying again will not help.
        """

    async def append(self, build: Build) -> Head:
        """Store `build(head)` in one durable transaction and return the new head.

        The head is taken under a lock that every other appender respects, or compared and swapped with the same
        effect. On return the batch is on stable storage. Raises `StoreError`: in doubt; or when an intent to be
        closed is not open (any more): nothing stored. After an error, `close` before anything else.
        """

    async def leftovers(self, owner: str) -> Sequence[Row]:
        """The stored intents that `owner` opened and that have no outcome yet, in order."""

    async def owners(self) -> Sequence[str]:
        """Everybody who has open intents."""

    async def oldest_open(self) -> int | None:
        """The `seq` of the first intent without an outcome."""

    async def forget(self, index: int, hashes: Sequence[bytes], build: Build) -> Head:
        """Keep only the leaf hashes of some bundles, from `index` on: their entries are in an archive. `hashes` are
        those of one bundle each, joined. What `build` makes is appended in the same durable transaction. Raises
        `StoreError`: where bundles before are still here, where an intent among the entries is open, or in doubt.
        """


def join(frontier: Frontier) -> bytes:
    """A frontier as it is stored."""
    return b"".join(frontier)


def split(stored: bytes) -> Frontier:
    """The other way. What is not a whole number of hashes comes back as it is, in one piece: it will not verify."""
    if len(stored) % 32:
        return (stored,)
    return tuple(stored[at : at + 32] for at in range(0, len(stored), 32))
