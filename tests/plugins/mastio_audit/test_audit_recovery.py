"""What the sequencer does when its store fails, hangs, or has lost what was confirmed."""

from __future__ import annotations

import asyncio

import pytest

from mastio.exchange.values import Phase
from mastio_audit.log import chain
from mastio_audit.log.chain import Draft, Head, Row
from support.audit.memory_store import Fault, MemoryStore, in_service, make, opened, refused


def forged(drafts: list[Draft]) -> tuple[list[Row], Head]:
    made = chain.append(Head(), drafts, 0)
    return made.rows, made.head


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
                store.rows, store.head = forged(drafts)
            elif damage == "altered":
                store.rows, store.head = forged([*drafts, *drafts])
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
            store.rows, store.head = forged([chain.draft(make("event", "old"))])
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

    async def test_readiness_asks_a_store_that_nobody_has_used(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            assert await sequencer.ready() is None
            store.unreachable = 3
            assert await sequencer.ready() is None, "it answered a moment ago"
            store.unreachable = 0
        async with opened(store) as sequencer:
            store.unreachable = 3
            assert set(await asyncio.gather(sequencer.ready(), sequencer.ready())) == {"nobody is there"}
            await in_service(sequencer)
            assert await sequencer.ready() is None

    async def test_readiness_does_not_wait_for_a_store_that_hangs(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            store.gate = asyncio.Event()
            async with asyncio.timeout(1):
                assert await sequencer.ready() == "it does not answer"
            store.gate.set()
            assert await sequencer.ready() is None

    async def test_it_can_be_closed_while_it_is_out_of_service(self) -> None:
        store = MemoryStore()
        async with opened(store) as sequencer:
            store.fault, store.unreachable = "before", 1_000
            await refused(asyncio.ensure_future(sequencer.record(make("event", "x"))))
            async with asyncio.timeout(1):
                await sequencer.close()
