"""Moving sealed segments into an archive: store and archive stay one log, whatever happens in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mastio.exchange.values import Entry
from mastio_audit.log import archiving, tiles
from mastio_audit.log.archive import Archive, Archives
from mastio_audit.log.chain import Head
from mastio_audit.log.sequencer import Sequencer
from mastio_audit.log.store import Batch, StoreError
from mastio_audit.verification.recompute import Recomputation
from mastio_audit.verification.served import verify_served
from mastio_audit.verification.trust import Keyring
from mastio_primitives.transparency import merkle, notes
from mastio_primitives.transparency.merkle import leaf_hash
from support.audit.archived_log import LATER, SIZE, Archived, rows_all
from support.audit.verification import FIRST, Served, append, checkpoint_of, command, event, export_of, keep, rows_of

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Place


@pytest.fixture
def log(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Archived:
    return Archived(place, tmp_path / "archive", capsys)


@pytest.fixture
def stored(sqlite_place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Archived:
    """In SQLite, for what is the same in both places."""
    return Archived(sqlite_place, tmp_path / "archive", capsys)


def test_store_and_archive_are_one_log(log: Archived) -> None:
    done = log.archive()
    assert (done["start"], done["end"]) == (0, 512)
    assert [row[0] for row in log.place.tamper("SELECT min(seq) FROM entries")] == [512]
    status, report = log.verify()
    assert status == 0 and isinstance(report, dict), report
    assert report["size"] == SIZE + 1, "and the entry that says so"
    assert report["problem"] is None and report["checkpoints"] == 1
    last = json.loads(log.place.entry(SIZE))
    assert last["kind"] == "audit.archived"
    assert last["request"] == {"folder": "archive", "from": 0, "to": 511}
    assert log.archive()["start"] == 512, "a second time there is nothing to do"
    assert log.verify()[0] == 0


def test_the_archive_is_in_tiles_that_anybody_can_read(stored: Archived) -> None:
    stored.archive()
    content = (stored.folder / "tile" / "entries" / "001").read_bytes()
    assert tiles.unbundle(content) == stored.entries[256:512]
    hashes = (stored.folder / "tile" / "0" / "001").read_bytes()
    assert hashes == b"".join(map(leaf_hash, stored.entries[256:512]))
    assert (stored.folder / "checkpoint").read_bytes() == stored.signed
    assert str(FIRST.verifier) in (stored.folder / "vkey").read_text()
    assert stored.folder.stat().st_mode & 0o077 == 0


def test_without_the_archive_the_log_cannot_be_verified(stored: Archived) -> None:
    stored.archive()
    (stored.place.data / "log" / "archives").unlink()
    status, said = stored.verify()
    assert status == 2 and "Entries 0 to 255" in said and "--archive" in said
    assert stored.verify("--archive", str(stored.folder))[0] == 0


@pytest.mark.parametrize(("name", "first_bad"), [("tile/entries/000", 7), ("tile/entries/001", 263)])
def test_a_changed_entry_in_the_archive_is_named(stored: Archived, name: str, first_bad: int) -> None:
    stored.archive()
    file = stored.folder / name
    entries = tiles.unbundle(file.read_bytes())
    entries[7] = entries[7].replace(b'"kind":"test"', b'"kind":"tess"')
    file.write_bytes(tiles.bundle(entries))
    status, report = stored.verify()
    assert status == 3 and isinstance(report, dict) and report["first_bad"] == first_bad


def test_a_cut_bundle_is_named(stored: Archived) -> None:
    stored.archive()
    file = stored.folder / "tile" / "entries" / "001"
    file.write_bytes(file.read_bytes()[:-10])
    status, report = stored.verify()
    assert status == 3 and isinstance(report, dict) and report["first_bad"] == 256


def test_a_changed_hash_of_an_archived_entry_is_named(log: Archived) -> None:
    log.archive()
    log.place.tamper("DELETE FROM archived WHERE idx = $1", 1) if log.place.kind == "sqlite" else log.place.tamper(
        "DELETE FROM audit_archived WHERE idx = $1", 0
    )
    status, report = log.verify()
    assert status == 3, report


def test_every_entry_is_proven_as_before(log: Archived) -> None:
    log.archive()
    root, size = notes.parse_checkpoint(notes.parse_note(log.signed).text).root, SIZE

    async def prove(reader: Any) -> None:
        for index in (0, 1, 255, 256, 511, 512, 699):
            hashes = await tiles.read_proof(reader, merkle.inclusion(index, size), size)
            merkle.verify_inclusion(index, leaf_hash(log.entries[index]), 0, size, root, hashes)
        for old in (1, 100, 256, 300, 512, 600):
            assert (
                await tiles.read_root(reader, old)
                == notes.parse_checkpoint(notes.parse_note(checkpoint_of(log.entries[:old])).text).root
            )
        assert await tiles.read_tile(reader, tiles.Tile(0, 1)) == b"".join(map(leaf_hash, log.entries[256:512]))

    log.ask(prove)


def test_the_command_line_proves_and_exports_from_both(stored: Archived, tmp_path: Path) -> None:
    stored.archive()
    keep(stored.place.data, stored.signed)
    data = str(stored.place.data)
    status, out, _ = stored.run("prove", "3", "--data", data)
    assert status == 0 and out.startswith("c2sp.org/tlog-proof")
    file = tmp_path / "export.ndjson"
    assert stored.run("export", "--data", data, "-o", str(file))[0] == 0
    assert file.read_bytes().splitlines()[:-1] == stored.entries
    assert stored.run("verify", "--export", str(file))[0] == 0


def test_an_export_that_begins_later_is_verified_with_the_archive(stored: Archived, tmp_path: Path) -> None:
    stored.archive()
    file = tmp_path / "export.ndjson"
    file.write_bytes(export_of(stored.entries[512:], stored.signed))
    status, out, _ = stored.run("verify", "--export", str(file), "--archive", str(stored.folder), "--json")
    assert status == 0 and json.loads(out)["size"] == SIZE
    status, _, err = stored.run("verify", "--export", str(file), "--json")
    assert status == 2 and "Entries 0 to 255" in err and "--archive" in err


def test_a_served_log_is_verified_with_the_archive(stored: Archived) -> None:
    stored.archive()
    keep(stored.place.data, checkpoint_of(rows_all(stored)))
    served = Served(stored.place.data)
    archives = Archives([stored.folder])

    def fetch(path: str) -> bytes:
        return archives.content(path) or served.fetch(path)

    try:
        report = verify_served(fetch, lambda done, size: None, Recomputation(Keyring()))
        assert (report.problem, report.size) == (None, SIZE + 1)
    finally:
        served.close()


class TestLimits:
    """What stays in the store."""

    def test_entries_of_the_time_and_later(self, stored: Archived) -> None:
        done = stored.archive("2023-11-14")
        assert (done["end"], done["reason"]) == (0, "the rest is not older")

    def test_what_no_checkpoint_covers(self, stored: Archived) -> None:
        keep(stored.place.data, checkpoint_of(stored.entries[:300]))
        done = stored.archive()
        assert done["end"] == 256 and "checkpoint" in done["reason"]

    def test_what_a_sink_has_not_been_given(self, stored: Archived) -> None:
        (stored.place.data / "sinks").mkdir()
        (stored.place.data / "sinks" / "siem").write_text("300\n")
        done = stored.archive()
        assert done["end"] == 256 and "siem" in done["reason"]
        assert stored.archive(LATER, "--ignore-sink", "siem")["end"] == 512

    def test_a_sink_of_which_nobody_knows_how_far_it_is(self, stored: Archived) -> None:
        (stored.place.data / "sinks").mkdir()
        (stored.place.data / "sinks" / "siem").write_text("soon\n")
        words = ("archive", "--data", str(stored.place.data), "--before", LATER, "--to", str(stored.folder))
        status, _, err = stored.run(*words)
        assert status == 2 and "siem" in err and rows_of(stored.place) == stored.entries
        assert stored.archive(LATER, "--ignore-sink", "siem")["end"] == 512

    def test_an_exchange_that_is_not_over(self, log: Archived) -> None:
        table = "open_intents"
        log.place.tamper(f"INSERT INTO {table} VALUES ($1, $2, $3)", 300, "x", "node/0")
        done = log.archive()
        assert done["end"] == 256 and "entry 300 is not over" in done["reason"]
        log.place.tamper(f"DELETE FROM {table} WHERE seq = $1", 300)

    def test_the_last_bundle(self, sqlite_place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        append(sqlite_place, [event(number) for number in range(512)])
        keep(sqlite_place.data, checkpoint_of(rows_of(sqlite_place)))
        command("archive", "--data", str(sqlite_place.data), "--before", LATER, "--to", str(tmp_path / "a"), "--json")
        assert json.loads(capsys.readouterr().out)["end"] == 256

    @pytest.mark.parametrize("before", ["soon", "2026-13-01", "d"])
    def test_what_is_no_time(self, stored: Archived, before: str) -> None:
        status, _, err = stored.run(
            "archive", "--data", str(stored.place.data), "--before", before, "--to", str(stored.folder)
        )
        assert status == 2 and "is no time" in err

    def test_another_log_in_the_folder(self, stored: Archived) -> None:
        (stored.folder / "tile" / "entries").mkdir(parents=True)
        (stored.folder / "tile" / "entries" / "000").write_bytes(b"another")
        status, _, err = stored.run(
            "archive", "--data", str(stored.place.data), "--before", LATER, "--to", str(stored.folder)
        )
        assert status == 2 and "another log" in err
        assert rows_of(stored.place)[:SIZE] == stored.entries


class Cut(Exception):
    """The process ends here."""


STEPS = ("write", "sync", "forget before", "forget after")


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_loses_nothing_and_the_next_run_goes_on(
    stored: Archived, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(*_: Any) -> Any:
        raise Cut

    with monkeypatch.context() as patch:
        patch.setattr(archiving, "AT_ONCE", 1)
        if step == "write":
            patch.setattr(archiving, "_write_durably", after(3, archiving._write_durably, cut))
        elif step == "sync":
            patch.setattr(archiving, "_sync_folders", after(4, archiving._sync_folders, cut))
        else:
            store = type(stored.place.store())
            inner = store._forget  # type: ignore[attr-defined]

            def forget(self: Any, index: int, *rest: Any) -> Any:
                if index == 1 and step == "forget before":
                    raise Cut
                head = inner(self, index, *rest)
                if index == 1:
                    raise Cut
                return head

            patch.setattr(store, "_forget", forget)
        with pytest.raises(Cut):
            stored.archive()
    assert stored.verify()[0] == 0, "it is whole at every moment"
    [(first,)] = stored.place.tamper("SELECT min(seq) FROM entries")
    assert announced(stored) == list(range(0, first, 256)), "what is not here any more was said"
    assert stored.archive()["end"] == 512
    assert stored.verify()[0] == 0


def announced(log: Archived) -> list[int]:
    """Where what was said to have been moved begins."""
    entries = [json.loads(entry) for entry in rows_of(log.place)]
    return [entry["request"]["from"] for entry in entries if entry["kind"] == "audit.archived"]


def test_what_is_moved_and_its_entry_are_one_transaction(log: Archived) -> None:
    def fail(head: Head) -> Batch:
        raise StoreError("no room")

    async def run() -> None:
        store = log.place.store()
        await store.open()
        with pytest.raises(StoreError):
            await store.forget(0, [b"x" * 8192], fail)
        await store.close()

    asyncio.run(run())
    assert rows_of(log.place) == log.entries


def used(log: Archived) -> int:
    async def ask(reader: Any) -> int:
        return int((await reader.space()).used)

    return int(log.ask(ask))


def test_archiving_gives_room_back(log: Archived) -> None:
    append(log.place, [event(number, text="x" * 400) for number in range(2000)])
    keep(log.place.data, checkpoint_of(rows_of(log.place)))
    before, entries = used(log), sum(map(len, rows_of(log.place)))
    assert entries < before < 2 * entries
    assert log.archive()["end"] == 2560
    assert used(log) < before / 2


def test_what_an_earlier_version_stored_is_counted_when_it_is_archived(
    postgresql_place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Archived(postgresql_place, tmp_path / "archive", capsys)
    [(counted,)] = log.place.tamper("SELECT bytes FROM audit_room")
    assert counted == sum(len(entry) + 64 for entry in log.entries)
    log.place.tamper("UPDATE audit_room SET size = size - 1, bytes = bytes - 200")
    [(table,)] = log.place.tamper("SELECT pg_total_relation_size('audit_entries')")
    assert used(log) >= table, "what an earlier version appended to is not known"
    log.place.tamper("DELETE FROM audit_room")
    assert used(log) >= table
    log.archive()
    rows = rows_of(log.place)
    assert log.place.tamper("SELECT size, bytes FROM audit_room") == [(SIZE + 1, sum(len(row) + 64 for row in rows))]


def after(count: int, good: Callable[..., Any], bad: Callable[..., Any]) -> Callable[..., Any]:
    """`good` so many times, then `bad`."""
    left = [count]

    def call(*args: Any) -> Any:
        left[0] -= 1
        return good(*args) if left[0] >= 0 else bad(*args)

    return call


def test_an_archive_that_does_not_read_back_deletes_nothing(stored: Archived, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Archive.read
    monkeypatch.setattr(Archive, "read", lambda self, index: [*(read(self, index) or [])[:-1], b"{}"])
    status, _, err = stored.run(
        "archive", "--data", str(stored.place.data), "--before", LATER, "--to", str(stored.folder)
    )
    assert status == 3 and "does not read back" in err
    assert rows_of(stored.place) == stored.entries


def test_what_was_never_written_cannot_be_archived(log: Archived) -> None:
    log.archive()
    table = "archived" if log.place.kind == "sqlite" else "audit_archived"
    log.place.tamper(f"INSERT INTO {table} VALUES ($1, $2)", 2, bytes(256 * 32))
    status, report = log.verify()
    assert status == 3 and isinstance(report, dict), report
    assert report["first_bad"] is not None and "archived" in report["problem"]


def test_a_damaged_entry_is_not_archived(stored: Archived) -> None:
    stored.place.put(5, stored.entries[5].replace(b'"kind":"test"', b'"kind":"tess"'))
    status, _, _ = stored.run(
        "archive", "--data", str(stored.place.data), "--before", LATER, "--to", str(stored.folder)
    )
    assert status == 3 and len(rows_of(stored.place)) == SIZE


def test_an_appliance_starts_and_goes_on_with_an_archived_beginning(log: Archived) -> None:
    log.archive()

    async def run() -> None:
        announce: Callable[[str], Entry] = lambda kind: Entry("process", "event", kind)  # noqa: E731
        for _ in range(2):
            sequencer = Sequencer(log.place.store(), "node/0", lambda: 1_700_000_001.0, announce)
            await sequencer.open(lambda owner: owner == "node/0")
            await sequencer.record(Entry("x", "intent", "test"))
            await sequencer.record(Entry("x", "outcome", "test", outcome={"status": "ok"}))
            await sequencer.close()

    asyncio.run(run())
    assert log.verify()[0] == 0
