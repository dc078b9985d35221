"""`mastio audit verify` against every change that somebody with the database's password could make."""

from __future__ import annotations

import argparse
import asyncio
import base64
import itertools
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mastio.exchange.values import Entry, Phase
from mastio_audit import commands as audit
from mastio_audit.log import chain
from mastio_audit.log.chain import Head, Row
from mastio_audit.log.store import Batch, Build, Extent
from mastio_audit.verification.store import PAGE, verify_log
from mastio_primitives.transparency.merkle import EMPTY_ROOT, Node, Tree
from support.tier import positions

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Place

MakeBatch = Callable[..., Build]
Verify = Callable[..., tuple[int, dict[str, Any]]]
WRITER = Path(__file__).parents[2] / "support" / "audit" / "log_writer.py"
STEPS: list[tuple[Phase, str]] = [("event", "start"), ("intent", "a"), ("intent", "b"), ("outcome", "a")]
STEPS += [("outcome", "b"), ("intent", "c")]


def fill(place: Place, *builds: Build) -> None:
    """Append to the log and close it."""

    async def append() -> None:
        store = place.store()
        await store.open()
        for build in builds:
            await store.append(build)
        await store.close()

    asyncio.run(append())


def command(*words: str) -> int:
    parser = argparse.ArgumentParser()
    audit.add_arguments(parser)
    return audit.run(parser.parse_args(words))


@pytest.fixture
def verify(capsys: pytest.CaptureFixture[str]) -> Verify:
    """Runs the command on a place; the exit status and the JSON it printed."""

    def run(place: Place) -> tuple[int, dict[str, Any]]:
        status = command("verify", *place.arguments, "--json")
        printed = capsys.readouterr().out
        return status, json.loads(printed) if printed else {}

    return run


@pytest.fixture
def filled(place: Place, batch: MakeBatch) -> Place:
    """A closed log of six entries, the last an open intent."""

    fill(place, batch(*STEPS))
    return place


