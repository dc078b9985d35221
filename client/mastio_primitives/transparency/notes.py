"""Signed notes and checkpoints of the log (C2SP signed-note, tlog-checkpoint, tlog-proof).

A checkpoint is a note of three lines, origin, size and root hash:

    example.com/audit
    20852163
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

    — example.com/audit Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=

The name of the log's key is the origin. While a key is being replaced, both sign. Pure.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mastio_primitives.ed25519 import WeakKeyError, load_ed25519, verify_ed25519
from mastio_primitives.transparency.merkle import MAX_SIZE

ED25519 = b"\x01"
"""Signature type of a log's key."""

COSIGNATURE = b"\x04"
"""Signature type of a witness's Ed25519 key (C2SP tlog-cosignature)."""

MAX_NOTE = 64 * 1024
MAX_SIGNATURES = 64
_NAME = re.compile(r"[^\s+\x00-\x20\x7f]{1,255}")
_SIGNATURE = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})")
_SIZE = re.compile(r"0|[1-9]\d{0,18}", re.ASCII)
_PROOF = "c2sp.org/tlog-proof@v1"
_APPENDED = re.compile(rb"((?:[^\n]+\n){3,}\n(?:\xe2\x80\x94 [^\n]*\n)+)\n*")


class NoteError(ValueError):
    """The bytes are no note, or no trusted key signed it."""


@dataclass(frozen=True, slots=True)
class Verifier:
    """A public key by its name. `kind` is the signature type's byte."""

    name: str
    key: bytes
    kind: bytes = ED25519

    @property
    def key_id(self) -> bytes:
        """First four bytes of SHA-256(name ‖ "\\n" ‖ type ‖ key)."""
        return hashlib.sha256(self.name.encode() + b"\n" + self.kind + self.key).digest()[:4]

    def __str__(self) -> str:
        """As a *vkey*: name, key ID in hex, type and key in base64, between plus signs."""
        return f"{self.name}+{self.key_id.hex()}+{base64.b64encode(self.kind + self.key).decode()}"

    def verify(self, text: bytes, signature: bytes) -> bool:
        """True if `signature` is this Ed25519 key's of `text`."""
        try:
            load_ed25519(self.key).verify(signature, text)
        except (InvalidSignature, ValueError):
            return False
        return True


