"""The plugin `audit`: every recorded exchange in one tamper-evident log, on stable storage before anything is done.

`chain` holds the rules as pure functions, `store` the contract with a database, `sqlite` and `postgres` fulfil it,
`sequencer` orders and commits, `verification` recomputes a log from outside. This module only connects them.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any

from pydantic import Field, field_validator, model_validator

from mastio import __version__
from mastio.exchange.errors import AuditError, ConfigurationError, PluginError
from mastio.exchange.values import Entry
from mastio.plugin.hooks import Hooks, Plugin, PluginSettings
from mastio.plugin.services import Services, Worker
from mastio_audit.admin_api import ROUTES, LogApi
from mastio_audit.anchors import Anchors, cosigned_file
from mastio_audit.anchors.settings import AnchorSettings, verify_quorum
from mastio_audit.anchors.settings import verify_unique as verify_anchors
from mastio_audit.log.chain import ChainError
from mastio_audit.log.keys import LogKeys
from mastio_audit.log.published import HINT, History, Publisher
from mastio_audit.log.reserve import Reserve
from mastio_audit.log.reserve import make as make_reserve
from mastio_audit.log.sequencer import BATCH, QUEUE, Sequencer
from mastio_audit.log.shortening import shorten
from mastio_audit.log.sqlite import SqliteReader, SqliteStore
from mastio_audit.log.store import AuditStore, LogReader, StoreError
from mastio_audit.sinks import carry
from mastio_audit.sinks.settings import SinkSettings, verify_unique
from mastio_audit.usage_metrics import BROKEN, UsageFigures, UsageMetrics


class AuditSettings(PluginSettings):
    """`batch`: most entries in one commit. `queue`: most entries that may wait; more are refused as overloaded.
    `sinks`: files and syslog receivers that the log is carried to, tables `[[audit.sinks]]`: see operate/siem.md.
    `anchors`: where checkpoints are kept outside, tables `[[audit.anchors]]`: see operate/anchor-checkpoints.md.
    `witness_quorum`: how many of the anchors that are witnesses have to sign a checkpoint; `witness_every`: how often
    they are asked, seconds.
    """

    batch: int = Field(default=BATCH, ge=1, le=4096)
    queue: int = Field(default=QUEUE, ge=1)
    sinks: tuple[SinkSettings, ...] = ()
    anchors: tuple[AnchorSettings, ...] = ()
    reserve_megabytes: int = Field(default=256, ge=0)
    most_megabytes: int = Field(default=0, ge=0)
    witness_quorum: int | None = None
    witness_every: float = Field(default=60, ge=1, le=86_400)

    _unique_sinks = field_validator("sinks")(verify_unique)
    _unique_anchors = field_validator("anchors")(verify_anchors)

    @model_validator(mode="after")
    def _fits(self) -> AuditSettings:
        verify_quorum(self.anchors, self.witness_quorum)
        return self


def owner(worker: Worker) -> str:
    """The worker's name in the log's tables; the same after a restart."""
    return f"{worker.node}/{worker.slot}"


def is_cut(name: str, services: Services) -> bool:
    """True if no other live process can be this owner, so that this one closes the owner's open intents: those of its
    own earlier incarnation, and for control also those of slots that are not in use any more."""
    worker = services.worker
    if name == owner(worker):
        return True
    node, _, slot = name.rpartition("/")
    is_unused = node == worker.node and slot.isdecimal() and int(slot) not in services.slots
    return services.plane == "control" and is_unused


def open_store(services: Services) -> AuditStore:
    """The store where the appliance's database is. Raises `ConfigurationError` for a database of another kind."""
    kind = services.database_url.partition(":")[0].partition("+")[0]
    if kind == "sqlite":
        inline = services.workers == 1 and services.worker.slot == 0
        return SqliteStore(services.data / "db" / "audit.sqlite", inline=inline)
    if kind == "postgresql":
        store: AuditStore = _load_postgres().PostgresStore(services.database_url, owner(services.worker))
        return store
    raise ConfigurationError(f"The audit log cannot be kept in a database of kind {kind}.", "Use SQLite or PostgreSQL.")


def open_reader(services: Services) -> LogReader:
    """One more connection to the same log, for reading."""
    if services.database_url.startswith("sqlite"):
        return SqliteReader(services.data / "db" / "audit.sqlite")
    reader: LogReader = _load_postgres().PostgresReader(services.database_url)
    return reader