class TestSound:
    def test_a_sound_log(self, filled: Place, verify: Verify) -> None:
        status, report = verify(filled)
        [(size, last_hash)] = filled.tamper("SELECT size, last_hash FROM head")
        assert (status, report["size"], report["head"]) == (0, size, last_hash.hex())
        assert (report["open_intents"], report["first_bad"], report["problem"]) == (1, None, None)

    def test_as_text(self, filled: Place, capsys: pytest.CaptureFixture[str]) -> None:
        assert command("verify", *filled.arguments) == 0
        printed = capsys.readouterr()
        assert printed.out.split("\n")[0] == "size          6"
        assert "first bad     none" in printed.out
        assert printed.err == ""

    def test_an_empty_log(self, place: Place, verify: Verify) -> None:
        fill(place)
        assert verify(place) == (0, {**EMPTY, "head": "0" * 64})

    def test_a_log_of_several_pages(self, place: Place, verify: Verify) -> None:
        size = 2 * PAGE + 7

        def build(head: Head) -> Batch:
            drafts = [chain.draft(Entry(id="x", phase="event", kind="test"))] * size
            made = chain.append(head, drafts, 0)
            return Batch(made.rows, made.head, made.nodes)

        fill(place, build)
        assert verify(place)[1]["size"] == size
        place.tamper("DELETE FROM entries WHERE seq = $1", PAGE)
        assert verify(place)[1]["first_bad"] == PAGE

    def test_a_log_that_is_being_written(self, place: Place, verify: Verify) -> None:
        words = [sys.executable, str(WRITER), place.address, "node/0", "8"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as writer:
            try:
                assert writer.stdout is not None
                lines = iter(writer.stdout)
                confirmed, sizes = 0, []
                for _ in range(10):
                    confirmed = [int(line.split()[0]) for line in itertools.islice(lines, 100)][-1]
                    status, report = verify(place)
                    assert (status, report["problem"]) == (0, None)
                    sizes.append(report["size"])
                assert sizes == sorted(sizes) and sizes[-1] > confirmed
            finally:
                writer.kill()


EMPTY = {
    "size": 0,
    "head": "",
    "root": EMPTY_ROOT.hex(),
    "root_base64": base64.b64encode(EMPTY_ROOT).decode(),
    "checkpoints": 0,
    "open_intents": 0,
    "keys": [],
    "pinned": False,
    "first_bad": None,
    "problem": None,
    "beyond": None,
}


class TestTampering:
    def test_every_flipped_byte_of_an_entry(self, filled: Place, verify: Verify) -> None:
        original = filled.entry(2)
        for at in positions(len(original), 5 if filled.kind == "sqlite" else 29):
            filled.put(2, original[:at] + bytes([original[at] ^ 1]) + original[at + 1 :])
            status, report = verify(filled)
            assert (status, report["first_bad"], report["size"]) == (3, 2, 2), at

    @pytest.mark.parametrize("index", range(6))
    def test_another_entry_of_the_same_form(self, filled: Place, verify: Verify, index: int) -> None:
        original = filled.entry(index)
        filled.put(index, original.replace(b'"kind":"test"', b'"kind":"tess"'))
        status, report = verify(filled)
        assert (status, report["first_bad"]) == (3, index)

    @pytest.mark.parametrize("index", range(6))
    def test_another_prev(self, filled: Place, verify: Verify, index: int) -> None:
        document = json.loads(filled.entry(index))
        prev = document["prev"]
        document["prev"] = ("0" if prev[0] != "0" else "1") + prev[1:]
        filled.put(index, chain.encode(document))
        status, report = verify(filled)
        assert (status, report["first_bad"]) == (3, index)

    @pytest.mark.parametrize("index", range(6))
    def test_a_deleted_row(self, filled: Place, verify: Verify, index: int) -> None:
        filled.tamper("DELETE FROM entries WHERE seq = $1", index)
        status, report = verify(filled)
        assert (status, report["first_bad"]) == (3, index)

    @pytest.mark.parametrize("index", range(5))
    def test_swapped_rows(self, filled: Place, verify: Verify, index: int) -> None:
        one, two = filled.entry(index), filled.entry(index + 1)
        filled.put(index, two)
        filled.put(index + 1, one)
        status, report = verify(filled)
        assert (status, report["first_bad"]) == (3, index)

    @pytest.mark.parametrize("index", range(7))
    def test_an_inserted_row(self, filled: Place, verify: Verify, index: int) -> None:
        tree, last = Tree(), bytes(32)
        for seq in range(index):
            last = chain.leaf_hash(filled.entry(seq))
            tree.add(last)
        draft = chain.draft(Entry(id="forged", phase="event", kind="test"))
        [(_, forged)] = chain.append(Head(index, last, tree.frontier), [draft], 0).rows
        for seq in range(5, index - 1, -1):
            filled.tamper("UPDATE entries SET seq = $1 WHERE seq = $2", seq + 1, seq)
        filled.tamper("INSERT INTO entries (seq, entry) VALUES ($1, $2)", index, forged)
        filled.tamper("UPDATE head SET size = 7")
        status, report = verify(filled)
        assert (status, report["first_bad"]) == (3, index)

    @pytest.mark.parametrize(
        ("statement", "bad"),
        [
            ("UPDATE head SET size = 5", 5),
            ("UPDATE head SET size = 7", 6),
            ("UPDATE head SET size = -1", 0),
            ("DELETE FROM head", 5),
            ("DELETE FROM entries", 0),
            ("UPDATE entries SET seq = 70 WHERE seq = 5", 5),
            ("INSERT INTO entries (seq, entry) SELECT 6, entry FROM entries WHERE seq = 5", 6),
            ("INSERT INTO entries (seq, entry) SELECT 9223372036854775807, entry FROM entries WHERE seq = 5", 6),
            ("INSERT INTO entries (seq, entry) SELECT -1, entry FROM entries WHERE seq = 5", 0),
        ],
    )
    def test_a_row_or_head_that_is_out_of_place(self, filled: Place, verify: Verify, statement: str, bad: int) -> None:
        filled.tamper(statement)
        status, report = verify(filled)
        assert (status, report["first_bad"]) == (3, bad)

    def test_every_flipped_bit_of_the_heads_hash(self, filled: Place, verify: Verify) -> None:
        [(original,)] = filled.tamper("SELECT last_hash FROM head")
        for at in range(0, 32, 1 if filled.kind == "sqlite" else 7):
            filled.tamper(
                "UPDATE head SET last_hash = $1", original[:at] + bytes([original[at] ^ 1]) + original[at + 1 :]
            )
            status, report = verify(filled)
            assert (status, report["first_bad"]) == (3, 5)

    def test_the_problem_is_told(self, filled: Place, capsys: pytest.CaptureFixture[str]) -> None:
        filled.tamper("DELETE FROM entries WHERE seq = 4")
        assert command("verify", *filled.arguments) == 3
        printed = capsys.readouterr()
        assert "first bad     4" in printed.out
        assert printed.err.startswith("Entry 4: ")


class TestDamage:
    def test_every_flipped_byte_of_the_file_is_found_or_harmless(
        self, sqlite_place: Place, batch: MakeBatch, verify: Verify
    ) -> None:
        place = sqlite_place
        fill(place, batch(*STEPS))
        path = place.data / "db" / "audit.sqlite"
        original, sound = path.read_bytes(), verify(place)
        found = 0
        for at in positions(len(original), 53):
            path.write_bytes(original[:at] + bytes([original[at] ^ 0x10]) + original[at + 1 :])
            status, report = verify(place)
            assert status in (0, 2, 3), at
            assert status != 0 or (status, report) == sound, at
            found += status == 3
        assert found > 10
        for length in (0, 100, 4096, len(original) - 4096, len(original) - 1):
            path.write_bytes(original[:length])
            assert verify(place)[0] in (2, 3)


class TestCannotRun:
    def test_no_log(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert command("verify", "--data", str(tmp_path)) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "no audit log" in printed.err
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "url", ["mysql://h/db", "sqlite:///x", "nonsense", "postgresql+asyncpg://u@127.0.0.1:1/db"]
    )
    def test_a_database_that_is_none(self, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert command("verify", "--database", url) == 2
        assert capsys.readouterr().err.count("\n") == 1

    def test_a_database_without_a_log(self, place: Place, verify: Verify) -> None:
        if place.kind == "sqlite":
            (place.data / "db").mkdir()
            place.tamper("CREATE TABLE other (x)")
        assert verify(place) == (2, {})

    def test_both_places_at_once(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as caught:
            command("verify", "--data", "a", "--database", "b")
        assert caught.value.code == 2
        assert "not allowed" in capsys.readouterr().err


class Generated:
    """A long log that is made while it is read."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.draft = chain.draft(Entry(id="x", phase="event", kind="test"))
        self.head, self.made = Head(), list[Node]()
        while self.head.size < size:
            made = chain.append(self.head, [self.draft] * PAGE, 0)
            self.head, self.made = made.head, [*self.made, *made.nodes]
        self.at = Head()

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def extent(self) -> Extent:
        return Extent(self.head, self.head.size)

    async def read(self, start: int, limit: int) -> Sequence[Row]:
        made = chain.append(self.at, [self.draft] * limit, 0)
        self.at = made.head if start >= 0 else self.at
        return made.rows

    async def nodes(self, level: int, start: int, limit: int) -> Sequence[Node]:
        return [node for node in self.made if node.level == level and node.index >= start][:limit]


def test_memory_does_not_grow_with_the_log() -> None:
    peaks = []
    for size in (5 * PAGE, 25 * PAGE):
        reader = Generated(size)
        tracemalloc.start()
        report = asyncio.run(verify_log(reader, lambda done, size: None))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (report.size, report.problem) == (size, None)
    assert peaks[1] < 1.1 * peaks[0]
