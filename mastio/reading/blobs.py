"""Text, pictures, sounds and files in base64: which is which. Pure.

What a blob says that it is counts for nothing unless its content agrees, and what is not base64 from its first sign to
its last is a text (RFC 4648 §3.3).
"""

from __future__ import annotations

import binascii
import re
from typing import NamedTuple

LEAST = 24
"""Shorter base64 is text to whoever inspects it, as keys and ids are."""

PIECE = 64 * 1024
"""Signs that are decoded at a time: no single call holds everybody else up."""

_BEGINNING = re.compile(r"(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)={0,2}")
_URL = re.compile(r"data:([a-z0-9.+/-]*)(?:;[a-z-]+=[^;,]*)*;base64,", re.IGNORECASE)
_MIXED = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])")
_URL_SAFE = str.maketrans("-_", "+/")

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image"), (b"\xff\xd8\xff", "image"), (b"GIF87a", "image"), (b"GIF89a", "image"),
    (b"II*\0", "image"), (b"MM\0*", "image"), (b"%PDF-", "file"), (b"PK\x03\x04", "file"), (b"\x1f\x8b\x08", "file"),
    (b"\xd0\xcf\x11\xe0", "file"), (b"ID3", "audio"), (b"OggS", "audio"), (b"fLaC", "audio"), (b"\xff\xfb", "audio"),
    (b"\xff\xf3", "audio"), (b"\xff\xf2", "audio"), (b"\xff\xf1", "audio"), (b"\x1aE\xdf\xa3", "video"),
)  # fmt: skip
_RIFF = {b"WEBP": "image", b"WAVE": "audio", b"AVI ": "video"}
_BRANDS = {b"avif": "image", b"heic": "image", b"heix": "image", b"mif1": "image", b"M4A ": "audio"}


class Blob(NamedTuple):
    """`text`: what it says, where it is text. `kind`: image, audio, video or file, where the content is one and what is
    declared agrees; else binary. `head`: what stands before the base64. `size`: bytes of the content."""

    text: str | None
    kind: str
    size: int
    head: str = ""


def read_blob(text: str, declared: str, *, is_expected: bool) -> Blob | None:
    """None for what is no base64. `declared`: the media type that its message gives it. `is_expected`: it stands where
    an API has base64; elsewhere, what could be a word or a number is one."""
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
    if kind is None or not _agree(url[1].lower() if url is not None else declared.lower(), kind):
        kind = "binary"
    try:
        said = content.decode()
    except UnicodeDecodeError:
        said = None
    return Blob(said, kind, len(content), head)


def _decode(payload: str) -> bytes | None:
    """All of it, or None."""
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


def find_kind(content: bytes) -> str | None:
    """By how it begins. None: it is none of those that are known here."""
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
    """Whether a media type is one of this kind; one that says nothing agrees with all."""
    top = declared.partition("/")[0]
    if not declared or declared == "application/octet-stream":
        return True
    if top in ("image", "audio", "video"):
        return top == kind or {top, kind} == {"audio", "video"}  # both may be in one kind of container
    return kind == "file" and top == "application"
