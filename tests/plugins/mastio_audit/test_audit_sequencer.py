"""The order of entries, batches, the bounds, pairing, and the start."""

from __future__ import annotations

import asyncio

import pytest

from mastio.exchange.values import Entry
from mastio_audit.log import chain
from mastio_audit.log.chain import ChainError
from support.audit.memory_store import MemoryStore, make, opened, refused


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
