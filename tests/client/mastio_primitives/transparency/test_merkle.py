"""The tree: against RFC 6962's own recursion, every proof of small trees, and the vectors of others."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mastio_primitives.transparency import merkle
from mastio_primitives.transparency.merkle import EMPTY_ROOT, WIDTH, Node, ProofError, Tree
from support.vectors import vectors

SIZES = [*range(1, 18), 31, 32, 33, 255, 256, 257, 511, 512, 513, 600, 65_535, 65_536, 65_537, 66_000]


def leaf(number: int) -> bytes:
    return hashlib.sha256(b"\x00%d" % number).digest()


def mth(leaves: Sequence[bytes]) -> bytes:
    """RFC 6962 §2.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    middle = 1
    while 2 * middle < len(leaves):
        middle *= 2
    return hashlib.sha256(b"\x01" + mth(leaves[:middle]) + mth(leaves[middle:])).digest()


LEAVES = [leaf(number) for number in range(66_000)]


class Stored:
    """Leaves and nodes of one tree, as a store would have them."""

    def __init__(self, size: int) -> None:
        self.tree = Tree()
        for one in LEAVES[:size]:
            self.tree.add(one)
        self.nodes = {(node.level, node.index): node.hash for node in self.tree.nodes}

    def read(self, tile: tuple[int, int]) -> list[bytes]:
        level, start = tile[0], tile[1] * WIDTH
        end = min(start + WIDTH, self.tree.size >> (8 * level))
        return [LEAVES[at] if level == 0 else self.nodes[level, at] for at in range(start, end)]

    def prove(self, ranges: list[merkle.Range]) -> list[bytes]:
        tiles = merkle.tiles(ranges)
        assert len(tiles) <= 2 * (self.tree.size.bit_length() // 8 + 1), "as many reads however large the tree"
        return [merkle.hash_of(one, {tile: self.read(tile) for tile in tiles}.__getitem__) for one in ranges]


@pytest.mark.parametrize("size", [0, *SIZES])
def test_the_root_is_that_of_the_definition(size: int) -> None:
    stored = Stored(size)
    assert stored.tree.root == mth(LEAVES[:size])
    assert len(stored.tree.frontier) == size.bit_count()
    assert mth([]) == EMPTY_ROOT


@pytest.mark.parametrize("size", SIZES)
def test_nodes_are_the_complete_subtrees_of_256_and_of_65536(size: int) -> None:
    nodes = Stored(size).tree.nodes
    assert {(node.level, node.index) for node in nodes} == {
        (level, index) for level in (1, 2) for index in range(size >> 8 * level)
    }
    for node in nodes:
        if node.index in {0, 1, 255, (size >> 8 * node.level) - 1}:
            assert node.hash == mth(LEAVES[node.first : node.first + (1 << 8 * node.level)])
    assert Node(2, 3, b"").first == 3 * 65_536


@pytest.mark.parametrize("size", [0, *SIZES])
def test_a_frontier_is_rebuilt_from_partial_tiles(size: int) -> None:
    stored = Stored(size)
    partial: dict[int, list[bytes]] = {}
    for level in range(3):
        count = merkle.width(size, level)
        start = (size >> 8 * level) - count
        partial[level] = [LEAVES[at] if level == 0 else stored.nodes[level, at] for at in range(start, start + count)]
    assert merkle.rebuild(size, partial) == stored.tree.frontier


@pytest.mark.parametrize("size", [*range(1, 18), 33])
def test_every_proof_of_a_small_tree(size: int) -> None:
    stored, root = Stored(size), mth(LEAVES[:size])
    for index in range(size):
        proof = stored.prove(merkle.inclusion(index, size))
        merkle.verify_inclusion(index, LEAVES[index], 0, size, root, proof)
        for wrong in {index - 1, index + 1, size} - {index}:
            with pytest.raises(ProofError):
                merkle.verify_inclusion(wrong, LEAVES[index], 0, size, root, proof)
    for old in range(1, size + 1):
        proof = stored.prove(merkle.consistency(old, size))
        merkle.verify_consistency(old, size, mth(LEAVES[:old]), root, proof)
        for wrong in {old - 1, old + 1} - {0}:
            with pytest.raises(ProofError):
                merkle.verify_consistency(wrong, size, mth(LEAVES[:old]), root, proof)


@pytest.mark.parametrize("size", [255, 256, 257, 600, 65_537, 66_000])
def test_proofs_over_several_tiles(size: int) -> None:
    stored, root = Stored(size), Stored(size).tree.root
    for index in {0, 1, 127, 255, 256, 511, 65_535, 65_536, size - 1}:
        if index < size:
            proof = stored.prove(merkle.inclusion(index, size))
            merkle.verify_inclusion(index, LEAVES[index], 0, size, root, proof)
    for old in {1, 2, 128, 255, 256, 257, 512, 65_535, 65_536, 65_537, size - 1, size}:
        if old <= size:
            proof = stored.prove(merkle.consistency(old, size))
            merkle.verify_consistency(old, size, Stored(old).tree.root, root, proof)


@pytest.mark.parametrize("size", [2, 7, 8, 300])
def test_a_proof_with_any_bit_changed_shows_nothing(size: int) -> None:
    stored, root = Stored(size), mth(LEAVES[:size])
    index, old = size // 2, size - 1
    inclusion = stored.prove(merkle.inclusion(index, size))
    consistency = stored.prove(merkle.consistency(old, size))
    for proof, verify in [
        (inclusion, lambda p: merkle.verify_inclusion(index, LEAVES[index], 0, size, root, p)),
        (consistency, lambda p: merkle.verify_consistency(old, size, mth(LEAVES[:old]), root, p)),
    ]:
        verify(proof)
        broken = [
            [*proof[:at], bytes([proof[at][0] ^ 1]) + proof[at][1:], *proof[at + 1 :]] for at in range(len(proof))
        ]
        for changed in [
            proof[:-1],
            [*proof, bytes(32)],
            [bytes(32), *proof],
            proof[::-1] * 2,
            [proof[0][:31]],
            *broken,
        ]:
            with pytest.raises(ProofError):
                verify(changed)


@pytest.mark.parametrize(("index", "size"), [(0, 0), (1, 1), (-1, 3), (0, merkle.MAX_SIZE + 1)])
def test_there_is_no_path_for_what_is_not_in_the_tree(index: int, size: int) -> None:
    with pytest.raises(ProofError):
        merkle.inclusion(index, size)


@pytest.mark.parametrize(("old", "new"), [(0, 3), (4, 3), (-1, 3), (1, merkle.MAX_SIZE + 1)])
def test_there_is_no_way_back(old: int, new: int) -> None:
    with pytest.raises(ProofError):
        merkle.consistency(old, new)


def test_a_tile_that_lacks_hashes_is_noticed() -> None:
    with pytest.raises(ProofError, match="tile 0 of level 0"):
        merkle.hash_of((0, 4), lambda tile: LEAVES[:3])


def outcome(kind: str, case: dict[str, Any]) -> bool:
    decode = base64.b64decode
    proof = [decode(one) for one in case["proof"] or []]
    try:
        if kind == "inclusion":
            root, one = decode(case["root"]), decode(case["leafHash"])
            merkle.verify_inclusion(case["leafIdx"], one, 0, case["treeSize"], root, proof)
        elif kind == "subtreeinclusion":
            root, one = decode(case["root"]), decode(case["leafHash"])
            merkle.verify_inclusion(case["leafIdx"], one, case["start"], case["end"], root, proof)
        elif kind == "consistency":
            roots = decode(case["root1"]), decode(case["root2"])
            merkle.verify_consistency(case["size1"], case["size2"], *roots, proof)
        else:
            roots = decode(case["root1"]), decode(case["root2"])
            merkle.verify_subtree(case["start"], case["end"], case["size"], *roots, proof)
    except ProofError:
        return False
    return True


def test_the_vectors_of_others_end_as_they_should() -> None:
    folder = vectors("merkle") / "testdata"
    cases = [(file.relative_to(folder), json.loads(file.read_text())) for file in sorted(folder.rglob("*.json"))]
    assert len(cases) == 518
    wrong = [path for path, case in cases if outcome(Path(path).parts[0], case) == case["wantErr"]]
    assert wrong == []