def _load_postgres() -> Any:
    """Imported only where it is used: its driver would cost a worker on SQLite memory for nothing."""
    return importlib.import_module("mastio_audit.log.postgres")


@asynccontextmanager
async def setup(settings: AuditSettings, services: Services) -> AsyncIterator[Hooks]:
    worker = services.worker

    keys, history = LogKeys(services.trust_domain, services.directory), History(services.data)
    anchors = Anchors(settings.anchors, services, keys, quorum=settings.witness_quorum, every=settings.witness_every)

    async def verify_history(reader: LogReader) -> None:
        await history.verify(reader)
        await anchors.verify(reader)

    def announce(kind: str) -> Entry:
        vkey = str(keys.signers(services.now())[0].verifier)
        request = {"worker": worker.slot, "version": __version__, "vkey": vkey}
        return Entry(id=worker.incarnation, phase="event", kind=kind, request=request)

    sequencer = Sequencer(
        *(open_store(services), owner(worker), services.now, announce),
        history=verify_history,
        shorten=lambda entry: shorten(entry, services.digest),
        batch=settings.batch,
        queue=settings.queue,
    )

    def enrolled_at(name: str) -> float:
        return services.directory.agents[name].created_at

    def groups_of(name: str) -> Collection[str]:
        agent = services.directory.agents.get(name)
        return () if agent is None else agent.groups

    doors = LogApi(open_reader(services), keys, services.now, cosigned_file(services.data), enrolled_at, groups_of)

    reserve = make_reserve(lambda: open_reader(services), settings.reserve_megabytes, settings.most_megabytes)

    async def record(entry: Entry) -> int:
        if reserve.refuses(entry):
            raise AuditError("The audit log has no room left but for administration.")
        try:
            return await sequencer.record(entry)
        except ChainError as error:
            raise PluginError("The exchange cannot be recorded.") from error

    async def ready() -> str | None:
        reason = await sequencer.ready()
        return f"the audit log is closed: {reason}" if reason else reserve.problem

    try:
        await _open(sequencer, history, lambda name: is_cut(name, services))
        async with (
            _watching(reserve),
            _counting(services),
            _publishing(services, keys, history, record),
            carry(settings.sinks, services, lambda: open_reader(services)),
            anchors.keep(lambda: open_reader(services), record),
        ):
            yield Hooks(record=record, ready=ready, read=doors.read, dispatch=doors.dispatch)
    finally:
        await doors.close()
        await sequencer.close()


@asynccontextmanager
async def _watching(reserve: Reserve) -> AsyncIterator[None]:
    await reserve.look()
    task = asyncio.create_task(reserve.run(), name="audit-reserve")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait((task,))
        await reserve.close()


@asynccontextmanager
async def _counting(services: Services) -> AsyncIterator[None]:
    """Control counts what calls of models use."""
    if services.plane != "control":
        yield
        return
    directory = services.directory
    counting = UsageFigures(open_reader(services), lambda: directory.objects("providers"), services.now, UsageMetrics())
    with contextlib.suppress(*BROKEN):
        await counting.begin()
    task = asyncio.create_task(counting.run(), name="audit-usage")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait((task,))


@asynccontextmanager
async def _publishing(
    services: Services, keys: LogKeys, history: History, record: Callable[[Entry], Awaitable[int]]
) -> AsyncIterator[None]:
    """Control keeps checkpoints while it runs."""
    if services.plane != "control":
        yield
        return
    reader = open_reader(services)
    publisher = Publisher(reader, keys, history, record, services.now, services.worker.incarnation)
    await reader.open()
    task = asyncio.create_task(publisher.run(), name="audit-checkpoints")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait((task,))
        await reader.close()


async def _open(sequencer: Sequencer, history: History, cut: Callable[[str], bool]) -> None:
    try:
        await sequencer.open(cut)
    except StoreError as error:
        raise ConfigurationError(f"The audit log cannot be opened: {error}.", "See the database's own log.") from error
    except ChainError as error:
        hint = f"Run `mastio audit verify`. {HINT.format(path=history.path)}"
        raise ConfigurationError(f"The audit log is not what was written: {error}.", hint) from error


plugin = Plugin(name="audit", settings=AuditSettings, setup=setup, routes=ROUTES)
