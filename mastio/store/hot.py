"""The hot copy: what an admin or an enrolment described, in this worker's memory; no exchange reads the database.

A task looks at the one row of `revision` every quarter of a second and loads what it says has changed: of the agents
only the rows whose version is new, of the other, small sections all. When the database does not answer, the last
copy goes on being served, `healthy` says so, and the next look that succeeds brings everything up to date.

Each look is also at the files that secrets of providers and connections were read from: one that was written anew is
read again, though the database says that nothing has changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from sqlalchemy import Column, Connection, Row, inspect, select, text
from sqlalchemy.exc import ProgrammingError

from mastio.errors import ConfigurationError
from mastio.presented import find_name
from mastio.services import Keys
from mastio.store import tables
from mastio.store.base import (
    Admin,
    Agent,
    ApiKey,
    BudgetRow,
    ConnectionRow,
    DetectorRow,
    PolicyRow,
    Prepared,
    ProviderRow,
    RedactionRow,
    SigningKey,
)
from mastio.store.collection import Named
from mastio.store.connections import ConnectionCodec
from mastio.store.damage import AnyRow, decode_good, read_rows
from mastio.store.engine import Database
from mastio.store.rows import (
    ProviderCodec,
    Written,
    decode_admin,
    decode_agent,
    decode_api_key,
    decode_budget,
    decode_detectors,
    decode_policy,
    decode_redaction,
    decode_signing_key,
    look_at_file,
)
from mastio.store.sealed import Sealer

log = logging.getLogger("mastio.store")

T = TypeVar("T")
N = TypeVar("N", bound=Named)

INTERVAL = 0.25
STALE_SECONDS = 2.0
"""Without a successful look for so long, the copy is called stale even if no error was reported yet."""


class HotDirectory:
    """Implements `store.base.Directory`. One for each worker."""

    def __init__(
        self,
        database: Database,
        keys: Keys,
        *,
        secret_folders: tuple[Path, ...] = (),
        interval: float = INTERVAL,
    ) -> None:
        self._database = database
        self._sealer = Sealer(keys)
        self._codecs = Codecs(
            self._sealer, ProviderCodec(self._sealer, secret_folders), ConnectionCodec(self._sealer, secret_folders)
        )
        self._interval = interval
        self._seen: Row[Any] | None = None
        self._files: dict[str, SecretFiles] = {}
        self._agents: dict[str, Agent] = {}
        self._admins: dict[str, Admin] = {}
        self._providers: dict[str, ProviderRow] = {}
        self._connections: dict[str, ConnectionRow] = {}
        self._policies: dict[str, PolicyRow] = {}
        self._budgets: dict[str, BudgetRow] = {}
        self._redaction: dict[str, RedactionRow] = {}
        self._detectors: dict[str, DetectorRow] = {}
        self._api_keys: dict[str, ApiKey] = {}
        self._signing_keys: tuple[SigningKey, ...] = ()
        self._prepared_of: dict[Prepared, int] = {}
        """The revision that each section is of which is prepared before it is in force."""
        self._version = 0
        self._in_force = 0
        self._callbacks: list[Callable[[], None]] = []
        self._preparers: dict[Prepared, list[Callable[[Mapping[str, Any]], Awaitable[None]]]] = {}
        self._looking = asyncio.Lock()
        self._next: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._preparing: set[asyncio.Task[None]] = set()
        self._failed = True
        self._refreshed_at = 0.0

    async def start(self) -> None:
        """Load everything, then follow.

        Raises `ConfigurationError` when the tables are not those of this version, `Unavailable` when the database
        does not answer.
        """
        await verify_schema(self._database)
        await self.refresh()
        self._following = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """Stop following."""
        if self._following is not None:
            self._following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._following
            self._following = None
        if self._next is not None:
            await asyncio.wait({self._next})
        if self._preparing:
            await asyncio.wait(set(self._preparing))

    async def refresh(self) -> None:
        """Return once everything committed before this call is visible here. Raises `Unavailable`.

        Callers that come while a look is under way share the one after it.
        """
        await asyncio.shield(self._look_soon())
        if self._preparing:
            await asyncio.wait(set(self._preparing))

    @property
    def healthy(self) -> bool:
        """True if the last read of the database succeeded and is recent."""
        return not self._failed and monotonic() - self._refreshed_at < max(STALE_SECONDS, 4 * self._interval)

    @property
    def refreshed_at(self) -> float:
        """Monotonic time of the last successful look."""
        return self._refreshed_at

    @property
    def agents(self) -> Mapping[str, Agent]:
        return self._agents

    @property
    def admins(self) -> Mapping[str, Admin]:
        return self._admins

    @property
    def providers(self) -> Mapping[str, ProviderRow]:
        return self._providers

    @property
    def connections(self) -> Mapping[str, ConnectionRow]:
        return self._connections

    @property
    def policies(self) -> Mapping[str, PolicyRow]:
        return self._policies

    @property
    def budgets(self) -> Mapping[str, BudgetRow]:
        return self._budgets

    @property
    def detectors(self) -> Mapping[str, DetectorRow]:
        return self._detectors

    @property
    def redaction(self) -> Mapping[str, RedactionRow]:
        return self._redaction

    @property
    def api_keys(self) -> Mapping[str, ApiKey]:
        return self._api_keys

    @property
    def signing_keys(self) -> tuple[SigningKey, ...]:
        return self._signing_keys

    @property
    def version(self) -> int:
        return self._version

    @property
    def in_force(self) -> int:
        """The revision of the database of which every section is here."""
        return self._in_force

    def before(self, section: Prepared, prepare: Callable[[Mapping[str, Any]], Awaitable[None]]) -> None:
        """Await `prepare` with the rows of a section that are about to be here: for work that is too long for the event
        loop. The rest of a change does not wait for it."""
        self._preparers.setdefault(section, []).append(prepare)

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call `callback` in the event loop after each change has been applied."""
        self._callbacks.append(callback)

    def _look_soon(self) -> asyncio.Task[None]:
        """The next look to begin; everybody who asks before it begins shares it."""
        if self._next is None:
            self._next = asyncio.create_task(self._look_in_turn())
        return self._next

    async def _follow(self) -> None:
        """Look again and again, whatever became of the look before."""
        failing = False
        while True:
            await asyncio.sleep(self._interval)
            look = self._look_soon()
            await asyncio.wait({look})
            error = look.exception()
            if error is not None and not failing:
                log.error("the control plane is served from memory, because the last look failed", exc_info=error)
            elif error is None and failing:
                log.info("the control plane is up to date again")
            failing = error is not None

    async def _look_in_turn(self) -> None:
        async with self._looking:
            self._next = None
            seen, succeeded = self._seen, False
            rewritten = frozenset(section for section, files in self._files.items() if files != look_again(files))
            try:
                found = await self._database.read(
                    lambda connection: load_changes(connection, self._codecs, seen, rewritten)
                )
                self._refreshed_at, succeeded = monotonic(), True
            finally:
                self._failed = not succeeded
            if found is not None:
                waiting = {name: rows for name in self._preparers if (rows := getattr(found, name)) is not None}
                later: dict[str, Any] = dict.fromkeys(waiting)
                self._apply(replace(found, **later), is_all=not waiting)
        if found is not None and waiting:  # whatever else changed, such as a revocation, is in force
            preparing = asyncio.create_task(self._prepare(found, waiting))
            self._preparing.add(preparing)
            preparing.add_done_callback(self._end_preparing)

    async def _prepare(self, found: Changes, waiting: Mapping[Prepared, dict[str, Any]]) -> None:
        """Put sections in force once all their preparers are done. Work that a preparer left undone is done then."""
        try:
            for section, rows in waiting.items():
                for prepare in self._preparers[section]:
                    await prepare(rows)
        finally:
            for section, rows in waiting.items():
                if found.row.value >= self._prepared_of.get(section, 0):
                    self._prepared_of[section] = found.row.value
                    setattr(self, f"_{section}", rows)
            self._show(found)

    def _end_preparing(self, task: asyncio.Task[None]) -> None:
        self._preparing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("policies or redaction policies could not be prepared", exc_info=error)

    def _apply(self, found: Changes, *, is_all: bool) -> None:
        """Take what was found. `is_all`: nothing of it comes later."""
        self._seen = found.row
        self._files |= found.files
        if found.fresh:
            self._agents, self._api_keys = {}, {}
            self._prepared_of.clear()
        self._agents.update(found.agents)
        for name in found.lost_agents:
            self._agents.pop(name, None)
        for key in found.api_keys:
            if key.revoked:
                self._api_keys.pop(key.key_hash, None)
            else:
                self._api_keys[key.key_hash] = key
        if found.lost_keys:
            self._api_keys = {name: key for name, key in self._api_keys.items() if key.id not in found.lost_keys}
        if found.admins is not None:
            self._admins = found.admins
        if found.providers is not None:
            self._providers = found.providers
        if found.connections is not None:
            self._connections = found.connections
        if found.policies is not None:
            self._policies = found.policies
        if found.budgets is not None:
            self._budgets = found.budgets
        if found.redaction is not None:
            self._redaction = found.redaction
        if found.detectors is not None:
            self._detectors = found.detectors
        if found.signing_keys is not None:
            self._signing_keys = found.signing_keys
        if is_all:
            self._show(found)
        elif found.is_visible:
            self._call_back()

    def _show(self, found: Changes) -> None:
        """Say that everything of this revision is in force."""
        self._in_force = found.row.value if found.fresh else max(self._in_force, found.row.value)
        if found.is_visible:
            self._version = max(self._version + 1, found.row.value)
            self._call_back()

    def _call_back(self) -> None:
        if self._callbacks:
            loop = asyncio.get_running_loop()
            for callback in self._callbacks:
                loop.call_soon(callback)  # before whoever waits for this look goes on; a broken one stops no other


