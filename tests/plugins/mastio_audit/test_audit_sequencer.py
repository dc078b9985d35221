"""The sequencer on a store in memory that can wait, fail before or after keeping a batch, and lose what it had."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest
from mastio_audit import chain
from mastio_audit.chain import ChainError, Head, Row
from mastio_audit.sequencer import Sequencer
from mastio_audit.store import Build, Extent, OpenIntent, StoreError

from mastio.errors import AuditError
from mastio.exchange import Entry, Phase

Fault = Literal["before", "after", "defect"]


class MemoryStore:
    """Keeps rows in a list. `fault` strikes at the next append: before or after the batch is kept."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.head = Head()
        self.open_intents: dict[int, OpenIntent] = {}
        self.fault: Fault | None = None
        self.unreachable = 0
        self.gate: asyncio.Event | None = None
        self.batches: list[int] = []
        self.is_open = False

    async def open(self) -> None:
        if self.unreachable:
            self.unreachable -= 1
            raise StoreError("nobody is there")
        self.is_open = True

    async def close(self) -> None:
        self.is_open = False

    async def append(self, build: Build) -> Head:
        assert self.is_open
        if self.gate is not None:
            await self.gate.wait()
        fault, self.fault = self.fault, None
        if fault == "before":
            raise StoreError("disk full")
        if fault == "defect":
            raise ZeroDivisionError
        batch = build(self.head)
        for seq in batch.closed:
            del self.open_intents[seq]
        self.open_intents |= {intent.seq: intent for intent in batch.opened}
        self.rows += batch.rows
        self.head = batch.head
        self.batches.append(len(batch.rows))
        if fault == "after":
            raise StoreError("connection lost")
        return batch.head

    async def extent(self) -> Extent:
        return Extent(self.head, len(self.rows))

    async def read(self, start: int, limit: int) -> Sequence[Row]:
        return self.rows[start : start + limit]

    async def leftovers(self, owner: str) -> Sequence[Row]:
        return [self.rows[seq] for seq, intent in self.open_intents.items() if intent.owner == owner]

    async def owners(self) -> Sequence[str]:
        return list({intent.owner for intent in self.open_intents.values()})

    def documents(self, kind: str = "test") -> list[tuple[str, str, Any]]:
        """Phase, id and outcome of the stored entries of a kind."""
        documents = [chain.parse(entry) for _, entry in self.rows]
        return [(d["phase"], d["id"], d["outcome"]) for d in documents if d["kind"] == kind]


def make(phase: Phase, exchange: str) -> Entry:
    return Entry(id=exchange, phase=phase, kind="test", outcome={"status": "ok"} if phase == "outcome" else None)


@asynccontextmanager
async def opened(store: MemoryStore, **options: Any) -> AsyncIterator[Sequencer]:
    clock = itertools.count(1_700_000_000)
    announce: Callable[[str], Entry] = lambda kind: Entry(id="process", phase="event", kind=kind)  # noqa: E731
    sequencer = Sequencer(store, "node/0", lambda: float(next(clock)), announce, **options)
    await sequencer.open(lambda owner: owner == "node/0")
    try:
        yield sequencer
    finally:
        await sequencer.close()
        assert chain.verify(store.rows, store.head).open == {i.id: i.seq for i in store.open_intents.values()}


async def in_service(sequencer: Sequencer) -> None:
    for _ in range(500):
        if sequencer.closed is None:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(sequencer.closed)


async def refused(record: asyncio.Task[int] | asyncio.Future[int]) -> AuditError:
    with pytest.raises(AuditError) as caught:
        await record
    assert caught.value.status == 503
    assert dict(caught.value.headers)["Retry-After"] == "1"
    return caught.value


