"""Tells text, pictures, sounds and files in base64 apart. Pure.

The declared type of a blob counts only if its content agrees. A string that is not base64 from its first character to
its last is a text (RFC 4648 §3.3).
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from typing import NamedTuple

LEAST = 24
"""The fewest characters of a blob. Shorter base64 is inspected as text, as keys and ids are."""

PIECE = 64 * 1024
"""Characters that are decoded at a time, so that no single call delays the other exchanges."""

_BEGINNING = re.compile(r"(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)={0,2}")
_URL = re.compile(r"data:([a-z0-9.+/-]*)(?:;[a-z-]+=[^;,]*)*;base64,", re.IGNORECASE)
_MIXED = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])")
_URL_SAFE = str.maketrans("-_", "+/")

LONG_BLOB = 256
"""The fewest characters of a long blob. Shorter base64 that is not text is a key or an id, and is inspected as such."""

SIEVE = 4096
MOST_HELD = 8 * 1024
"""The most characters of base64 in a stream that are held."""

_LINE = 60
"""The fewest characters in a line of wrapped base64 (RFC 2045 §6.8 and RFC 7468 §2 have 76 and 64)."""

_SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_\r\n"
_RUN = re.compile(r"[A-Za-z0-9+/_\r\n-]+={0,2}")
_LINES = re.compile(
    rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{_LINE},}}(?:\r?\n[A-Za-z0-9+/_-]{{{_LINE},}})*"
    r"(?:\r?\n[A-Za-z0-9+/_-]+)?={0,2}"
)

_WINDOW = 64
_LEAST_WINDOWS = 3
_LEAST_LETTERS = 5
_LEAST_CHANGES = 30
"""The fewest changes from one class of characters to another in a window. Random bytes have 40, joined words half of
that."""

_CLASSES = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "A" * 26 + "a" * 26 + "0" * 10, "+/-_"
)
_SAME = re.compile(r"(.)\1+")

_TOKEN = _SIGNS.replace("\r\n", "")
_PEM = re.compile(r"(?:CERTIFICATE|REQUEST|KEY|CRL)-----\r?\n\Z")
_MOST_SIGNED = 8 * 1024
_MOST_SIGNATURE = 600
"""Bytes of an RSA signature with a key of 4,096 bits, and a few of a line below it."""
_MOST_CLAIMS = 4 * 1024

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image"), (b"\xff\xd8\xff", "image"), (b"GIF87a", "image"), (b"GIF89a", "image"),
    (b"II*\0", "image"), (b"MM\0*", "image"), (b"%PDF-", "file"), (b"PK\x03\x04", "file"), (b"\x1f\x8b\x08", "file"),
    (b"\xd0\xcf\x11\xe0", "file"), (b"ID3", "audio"), (b"OggS", "audio"), (b"fLaC", "audio"), (b"\xff\xfb", "audio"),
    (b"\xff\xf3", "audio"), (b"\xff\xf2", "audio"), (b"\xff\xf1", "audio"), (b"\x1aE\xdf\xa3", "video"),
)  # fmt: skip
_OTHER_MAGIC = (
    b"SQLite format 3\0",
    b"\x7fELF",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
)
"""The first bytes of content whose kind is `binary`."""
_RIFF = {b"WEBP": "image", b"WAVE": "audio", b"AVI ": "video"}
_BRANDS = {b"avif": "image", b"heic": "image", b"heix": "image", b"mif1": "image", b"M4A ": "audio"}


class Blob(NamedTuple):
    """A decoded blob. `text`: its text; None if it is not UTF-8. `kind`: image, audio, video or file if the content is
    one and the declared type agrees; else binary. `head`: the characters before the base64. `size`: bytes of the
    content."""

    text: str | None
    kind: str
    size: int
    head: str = ""


def read_blob(text: str, declared: str, *, is_expected: bool) -> Blob | None:
    """The blob in a string; None if the string is not base64. `declared`: the media type that the message gives it.
    `is_expected`: it stands where an API has base64. Elsewhere a string that could be a word or a number is not a
    blob."""
    url = _URL.match(text) if text[:5].lower() == "data:" else None
    head = url[0] if url is not None else ""
    payload = text[len(head) :] if head else text
    if len(payload) < LEAST or not _BEGINNING.fullmatch(payload, 0, 256):
        return None
    if not is_expected and url is None and not _MIXED.match(payload[:4096]):
        return None
    content = _decode(payload)
    if content is None:
        return None
    kind = find_kind(content)
    try:
        said = content.decode()
    except UnicodeDecodeError:
        said = None
    is_long = said is None and not is_expected and url is None and len(payload) >= LONG_BLOB
    if is_long and not (_is_sure(content, kind) or _is_mixed(payload)):  # names or paths
        return None
    if kind is None or not _agree(url[1].lower() if url is not None else declared.lower(), kind):
        kind = "binary"
    return Blob(said, kind, len(content), head)


def _decode(payload: str) -> bytes | None:
    """The decoded content; None if any part of the string is not base64."""
    if "-" in payload or "_" in payload:
        payload = payload.translate(_URL_SAFE)
    if not payload.endswith("="):
        payload += "=" * (-len(payload) % 4)
    if "=" in payload[:-2]:
        return None
    try:
        return b"".join(
            binascii.a2b_base64(payload[at : at + PIECE], strict_mode=True) for at in range(0, len(payload), PIECE)
        )
    except (binascii.Error, ValueError):  # a ValueError: it is not ASCII
        return None


def find_blobs(text: str) -> Iterator[tuple[int, int, str]]:
    """The base64 within a text: its start, end and kind. Linear: two milliseconds for a million characters of prose.
    Base64 of text is left out, because inspectors decode it themselves. Paths and long names are left out too: they
    have the characters of base64, but are none."""
    for start, end in _find_runs(text):
        for found in _LINES.finditer(text, start, end):
            run = "".join(found[0].split()).rstrip("=")
            if len(run) >= LONG_BLOB and _MIXED.match(run[:4096]):
                content = _decode(run[: len(run) - (len(run) % 4 == 1)])
                if content is None or _is_text(content):
                    continue
                kind = find_kind(content)
                if not (_is_sure(content, kind) or _is_mixed(run)) or _is_read_elsewhere(text, found.start(), content):
                    continue
                yield *found.span(), kind or "binary"


def _is_sure(content: bytes, kind: str | None) -> bool:
    """True if its beginning says what it is. That of a frame of sound is two bytes, and `//server` in base64."""
    if kind is None:
        return content.startswith(_OTHER_MAGIC)
    return content[0] != 0xFF or content[1] == 0xD8


def _is_mixed(run: str) -> bool:
    """True if small letters, capitals and digits follow each other as in base64, and not as in words, in hexadecimal
    numbers or in joined names, in a few windows at least."""
    found = 0
    for at in range(0, len(run), _WINDOW):
        classes = run[at : at + _WINDOW].translate(_CLASSES)
        found += (
            min(classes.count("a"), classes.count("A")) >= _LEAST_LETTERS
            and "0" in classes
            and len(_SAME.sub(r"\1", classes)) >= _LEAST_CHANGES
        )
        if found == _LEAST_WINDOWS:
            return True
    return False


def _is_read_elsewhere(text: str, start: int, content: bytes) -> bool:
    """True if it is a certificate or a key in PEM (RFC 7468), or the signature of a token (RFC 7519), of the size that
    such have."""
    if len(content) > _MOST_SIGNED:
        return False
    if _PEM.search(text, max(start - 32, 0), start) is not None:
        size = int.from_bytes(content[2:4]) + 4
        return content[:2] == b"\x30\x82" and size <= len(content) <= size + 8  # with the dashes of the end
    if len(content) > _MOST_SIGNATURE or text[start - 1 : start] != ".":
        return False
    head, _, claims = text[max(start - _MOST_CLAIMS, 0) : start - 1].rpartition(".")
    head = head[len(head.rstrip(_TOKEN)) :]
    if not head.startswith("eyJ") or claims.strip(_TOKEN):
        return False
    return b'"alg"' in (_decode(head) or b"")


def _find_runs(text: str) -> Iterator[tuple[int, int]]:
    """The spans of runs of base64 characters and line ends that are long enough. A window is searched from its end: the
    next window begins after the last character that does not belong in a run."""
    at, size = 0, len(text)
    while at + LONG_BLOB <= size:
        rest = len(text[at : at + LONG_BLOB].rstrip(_SIGNS))
        if rest:
            at += rest
            continue
        found = _RUN.match(text, at)
        assert found is not None
        yield found.span()
        at = found.end()


class Sieve:
    """`find_blobs` for a text that comes in pieces. It searches `SIEVE` characters at a time. It holds `MOST_HELD`
    characters of a blob that continues, and only counts the others."""

    __slots__ = ("_held", "_kind", "_least", "_long", "_size")

    def __init__(self) -> None:
        self._held: list[str] = []
        self._size = 0
        self._least = SIEVE
        self._kind = ""  # of a blob that goes on, and is too long to be kept
        self._long = 0

    def feed(self, piece: str, is_last: bool) -> list[tuple[str, int]]:
        """The kind and size of the blobs that have ended."""
        found: list[tuple[str, int]] = []
        if self._kind:
            rest = piece.lstrip(_SIGNS)
            self._long += len(piece) - len(rest)
            if not rest and not is_last:
                return []
            found.append((self._kind, self._long))
            piece, self._kind = rest, ""
        self._held.append(piece)
        self._size += len(piece)
        if self._size < (LONG_BLOB if is_last else self._least):
            return found
        text = "".join(self._held)
        size, kept = len(text), len(text.rstrip("=").rstrip(_SIGNS))
        blobs = list(find_blobs(text)) if is_last or size - kept <= MOST_HELD else self._let_go(text)
        if is_last or size - kept > MOST_HELD:
            kept = size
        self._held, self._size = [text[kept:]], size - kept
        self._least = SIEVE + 2 * self._size  # a run that goes on is not looked through again and again
        return found + [(kind, end - start) for start, end, kind in blobs if start < kept]

    def _let_go(self, text: str) -> list[tuple[int, int, str]]:
        """The blobs of a text that have ended. From now on a blob that continues is only counted."""
        blobs = list(find_blobs(text))
        if blobs and blobs[-1][1] == len(text) and not text.endswith("="):
            start, end, self._kind = blobs.pop()
            self._long = end - start
        return blobs


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def find_kind(content: bytes) -> str | None:
    """The kind of a content by its first bytes; None if they are unknown."""
    for magic, kind in _MAGIC:
        if content.startswith(magic):
            return kind
    if content[:4] == b"RIFF":
        return _RIFF.get(content[8:12])
    if content[4:8] == b"ftyp":
        return _BRANDS.get(content[8:12], "video")
    if content[:2] == b"BM" and int.from_bytes(content[2:6], "little") == len(content):
        return "image"
    return None


def _agree(declared: str, kind: str) -> bool:
    """True if a media type is one of this kind; one that says nothing agrees with all."""
    top = declared.partition("/")[0]
    if not declared or declared == "application/octet-stream":
        return True
    if top in ("image", "audio", "video"):
        return top == kind or {top, kind} == {"audio", "video"}  # both may be in one kind of container
    return kind == "file" and top == "application"