SecretFiles = dict[str, Written]
"""Files that secrets were read from, each as it was when it was looked at."""


@dataclass(frozen=True, slots=True)
class Codecs:
    """The codecs that open sealed secrets, and the rows with secrets."""

    sealer: Sealer
    providers: ProviderCodec
    connections: ConnectionCodec


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes at the revision in `row`. A section that is None has not changed; `fresh`: the rows are complete.

    `files` are those that secrets of a section were read from, as they were before they were read. `lost_agents` and
    `lost_keys` (ids) are those whose rows are damaged.
    """

    row: Row[Any]
    fresh: bool
    agents: dict[str, Agent]
    lost_agents: frozenset[str]
    api_keys: list[ApiKey]
    lost_keys: frozenset[str]
    admins: dict[str, Admin] | None
    providers: dict[str, ProviderRow] | None
    connections: dict[str, ConnectionRow] | None
    policies: dict[str, PolicyRow] | None
    budgets: dict[str, BudgetRow] | None
    redaction: dict[str, RedactionRow] | None
    detectors: dict[str, DetectorRow] | None
    signing_keys: tuple[SigningKey, ...] | None
    files: dict[str, SecretFiles]

    @property
    def is_visible(self) -> bool:
        """Whether anything changed that is kept here: enrolment requests, for one, are not."""
        sections = (
            self.admins, self.providers, self.connections, self.policies, self.budgets, self.redaction,
            self.detectors, self.signing_keys,
        )  # fmt: skip
        rows = (self.agents, self.lost_agents, self.api_keys, self.lost_keys)
        return self.fresh or any(rows) or any(section is not None for section in sections)


_REVISION = select(tables.revision)
_SINCE = {
    table.name: select(table).where(table.c.version > text(":seen")) for table in (tables.agents, tables.api_keys)
}
"""The sections that may be long: of these only the rows that are new are read."""


def look_again(files: SecretFiles) -> SecretFiles:
    return {path: look_at_file(path) for path in files}


def load_changes(
    connection: Connection, codecs: Codecs, seen: Row[Any] | None, rewritten: frozenset[str] = frozenset()
) -> Changes | None:
    """The changes since the revision `seen`; None if there are none. `rewritten` are sections to be read anyway."""
    row = connection.execute(_REVISION).one()
    if seen is not None and row.value == seen.value and not rewritten:
        return None
    if seen is not None and row.value < seen.value:
        seen = None  # an older database was put in place

    def changed(section: str) -> list[AnyRow] | None:
        if seen is not None and row._mapping[section] == seen._mapping[section] and section not in rewritten:
            return None
        return _read_all(connection, section)

    def added(section: str) -> list[AnyRow]:
        if seen is not None and row._mapping[section] == seen._mapping[section]:
            return []
        since = -1 if seen is None else seen._mapping[section]
        return read_rows(connection, _SINCE[section], _key(section), {"seen": since})

    def kept(section: str, decode: Callable[[Row[Any]], T]) -> list[T] | None:
        rows = changed(section)
        return None if rows is None else decode_good(rows, decode, section)[0]

    def judged(section: str, decode: Callable[[AnyRow], N]) -> dict[str, N] | None:
        rows = changed(section)
        return None if rows is None else {item.name: item for item in map(decode, rows)}

    agents, lost_agents = decode_good(added("agents"), decode_agent, "agents")
    api_keys, lost_keys = decode_good(added("api_keys"), decode_api_key, "api_keys")
    admins, files = kept("admins", decode_admin), {}
    # files are looked at before they are read
    for section, column in (("providers", "api_key_file"), ("connections", "secret_file")):
        rows = changed(section)
        if rows is not None:
            files[section] = _look_at_files(rows, column)
    providers, connections = kept("providers", codecs.providers.decode), kept("connections", codecs.connections.decode)
    signing_keys = changed("signing_keys")
    return Changes(
        row,
        seen is None,
        {agent.name: agent for agent in agents},
        lost_agents,
        api_keys,
        lost_keys,
        None if admins is None else {find_name(admin.token_hash): admin for admin in admins},
        None if providers is None else {it.name: it for it in providers},
        None if connections is None else {it.name: it for it in connections},
        judged("policies", decode_policy),
        judged("budgets", decode_budget),
        judged("redaction", decode_redaction),
        judged("detectors", decode_detectors),
        None if signing_keys is None else _decode_signing_keys(signing_keys, codecs.sealer),
        files,
    )


def _key(section: str) -> Column[Any]:
    """The unique column of a section's table."""
    return next(iter(tables.metadata.tables[section].primary_key.columns))


def _read_all(connection: Connection, section: str) -> list[AnyRow]:
    return read_rows(connection, select(tables.metadata.tables[section]), _key(section))


def _look_at_files(rows: list[AnyRow], column: str) -> SecretFiles:
    paths = (getattr(row, column, None) for row in rows)
    return look_again({path: None for path in paths if isinstance(path, str)})


def _decode_signing_keys(rows: list[AnyRow], sealer: Sealer) -> tuple[SigningKey, ...]:
    keys = [key for row in rows if (key := decode_signing_key(row, sealer)) is not None]
    return tuple(sorted(keys, key=lambda key: (key.created_at, key.id)))


async def verify_schema(database: Database) -> None:
    """Raises `ConfigurationError` unless the database has the tables of this version, `Unavailable` if it is silent."""

    def find(connection: Connection) -> str | None:
        if not inspect(connection).has_table("alembic_version"):
            return None
        found: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        return found

    found: str | None = None
    with contextlib.suppress(ProgrammingError):
        found = await database.read(find)
    if found != tables.SCHEMA:
        raise ConfigurationError("The database does not have the tables of this version.", "Run: mastio migrate")
