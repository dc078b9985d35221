"""The room that is kept for administration, and entries that do not grow with what callers send."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from mastio.exchange.values import Entry
from mastio_audit.log import chain
from mastio_audit.log.reserve import MEGABYTE, Reserve, is_from_outside, judge
from mastio_audit.log.shortening import KEPT_TEXT, MOST_ITEMS, MOST_TEXT, shorten
from mastio_audit.log.store import Space, StoreError
from support.audit.memory_store import MemoryStore, opened

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Place

REFUSED = {"status": "refused", "code": "missing_credential"}
INTENT = Entry("x", "intent", "llm.chat", agent="alice")


class Measured(MemoryStore):
    """A log whose room a test sets."""

    def __init__(self, *spaces: Space | None) -> None:
        super().__init__()
        self.spaces = list(spaces)

    async def space(self) -> Space:
        found = self.spaces.pop(0)
        if found is None:
            raise StoreError("nobody is there")
        return found


@pytest.mark.parametrize(
    ("space", "most", "free", "is_alarming", "is_low"),
    [
        (Space(5, 1000, 10_000), 0, 1000, False, False),
        (Space(5, 199, 10_000), 0, 199, True, False),
        (Space(5, 99, 10_000), 0, 99, True, True),
        (Space(5, 99, 200), 0, 99, False, False),  # a twentieth of a small disk
        (Space(950, 10_000, 100_000), 1000, 50, True, True),
        (Space(2000, 10_000, 100_000), 1000, 0, True, True),
        (Space(500), 1000, 500, False, False),
        (Space(500), 0, None, False, False),
    ],
)
def test_what_is_left(space: Space, most: int, free: int | None, is_alarming: bool, is_low: bool) -> None:
    room = judge(space, 100, most)
    assert (room.free, room.is_alarming, room.is_low) == (free, is_alarming, is_low)


@pytest.mark.parametrize(
    ("entry", "refused"),
    [
        (INTENT, True),
        (Entry("x", "event", "llm.chat", agent="alice", outcome=REFUSED), True),
        (Entry("x", "event", "llm.chat", outcome=REFUSED), True),
        (Entry("x", "intent", "enrollment.request"), True),
        (Entry("x", "outcome", "llm.chat", agent="alice", outcome={"status": "ok"}), False),
        (Entry("x", "intent", "admin.agents", credential={"type": "admin", "name": "root"}), False),
        (Entry("x", "event", "admin.agents", credential={"type": "admin"}, outcome=REFUSED), False),
        (Entry("x", "event", "appliance.start"), False),
    ],
)
def test_who_is_refused_when_room_is_low(entry: Entry, refused: bool) -> None:
    assert is_from_outside(entry) == refused


async def test_the_alarm_comes_before_agents_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    store = Measured(*(Space(0, free * MEGABYTE, 10**12) for free in (900, 30, 15, 5, 30)))
    reserve = Reserve(store, 10 * MEGABYTE, 0)
    with caplog.at_level(logging.ERROR):
        await reserve.look()
        await reserve.look()
        assert not caplog.messages and not reserve.refuses(INTENT)
        await reserve.look()
        assert "has 15 MB left" in caplog.text and not reserve.refuses(INTENT) and reserve.problem is None
        await reserve.look()
        assert reserve.refuses(INTENT) and reserve.problem is not None and "5 MB" in reserve.problem
        await reserve.look()
        assert not reserve.refuses(INTENT) and reserve.problem is None


async def test_what_cannot_be_measured_changes_nothing() -> None:
    reserve = Reserve(Measured(Space(0, 5, 10**12), None, None), 10, 0)
    await reserve.look()
    await reserve.look()
    assert reserve.refuses(INTENT)


async def test_the_room_of_a_log(place: Place) -> None:
    store = place.store()
    await store.open()
    await store.close()
    reader = place.reader()
    await reader.open()
    space = await reader.space()
    await reader.close()
    assert space.used > 0
    if place.kind == "sqlite":
        assert space.free and space.disk and space.free < space.disk
    else:
        assert (space.free, space.disk) == (None, None)


def digest(content: bytes) -> str:
    return f"<{len(content)}>"


class TestShortening:
    def test_long_texts_and_lists_are_cut(self) -> None:
        names = [f"tool-{n}" for n in range(MOST_ITEMS + 50)]
        request = {"path": "x" * 10_000, "tools": names, "deep": {"a": ["y" * 600]}, "n": 5, "rows": [{"a": 1}] * 300}
        short = shorten(Entry("x", "event", "llm.chat", target="t" * 600, request=request), digest)
        assert short.target == "t" * KEPT_TEXT + "... (600 characters, digest <600>)"
        assert short.request is not None
        assert short.request["path"].startswith("x" * KEPT_TEXT + "... (10000 characters")
        tools = short.request["tools"]
        assert tools[:-1] == names[:MOST_ITEMS] and tools[-1].startswith("(50 more, digest <")
        assert short.request["deep"]["a"][0].startswith("y" * KEPT_TEXT + "...")
        assert short.request["rows"][-1]["more"] == 100
        assert short.request["n"] == 5

    def test_what_is_short_stays(self) -> None:
        entry = Entry("x", "event", "llm.chat", request={"path": "x" * MOST_TEXT, "tools": ["a"] * MOST_ITEMS})
        assert shorten(entry, digest).request == entry.request

    @pytest.mark.parametrize("size", [100, 60_000, 1_000_000])
    async def test_an_entry_has_a_bound_whatever_was_sent(self, size: int) -> None:
        store = MemoryStore()
        async with opened(store, shorten=lambda entry: shorten(entry, digest)) as sequencer:
            await sequencer.record(Entry("x", "event", "test", request={"path": "x" * size}))
        rows: Sequence[Any] = [entry for _, entry in store.rows if b'"path"' in entry]
        assert len(rows[0]) < 1500
        assert chain.parse(rows[0])["request"]["path"].startswith("x" * 100)
