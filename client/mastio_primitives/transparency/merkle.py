"""The Merkle tree over the leaf hashes of the log, as pure functions (RFC 6962 §2.1, SHA-256). Pure.

    leaf  = SHA-256(0x00 ‖ entry)
    node  = SHA-256(0x01 ‖ left ‖ right)
    tree of n leaves: left of the largest power of two below n, right of the rest

A complete subtree of 2^h leaves never changes. Those of heights 8, 16, 24, … are *nodes*: they are stored, and named by
C2SP tlog-tiles as hash `index` of level h/8. Level 0 is the leaf hashes, which the entries give. From at most 255
hashes of each level any hash of the tree is made again, so a proof costs the same few reads however long the log is.

The *frontier* of a tree are its complete subtrees from left to right, one for each bit of the size: to append, nothing
else is needed.

Proofs are built from the ranges of leaves that RFC 6962 §2.1.1 and §2.1.2 name, and verified by walking the same
recursion backwards. A *subtree* [start, end), where start is a multiple of the least power of two that is not below its
width, has both kinds of proof as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

HEIGHT = 8
"""Height of a tile; a level of nodes is so far above the one before."""

WIDTH = 1 << HEIGHT
EMPTY_ROOT = hashlib.sha256(b"").digest()
MAX_SIZE = 1 << 62
_HASH = 32

Frontier = tuple[bytes, ...]
Range = tuple[int, int]
"""Leaves `[start, end)`."""

TileName = tuple[int, int]
"""Level and index."""


class ProofError(ValueError):
    """The proof is wrong, or no proof of this kind can exist."""


@dataclass(frozen=True, slots=True)
class Node:
    """The hash of the complete subtree of 256^level leaves that begins at leaf `index` · 256^level."""

    level: int
    index: int
    hash: bytes

    @property
    def first(self) -> int:
        """The first leaf below it."""
        return self.index << (HEIGHT * self.level)


def leaf_hash(entry: bytes) -> bytes:
    """SHA-256(0x00 ‖ entry), RFC 6962 §2.1."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 ‖ left ‖ right), RFC 6962 §2.1."""
    return hashlib.sha256(b"\x01" + left + right).digest()


# --- growing ----------------------------------------------------------------------------------------------------------