class TestOrder:
    async def test_the_index_is_that_of_the_stored_entry(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            for number in range(5):
                index = await sequencer.record(make("event", f"{number}"))
                assert chain.parse(store.rows[index][1])["id"] == f"{number}"

    async def test_the_start_is_an_event(self) -> None:
        store = MemoryStore()
        async with opened(store):
            assert store.documents("appliance.start") == [("event", "process", None)]

    async def test_nobody_is_answered_before_the_commit(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            store.gate = asyncio.Event()
            record = asyncio.create_task(sequencer.record(make("event", "a")))
            await asyncio.sleep(0.02)
            assert not record.done()
            store.gate.set()
            assert await record == 1

    async def test_what_gathers_during_a_commit_is_the_next_batch(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            store.gate = asyncio.Event()
            records = [asyncio.create_task(sequencer.record(make("event", "0")))]
            await asyncio.sleep(0.01)
            records += [asyncio.create_task(sequencer.record(make("event", f"{n}"))) for n in range(1, 100)]
            await asyncio.sleep(0.01)
            store.gate.set()
            assert await asyncio.gather(*records) == list(range(1, 101))
            assert store.batches == [1, 1, 99]

    async def test_a_batch_is_bounded(self) -> None:
        store = MemoryStore()
        async with opened(store, batch=10) as sequencer:
            await asyncio.gather(*(sequencer.record(make("event", "x")) for _ in range(35)))
            assert store.batches == [1, 10, 10, 10, 5]

    async def test_the_queue_is_bounded_but_for_outcomes(self) -> None:
        store = MemoryStore()
        async with opened(store, queue=3) as sequencer:
            for name in "ab":
                await sequencer.record(make("intent", name))
            store.gate = asyncio.Event()
            records = [asyncio.create_task(sequencer.record(make("event", "first")))]
            await asyncio.sleep(0.01)
            records += [asyncio.create_task(sequencer.record(make("event", "x"))) for _ in range(3)]
            await asyncio.sleep(0.01)
            for phase in ("event", "intent"):
                error = await refused(asyncio.ensure_future(sequencer.record(make(phase, "late"))))
                assert error.code == "overloaded"
            records += [asyncio.create_task(sequencer.record(make("outcome", name))) for name in "ab"]
            await asyncio.sleep(0.01)
            store.gate.set()
            await asyncio.gather(*records)
            assert ("intent", "late", None) not in store.documents()

    async def test_a_cancelled_caller_loses_nothing(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            store.gate = asyncio.Event()
            first = asyncio.create_task(sequencer.record(make("intent", "a")))
            await asyncio.sleep(0.01)
            second = asyncio.create_task(sequencer.record(make("intent", "b")))
            await asyncio.sleep(0.01)
            first.cancel()
            second.cancel()
            store.gate.set()
            await asyncio.wait((first, second))
            assert first.cancelled() and second.cancelled()
            for name in "ab":
                await sequencer.record(make("outcome", name))
            assert [(phase, name) for phase, name, _ in store.documents()] == [
                *(("intent", "a"), ("intent", "b"), ("outcome", "a"), ("outcome", "b"))
            ]

    async def test_closing_commits_what_waits_and_takes_no_more(self) -> None:
        store = MemoryStore()
        async with opened(store, batch=2) as sequencer:
            records = [asyncio.create_task(sequencer.record(make("event", f"{n}"))) for n in range(7)]
            await asyncio.sleep(0)
            await sequencer.close()
            assert await asyncio.gather(*records) == list(range(1, 8))
            await refused(asyncio.ensure_future(sequencer.record(make("event", "late"))))
            assert not store.is_open


class TestPairing:
    async def test_an_outcome_needs_an_intent_that_was_accepted(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            await refused(asyncio.ensure_future(sequencer.record(make("outcome", "a"))))
            await sequencer.record(make("intent", "a"))
            await sequencer.record(make("outcome", "a"))
            await refused(asyncio.ensure_future(sequencer.record(make("outcome", "a"))))
            assert len(store.documents()) == 2

    async def test_an_exchange_has_one_intent(self) -> None:
        async with opened(MemoryStore()) as sequencer:
            await sequencer.record(make("intent", "a"))
            with pytest.raises(ChainError):
                await sequencer.record(make("intent", "a"))
            await sequencer.record(make("outcome", "a"))
            await sequencer.record(make("intent", "a"))

    async def test_intent_and_outcome_in_one_batch_leave_nothing_open(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            records = [sequencer.record(make(phase, "a")) for phase in ("intent", "outcome", "intent")]
            assert await asyncio.gather(*records) == [1, 2, 3]
            assert list(store.open_intents) == [3]

    async def test_what_cannot_be_an_entry_disturbs_nobody(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            for wrong in ({"n": 1.5}, {"text": "\ud800"}, {"long": "x" * 70_000}):
                with pytest.raises(ChainError):
                    await sequencer.record(Entry(id="x", phase="event", kind="test", request=wrong))
            assert await sequencer.record(make("event", "a")) == 1


class TestFailure:
    @pytest.mark.parametrize("fault", ["before", "after"])
    @pytest.mark.parametrize("lost", ["intent", "outcome", "event"])
    async def test_a_failed_commit_refuses_and_heals(self, fault: Fault, lost: Phase) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            await sequencer.record(make("intent", "live"))
            if lost == "outcome":
                await sequencer.record(make("intent", "a"))
            store.fault = fault
            waiting = [asyncio.create_task(sequencer.record(make(lost, "a")))]
            for record in waiting:
                await refused(record)
            assert sequencer.closed in ("disk full", "connection lost")
            await refused(asyncio.ensure_future(sequencer.record(make("event", "while closed"))))
            await in_service(sequencer)
            assert ("event", "while closed", None) not in store.documents()
            assert [intent.id for intent in store.open_intents.values()] == ["live"]
            assert store.documents("audit.resumed") == [("event", "process", None)]
            await sequencer.record(make("outcome", "live"))
            outcomes = {name: outcome["status"] for phase, name, outcome in store.documents() if phase == "outcome"}
            kept = fault == "after"
            if lost == "intent":
                assert outcomes.get("a") == ("unknown" if kept else None)
            if lost == "outcome":
                assert outcomes["a"] == ("ok" if kept else "unknown")
            assert outcomes["live"] == "ok"

    async def test_everybody_who_waits_is_refused(self) -> None:
        store = MemoryStore()
        async with opened(store, batch=2) as sequencer:
            store.gate, store.fault = asyncio.Event(), "before"
            records = [asyncio.create_task(sequencer.record(make("intent", f"{n}"))) for n in range(9)]
            await asyncio.sleep(0.01)
            store.gate.set()
            for record in records:
                await refused(record)
            await in_service(sequencer)
            assert store.documents() == []
            await refused(asyncio.ensure_future(sequencer.record(make("outcome", "3"))))
            assert await sequencer.record(make("intent", "3")) == 2

    async def test_an_exchange_that_ends_while_the_log_is_closed_is_closed_as_unknown(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            await sequencer.record(make("intent", "a"))
            await sequencer.record(make("intent", "b"))
            store.fault, store.unreachable = "before", 1
            await refused(asyncio.ensure_future(sequencer.record(make("event", "x"))))
            await refused(asyncio.ensure_future(sequencer.record(make("outcome", "a"))))
            await in_service(sequencer)
            assert ("outcome", "a", {"status": "unknown"}) in store.documents()
            await sequencer.record(make("outcome", "b"))
            assert store.open_intents == {}

    async def test_an_exchange_that_ends_during_the_last_step_of_reopening_is_not_forgotten(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            await sequencer.record(make("intent", "a"))
            store.fault = "before"
            await refused(asyncio.ensure_future(sequencer.record(make("event", "x"))))
            store.gate = asyncio.Event()
            await asyncio.sleep(0.3)
            assert sequencer.closed is not None
            await refused(asyncio.ensure_future(sequencer.record(make("outcome", "a"))))
            store.gate.set()
            await in_service(sequencer)
            assert store.open_intents == {}

    async def test_an_intent_that_somebody_else_closed_is_not_live_any_more(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            await sequencer.record(make("intent", "a"))
            async with opened(store):
                assert store.open_intents == {}
            store.is_open, store.fault = True, "before"
            await refused(asyncio.ensure_future(sequencer.record(make("event", "x"))))
            await in_service(sequencer)
            await refused(asyncio.ensure_future(sequencer.record(make("outcome", "a"))))

    async def test_it_goes_on_trying(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            store.fault, store.unreachable = "before", 3
            await refused(asyncio.ensure_future(sequencer.record(make("event", "x"))))
            await asyncio.sleep(0.2)
            assert sequencer.closed == "nobody is there"
            await in_service(sequencer)
            assert await sequencer.record(make("event", "y")) == 2

    @pytest.mark.parametrize("damage", ["shorter", "altered", "head", "gone"])
    async def test_it_stays_closed_while_the_log_is_not_what_was_confirmed(self, damage: str) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            for number in range(4):
                await sequencer.record(make("event", f"{number}"))
            store.fault = "before"
            await refused(asyncio.ensure_future(sequencer.record(make("event", "x"))))
            kept = list(store.rows), store.head
            drafts = [chain.draft(make("event", "forged")) for _ in range(3)]
            if damage == "shorter":
                store.rows, store.head = chain.append(Head(), drafts, 0)
            elif damage == "altered":
                store.rows, store.head = chain.append(Head(), [*drafts, *drafts], 0)
            elif damage == "head":
                store.head = Head(5, bytes(32))
            else:
                del store.rows[-1]
            await asyncio.sleep(0.5)
            assert sequencer.closed is not None and "entry" in sequencer.closed
            store.rows, store.head = kept
            await in_service(sequencer)

    async def test_a_head_that_went_back_is_noticed_at_the_next_batch(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            for number in range(4):
                await sequencer.record(make("event", f"{number}"))
            kept = list(store.rows), store.head
            store.rows, store.head = chain.append(Head(), [chain.draft(make("event", "old"))], 0)
            await refused(asyncio.ensure_future(sequencer.record(make("event", "x"))))
            assert sequencer.closed == "the log does not hold what was confirmed"
            store.rows, store.head = kept
            await in_service(sequencer)

    async def test_a_commit_that_hangs_is_given_up(self) -> None:
        store = MemoryStore()
        async with opened(store, commit_limit=0.1) as sequencer:
            store.gate = asyncio.Event()
            async with asyncio.timeout(1):
                await refused(asyncio.ensure_future(sequencer.record(make("event", "x"))))
            store.gate.set()
            await in_service(sequencer)

    async def test_a_defect_in_a_store_refuses_and_heals_too(self, caplog: pytest.LogCaptureFixture) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            store.fault = "defect"
            records = [asyncio.create_task(sequencer.record(make("event", "x"))) for _ in range(3)]
            for record in records:
                await refused(record)
            assert sequencer.closed is not None
            await refused(asyncio.ensure_future(sequencer.record(make("event", "y"))))
            await in_service(sequencer)
            await sequencer.record(make("event", "z"))
            assert store.documents() == [("event", "z", None)]
        assert "the audit log met a defect" in caplog.text

    async def test_it_can_be_closed_while_it_is_out_of_service(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            store.fault, store.unreachable = "before", 1_000
            await refused(asyncio.ensure_future(sequencer.record(make("event", "x"))))
            async with asyncio.timeout(1):
                await sequencer.close()


class TestOpening:
    async def test_open_intents_of_the_last_run_are_closed_first(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            await sequencer.record(make("intent", "a"))
            await sequencer.record(make("intent", "b"))
            await sequencer.record(make("outcome", "b"))
        async with opened(store) as sequencer:
            assert store.documents()[-1] == ("outcome", "a", {"status": "unknown"})
            await refused(asyncio.ensure_future(sequencer.record(make("outcome", "a"))))

    async def test_an_altered_tail_stops_the_start(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            for number in range(4):
                await sequencer.record(make("event", f"{number}"))
        kept = store.rows[2]
        store.rows[2] = (2, kept[1].replace(b'"id":"1"', b'"id":"9"'))
        with pytest.raises(ChainError) as caught:
            async with opened(store):
                pass
        assert caught.value.index == 2
        store.rows[2] = kept
        async with opened(store):
            pass
