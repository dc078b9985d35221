"""Finding entries by what they say: in both databases, in archives, in either order, and never what only looks so."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mastio.exchange.values import Entry
from mastio_audit import search as searching
from mastio_audit.log.archive import JoinedReader
from mastio_audit.log.chain import append as chain_append
from mastio_audit.log.chain import draft
from mastio_audit.log.store import Batch
from mastio_audit.search import EntryFilter, Page, find_first, search
from support.audit.archived_log import SIZE, Archived
from support.audit.verification import command

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Place

BEGAN = 1_700_000_000.0
NESTED = {"agent": "alice", "kind": "llm.chat", "id": "two", "effect": "deny", "text": '{"agent":"alice","kind":"x"'}


def entries() -> list[Entry]:
    """One a minute."""
    return [
        Entry("start", "event", "appliance.start"),
        Entry("one", "intent", "llm.chat", agent="alice", decision={"effect": "allow", "rule": "starter"}),
        Entry("one", "outcome", "llm.chat", agent="alice", outcome={"status": "ok"}),
        Entry("two", "event", "llm.chat", agent="bob", decision={"effect": "deny"}, outcome={"status": "refused"}),
        Entry("odd", "event", "egress.http", agent="bob", request=NESTED),
        Entry("three", "intent", "llm.chats", agent="alice2", decision={"effect": "hold", "rule": "deny"}),
    ]


@pytest.fixture
def log(place: Place) -> Place:
    async def fill() -> None:
        store = place.store()
        await store.open()
        for number, entry in enumerate(entries()):
            await store.append(lambda head, e=entry, n=number: _batch(head, e, BEGAN + 60 * n))
        await store.close()

    asyncio.run(fill())
    return place


def _batch(head: Any, entry: Entry, at: float) -> Batch:
    made = chain_append(head, [draft(entry)], at)
    return Batch(made.rows, made.head, made.nodes)


def found(place: Place, wanted: EntryFilter, within: range = range(6), limit: int = 100, **more: Any) -> Page:
    async def run() -> Page:
        reader = place.reader()
        await reader.open()
        try:
            return await search(reader, wanted, within, limit, **more)
        finally:
            await reader.close()

    return asyncio.run(run())


WANTED = {
    "all": (EntryFilter(), [0, 1, 2, 3, 4, 5]),
    "agent": (EntryFilter(agent="alice"), [1, 2]),
    "kind": (EntryFilter(kind="llm.chat"), [1, 2, 3]),
    "kinds": (EntryFilter(kind="llm.*"), [1, 2, 3, 5]),
    "every kind": (EntryFilter(kind="*"), [0, 1, 2, 3, 4, 5]),
    "request": (EntryFilter(request_id="two"), [3]),
    "denied": (EntryFilter(decision="deny"), [3]),
    "held": (EntryFilter(decision="hold"), [5]),
    "two at once": (EntryFilter(agent="bob", decision="deny"), [3]),
    "since": (EntryFilter(since=BEGAN + 180), [3, 4, 5]),
    "nobody": (EntryFilter(agent='alice","kind":"x'), []),
    "wild card is none": (EntryFilter(agent="al%"), []),
}


@pytest.mark.parametrize("name", WANTED)
def test_what_is_wanted_is_found_and_nothing_else(log: Place, name: str) -> None:
    wanted, indexes = WANTED[name]
    for newest_first in (False, True):
        page = found(log, wanted, newest_first=newest_first)
        assert [seq for seq, _ in page.rows] == (indexes[::-1] if newest_first else indexes)
        assert page.following is None


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_follow_each_other_without_a_gap(
    log: Place, newest_first: bool, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "SCAN", 2)
    rows, within, wanted = list[int](), range(6), EntryFilter(kind="llm.chat")
    for _ in range(8):
        page = found(log, wanted, within, limit, newest_first=newest_first)
        rows += [seq for seq, _ in page.rows]
        if page.following is None:
            break
        within = range(page.following + 1) if newest_first else range(page.following, 6)
    assert rows == ([3, 2, 1] if newest_first else [1, 2, 3])


def test_a_page_has_so_many_bytes_and_at_least_one_entry(log: Place) -> None:
    page = found(log, EntryFilter(), most_bytes=1)
    assert ([seq for seq, _ in page.rows], page.following) == ([0], 1)
    page = found(log, EntryFilter(), newest_first=True, most_bytes=len(log.entry(5)) + len(log.entry(4)))
    assert ([seq for seq, _ in page.rows], page.following) == ([5, 4], 3)


@pytest.mark.parametrize(("minutes", "index"), [(-1, 0), (0, 0), (0.5, 1), (3, 3), (5, 5), (6, 6)])
def test_the_first_entry_of_a_time(log: Place, minutes: float, index: int) -> None:
    async def run() -> int:
        reader = log.reader()
        await reader.open()
        try:
            return await find_first(reader, range(6), BEGAN + 60 * minutes)
        finally:
            await reader.close()

    assert asyncio.run(run()) == index


def test_store_and_archive_are_searched_as_one(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Archived(place, tmp_path / "archive", capsys)
    log.archive()

    async def run(newest_first: bool) -> list[int]:
        reader = JoinedReader(place.reader(), [log.folder])
        await reader.open()
        try:
            rows = await reader.find(range(250, SIZE), 400, [b'"agent":"demo"'], newest_first)
            return [seq for seq, _ in rows]
        finally:
            await reader.close()

    assert asyncio.run(run(newest_first=False)) == list(range(250, 650))
    assert asyncio.run(run(newest_first=True)) == list(range(SIZE - 1, SIZE - 401, -1))


def test_the_command_prints_the_newest_first(log: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("list", *log.arguments, "--json", "--agent", "alice") == 0
    assert [json.loads(line)["seq"] for line in capsys.readouterr().out.splitlines()] == [2, 1]
    assert command("list", *log.arguments, "--limit", "2") == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["INDEX", "TIME", "ID"]
    assert [line.split()[0] for line in lines] == ["5", "4"]
    assert command("list", *log.arguments, "--since", "2023-11-14T22:17:00Z", "--json") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert command("list", *log.arguments, "--since", "999999d", "--json") == 0
    assert len(capsys.readouterr().out.splitlines()) == 6
    assert command("list", *log.arguments, "--request-id", "absent") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1, "the header"


@pytest.mark.parametrize("words", [("--limit", "0"), ("--since", "yesterday"), ("--since", "9999999d")])
def test_used_wrongly(log: Place, capsys: pytest.CaptureFixture[str], words: tuple[str, str]) -> None:
    assert command("list", *log.arguments, *words) == 2
    assert capsys.readouterr().err.count("\n") == 1
