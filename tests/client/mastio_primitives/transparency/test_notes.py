"""Notes, checkpoints and proofs as text; and the names of tiles."""

from __future__ import annotations

import base64

import pytest

from mastio_audit.log import tiles
from mastio_audit.log.tiles import ENTRIES, Tile
from mastio_primitives.transparency import notes
from mastio_primitives.transparency.notes import Checkpoint, NoteError, Signer, Verifier, parse_vkey
from support.weak_keys import WEAK, forge

SIGNER = Signer("example.com/audit", bytes(range(32)))
OTHER = Signer("example.com/audit", bytes(32))
CHECKPOINT = Checkpoint("example.com/audit", 17, bytes(range(32)))
NOTE = notes.sign(CHECKPOINT, [SIGNER])

GO_VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_NOTE = (
    b"If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n"
    b"\xe2\x80\x94 PeterNeumann "
    b"x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
"""The example in the documentation of golang.org/x/mod/sumdb/note."""


def test_a_note_by_another_implementation() -> None:
    verifier = parse_vkey(GO_VKEY)
    assert str(verifier) == GO_VKEY
    assert notes.parse_note(GO_NOTE).signed_by([verifier]) == [verifier]
    with pytest.raises(NoteError, match="is wrong"):
        notes.parse_note(GO_NOTE.replace(b"answer", b"anzwer")).signed_by([verifier])


def test_a_checkpoint_is_opened_by_its_key_only() -> None:
    assert NOTE.startswith(
        b"example.com/audit\n17\n" + base64.b64encode(bytes(range(32))) + b"\n\n\xe2\x80\x94 example"
    )
    assert notes.open_checkpoint(NOTE, [SIGNER.verifier]) == CHECKPOINT
    assert parse_vkey(str(SIGNER.verifier)) == SIGNER.verifier
    with pytest.raises(NoteError, match="none of the known keys"):
        notes.open_checkpoint(NOTE, [OTHER.verifier])
    with pytest.raises(NoteError, match="another log"):
        name = Signer("other.example/audit", bytes(32))
        notes.open_checkpoint(notes.sign(CHECKPOINT, [name]), [name.verifier])


def test_during_a_rotation_both_keys_open_it() -> None:
    both = notes.sign(CHECKPOINT, [OTHER, SIGNER])
    for known in ([SIGNER.verifier], [OTHER.verifier], [SIGNER.verifier, OTHER.verifier]):
        assert notes.open_checkpoint(both, known) == CHECKPOINT


def test_every_flipped_bit_is_refused() -> None:
    for at in range(len(NOTE)):
        for bit in (1, 0x20, 0x80):
            with pytest.raises(NoteError):
                notes.open_checkpoint(NOTE[:at] + bytes([NOTE[at] ^ bit]) + NOTE[at + 1 :], [SIGNER.verifier])


@pytest.mark.parametrize(
    "text",
    [b"", b"a\n1\n", b"a\n01\n{root}\n", b"a\n-1\n{root}\n", b"a\n1\nAAAA\n", b"\n1\n{root}\n", b"a\n1\n{root}\n\nx\n",
     b"a\n1\n{root}=\n", b"a\n9999999999999999999\n{root}\n", b"a\n1\n{root} \n", "a\n\u0661\n{root}\n".encode()],
)  # fmt: skip
def test_what_is_no_checkpoint(text: bytes) -> None:
    with pytest.raises(NoteError):
        notes.parse_checkpoint(text.replace(b"{root}", base64.b64encode(bytes(32))))


def test_extension_lines_are_passed_over() -> None:
    assert notes.parse_checkpoint(CHECKPOINT.text + b"more\n") == CHECKPOINT


@pytest.mark.parametrize(
    "note",
    [b"", b"text\n", b"text\n\n", b"text\n\nno signature\n", NOTE[:-1], NOTE + b"\n",
     NOTE.replace(b"\n\n", b"\n"), NOTE + b"\xff", NOTE.replace("—".encode(), b"-"), NOTE.replace(b"17", b"1\x07"),
     NOTE + NOTE.splitlines()[-1] * 70_000,
     NOTE + (NOTE.splitlines()[-1] + b"\n") * 64],
)  # fmt: skip
def test_what_is_no_note(note: bytes) -> None:
    with pytest.raises(NoteError):
        notes.parse_note(note)


@pytest.mark.parametrize(
    "vkey",
    ["", "a", "a+b+c", GO_VKEY[:-4], GO_VKEY.replace("c74f20a3", "c74f20a4"), "+" + GO_VKEY,
     GO_VKEY.replace("ARpc", "AhpC"), "a b+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"],
)  # fmt: skip
def test_what_is_no_vkey(vkey: str) -> None:
    with pytest.raises(NoteError):
        parse_vkey(vkey)


@pytest.mark.parametrize("kind", [notes.ED25519, notes.COSIGNATURE])
@pytest.mark.parametrize("name", WEAK)
def test_a_key_under_which_everybody_can_sign_is_refused(name: str, kind: bytes) -> None:
    weak = Verifier("x", WEAK[name], kind)
    number, signature = forge(WEAK[name], lambda number: b"text %d" % number)
    assert not weak.verify(b"text %d" % number, signature)
    with pytest.raises(NoteError, match="Ed25519"):
        parse_vkey(str(weak), kind)
    good = Verifier("x", Signer("x", bytes(32)).verifier.key, kind)
    assert parse_vkey(str(good), kind) == good


def test_a_broken_key_verifies_nothing() -> None:
    assert not Verifier("x", b"\xff" * 32).verify(b"text", bytes(64))


def test_checkpoints_that_were_appended_to_a_file_are_taken_apart() -> None:
    both = notes.sign(Checkpoint("example.com/audit", 18, bytes(32)), [OTHER, SIGNER])
    more = notes.sign(CHECKPOINT, [OTHER]).replace(b"\n\n", b"\nan extension\n\n")
    for between in (b"", b"\n", b"\n\n\n"):
        content = NOTE + between + both + between + more
        assert notes.split_notes(content) == [NOTE, both, more]
        assert notes.split_notes(content + between) == [NOTE, both, more]
    for content in (
        b"",
        b"\n",
        b"x\n" + NOTE[:-1],
        NOTE[:-1],
        b"\n" + NOTE,
        NOTE + b"x\n",
        NOTE + both[:-20],
        both[5:40],
    ):
        with pytest.raises(NoteError):
            notes.split_notes(content)


def test_keys_stand_on_a_line_each() -> None:
    one, two = str(SIGNER.verifier), str(OTHER.verifier)
    assert notes.parse_vkeys(f"{one}\n{two}\n".encode()) == [SIGNER.verifier, OTHER.verifier]
    assert notes.parse_vkeys(one.encode()) == [SIGNER.verifier]
    for content in (b"", b"\n", f"{one}\n\n{two}\n".encode(), f"{one} \n".encode(), f"{one}\x0b".encode(), b"\xff"):
        with pytest.raises(NoteError):
            notes.parse_vkeys(content)


def test_an_extension_makes_the_round_trip() -> None:
    hashes = [bytes([n]) * 32 for n in range(3)]
    for some in (hashes, []):
        assert notes.parse_extension(notes.write_extension(7, some, NOTE)) == (7, some, NOTE)
    assert notes.write_extension(7, [], NOTE) == b"old 7\n\n" + NOTE
    for wrong in (b"", b"old\n\n", b"old 07\n\n", b"new 7\n\n", b"7\n\n", b"old 7\nA=A\n\n", b"old 7\n\xff\n\n"):
        with pytest.raises(NoteError):
            notes.parse_extension(wrong)


def test_a_proof_makes_the_round_trip() -> None:
    hashes = [bytes([n]) * 32 for n in range(3)]
    for some in (hashes, []):
        proof = notes.write_proof(7, some, NOTE)
        assert proof.startswith(b"c2sp.org/tlog-proof@v1\nindex 7\n") and proof.endswith(b"\n\n" + NOTE)
        assert notes.parse_proof(proof) == (7, some, NOTE)
    extra = proof.replace(b"index", b"extra AAAA\nindex", 1)
    assert notes.parse_proof(extra) == (7, [], NOTE)


@pytest.mark.parametrize(
    "change",
    [(b"@v1", b"@v2"), (b"index 7", b"index 07"), (b"index 7", b"7"), (b"AQEB", b"AQ!B"), (b"\nindex", b"\xff\nindex")],
)
def test_what_is_no_proof(change: tuple[bytes, bytes]) -> None:
    proof = notes.write_proof(7, [b"\x01" * 32], NOTE)
    with pytest.raises(NoteError):
        notes.parse_proof(proof.replace(*change, 1))


PATHS = {
    "0/000": Tile(0, 0),
    "0/255.p/1": Tile(0, 255, 1),
    "5/x001/x234/067": Tile(5, 1_234_067),
    "63/999": Tile(63, 999),
    "entries/x001/000.p/255": Tile(ENTRIES, 1000, 255),
}


@pytest.mark.parametrize("path", PATHS)
def test_tiles_have_the_names_of_the_specification(path: str) -> None:
    assert tiles.parse_path(path) == PATHS[path]
    assert tiles.write_path(PATHS[path]) == path


@pytest.mark.parametrize(
    "path",
    ["", "0", "0/", "0/0", "0/0000", "00/000", "64/000", "100/000", "-1/000", "x/000", "0/000.p/0", "0/000.p/256",
     "0/000.p/01", "0/x000/001", "0/001/002", "0/x01/002", "0/x001", "entries/x001", "0/000/", "/0/000", "0/000.p/",
     "0/000.p", "data/000", "0/x001/x002/x003/x004/x005/x006/007", "0/٠٠٠", "0/000\n"],
)  # fmt: skip
def test_what_names_no_tile(path: str) -> None:
    assert tiles.parse_path(path) is None


def test_bundles_make_the_round_trip() -> None:
    entries = [b"a", b"b" * 300, b"c" * 65_535]
    content = tiles.bundle(entries)
    assert content[:5] == b"\x00\x01a\x01\x2c" and tiles.unbundle(content) == entries
    assert tiles.unbundle(b"") == []
    for cut in (content[:-1], content[:1], content[:4], b"\x00\x00"):
        with pytest.raises(ValueError, match="cut off"):
            tiles.unbundle(cut)


@pytest.mark.parametrize(
    ("tile", "size"), [(Tile(0, 0, 1), 1), (Tile(0, 2), 768), (Tile(1, 0, 3), 768), (Tile(ENTRIES, 1, 2), 258)]
)
def test_a_tile_is_there_as_soon_as_the_tree_is_so_large(tile: Tile, size: int) -> None:
    assert tile.size == size
