"""Tampering, each kind in each place that can be verified: data folder, database, export, and served over REST."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mastio_audit.log import chain
from mastio_audit.log.store import join
from mastio_audit.verification.export import verify_export
from mastio_audit.verification.recompute import Recomputation
from mastio_audit.verification.trust import Keyring
from mastio_primitives.transparency import notes
from mastio_primitives.transparency.merkle import Tree, leaf_hash
from support.audit.verification import (
    FIRST,
    STRANGER,
    append,
    checkpoint_of,
    command,
    event,
    export_of,
    keep,
    rewrite,
    rows_of,
    verify_url,
)
from support.audit.verified_log import PLACES, Log
from support.tier import positions

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Place


@pytest.fixture
def make(sqlite_place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[int], Log]:
    """Makes a log of so many entries."""

    def make(size: int) -> Log:
        append(sqlite_place, [event(number, bytes=number) for number in range(size)])
        keep(sqlite_place.data, checkpoint_of(rows_of(sqlite_place)))
        return Log(sqlite_place, tmp_path, capsys)

    return make


@pytest.fixture
def small(make: Callable[[int], Log]) -> Log:
    return make(6)


@pytest.fixture
def long(make: Callable[[int], Log]) -> Log:
    """Two complete tiles and a bit: two stored nodes."""
    return make(600)


def flip(content: bytes, at: int, bit: int = 1) -> bytes:
    return content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :]


class TestSound:
    @pytest.mark.parametrize("size", [1, 6, 255, 256, 257, 600])
    @pytest.mark.parametrize("where", PLACES)
    def test_a_sound_log(self, make: Callable[[int], Log], where: str, size: int) -> None:
        log = make(size)
        rows = rows_of(log.place)
        old = [checkpoint_of(rows[:at]) for at in {0, 1, size // 2, size}]
        status, report = log.report(where, *old, b"".join(old), vkeys=(FIRST,))
        assert (status, report["first_bad"], report["problem"]) == (0, None, None)
        assert report["size"] == size and report["pinned"]
        text = checkpoint_of(rows).decode().split("\n")
        assert report["root_base64"] == text[2]
        assert report["checkpoints"] == 2 * len(old) + 1, "also the one that is there"

    @pytest.mark.parametrize("where", PLACES)
    def test_an_empty_log(self, make: Callable[[int], Log], where: str) -> None:
        assert make(0).report(where)[1]["size"] == 0

    @pytest.mark.parametrize("where", PLACES)
    def test_it_is_said_when_no_key_was_pinned(self, small: Log, where: str) -> None:
        _, report = small.report(where)
        assert not report["pinned"] and report["keys"] == [str(FIRST.verifier)]

    def test_as_text(self, small: Log, capsys: pytest.CaptureFixture[str]) -> None:
        assert command("verify", "--data", str(small.data)) == 0
        printed = capsys.readouterr().out
        assert f"key           {FIRST.verifier}\n              not pinned" in printed
        assert command("verify", "--data", str(small.data), "--vkey", str(small.data / "log" / "vkey")) == 0
        assert "not pinned" not in capsys.readouterr().out

    def test_as_text_an_export_that_is_older_than_a_checkpoint(
        self, small: Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It is no tampering: the export was made before."""
        old, newer = tmp_path / "old.ndjson", tmp_path / "newer"
        old.write_bytes(export_of(rows_of(small.place), small.kept))
        append(small.place, [event(6)])
        newer.write_bytes(checkpoint_of(rows_of(small.place)))
        assert command("verify", "--export", str(old), "--checkpoint", str(newer)) == 1
        printed = capsys.readouterr()
        assert "mastio: The export ends before the checkpoint of size 7. Make a newer export.\n" in printed.err
        assert "first bad     none\n" in printed.out

    def test_as_text_a_place_that_is_bad_without_a_bad_entry(
        self, small: Log, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (small.data / "log" / "checkpoint").write_bytes(b"no\x1b[2J note\n")
        assert command("verify", "--data", str(small.data)) == 3
        printed = capsys.readouterr()
        assert "first bad     none that can be named\n" in printed.out
        assert f"{small.data / 'log' / 'checkpoint'}: " in printed.err and "\x1b" not in printed.out + printed.err

    def test_growth_meanwhile(self, long: Log) -> None:
        """The rest of the log is nobody's business: the tree of the checkpoint is what is verified."""

        def grow(path: str, content: bytes) -> bytes:
            if path == "tile/entries/001":
                append(long.place, [event(number) for number in range(600, 900)])
            return content

        status, report = verify_url(long.data, change=grow)
        assert (status, report["size"]) == (0, 600)
        assert verify_url(long.data)[1]["size"] == 900


class TestEntries:
    @pytest.mark.parametrize("where", PLACES)
    def test_every_flipped_byte(self, small: Log, where: str) -> None:
        original = small.place.entry(3)
        for at in positions(len(original), 7 if where == "export" else 23):
            small.place.put(3, flip(original, at))
            assert small.verify(where) == (3, 3), at

    @pytest.mark.parametrize("where", PLACES)
    @pytest.mark.parametrize("index", range(5))
    def test_another_entry_of_the_same_form(self, small: Log, where: str, index: int) -> None:
        small.place.put(index, small.place.entry(index).replace(b'"kind":"test"', b'"kind":"tess"'))
        assert small.verify(where) == (3, index)

    @pytest.mark.parametrize("where", PLACES)
    def test_another_prev(self, small: Log, where: str) -> None:
        for index in range(6):
            original = small.place.entry(index)
            document = json.loads(original)
            document["prev"] = ("0" if document["prev"][0] != "0" else "1") + document["prev"][1:]
            small.place.put(index, chain.encode(document))
            assert small.verify(where) == (3, index)
            small.place.put(index, original)
        assert small.verify(where) == (0, None)

    def test_the_last_entry(self, small: Log) -> None:
        """Nothing follows that would vouch for it: the head knows, or else the newest checkpoint that still fits."""
        before = checkpoint_of(rows_of(small.place)[:5])
        small.place.put(5, small.place.entry(5).replace(b'"kind":"test"', b'"kind":"tess"'))
        assert small.verify("data") == (3, 5)
        for where in ("export", "url"):
            assert small.verify(where) == (3, 0)
            assert small.verify(where, before) == (3, 5)

    @pytest.mark.parametrize("where", PLACES)
    @pytest.mark.parametrize("index", [0, 255, 256, 300, 599])
    def test_a_deleted_row(self, long: Log, where: str, index: int) -> None:
        long.place.tamper("DELETE FROM entries WHERE seq = $1", index)
        assert long.verify(where) == (3, index)

    @pytest.mark.parametrize("where", PLACES)
    @pytest.mark.parametrize("index", [0, 255, 598])
    def test_swapped_rows(self, long: Log, where: str, index: int) -> None:
        one, two = long.place.entry(index), long.place.entry(index + 1)
        long.place.put(index, two)
        long.place.put(index + 1, one)
        assert long.verify(where) == (3, index)

    @pytest.mark.parametrize("where", PLACES)
    @pytest.mark.parametrize("index", [0, 3, 6])
    def test_an_inserted_row(self, small: Log, where: str, index: int) -> None:
        rows = rows_of(small.place)
        last = leaf_hash(rows[index - 1]) if index else bytes(32)
        tree = Tree()
        for row in rows[:index]:
            tree.add(leaf_hash(row))
        [(_, forged)] = chain.append(chain.Head(index, last, tree.frontier), [chain.draft(event(9))], 0).rows
        for seq in range(5, index - 1, -1):
            small.place.tamper("UPDATE entries SET seq = $1 WHERE seq = $2", seq + 1, seq)
        small.place.tamper("INSERT INTO entries (seq, entry) VALUES ($1, $2)", index, forged)
        if (where, index) == ("url", 6):
            return  # a row behind the head is not served
        assert small.verify(where) == (3, index)


class TestTree:
    @pytest.mark.parametrize("where", ["data", "url"])
    @pytest.mark.parametrize("node", [0, 1])
    def test_every_flipped_byte_of_a_node(self, long: Log, where: str, node: int) -> None:
        [(original,)] = long.place.tamper("SELECT hash FROM nodes WHERE idx = $1", node)
        for at in range(0, 32, 7):
            long.place.tamper("UPDATE nodes SET hash = $1 WHERE idx = $2", flip(original, at), node)
            assert long.verify(where) == (3, 256 * node)

    @pytest.mark.parametrize("where", ["data", "url"])
    def test_a_deleted_node(self, long: Log, where: str) -> None:
        long.place.tamper("DELETE FROM nodes WHERE idx = 1")
        assert long.verify(where) == (3, 256)
        long.place.tamper("DELETE FROM nodes")
        assert long.verify(where) == (3, 0)

    @pytest.mark.parametrize("where", ["data", "url"])
    def test_swapped_nodes(self, long: Log, where: str) -> None:
        for old, new in ((0, 9), (1, 0), (9, 1)):
            long.place.tamper("UPDATE nodes SET idx = $1 WHERE idx = $2", new, old)
        assert long.verify(where) == (3, 0)

    @pytest.mark.parametrize(("level", "index"), [(1, 2), (1, 70), (2, 0), (7, 0)])
    def test_an_inserted_node(self, long: Log, level: int, index: int) -> None:
        long.place.tamper("INSERT INTO nodes VALUES ($1, $2, $3)", level, index, bytes(32))
        assert long.verify("data") == (3, 600)

    def test_every_flipped_byte_of_a_tile_that_is_served(self, long: Log) -> None:
        for path, level in (("tile/0/001", 0), ("tile/0/002.p/88", 0), ("tile/1/000.p/2", 1)):
            for at in (0, 31, 32, 63):
                first = {"tile/0/001": 256, "tile/0/002.p/88": 512}.get(path, 0) + at // 32 * 256**level
                change = lambda asked, content, path=path, at=at: flip(content, at) if asked == path else content  # noqa: E731
                status, report = verify_url(long.data, change=change)
                assert (status, report["first_bad"]) == (3, first), (path, at)

    @pytest.mark.parametrize("path", ["tile/0/001", "tile/0/002.p/88", "tile/1/000.p/2", "tile/entries/001"])
    def test_a_tile_with_more_or_less_than_it_should(self, long: Log, path: str) -> None:
        for wrong in (lambda c: c + c[-32:], lambda c: c[:-32], lambda c: c[:-1], lambda c: b"", lambda c: c + b"\0"):
            change = lambda asked, content, wrong=wrong: wrong(content) if asked == path else content  # noqa: E731
            status, report = verify_url(long.data, change=change)
            assert status == 3 and report["first_bad"] is not None

    def test_every_flipped_byte_of_a_bundle_that_is_served(self, small: Log) -> None:
        starts = [0]
        for row in rows_of(small.place):
            starts.append(starts[-1] + 2 + len(row))
        for at in positions(starts[-2], 13):  # the last entry: see test_the_last_entry
            change = lambda asked, content, at=at: flip(content, at) if "entries" in asked else content  # noqa: E731
            status, report = verify_url(small.data, change=change)
            assert (status, report["first_bad"]) == (3, max(i for i in range(6) if starts[i] <= at)), at


class TestHead:
    def test_the_frontier(self, long: Log) -> None:
        [(original,)] = long.place.tamper("SELECT frontier FROM head")
        for at in range(0, len(original), 13):
            long.place.tamper("UPDATE head SET frontier = $1", flip(original, at))
            assert long.verify("data") == (3, 599)
            assert long.verify("url") == (3, 0), "what is served is signed over it"
        for wrong in (b"", original[:-32], original + bytes(32), original[:-1]):
            long.place.tamper("UPDATE head SET frontier = $1", wrong)
            assert long.verify("data") == (3, 599)

    @pytest.mark.parametrize(("size", "data", "url"), [(5, 5, 0), (7, 6, 6)])
    def test_the_size(self, small: Log, size: int, data: int, url: int) -> None:
        small.place.tamper("UPDATE head SET size = $1", size)
        assert small.verify("data") == (3, data)
        assert small.verify("url") == (3, url)

    def test_the_last_hash(self, small: Log) -> None:
        [(original,)] = small.place.tamper("SELECT last_hash FROM head")
        for at in range(0, 32, 7):
            small.place.tamper("UPDATE head SET last_hash = $1", flip(original, at))
            assert small.verify("data") == (3, 5)


class TestCheckpoint:
    def test_every_flipped_byte_of_the_file(self, small: Log) -> None:
        file = small.data / "log" / "checkpoint"
        original = file.read_bytes()
        for at in positions(len(original), 3):
            file.write_bytes(flip(original, at))
            assert small.verify("data") == (3, None), at
        file.write_bytes(original)
        assert small.verify("data") == (0, None)

    @pytest.mark.parametrize("pinned", [(), (FIRST,)])
    def test_every_flipped_byte_of_the_key(self, small: Log, pinned: tuple[Any, ...]) -> None:
        file = small.data / "log" / "vkey"
        original = file.read_bytes()
        for at in positions(len(original), 3):
            file.write_bytes(flip(original, at))
            assert small.verify("data", vkeys=pinned) == (3, None), at

    @pytest.mark.parametrize("pinned", [(), (FIRST,)])
    @pytest.mark.parametrize("path", ["checkpoint", "vkey"])
    def test_every_flipped_byte_of_what_is_served(self, small: Log, path: str, pinned: tuple[Any, ...]) -> None:
        _, sound = verify_url(small.data)
        length = len(checkpoint_of(rows_of(small.place))) if path == "checkpoint" else len(str(FIRST.verifier)) + 1
        for at in positions(length, 3):
            change = lambda asked, content, at=at: flip(content, at) if asked == path else content  # noqa: E731
            status, report = verify_url(small.data, change=change, vkeys=pinned)
            assert status == 3 and report["problem"], at
        assert verify_url(small.data)[1] == sound

    @pytest.mark.parametrize("pinned", [(), (FIRST,)])
    def test_every_flipped_byte_of_the_last_line(self, small: Log, pinned: tuple[Any, ...]) -> None:
        content = export_of(rows_of(small.place), small.kept)
        words = [word for one in pinned for word in ("--vkey", str(one.verifier))]
        for at in range(content.rindex(b"\n", 0, -1) + 1, len(content)):
            status, report = small.export(flip(content, at), *words)
            assert status == 3 and report["first_bad"] in (None, 6), at

    def test_a_checkpoint_of_somebody_else_says_nothing_of_the_entries(self, small: Log) -> None:
        rows = rows_of(small.place)
        for where in PLACES:
            for old in (checkpoint_of(rows[:3], STRANGER), checkpoint_of([*rows, b"more"], STRANGER), b"nonsense", b""):
                status, report = small.report(where, old)
                assert (status, report["first_bad"], report["size"]) == (3, None, 6)
                assert "old" in report["problem"]

    @pytest.mark.parametrize("where", PLACES)
    def test_a_log_that_was_longer(self, small: Log, where: str) -> None:
        """An export may be older than a checkpoint; a log that is served or stored may not."""
        longer = checkpoint_of([*rows_of(small.place), b"more"])
        assert small.verify(where, longer) == ((1, None) if where == "export" else (3, 6))


@pytest.mark.parametrize("where", PLACES)
class TestRewritten:
    """Entries, nodes, head, and the checkpoint beside them: all consistent, and signed by whoever runs the log."""

    def test_by_who_can_sign(self, long: Log, where: str) -> None:
        rows = rows_of(long.place)
        old = [checkpoint_of(rows[:size]) for size in (100, 300, 600)]
        rewrite(long.place, 350)
        keep(long.data, checkpoint_of(rows_of(long.place)))
        assert long.verify(where) == (0, None), "by itself it is in order"
        assert long.verify(where, *old) == (3, 300)
        assert long.verify(where, b"".join(old), vkeys=(FIRST,)) == (3, 300)
        assert long.verify(where, old[0], old[1]) == (0, None), "these it still begins with"
        assert long.verify(where, old[2]) == (3, 0)

    def test_by_who_cannot_sign(self, long: Log, where: str) -> None:
        rewrite(long.place, 350)
        if where != "url":  # there whoever runs the log signs what it has
            assert long.verify(where) == (3, 0)

    def test_with_a_key_of_ones_own(self, long: Log, where: str) -> None:
        old = checkpoint_of(rows_of(long.place)[:300])
        rewrite(long.place, 350)
        rows = rows_of(long.place)
        forged = checkpoint_of(rows, STRANGER)
        keep(long.data, forged, STRANGER)
        for vkeys in ((), (FIRST,)):
            if where == "export":
                words = [word for one in vkeys for word in ("--vkey", str(one.verifier))]
                status, report = long.export(export_of(rows, forged, STRANGER), *words)
            elif where == "url":
                status, report = verify_url(long.data, STRANGER, vkeys=vkeys)
            else:
                status, report = long.report("data", vkeys=vkeys)
            assert (status, report["first_bad"]) == ((3, None) if vkeys else (0, None))
        assert long.verify("data", old)[0] == 3, "who pinned no key, but kept a checkpoint"


def test_rewritten_in_any_database(place: Place, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    append(place, [event(number) for number in range(300)])
    rows = rows_of(place)
    (tmp_path / "old").write_bytes(checkpoint_of(rows[:100]) + checkpoint_of(rows))
    words = ("verify", *place.arguments, "--json", "--vkey", str(FIRST.verifier), "--checkpoint", str(tmp_path / "old"))
    assert command(*words) == 0
    if place.kind == "sqlite":
        rewrite(place, 200)
    else:
        place.tamper("UPDATE nodes SET hash = $1 WHERE idx = 0", bytes(32))
    capsys.readouterr()
    assert command(*words) == 3
    assert json.loads(capsys.readouterr().out)["first_bad"] == (100 if place.kind == "sqlite" else 0)


class TestExport:
    @pytest.fixture
    def lines(self, small: Log) -> list[bytes]:
        return export_of(rows_of(small.place), small.kept).splitlines(keepends=True)

    def test_truncated_anywhere(self, small: Log, lines: list[bytes]) -> None:
        content = b"".join(lines)
        for length in range(0, len(content) - 1, 7):
            status, report = small.export(content[:length])
            whole = content[:length].count(b"\n")
            assert status == 3 and report["first_bad"] in (whole, whole + 1), length
        assert small.export(content[:-1])[0] == 0, "only the newline is gone"

    @pytest.mark.parametrize("kept", range(7))
    def test_after_a_line(self, small: Log, lines: list[bytes], kept: int) -> None:
        status, report = small.export(b"".join(lines[:kept]))
        assert (status, report["first_bad"], report["size"]) == (3, kept, kept)

    @pytest.mark.parametrize("index", range(6))
    def test_a_line_left_out_doubled_or_moved(self, small: Log, lines: list[bytes], index: int) -> None:
        assert small.export(b"".join([*lines[:index], *lines[index + 1 :]]))[1]["first_bad"] == index
        assert small.export(b"".join([*lines[: index + 1], *lines[index:]]))[1]["first_bad"] == index
        assert small.export(b"".join([*lines[:index], lines[index + 1], lines[index], *lines[index + 2 :]]))[0] == 3

    @pytest.mark.parametrize("more", [b"\n", b" \n", b"{}\n", b"x" * 300_000, b'{"agent":1}\n'])
    def test_a_line_too_many(self, small: Log, lines: list[bytes], more: bytes) -> None:
        assert small.export(b"".join([*lines[:6], more, lines[6]]))[1]["first_bad"] == 6
        assert small.export(b"".join([*lines, more]))[1]["first_bad"] == 6

    def test_a_checkpoint_for_less(self, small: Log, lines: list[bytes]) -> None:
        rows = rows_of(small.place)
        status, report = small.export(export_of(rows, checkpoint_of(rows[:4])))
        assert (status, report["first_bad"]) == (3, 4)


class TestUsedWrongly:
    @pytest.mark.parametrize(
        "words",
        [
            ("--vkey", "nonsense"),
            ("--vkey", "a+b+c"),
            ("--checkpoint", "/nowhere"),
            ("--export", "/nowhere"),
            ("--export", "/"),
            ("--ca", "x", "--export", "x"),
            ("--url", "https://localhost:1"),
        ],
    )
    def test_one_sentence_and_a_hint(self, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
        assert command("verify", *words) == 2
        printed = capsys.readouterr()
        assert printed.out == "" and printed.err.startswith("mastio: ") and printed.err.count("\n") == 1


class Endless(io.RawIOBase):
    """An export that is made while it is read."""

    def __init__(self, size: int) -> None:
        self._lines = self._make(size)

    def _make(self, size: int) -> Iterator[bytes]:
        draft, head, tree = chain.draft(event(1)), chain.Head(), Tree()
        for _ in range(size):
            made = chain.append(head, [draft], 0)
            head = made.head
            tree.add(head.last_hash)
            yield made.rows[0][1] + b"\n"
        assert join(tree.frontier) == join(head.frontier)
        yield export_of([], checkpoint_of_tree(tree))

    def readline(self, size: int | None = -1, /) -> bytes:
        return next(self._lines, b"")


def checkpoint_of_tree(tree: Tree) -> bytes:
    from_tree = checkpoint_of([]).decode().split("\n")
    assert from_tree[1] == "0"
    return notes.sign(notes.Checkpoint(from_tree[0], tree.size, tree.root), [FIRST])


def test_memory_does_not_grow_with_the_export() -> None:
    peaks = []
    for size in (5_000, 20_000):
        source: Any = Endless(size)
        tracemalloc.start()
        report = verify_export(source, lambda done, size: None, Recomputation(Keyring()), lambda end: ())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (report.size, report.problem) == (size, None)
    assert peaks[1] < peaks[0] + 100_000, "15,000 entries more are megabytes"
