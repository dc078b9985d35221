"""Two forgeries are refused: an entry in another spelling, and another log of the same size."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from mastio_audit.log import chain
from mastio_audit.log.chain import ChainError, Head
from support.audit.memory_store import MemoryStore, make, opened, refused


@pytest.mark.parametrize("respell", [
    lambda entry: entry.replace(b'"id":"e"', b'"id": "e"'),
    lambda entry: entry.replace(b'"id":"e"', b'"id":"\\u0065"'),
    lambda entry: entry + b"\n",
])  # fmt: skip
def test_an_entry_has_one_spelling(respell: Callable[[bytes], bytes]) -> None:
    ((_, entry),) = chain.append(Head(), [chain.draft(make("event", "e"))], 0).rows
    assert chain.parse(entry)["id"] == "e" and respell(entry) != entry
    with pytest.raises(ChainError):
        chain.parse(respell(entry))


async def test_another_log_of_the_same_size_is_not_continued() -> None:
    store = MemoryStore()
    async with opened(store) as sequencer:
        await sequencer.record(make("event", "mine"))
        kept = list(store.rows), store.head, list(store.tree_nodes)
        forged = chain.append(Head(), [chain.draft(make("event", "forged")) for _ in store.rows], 0)
        store.rows, store.head, store.tree_nodes = forged.rows, forged.head, forged.nodes
        await refused(asyncio.ensure_future(sequencer.record(make("event", "next"))))
        assert len(store.rows) == len(kept[0])
        store.rows, store.head, store.tree_nodes = kept
