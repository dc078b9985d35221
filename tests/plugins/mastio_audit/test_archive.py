"""Moving sealed segments into an archive: store and archive stay one log, whatever happens in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from mastio.errors import MastioError
from mastio.exchange import Entry
from mastio.transparency import merkle, notes
from mastio.transparency.merkle import leaf_hash
from mastio_audit import archiving, tiles
from mastio_audit.archive import Archive, Archives, JoinedReader
from mastio_audit.archiving import Limits, archive
from mastio_audit.chain import Head
from mastio_audit.doors import Doors, Wanted
from mastio_audit.recompute import Recomputation
from mastio_audit.sequencer import Sequencer
from mastio_audit.store import Batch, StoreError
from mastio_audit.trust import Keyring
from mastio_audit.verify import verify_log
from mastio_audit.verify_served import verify_served
from support.audit.verification import (
    FIRST,
    ORIGIN,
    Served,
    append,
    checkpoint_of,
    command,
    event,
    export_of,
    keep,
    rows_of,
)

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Place

SIZE = 700
"""Two complete bundles and a bit."""

LATER = "2100-01-01"


class Archived:
    """A log of `SIZE` entries in a place, and the command that archives it."""

    def __init__(self, place: Place, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.place = place
        self.folder = folder
        self._capsys = capsys
        append(place, [event(number, bytes=number) for number in range(SIZE)])
        self.entries = rows_of(place)
        self.signed = checkpoint_of(self.entries)
        keep(place.data, self.signed)
        (place.data / "mastio.toml").write_text(f'[database]\nurl = "{place.url}"\n' if place.kind != "sqlite" else "")

    def run(self, *words: str) -> tuple[int, str, str]:
        status = command(*words)
        said = self._capsys.readouterr()
        return status, said.out, said.err

    def archive(self, before: str = LATER, *words: str) -> dict[str, Any]:
        status, out, err = self.run(
            "archive", "--data", str(self.place.data), "--before", before, "--to", str(self.folder), "--json", *words
        )
        assert status == 0, err
        done: dict[str, Any] = json.loads(out)
        return done

    def verify(self, *words: str) -> tuple[int, dict[str, Any] | str]:
        status, out, err = self.run("verify", "--data", str(self.place.data), "--json", *words)
        return status, json.loads(out) if out else err

    def ask(self, question: Callable[[Any], Any]) -> Any:
        async def run() -> Any:
            reader = self.place.reader()
            await reader.open()
            try:
                return await question(reader)
            finally:
                await reader.close()

        return asyncio.run(run())


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


def rows_all(log: Archived) -> list[bytes]:
    return [*log.entries[:512], *rows_of(log.place)]


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


def test_archiving_beside_a_running_appliance(log: Archived) -> None:
    """Entries are appended while the beginning is moved; afterwards it is one log."""

    async def run() -> None:
        announce: Callable[[str], Entry] = lambda kind: Entry("process", "event", kind)  # noqa: E731
        sequencer = Sequencer(log.place.store(), "node/0", lambda: 1_700_000_001.0, announce)
        await sequencer.open(lambda owner: owner == "node/0")
        checkpoint = notes.parse_checkpoint(notes.parse_note(log.signed).text)
        other = log.place.store("archive/0", alone=False)
        await other.open()
        moving = asyncio.create_task(archive(other, log.folder, Limits(4e9, checkpoint, {}), {}))
        number = 0
        while not moving.done():
            await sequencer.record(event(number))
            number += 1
        assert (await moving).end == 512
        await sequencer.record(event(number))
        await other.close()
        await sequencer.close()

    asyncio.run(run())
    assert log.verify("--archive", str(log.folder))[0] == 0


def test_a_bundle_with_an_open_intent_is_not_forgotten(log: Archived) -> None:
    log.place.tamper("INSERT INTO open_intents VALUES ($1, $2, $3)", 5, "x", "node/0")

    def nothing(head: Head) -> Batch:
        return Batch([], head)

    async def run() -> None:
        store = log.place.store()
        await store.open()
        try:
            with pytest.raises(StoreError):
                await store.forget(0, [b"x" * 8192], nothing)
            await store.close()
            await store.open()
            with pytest.raises(StoreError):
                await store.forget(1, [b"x" * 8192], nothing)
        finally:
            await store.close()

    asyncio.run(run())
    assert rows_of(log.place) == log.entries


def test_what_is_counted_beside_a_running_appliance_stays_counted(
    postgresql_place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Archived(postgresql_place, tmp_path / "archive", capsys)
    log.place.tamper("DELETE FROM audit_room")

    async def run() -> None:
        announce: Callable[[str], Entry] = lambda kind: Entry("process", "event", kind)  # noqa: E731
        sequencer = Sequencer(log.place.store(), "node/0", lambda: 1_700_000_001.0, announce)
        await sequencer.open(lambda owner: owner == "node/0")
        moving = asyncio.create_task(move(log))
        number = 0
        while not moving.done():
            await sequencer.record(event(number))
            number += 1
        await moving
        await sequencer.record(event(number))
        await sequencer.close()

    asyncio.run(run())
    rows = [len(row) + 64 for row in rows_of(log.place)]
    assert log.place.tamper("SELECT size, bytes FROM audit_room") == [(512 + len(rows), sum(rows))]


class Moving:
    """A reader, or a store, of a log whose beginning is archived just before the first read of more than one entry."""

    def __init__(self, log: Archived, reader: Any) -> None:
        self.log = log
        self.moved = False
        self._reader = reader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    async def read(self, start: int, limit: int) -> Any:
        if limit > 1 and not self.moved:
            self.moved = True
            await move(self.log)
        return await self._reader.read(start, limit)


async def move(log: Archived) -> None:
    store = log.place.store("archive/0", alone=False)
    await store.open()
    checkpoint = notes.parse_checkpoint(notes.parse_note(log.signed).text)
    assert (await archive(store, log.folder, Limits(4e9, checkpoint, {}), {})).end == 512
    await store.close()


class TestMovedMeanwhile:
    """What is archived between two questions of a reader is no damage, and no silent gap."""

    async def test_verification(self, stored: Archived) -> None:
        reader: Any = Moving(stored, stored.place.reader())
        report = await verify_log(JoinedReader(reader, [stored.folder]), lambda done, size: None)
        assert reader.moved and report.problem is None and report.size == SIZE

    async def test_a_gap_stays_a_gap(self, stored: Archived) -> None:
        stored.place.tamper("DELETE FROM entries WHERE seq = 600")
        reader: Any = Moving(stored, stored.place.reader())
        report = await verify_log(JoinedReader(reader, [stored.folder]), lambda done, size: None)
        assert reader.moved and report.problem is not None and report.first_bad == 600

    async def test_the_tree(self, stored: Archived) -> None:
        reader: Any = Moving(stored, stored.place.reader())
        await reader.open()
        root = notes.parse_checkpoint(notes.parse_note(checkpoint_of(stored.entries[:300])).text).root
        assert await tiles.read_root(reader, 300) == root and reader.moved
        await reader.close()

    async def test_an_appliance_that_starts(self, stored: Archived) -> None:
        store: Any = Moving(stored, stored.place.store())
        sequencer = Sequencer(store, "node/0", lambda: 1.0, lambda kind: Entry("process", "event", kind))
        await sequencer.open(lambda owner: owner == "node/0")
        assert store.moved and sequencer.closed is None
        await sequencer.close()

    @pytest.mark.parametrize("start", [0, -1])
    async def test_a_page_of_entries(self, stored: Archived, start: int) -> None:
        reader: Any = Moving(stored, stored.place.reader())
        keys: Any = SimpleNamespace(origin=ORIGIN, signers=lambda now: [FIRST])
        doors = Doors(reader, keys, lambda: 0.0, stored.place.data / "log" / "cosigned")
        recorded: Any = SimpleNamespace(
            message=SimpleNamespace(plan=Wanted(start=start, limit=10)),
            principal=SimpleNamespace(is_agent=False, name="demo"),
        )
        if start < 0:
            reply: Any = await doors.dispatch["audit.entries"](recorded)
            assert json.loads(reply.body.splitlines()[0])["seq"] == 512
        else:
            with pytest.raises(MastioError) as refused:
                await doors.dispatch["audit.entries"](recorded)
            assert refused.value.code == "archived" and "from=512" in dict(refused.value.headers)["Link"]
        assert reader.moved
        await doors.close()


class TestRest:
    """What the routes answer for entries that are not here any more."""

    @pytest.fixture
    def doors(self, stored: Archived) -> Iterator[Callable[..., Any]]:
        stored.archive()
        keys: Any = SimpleNamespace(origin=ORIGIN, signers=lambda now: [FIRST])
        made = Doors(stored.place.reader(), keys, lambda: 0.0, stored.place.data / "log" / "cosigned")
        loop = asyncio.new_event_loop()

        def ask(kind: str, plan: Wanted, is_agent: bool = False) -> Any:
            principal = SimpleNamespace(is_agent=is_agent, name="demo")
            recorded: Any = SimpleNamespace(message=SimpleNamespace(plan=plan), principal=principal)
            return loop.run_until_complete(made.dispatch[kind](recorded))

        ask.loop = loop  # type: ignore[attr-defined]
        yield ask
        loop.run_until_complete(made.close())
        loop.close()

    def test_entries_from_an_archived_index(self, doors: Callable[..., Any]) -> None:
        with pytest.raises(MastioError) as refused:
            doors("audit.entries", Wanted(start=0, limit=10))
        assert (refused.value.status, refused.value.code) == (410, "archived")
        assert "from=512" in dict(refused.value.headers)["Link"]

    @pytest.mark.parametrize("is_agent", [False, True])
    def test_entries_from_the_first_that_is_here(self, doors: Callable[..., Any], is_agent: bool) -> None:
        reply = doors("audit.entries", Wanted(start=-1, limit=10), is_agent)
        assert json.loads(reply.body.splitlines()[0])["seq"] == 512

    def test_tiles(self, doors: Callable[..., Any], stored: Archived) -> None:
        with pytest.raises(MastioError) as refused:
            doors("audit.tile", Wanted(tiles.Tile(tiles.ENTRIES, 1)))
        assert refused.value.code == "archived"
        assert doors("audit.tile", Wanted(tiles.Tile(0, 1))).body == b"".join(map(leaf_hash, stored.entries[256:512]))

    def test_proofs(self, doors: Callable[..., Any], stored: Archived) -> None:
        body = doors("audit.proof", Wanted(start=3)).body
        index, hashes, signed = notes.parse_proof(body)
        found = notes.parse_checkpoint(notes.parse_note(signed).text)
        merkle.verify_inclusion(index, leaf_hash(stored.entries[3]), 0, found.size, found.root, hashes)
        with pytest.raises(MastioError) as refused:
            doors("audit.proof", Wanted(start=3), True)
        assert refused.value.code == "archived", "an agent has to show that it is its own entry"

    def test_what_is_archived_while_it_is_read_is_no_damage(
        self, doors: Callable[..., Any], stored: Archived, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The export was begun before."""
        find = Doors._find_ends

        async def find_earlier(self: Doors) -> Any:
            return (await find(self))[0], 0

        monkeypatch.setattr(Doors, "_find_ends", find_earlier)
        reply = doors("audit.export", Wanted())
        with pytest.raises(MastioError) as refused:
            doors.loop.run_until_complete(anext(aiter(reply.body)))  # type: ignore[attr-defined]
        assert refused.value.code == "archived"

    def test_the_export_begins_with_what_is_here(self, doors: Callable[..., Any], stored: Archived) -> None:
        reply = doors("audit.export", Wanted())

        async def read() -> bytes:
            return b"".join([window.data async for window in reply.body])

        lines = doors.loop.run_until_complete(read()).splitlines()  # type: ignore[attr-defined]
        assert json.loads(lines[0])["seq"] == 512 and len(lines) == SIZE + 1 - 512 + 1