class Signer:
    """A private key by its name. `seed`: the 32 bytes of RFC 8032 §5.1.5."""

    def __init__(self, name: str, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.verifier = Verifier(name, self._key.public_key().public_bytes_raw())

    def sign(self, text: bytes) -> str:
        """The signature line of a note with this text."""
        signed = base64.b64encode(self.verifier.key_id + self._key.sign(text)).decode()
        return f"— {self.verifier.name} {signed}\n"


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature line: the name of the key, its ID, and the signature."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """A note taken apart; nothing is verified yet. `text` ends with a newline."""

    text: bytes
    signatures: tuple[Signature, ...]

    def signed_by(self, verifiers: Iterable[Verifier]) -> list[Verifier]:
        """The verifiers whose keys signed. Raises `NoteError` if a known key's signature is wrong, or none signed."""
        found = []
        known = {(verifier.name, verifier.key_id): verifier for verifier in verifiers}
        for line in self.signatures:
            verifier = known.get((line.name, line.key_id))
            if verifier is None:
                continue
            if not verifier.verify(self.text, line.signature):
                raise NoteError(f"the signature of {line.name} is wrong")
            found.append(verifier)
        if not found:
            raise NoteError("none of the known keys signed it")
        return found


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The log as it was at one size. `root` has 32 bytes."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> bytes:
        """The text of the note."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n".encode()


def parse_vkey(vkey: str, kind: bytes = ED25519) -> Verifier:
    """A verifier of this kind from its vkey, which a newline may follow. Raises `NoteError`."""
    name, plus, rest = vkey.removesuffix("\n").partition("+")
    key_id, _, encoded = rest.partition("+")
    try:
        key = base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise NoteError("the key is not base64") from error
    if not plus or not _NAME.fullmatch(name) or key[:1] != kind or len(key) != 33:
        raise NoteError(f"it is not a vkey of an Ed25519 key of type {kind.hex()}")
    try:
        verify_ed25519(key[1:])
    except WeakKeyError as error:
        raise NoteError(f"its key is refused: {error}") from error
    verifier = Verifier(name, key[1:], kind)
    if key_id != verifier.key_id.hex():
        raise NoteError("the key ID is not that of the key")
    return verifier


def parse_vkeys(content: bytes) -> list[Verifier]:
    """Verifiers from a file with a vkey on each line, at least one. Raises `NoteError`."""
    try:
        lines = content.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise NoteError("it is not UTF-8") from error
    return [parse_vkey(line) for line in lines]


def sign(checkpoint: Checkpoint, signers: Sequence[Signer]) -> bytes:
    """The checkpoint as a note, signed by each, in order."""
    return checkpoint.text + b"\n" + "".join(signer.sign(checkpoint.text) for signer in signers).encode()


def parse_note(content: bytes) -> Note:
    """Take a note apart. Raises `NoteError`."""
    if len(content) > MAX_NOTE:
        raise NoteError("it is too long")
    try:
        whole = content.decode()
    except UnicodeDecodeError as error:
        raise NoteError("it is not UTF-8") from error
    if any(one < " " and one != "\n" for one in whole):
        raise NoteError("it has control characters")
    text, blank, tail = whole.rpartition("\n\n")
    lines = tail.split("\n")
    if not blank or not text or lines.pop() or not 0 < len(lines) <= MAX_SIGNATURES:
        raise NoteError("it has no signatures after its text")
    return Note(text.encode() + b"\n", tuple(map(_parse_signature, lines)))


def split_notes(content: bytes) -> list[bytes]:
    """The checkpoints of a file that they were appended to, in its order. Raises `NoteError` for anything between.

    The text of a checkpoint has no empty line and none that begins as a signature does, so each ends with the last of
    its signature lines. Empty lines after it are passed over.
    """
    found, at = [], 0
    while at < len(content):
        note = _APPENDED.match(content, at)
        if note is None:
            raise NoteError("it is not one signed checkpoint after the other")
        found.append(note[1])
        at = note.end()
    if not found:
        raise NoteError("it is empty")
    return found


def parse_checkpoint(text: bytes) -> Checkpoint:
    """A checkpoint from the text of a note; extension lines are passed over. Raises `NoteError`."""
    lines = text.decode().split("\n")
    if len(lines) < 4 or not all(lines[:-1]) or not _SIZE.fullmatch(lines[1]):
        raise NoteError("it is not a checkpoint")
    root = _decode(lines[2])
    if len(root) != 32 or int(lines[1]) > MAX_SIZE:
        raise NoteError("it is not a checkpoint")
    return Checkpoint(lines[0], int(lines[1]), root)


def open_checkpoint(content: bytes, verifiers: Sequence[Verifier]) -> Checkpoint:
    """A checkpoint that the key named by its origin signed; the key is one of these. Raises `NoteError`."""
    return verify_checkpoint(parse_note(content), verifiers)


def verify_checkpoint(note: Note, verifiers: Sequence[Verifier]) -> Checkpoint:
    """As `open_checkpoint`, for a note that was taken apart."""
    signers = note.signed_by(verifiers)
    checkpoint = parse_checkpoint(note.text)
    if all(signer.name != checkpoint.origin for signer in signers):
        raise NoteError("it is of another log")
    return checkpoint


def write_proof(index: int, hashes: Sequence[bytes], checkpoint: bytes) -> bytes:
    """An inclusion proof of entry `index` in the tree of a signed checkpoint (C2SP tlog-proof)."""
    path = "".join(f"{base64.b64encode(one).decode()}\n" for one in hashes)
    return f"{_PROOF}\nindex {index}\n{path}\n".encode() + checkpoint


def parse_proof(content: bytes) -> tuple[int, list[bytes], bytes]:
    """The reverse of `write_proof`: index, hashes, signed checkpoint. Raises `NoteError`."""
    head, _, checkpoint = content.partition(b"\n\n")
    try:
        lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError as error:
        raise NoteError("it is not a proof") from error
    if len(lines) > 1 and lines[1].startswith("extra "):
        del lines[1]
    if len(lines) < 2 or lines[0] != _PROOF or not _SIZE.fullmatch(lines[1].removeprefix("index ")):
        raise NoteError("it is not a proof")
    if not lines[1].startswith("index ") or len(lines) > 2 + 64:
        raise NoteError("it is not a proof")
    return int(lines[1].removeprefix("index ")), [_decode(line) for line in lines[2:]], checkpoint


def write_extension(old: int, hashes: Sequence[bytes], checkpoint: bytes) -> bytes:
    """Encodes the proof that the log of a signed checkpoint extends the one of `old` entries (C2SP tlog-witness)."""
    path = "".join(f"{base64.b64encode(one).decode()}\n" for one in hashes)
    return f"old {old}\n{path}\n".encode() + checkpoint


def parse_extension(content: bytes) -> tuple[int, list[bytes], bytes]:
    """The reverse of `write_extension`: old size, hashes, signed checkpoint. Raises `NoteError`."""
    head, _, checkpoint = content.partition(b"\n\n")
    try:
        lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError as error:
        raise NoteError("it is not a consistency proof") from error
    size = lines[0].removeprefix("old ")
    if size == lines[0] or not _SIZE.fullmatch(size) or len(lines) > 1 + 64:
        raise NoteError("it is not a consistency proof")
    return int(size), [_decode(line) for line in lines[1:]], checkpoint


def _parse_signature(line: str) -> Signature:
    found = _SIGNATURE.fullmatch(line)
    signed = _decode(found[2]) if found else b""
    if found is None or len(signed) < 5:
        raise NoteError("a signature line is malformed")
    return Signature(found[1], signed[:4], signed[4:])


def _decode(text: str) -> bytes:
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise NoteError("it is not base64") from error
    if base64.b64encode(decoded).decode() != text:
        raise NoteError("the base64 is not in canonical form")
    return decoded
