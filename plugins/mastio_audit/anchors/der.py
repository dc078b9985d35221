"""Reading and writing DER (ITU-T X.690) as far as time stamps need it. Pure.

Strict: definite lengths in their shortest form, tags of one byte, nothing after the end. What a tag means is the
caller's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

BOOLEAN, INTEGER, OCTETS, NULL, OID, TIME, SEQUENCE, SET = 0x01, 0x02, 0x04, 0x05, 0x06, 0x18, 0x30, 0x31
CONTEXT = 0xA0
"""`CONTEXT | n` is the constructed tag `[n]`."""


class DerError(ValueError):
    """The bytes are not the DER that is expected."""


@dataclass(frozen=True, slots=True)
class Element:
    """`whole` is tag, length and content."""

    tag: int
    content: bytes
    whole: bytes

    def get(self, tag: int) -> bytes:
        """The content, if that is the tag. Raises `DerError`."""
        if self.tag != tag:
            raise DerError(f"there is an element with tag {self.tag:#04x} in the place of one with {tag:#04x}")
        return self.content

    def inside(self, tag: int) -> Parts:
        """The elements in it, if that is the tag. Raises `DerError`."""
        return Parts(self.get(tag))

    @property
    def integer(self) -> int:
        """Raises `DerError` for what is no integer in its shortest form."""
        content = self.get(INTEGER)
        number = int.from_bytes(content, "big", signed=True)
        if not content or content != _integer(number):
            raise DerError("an integer is not in its shortest form")
        return number


class Parts:
    """Elements one after the other, which are taken in order."""

    def __init__(self, content: bytes) -> None:
        self._elements = list(_read(content))[::-1]

    def take(self) -> Element:
        """The next one. Raises `DerError` where there is none."""
        if not self._elements:
            raise DerError("an element is missing")
        return self._elements.pop()

    def take_if(self, tag: int) -> Element | None:
        """The next one, if it has that tag."""
        return self._elements.pop() if self._elements and self._elements[-1].tag == tag else None

    def rest(self) -> list[Element]:
        """All that are left."""
        rest, self._elements = self._elements[::-1], []
        return rest

    def finish(self) -> None:
        """Raises `DerError` unless all were taken."""
        if self._elements:
            raise DerError("there is more than there should be")


def parse(content: bytes) -> Element:
    """The one element that the bytes are. Raises `DerError`."""
    elements = list(_read(content))
    if len(elements) != 1:
        raise DerError("it is not one element")
    return elements[0]


def write(tag: int, *parts: bytes) -> bytes:
    """An element with these bytes as its content."""
    content = b"".join(parts)
    size = len(content)
    length = bytes([size]) if size < 0x80 else _long(size)
    return bytes([tag]) + length + content


def write_integer(number: int) -> bytes:
    """An INTEGER."""
    return write(INTEGER, _integer(number))


def _long(size: int) -> bytes:
    octets = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([0x80 | len(octets)]) + octets


def _integer(number: int) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


def _read(content: bytes) -> Iterator[Element]:
    at = 0
    while at < len(content):
        tag, start, size = _head(content, at)
        end = start + size
        if end > len(content):
            raise DerError("it is cut off")
        yield Element(tag, content[start:end], content[at:end])
        at = end


def _head(content: bytes, at: int) -> tuple[int, int, int]:
    """Tag, where the content begins, and its length."""
    if at + 2 > len(content) or content[at] & 0x1F == 0x1F:
        raise DerError("it is cut off, or has a tag of several bytes")
    first = content[at + 1]
    if first < 0x80:
        return content[at], at + 2, first
    start = at + 2 + (first & 0x7F)
    size = int.from_bytes(content[at + 2 : start], "big")
    if not 0 < first & 0x7F <= 4 or start > len(content) or content[at + 1 : start] != _long(size) or size < 0x80:
        raise DerError("a length is not in its shortest form")
    return content[at], start, size
