"""The log's own keys: Ed25519, derived from generations that every worker and replica shares, for nothing else.
Pure: the directory is handed in.

The name of each is `<trust-domain>/audit`, the origin of the log. While one replaces another, both sign, so whoever
pinned the one before goes on verifying. The log itself says what replaced it: an entry of kind `audit.key` holds a note
with the new key, signed by the key before. Whoever trusts the first key learns every later one from the log.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from mastio.exchange.records import Directory, SigningKey
from mastio.identity.rotation import current, in_force
from mastio_primitives.transparency.notes import NoteError, Signer, Verifier, parse_note, parse_vkey

PURPOSE = "audit"
_INFO = b"mastio audit log key"
_SUCCESSION = "is followed by"


@dataclass(frozen=True, slots=True)
class LogKey:
    """One generation, with what it signs by."""

    row: SigningKey
    signer: Signer

    @property
    def created_at(self) -> float:
        return self.row.created_at

    @property
    def active_from(self) -> float:
        return self.row.active_from

    @property
    def retire_at(self) -> float | None:
        return self.row.retire_at


class LogKeys:
    """The generations as this worker knows them."""

    def __init__(self, trust_domain: str, directory: Directory) -> None:
        self.origin = f"{trust_domain}/audit"
        self._directory = directory
        self._derived: dict[SigningKey, LogKey] = {}

    def all(self) -> tuple[LogKey, ...]:
        """Every generation that is not forgotten, the oldest first."""
        rows = [row for row in self._directory.signing_keys if row.purpose == PURPOSE]
        self._derived = {row: self._derived.get(row) or derive(self.origin, row) for row in rows}
        return tuple(self._derived.values())

    def signers(self, now: float) -> list[Signer]:
        """The signing keys: the active generation first, then those that it replaces, while they are trusted."""
        keys = self.all()
        active = current(keys, now)
        others = [key for key in in_force(keys, now) if key is not active and key.active_from <= now]
        return [active.signer, *(key.signer for key in reversed(others))]


def derive(origin: str, row: SigningKey) -> LogKey:
    """The generation's key: HKDF-SHA-256 of its secret, bound to this use."""
    seed = HKDF(hashes.SHA256(), 32, salt=None, info=_INFO).derive(row.secret)
    return LogKey(row, Signer(origin, seed))


def write_succession(before: Signer, after: Verifier) -> str:
    """The note by which a key names the one that follows it."""
    text = f"{before.verifier}\n{_SUCCESSION}\n{after}\n".encode()
    return (text + b"\n" + before.sign(text).encode()).decode()


def read_succession(note: str, trusted: Iterable[Verifier]) -> Verifier:
    """The key that a trusted one named. Raises `NoteError`."""
    opened = parse_note(note.encode("utf-8", "surrogatepass"))
    signers = opened.signed_by(trusted)
    lines = opened.text.decode().split("\n")
    if len(lines) != 4 or lines[1] != _SUCCESSION or lines[0] not in {str(signer) for signer in signers}:
        raise NoteError("it names no key that follows")
    after = parse_vkey(lines[2])
    if all(after.name != signer.name for signer in signers):
        raise NoteError("it names the key of another log")
    return after


def successions(keys: Sequence[LogKey]) -> list[tuple[Verifier, str]]:
    """Each generation but the first, with the note of the one before it."""
    return [
        (after.signer.verifier, write_succession(before.signer, after.signer.verifier))
        for before, after in itertools.pairwise(keys)
    ]
