"""Archiving while an appliance runs: what is counted stays counted, and what moves meanwhile is no damage."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from mastio.exchange.errors import MastioError
from mastio.exchange.values import Entry
from mastio_audit.admin_api import LogApi
from mastio_audit.log import tiles
from mastio_audit.log.archive import JoinedReader
from mastio_audit.log.archiving import Limits, archive
from mastio_audit.log.chain import Head
from mastio_audit.log.sequencer import Sequencer
from mastio_audit.log.store import Batch, StoreError
from mastio_audit.query import EntryQuery
from mastio_audit.search import EntryFilter
from mastio_audit.verification.store import verify_log
from mastio_primitives.transparency import merkle, notes
from mastio_primitives.transparency.merkle import leaf_hash
from support.audit.archived_log import SIZE, Archived
from support.audit.verification import FIRST, ORIGIN, checkpoint_of, event, rows_of

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Place


@pytest.fixture
def log(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Archived:
    return Archived(place, tmp_path / "archive", capsys)


@pytest.fixture
def stored(sqlite_place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Archived:
    """In SQLite, for what is the same in both places."""
    return Archived(sqlite_place, tmp_path / "archive", capsys)


def test_archiving_beside_a_running_appliance(log: Archived) -> None:
    """Entries are appended while the beginning is moved; afterwards it is one log."""

    async def run() -> None:
        announce: Callable[[str], Entry] = lambda kind: Entry("process", "event", kind)  # noqa: E731
        sequencer = Sequencer(log.place.store(), "node/0", lambda: 1_700_000_001.0, announce)
        await sequencer.open(lambda owner: owner == "node/0")
        checkpoint = notes.parse_checkpoint(notes.parse_note(log.signed).text)
        other = log.place.store("archive/0", inline=False)
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


def test_a_bundle_with_a_hole_is_not_forgotten(log: Archived) -> None:
    """What was copied elsewhere is all of it, or nothing goes."""
    log.place.tamper("DELETE FROM entries WHERE seq = $1", 7)
    before = rows_of(log.place)

    async def run() -> None:
        store = log.place.store()
        await store.open()
        try:
            with pytest.raises(StoreError, match="archived"):
                await store.forget(0, [b"x" * 8192], lambda head: Batch([], head))
        finally:
            await store.close()

    asyncio.run(run())
    assert rows_of(log.place) == before


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
        if limit > 1:
            await self._move()
        return await self._reader.read(start, limit)

    async def find(self, *question: Any) -> Any:
        await self._move()
        return await self._reader.find(*question)

    async def _move(self) -> None:
        if not self.moved:
            self.moved = True
            await move(self.log)


async def move(log: Archived) -> None:
    store = log.place.store("archive/0", inline=False)
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

    @pytest.mark.parametrize("start", [0, None])
    async def test_a_page_of_entries(self, stored: Archived, start: int | None) -> None:
        reader: Any = Moving(stored, stored.place.reader())
        keys: Any = SimpleNamespace(origin=ORIGIN, signers=lambda now: [FIRST])
        doors = LogApi(reader, keys, lambda: 0.0, stored.place.data / "log" / "cosigned")
        recorded: Any = SimpleNamespace(
            message=SimpleNamespace(plan=asked(start)),
            principal=SimpleNamespace(is_agent=False, name="demo"),
        )
        if start is None:
            reply: Any = await doors.dispatch["audit.entries"](recorded)
            assert json.loads(reply.body.splitlines()[0])["seq"] == 512
        else:
            with pytest.raises(MastioError) as refused:
                await doors.dispatch["audit.entries"](recorded)
            assert refused.value.code == "archived" and "from=512" in dict(refused.value.headers)["Link"]
        assert reader.moved
        await doors.close()


def asked(start: int | None) -> EntryQuery:
    return EntryQuery(EntryFilter(), start, 10, newest_first=False, query={"limit": "10"})


class TestRest:
    """What the routes answer for entries that are not here any more."""

    @pytest.fixture
    def doors(self, stored: Archived) -> Iterator[Callable[..., Any]]:
        stored.archive()
        keys: Any = SimpleNamespace(origin=ORIGIN, signers=lambda now: [FIRST])
        made = LogApi(stored.place.reader(), keys, lambda: 0.0, stored.place.data / "log" / "cosigned")
        loop = asyncio.new_event_loop()

        def ask(kind: str, plan: Any, is_agent: bool = False) -> Any:
            principal = SimpleNamespace(is_agent=is_agent, name="demo")
            recorded: Any = SimpleNamespace(message=SimpleNamespace(plan=plan), principal=principal)
            return loop.run_until_complete(made.dispatch[kind](recorded))

        ask.loop = loop  # type: ignore[attr-defined]
        yield ask
        loop.run_until_complete(made.close())
        loop.close()

    def test_entries_from_an_archived_index(self, doors: Callable[..., Any]) -> None:
        with pytest.raises(MastioError) as refused:
            doors("audit.entries", asked(0))
        assert (refused.value.status, refused.value.code) == (410, "archived")
        assert "from=512" in dict(refused.value.headers)["Link"]

    @pytest.mark.parametrize("is_agent", [False, True])
    def test_entries_from_the_first_that_is_here(self, doors: Callable[..., Any], is_agent: bool) -> None:
        reply = doors("audit.entries", asked(None), is_agent)
        assert json.loads(reply.body.splitlines()[0])["seq"] == 512

    def test_tiles(self, doors: Callable[..., Any], stored: Archived) -> None:
        with pytest.raises(MastioError) as refused:
            doors("audit.tile", tiles.Tile(tiles.ENTRIES, 1))
        assert refused.value.code == "archived"
        assert doors("audit.tile", tiles.Tile(0, 1)).body == b"".join(map(leaf_hash, stored.entries[256:512]))

    def test_proofs(self, doors: Callable[..., Any], stored: Archived) -> None:
        body = doors("audit.proof", 3).body
        index, hashes, signed = notes.parse_proof(body)
        found = notes.parse_checkpoint(notes.parse_note(signed).text)
        merkle.verify_inclusion(index, leaf_hash(stored.entries[3]), 0, found.size, found.root, hashes)
        with pytest.raises(MastioError) as refused:
            doors("audit.proof", 3, True)
        assert refused.value.code == "archived", "an agent has to show that it is its own entry"

    def test_what_is_archived_while_it_is_read_is_no_damage(
        self, doors: Callable[..., Any], stored: Archived, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The export was begun before."""
        find = LogApi._find_ends

        async def find_earlier(self: LogApi) -> Any:
            return (await find(self))[0], 0

        monkeypatch.setattr(LogApi, "_find_ends", find_earlier)
        reply = doors("audit.export", None)
        with pytest.raises(MastioError) as refused:
            doors.loop.run_until_complete(anext(aiter(reply.body)))  # type: ignore[attr-defined]
        assert refused.value.code == "archived"

    def test_the_export_begins_with_what_is_here(self, doors: Callable[..., Any], stored: Archived) -> None:
        reply = doors("audit.export", None)

        async def read() -> bytes:
            return b"".join([window.data async for window in reply.body])

        lines = doors.loop.run_until_complete(read()).splitlines()  # type: ignore[attr-defined]
        assert json.loads(lines[0])["seq"] == 512 and len(lines) == SIZE + 1 - 512 + 1