class Tree:
    """A tree that leaf hashes are appended to. `nodes` gathers those that became complete; its owner may clear it."""

    def __init__(self, size: int = 0, frontier: Sequence[bytes] = ()) -> None:
        self.size = size
        self.nodes: list[Node] = []
        self._stack = list(frontier)

    def add(self, leaf: bytes) -> None:
        """Append one leaf hash."""
        index, height, made = self.size, 0, leaf
        while index & 1:
            made = hashlib.sha256(b"\x01" + self._stack.pop() + made).digest()
            index >>= 1
            height += 1
            if not height % HEIGHT:
                self.nodes.append(Node(height // HEIGHT, index, made))
        self._stack.append(made)
        self.size += 1

    @property
    def frontier(self) -> Frontier:
        return tuple(self._stack)

    @property
    def root(self) -> bytes:
        return root(self._stack)


def root(frontier: Sequence[bytes]) -> bytes:
    """The root hash of the tree."""
    if not frontier:
        return EMPTY_ROOT
    top = frontier[-1]
    for left in reversed(frontier[:-1]):
        top = node_hash(left, top)
    return top


def fold(hashes: Sequence[bytes]) -> bytes:
    """The root over hashes of equal height, at least one."""
    return _tree_of(hashes).root


def width(size: int, level: int) -> int:
    """The number of hashes in the partial tile of a level in a tree of `size`."""
    return (size >> (HEIGHT * level)) % WIDTH


def rebuild(size: int, partial: Mapping[int, Sequence[bytes]]) -> Frontier:
    """The frontier of a tree of `size` from the hashes of the partial tile of each level."""
    levels = range((max(size.bit_length(), 1) - 1) // HEIGHT, -1, -1)
    return tuple(one for level in levels for one in _tree_of(partial.get(level, ())).frontier)


def _tree_of(hashes: Iterable[bytes]) -> Tree:
    """A tree over hashes of equal height."""
    tree = Tree()
    for one in hashes:
        tree.add(one)
    return tree


# --- which hashes -----------------------------------------------------------------------------------------------------


def inclusion(index: int, size: int) -> list[Range]:
    """The path of leaf `index` in a tree of `size` (RFC 6962 §2.1.1), from the leaf's sibling up.

    Raises `ProofError` where the tree has no such leaf.
    """
    if not 0 <= index < size <= MAX_SIZE:
        raise ProofError("the tree has no such leaf")
    ranges: list[Range] = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start = middle
    return ranges[::-1]


def consistency(old: int, new: int) -> list[Range]:
    """The ranges of a proof that the tree of `old` leaves is a prefix of that of `new` (RFC 6962 §2.1.2).

    Raises `ProofError` for an old size of 0 or above the new one.
    """
    if not 0 < old <= new <= MAX_SIZE:
        raise ProofError("there is no consistency proof between these sizes")
    ranges: list[Range] = []
    start, end, whole = 0, new, True
    while end != old:
        middle = start + _split(end - start)
        if old <= middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start, whole = middle, False
    if not whole:
        ranges.append((start, end))
    return ranges[::-1]


def tiles(ranges: Iterable[Range]) -> set[TileName]:
    """The tiles whose hashes `hash_of` needs for these ranges."""
    return {
        (height // HEIGHT, index >> (HEIGHT - height % HEIGHT))
        for start, end in ranges
        for height, index in _complete(start, end)
    }


def hash_of(leaves: Range, read: Callable[[TileName], Sequence[bytes]]) -> bytes:
    """The tree hash of a range that `inclusion` or `consistency` named. `read` gives a tile's hashes, whole or not."""
    return root([_hash_in_tile(height, index, read) for height, index in _complete(*leaves)])


def _hash_in_tile(height: int, index: int, read: Callable[[TileName], Sequence[bytes]]) -> bytes:
    level, above = divmod(height, HEIGHT)
    tile, place = divmod(index << above, WIDTH)
    hashes = read((level, tile))[place : place + (1 << above)]
    if len(hashes) != 1 << above:
        raise ProofError(f"tile {tile} of level {level} has not all the hashes that it should")
    return fold(hashes)


def _complete(start: int, end: int) -> list[tuple[int, int]]:
    """The complete subtrees of a range from left to right: (height, index), the largest first."""
    subtrees = []
    while start < end:
        height = (end - start).bit_length() - 1
        subtrees.append((height, start >> height))
        start += 1 << height
    return subtrees


def _split(size: int) -> int:
    """The largest power of two below `size`, which is at least 2."""
    return 1 << ((size - 1).bit_length() - 1)


# --- verifying --------------------------------------------------------------------------------------------------------


def verify_inclusion(index: int, leaf: bytes, start: int, end: int, root_hash: bytes, proof: Sequence[bytes]) -> None:
    """Verifies that `leaf` is the hash at `index` of the subtree [start, end) with this root; [0, size) is the whole
    tree.

    Raises `ProofError`.
    """
    _require_subtree(start, end)
    _require_hashes(leaf, *proof)
    if not start <= index < end:
        raise ProofError("the tree has no such leaf")
    path = list(proof)
    found = _climb(index - start, end - start, leaf, path)
    if path or found != root_hash:
        raise ProofError("the proof does not lead to the root")


def verify_consistency(old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> None:
    """Verifies that the tree of `old` leaves is a prefix of that of `new` (RFC 6962 §2.1.2). Raises `ProofError`, also
    for an old tree without leaves: that would prove nothing.
    """
    if old < 1:
        raise ProofError("an empty tree shows nothing")
    verify_subtree(0, old, new, old_root, new_root, proof)


def verify_subtree(start: int, end: int, size: int, part: bytes, root_hash: bytes, proof: Sequence[bytes]) -> None:
    """Verifies that the subtree [start, end) with root `part` is at its place in the tree of `size`; the empty subtree
    is in every tree. Raises `ProofError`.
    """
    _require_subtree(start, end)
    _require_hashes(*proof)
    if not end <= size <= MAX_SIZE:
        raise ProofError("the newer tree is smaller")
    path = list(proof)
    found, top = (EMPTY_ROOT, root_hash) if start == end else _climb_both(start, end, size, part, path)
    if path or found != part or top != root_hash:
        raise ProofError("the older tree is not the beginning of the newer one")


def _climb(index: int, size: int, leaf: bytes, path: list[bytes]) -> bytes:
    """The root that the path leads to. Takes hashes from the end of the path."""
    if size == 1:
        return leaf
    sibling, middle = _pop(path), _split(size)
    if index < middle:
        return node_hash(_climb(index, middle, leaf, path), sibling)
    return node_hash(sibling, _climb(index - middle, size - middle, leaf, path))


def _climb_both(start: int, end: int, size: int, part: bytes | None, path: list[bytes]) -> tuple[bytes, bytes]:
    """The roots of the subtree and of the tree. `part`: the subtree's root as far as nothing of it is in the path."""
    if (start, end) == (0, size):
        known = _pop(path) if part is None else part
        return known, known
    sibling, middle = _pop(path), _split(size)
    if end <= middle:
        found, top = _climb_both(start, end, middle, part, path)
        return found, node_hash(top, sibling)
    if start >= middle:
        found, top = _climb_both(start - middle, end - middle, size - middle, part, path)
        return found, node_hash(sibling, top)
    found, top = _climb_both(0, end - middle, size - middle, None, path)
    return node_hash(sibling, found), node_hash(sibling, top)


def _pop(path: list[bytes]) -> bytes:
    if not path:
        raise ProofError("the proof is too short")
    return path.pop()


def _require_subtree(start: int, end: int) -> None:
    if not 0 <= start <= end <= MAX_SIZE or start % (1 << max(end - start - 1, 0).bit_length()):
        raise ProofError("there is no such subtree")


def _require_hashes(*hashes: bytes) -> None:
    if any(len(one) != _HASH for one in hashes):
        raise ProofError("a hash has 32 bytes")
