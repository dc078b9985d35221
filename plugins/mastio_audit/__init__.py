"""The plugin `audit`: every recorded exchange in one tamper-evident log, on stable storage before anything is done.

`chain` holds the rules as pure functions, `store` the contract with a database, `sqlite` and `postgres` fulfil it,
`sequencer` orders and commits, `verify` recomputes a log from outside. This module only connects them.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from pydantic import Field

from mastio import __version__
from mastio.errors import ConfigurationError, PluginError
from mastio.exchange import Entry
from mastio.hooks import Hooks, Plugin, PluginSettings
from mastio.services import Services, Worker
from mastio_audit.chain import ChainError
from mastio_audit.sequencer import BATCH, QUEUE, Sequencer
from mastio_audit.sqlite import SqliteStore
from mastio_audit.store import AuditStore, StoreError


class AuditSettings(PluginSettings):
    """`batch`: most entries in one commit. `queue`: most entries that may wait; more are refused as overloaded."""

    batch: int = Field(default=BATCH, ge=1, le=4096)
    queue: int = Field(default=QUEUE, ge=1)


def owner(worker: Worker) -> str:
    """The worker's name in the log's tables; the same after a restart."""
    return f"{worker.node}/{worker.slot}"


def is_cut(name: str, worker: Worker, workers: int) -> bool:
    """Whether no other live worker can be this owner, so that `worker` closes what it left open: its own earlier
    incarnation, and for the first worker also those of slots that are not in use any more."""
    if name == owner(worker):
        return True
    node, _, slot = name.rpartition("/")
    return worker.slot == 0 and node == worker.node and slot.isdecimal() and int(slot) >= workers


def open_store(services: Services) -> AuditStore:
    """The store where the appliance's database is. Raises `ConfigurationError` for a database of another kind."""
    kind = services.database_url.partition(":")[0].partition("+")[0]
    if kind == "sqlite":
        return SqliteStore(services.data / "db" / "audit.sqlite", alone=services.workers == 1)
    if kind == "postgresql":
        # Imported only where it is used: its driver would cost a worker on SQLite memory for nothing.
        postgres = importlib.import_module("mastio_audit.postgres")
        store: AuditStore = postgres.PostgresStore(services.database_url, owner(services.worker))
        return store
    raise ConfigurationError(f"The audit log cannot be kept in a database of kind {kind}.", "Use SQLite or PostgreSQL.")


@asynccontextmanager
async def setup(settings: AuditSettings, services: Services) -> AsyncIterator[Hooks]:
    worker = services.worker

    def announce(kind: str) -> Entry:
        request = {"worker": worker.slot, "version": __version__}
        return Entry(id=worker.incarnation, phase="event", kind=kind, request=request)

    sequencer = Sequencer(
        open_store(services), owner(worker), services.now, announce, batch=settings.batch, queue=settings.queue
    )

    async def record(entry: Entry) -> int:
        try:
            return await sequencer.record(entry)
        except ChainError as error:
            raise PluginError("The exchange cannot be recorded.") from error

    async def ready() -> str | None:
        reason = await sequencer.ready()
        return reason and f"the audit log is closed: {reason}"

    try:
        await _open(sequencer, lambda name: is_cut(name, worker, services.workers))
        yield Hooks(record=record, ready=ready)
    finally:
        await sequencer.close()


async def _open(sequencer: Sequencer, cut: Callable[[str], bool]) -> None:
    try:
        await sequencer.open(cut)
    except StoreError as error:
        raise ConfigurationError(f"The audit log cannot be opened: {error}.", "See the database's own log.") from error
    except ChainError as error:
        hint = "Run `mastio audit verify`, and keep the database as it is until you know why."
        raise ConfigurationError(f"The audit log is not what was written: {error}.", hint) from error


plugin = Plugin(name="audit", settings=AuditSettings, setup=setup)
