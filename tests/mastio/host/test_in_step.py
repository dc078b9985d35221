"""Whoever was told that a change is made meets it at every worker of the host."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from mastio.exchange.errors import Unavailable
from mastio.host.host_memory import REVISION, HostMemory, make_host_memory
from mastio.host.in_step import PATIENCE, PAUSE, InStep
from mastio.store.hot import HotDirectory
from mastio.store.secrets.file_keys import FileKeys
from mastio.store.sql.migrate import upgrade
from mastio_policy.collection import POLICIES, PolicyRow
from support.stores import Opened, enrol, open_store


class Worker:
    def __init__(self, opened: Opened, descriptor: int) -> None:
        self.opened = opened
        self.now = 100.0
        self.memory = HostMemory(os.dup(descriptor))
        self.in_step = InStep(opened.directory, self.memory, lambda: self.now)


@pytest.fixture
async def workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Worker, Worker]]:
    """Two workers on one database. Neither looks by itself."""
    monkeypatch.setattr("mastio.store.hot.INTERVAL", 3600.0)
    monkeypatch.setitem(HotDirectory.__init__.__kwdefaults__, "interval", 3600.0)
    FileKeys(tmp_path).ensure()
    url = f"sqlite+aiosqlite:///{tmp_path}/db/control.sqlite"
    await asyncio.to_thread(upgrade, url)
    descriptor = make_host_memory()
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(open_store(url, tmp_path)) for _ in range(2)]
        yield Worker(one, descriptor), Worker(two, descriptor)


async def test_a_change_of_one_is_seen_by_the_other_at_its_next_request(workers: tuple[Worker, Worker]) -> None:
    one, two = workers
    assert not one.in_step.is_behind and not two.in_step.is_behind
    await enrol(one.opened, "alice")
    assert not one.in_step.is_behind and two.in_step.is_behind
    assert "alice" not in two.opened.directory.agents
    await two.in_step.catch_up()
    assert "alice" in two.opened.directory.agents and not two.in_step.is_behind
    await enrol(two.opened, "bob")
    assert one.in_step.is_behind
    await one.in_step.catch_up()
    assert "bob" in one.opened.directory.agents


async def test_what_is_still_being_prepared_is_waited_for(workers: tuple[Worker, Worker]) -> None:
    one, two = workers
    prepared = asyncio.Event()

    async def prepare(_: object) -> None:
        await asyncio.sleep(PATIENCE / 5)
        prepared.set()

    two.opened.directory.before("policies", prepare)
    await one.opened.store.of(POLICIES).create(PolicyRow("p", "permit(principal, action, resource);"))
    assert two.in_step.is_behind
    await two.in_step.catch_up()
    assert prepared.is_set() and "p" in two.opened.directory.objects("policies") and not two.in_step.is_behind


@pytest.mark.parametrize("is_slow", [False, True])
async def test_without_its_database_it_serves_the_last_copy(workers: tuple[Worker, Worker], is_slow: bool) -> None:
    one, two = workers
    await enrol(one.opened, "alice")
    looks = 0

    async def refresh() -> None:
        nonlocal looks
        looks += 1
        if is_slow:
            await asyncio.sleep(3600)
        raise Unavailable("The database does not answer.")

    two.opened.directory.refresh = refresh  # type: ignore[method-assign]
    for _ in range(3):
        await two.in_step.catch_up()
    assert looks == 1 and two.in_step.is_behind, "not again for each request"
    two.now += PAUSE
    await two.in_step.catch_up()
    assert looks == 2


async def test_an_older_database_put_in_place_is_not_asked_for_each_request(workers: tuple[Worker, Worker]) -> None:
    one, _ = workers
    one.memory.words[REVISION] = one.opened.directory.in_force + 1000
    await one.in_step.catch_up()
    assert not one.in_step.is_behind


async def test_what_is_published_while_it_looks_is_not_taken_back(workers: tuple[Worker, Worker]) -> None:
    one, two = workers
    await enrol(one.opened, "alice")
    refresh = two.opened.directory.refresh

    async def refresh_slowly() -> None:
        await refresh()
        await enrol(one.opened, "bob")  # after the look, and before what it has found is compared

    two.opened.directory.refresh = refresh_slowly  # type: ignore[method-assign]
    await two.in_step.catch_up()
    assert "bob" not in two.opened.directory.agents and two.in_step.is_behind, "the next request looks again"
    two.opened.directory.refresh = refresh  # type: ignore[method-assign]
    await two.in_step.catch_up()
    assert "bob" in two.opened.directory.agents and not two.in_step.is_behind
