"""Checkpoints in an append-only file: what is in it stays, what was torn goes, and the log must begin with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mastio.exchange.errors import ConfigurationError
from mastio_audit.anchors.file import FileAnchor, find_last
from mastio_audit.anchors.target import AnchorError
from mastio_audit.log.chain import Head
from mastio_primitives.transparency import notes
from mastio_primitives.transparency.merkle import EMPTY_ROOT
from mastio_primitives.transparency.notes import Checkpoint, Signer

ORIGIN = "test.example/audit"
SIGNER, OTHER = Signer(ORIGIN, bytes(32)), Signer("other.example/audit", bytes(32))


def sign(head: Head, origin: str = ORIGIN) -> bytes:
    return notes.sign(Checkpoint(origin, head.size, EMPTY_ROOT), [SIGNER])


def anchor(path: Path) -> FileAnchor:
    return FileAnchor("outside", path, ORIGIN, sign)


def sizes(path: Path) -> list[int]:
    """Of the checkpoints in the file, each verified."""
    found = path.read_bytes().split(b"\n\n")
    assert found.pop() == b""
    joined = [b"\n\n".join(pair) + b"\n" for pair in zip(found[::2], found[1::2], strict=True)]
    return [notes.open_checkpoint(one, [SIGNER.verifier]).size for one in joined]


async def test_each_checkpoint_is_appended_and_a_renamed_file_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / "anchor"
    place = anchor(path)
    assert await place.size() == 0
    for size in (1, 5, 300):
        before = path.read_bytes() if path.exists() else b""
        await place.keep(Head(size))
        assert path.read_bytes().startswith(before) and await place.size() == size
    assert sizes(path) == [1, 5, 300]
    path.rename(tmp_path / "anchor.1")
    await place.keep(Head(301))
    assert (sizes(tmp_path / "anchor.1"), sizes(path)) == ([1, 5, 300], [301])


@pytest.mark.parametrize("kept", range(len(sign(Head(7))) + 1))
async def test_what_a_crash_left_of_a_checkpoint_is_cut_off(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "anchor"
    for before in (b"", sign(Head(3)) + b"\n"):
        path.write_bytes(before + (sign(Head(7)) + b"\n")[:kept])
        last = find_last(path.read_bytes())
        assert (last is None) if not before else (last is not None and last == (before[:-1], len(before)))
        await anchor(path).keep(Head(9))
        assert sizes(path) == ([3, 9] if before else [9])


@pytest.mark.parametrize(
    "content",
    [b"GREETINGS\n", b"a\nb\n" * 20_000, sign(Head(4), "other.example/audit") + b"\n", b"\n\n", bytes(500)],
    ids=["text", "long", "another log", "empty lines", "zeros"],
)
async def test_a_file_that_is_something_else_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "anchor"
    path.write_bytes(content)
    with pytest.raises(AnchorError):
        await anchor(path).keep(Head(9))
    with pytest.raises(ConfigurationError, match="cannot be compared") as caught:
        await anchor(path).verify(None)  # type: ignore[arg-type]
    assert str(path) in caught.value.hint and path.read_bytes() == content


async def test_what_is_no_file_or_has_no_folder_fails_as_an_anchor(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "anchor", Path("/dev/null"), Path("/dev/full")):
        with pytest.raises(AnchorError):
            await anchor(path).keep(Head(9))
