"""The meaning of a witness's answers, and the verification of cosignatures (C2SP tlog-witness, tlog-cosignature). Pure.

A witness has seen the log before and remembers the last checkpoint that it signed. It signs another one only with a
proof that the log it remembers is the beginning of the new one. So it never signs two logs with one name.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass

from mastio_audit.anchors.target import AnchorError
from mastio_primitives.transparency import notes
from mastio_primitives.transparency.notes import NoteError, Verifier

AHEAD = 300.0
"""Seconds that a witness's clock may be ahead of ours."""

_SIZE = re.compile(rb"(0|[1-9]\d{0,18})\n")
_SIZE_TYPE = "text/x.tlog.size"
_REFUSALS = {
    400: "it does not understand the request",
    403: "it does not trust the log's key; give it the one at /v1/audit/log/vkey",
    404: "it does not know this log; give it the log's key",
}


@dataclass(frozen=True, slots=True)
class Cosigned:
    """The witness signed. `signatures` are not verified yet."""

    signatures: bytes


@dataclass(frozen=True, slots=True)
class Remembers:
    """The witness has signed a checkpoint of `size` before, not of the size that was said to it."""

    size: int


@dataclass(frozen=True, slots=True)
class Fork:
    """The witness signed a checkpoint of `size` with this log's key, which this log does not begin with."""

    size: int


Answer = Cosigned | Remembers | Fork


def judge(status: int, content_type: str, body: bytes, old: int, size: int) -> Answer:
    """The meaning of a witness's answer to a checkpoint of `size` with a valid proof from `old`. Raises `AnchorError`.

    A proof that was right for our log and is not for the witness shows that it remembers another one; so does another
    root at the same size. `Remembers` may be of more than `size`: then the log must have that many by now.
    """
    if status == 200:
        return Cosigned(body)
    if status == 409:
        found = _SIZE.fullmatch(body) if content_type.partition(";")[0].strip().lower() == _SIZE_TYPE else None
        told = None if found is None else int(found[1])
        if old == size and told in (None, old):
            return Fork(old)
        if told is None or told == old:
            raise AnchorError("its answer contradicts itself")
        return Remembers(told)
    if status == 422 and old > 0:
        return Fork(old)
    raise AnchorError(_REFUSALS.get(status, f"it answers with status {status}"))


def find_cosignature(text: bytes, signatures: bytes, witness: Verifier, now: float) -> tuple[bytes, int]:
    """The witness's signature line on the note with this text, verified, and its time, Unix seconds.

    Lines of others are passed over. Raises `NoteError`.
    """
    note = notes.parse_note(text + b"\n" + signatures)
    for line in note.signatures:
        if (line.name, line.key_id) == (witness.name, witness.key_id):
            time = _verify(text, line.signature, witness)
            if time > now + AHEAD:
                raise NoteError("the cosignature is from the future")
            encoded = base64.b64encode(line.key_id + line.signature).decode()
            return f"— {line.name} {encoded}\n".encode(), time
    raise NoteError("the witness did not sign it")


def find_cosigners(content: bytes, witnesses: Iterable[Verifier], now: float) -> set[str]:
    """The names of the witnesses whose cosignatures a note carries. Raises `NoteError` if `content` is not a note."""
    note = notes.parse_note(content)
    signatures = content[len(note.text) + 1 :]
    found = set()
    for witness in witnesses:
        try:
            find_cosignature(note.text, signatures, witness, now)
        except NoteError:
            continue
        found.add(witness.name)
    return found


def _verify(text: bytes, signature: bytes, witness: Verifier) -> int:
    """`u64 timestamp ‖ Ed25519 signature` over header line, time line and the note's text. Raises `NoteError`."""
    time = int.from_bytes(signature[:8], "big")
    if len(signature) != 72 or time >= 1 << 63:
        raise NoteError("the cosignature is malformed")
    if not witness.verify(b"cosignature/v1\ntime %d\n" % time + text, signature[8:]):
        raise NoteError("the cosignature is wrong")
    return time
