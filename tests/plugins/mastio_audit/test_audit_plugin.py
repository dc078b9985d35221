"""The plugin as the appliance opens it: settings and services in, hooks out."""

from __future__ import annotations

import asyncio
import dataclasses
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from mastio import __version__
from mastio.exchange.errors import AuditError, ConfigurationError, PluginError
from mastio.exchange.records import SigningKey
from mastio.exchange.values import Entry, Plane
from mastio.outbound.upstream import Pools
from mastio.plugin.hooks import Hooks
from mastio.plugin.services import Services, Worker
from mastio.settings import CONTROL_SLOT
from mastio_audit.log import chain
from mastio_audit.log.keys import derive
from mastio_audit.log.postgres import PostgresStore
from mastio_audit.log.sqlite import SqliteStore
from mastio_audit.plugin import AuditSettings, is_cut, open_store, plugin
from mastio_audit.verification.store import verify_log

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Place

NOT_USED = None
KEY = SigningKey("audit-1", "audit", bytes(32), 1_600_000_000.0, 1_600_000_000.0)
VKEY = str(derive("test.example/audit", KEY).signer.verifier)


def services_for(
    place: Place,
    *,
    slot: int = 0,
    workers: int = 1,
    node: str = "node",
    public_url: str = "https://localhost:9443",
    plane: Plane = "control",
) -> Services:
    values: dict[str, Any] = {field.name: NOT_USED for field in dataclasses.fields(Services)} | {
        "data": place.data,
        "database_url": place.url,
        "public_url": public_url,
        "worker": Worker(node, slot, f"incarnation-{node}-{slot}"),
        "workers": workers,
        "plane": plane,
        "slots": range(workers),
        "now": lambda: 1_700_000_000.0,
        "trust_domain": "test.example",
        "directory": SimpleNamespace(signing_keys=(KEY,)),
        "upstreams": Pools(),
    }
    return Services(**values)


def opened(place: Place, **worker: Any) -> AbstractAsyncContextManager[Hooks]:
    return plugin.setup(AuditSettings(), services_for(place, **worker))


async def documents(place: Place) -> list[dict[str, Any]]:
    reader = place.reader()
    report = await verify_log(reader, lambda done, size: None)
    assert report.problem is None
    await reader.open()
    rows = await reader.read(0, 1000)
    await reader.close()
    return [chain.parse(entry) for _, entry in rows]


async def test_an_exchange_is_recorded(place: Place) -> None:
    async with opened(place) as hooks:
        assert hooks.record is not None and hooks.ready is not None
        assert await hooks.ready() is None
        intent = await hooks.record(Entry(id="x", phase="intent", kind="llm.chat", agent="demo", request={"bytes": 2}))
        outcome = await hooks.record(Entry(id="x", phase="outcome", kind="llm.chat", agent="demo", usage={"input": 1}))
        assert (intent, outcome) == (1, 2)
    start, one, two = await documents(place)
    assert (start["kind"], start["phase"], start["id"]) == ("appliance.start", "event", "incarnation-node-0")
    assert start["request"] == {"worker": 0, "version": __version__, "vkey": VKEY}
    assert [one["request"], two["usage"]] == [{"bytes": 2}, {"input": 1}]


async def test_what_a_crash_cut_is_closed_before_anything_is_served(place: Place) -> None:
    async with opened(place) as hooks:
        assert hooks.record is not None
        await hooks.record(Entry(id="x", phase="intent", kind="llm.chat", target="t", agent="demo"))
    async with opened(place):
        last = (await documents(place))[-2:]
    assert [(d["phase"], d["kind"]) for d in last] == [("outcome", "llm.chat"), ("event", "appliance.start")]
    closed = {name: last[0][name] for name in ("id", "target", "agent", "outcome", "request")}
    assert closed == {"id": "x", "target": "t", "agent": "demo", "outcome": {"status": "unknown"}, "request": None}


async def test_each_process_closes_its_own_and_control_those_of_unused_slots(place: Place) -> None:
    for slot in (0, 1, 2, CONTROL_SLOT):
        async with opened(place, slot=slot, workers=3, plane="data") as hooks:
            assert hooks.record is not None
            await hooks.record(Entry(id=f"x{slot}", phase="intent", kind="test"))
    async with opened(place, slot=CONTROL_SLOT, workers=1, node="replica"):
        assert not [d for d in await documents(place) if d["phase"] == "outcome"]
    async with opened(place, slot=0, workers=2, plane="data"):
        assert {d["id"] for d in await documents(place) if d["phase"] == "outcome"} == {"x0"}
    async with opened(place, slot=CONTROL_SLOT, workers=2):
        assert {d["id"] for d in await documents(place) if d["phase"] == "outcome"} == {"x0", "x2", "x128"}
        async with opened(place, slot=1, workers=2, plane="data"):
            assert {d["id"] for d in await documents(place) if d["phase"] == "outcome"} == {"x0", "x1", "x2", "x128"}


@pytest.mark.parametrize(
    ("owner", "slot", "workers", "cut"),
    [
        ("n/0", 0, 1, True),
        ("n/1", 0, 2, False),
        ("n/2", 0, 2, False),
        ("n/128", 0, 2, False),
        ("n/128", 128, 2, True),
        ("n/1", 128, 2, False),
        ("n/2", 128, 2, True),
        ("other/2", 128, 2, False),
        ("a/n/2", 128, 2, False),
        ("n/x", 128, 2, False),
        ("2", 128, 2, False),
    ],
)
def test_whose_open_intents_are_cut(sqlite_place: Place, owner: str, slot: int, workers: int, cut: bool) -> None:
    plane: Plane = "control" if slot == CONTROL_SLOT else "data"
    assert is_cut(owner, services_for(sqlite_place, slot=slot, workers=workers, node="n", plane=plane)) is cut


async def test_what_cannot_be_an_entry_is_a_defect_of_the_appliance(place: Place) -> None:
    async with opened(place) as hooks:
        assert hooks.record is not None
        with pytest.raises(PluginError):
            await hooks.record(Entry(id="x", phase="event", kind="test", request={"n": 0.5}))
        with pytest.raises(AuditError):
            await hooks.record(Entry(id="x", phase="outcome", kind="test"))


async def test_an_altered_log_stops_the_start(place: Place) -> None:
    async with opened(place) as hooks:
        assert hooks.record is not None
        await hooks.record(Entry(id="x", phase="event", kind="test"))
    entry = await asyncio.to_thread(place.entry, 0)
    await asyncio.to_thread(place.put, 0, entry.replace(b'"worker":0', b'"worker":1'))
    with pytest.raises(ConfigurationError, match="entry 0") as caught:
        async with opened(place):
            pass
    assert "mastio audit verify" in caught.value.hint


async def test_a_database_that_cannot_be_opened_stops_the_start(place: Place) -> None:
    place.data = Path("/proc/nowhere")
    place.url = place.url.partition("@")[0] + "@127.0.0.1:1/db" if place.kind == "postgresql" else place.url
    with pytest.raises(ConfigurationError, match="cannot be opened"):
        async with opened(place):
            pass


def test_the_store_is_where_the_database_is(place: Place) -> None:
    services = services_for(place)
    assert isinstance(open_store(services), SqliteStore if place.kind == "sqlite" else PostgresStore)
    with pytest.raises(ConfigurationError, match="mysql"):
        open_store(dataclasses.replace(services, database_url="mysql+aiomysql://h/db"))
