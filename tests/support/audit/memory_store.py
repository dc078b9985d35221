"""A store in memory that can wait, fail before or after keeping a batch, and lose what it had; a sequencer on it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest

from mastio.exchange.errors import AuditError
from mastio.exchange.values import Entry, Phase
from mastio_audit.log import chain
from mastio_audit.log.chain import Head, Row
from mastio_audit.log.sequencer import Sequencer
from mastio_audit.log.store import Build, Extent, OpenIntent, Space, StoreError
from mastio_primitives.transparency.merkle import Node

Fault = Literal["before", "after", "defect"]


class MemoryStore:
    """Keeps rows in a list. `fault` strikes at the next append: before or after the batch is kept."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.head = Head()
        self.tree_nodes: list[Node] = []
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
        self.tree_nodes += batch.nodes
        self.head = batch.head
        self.batches.append(len(batch.rows))
        if fault == "after":
            raise StoreError("connection lost")
        return batch.head

    async def extent(self) -> Extent:
        if self.gate is not None:
            await self.gate.wait()
        if self.unreachable:
            raise StoreError("nobody is there")
        return Extent(self.head, len(self.rows))

    async def read(self, start: int, limit: int) -> Sequence[Row]:
        return self.rows[start : start + limit]

    async def nodes(self, level: int, start: int, limit: int) -> Sequence[Node]:
        return [node for node in self.tree_nodes if node.level == level and node.index >= start][:limit]

    async def archived(self, index: int) -> bytes | None:
        return None

    async def space(self) -> Space:
        return Space(0)

    async def oldest_open(self) -> int | None:
        return min(self.open_intents, default=None)

    async def forget(self, index: int, hashes: Sequence[bytes], build: Build) -> Head:
        raise StoreError("nothing is archived from memory")

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
