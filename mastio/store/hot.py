"""The hot copy: the state described by admins and enrolments, in this worker's memory. No exchange reads the database.

A task reads the one row of `revision` every quarter of a second and loads the changes that it announces: of the agents
only the rows with a new version, of the other, small sections all rows. If the database does not answer, the last copy
continues to be served and `healthy` is False. The next successful look brings everything up to date.

Each look also covers the files that secrets of objects were read from. A file that was written anew is read again, even
if the database has no change.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from sqlalchemy import Column, Connection, inspect, select, text
from sqlalchemy.exc import ProgrammingError

from mastio.exchange.errors import ConfigurationError
from mastio.exchange.presented_credentials import find_name
from mastio.exchange.records import Admin, Agent, ApiKey, SigningKey
from mastio.plugin.collection import Collection, Named
from mastio.plugin.services import Keys
from mastio.store.objects import ObjectCodec, select_objects
from mastio.store.rows import decode_admin, decode_agent, decode_api_key, decode_signing_key
from mastio.store.secrets.sealed import Sealer
from mastio.store.secrets.secret_files import Written, look_at_file
from mastio.store.sql import tables
from mastio.store.sql.damage import AnyRow, decode_good, read_rows
from mastio.store.sql.engine import Database

log = logging.getLogger("mastio.store")

T = TypeVar("T")
Rows = Mapping[str, Named]
"""The objects of a collection by name."""

INTERVAL = 0.25
STALE_SECONDS = 2.0
"""Seconds without a successful look after which the copy is stale, even if no error was reported."""


class HotDirectory:
    """Implements `store.base.Directory`. One for each worker."""

    def __init__(
        self,
        database: Database,
        keys: Keys,
        *,
        collections: Sequence[Collection[Any]] = (),
        secret_folders: tuple[Path, ...] = (),
        interval: float = INTERVAL,
    ) -> None:
        self._database = database
        sealer = Sealer(keys)
        self._codecs = Codecs(sealer, {one.name: ObjectCodec(one, sealer, secret_folders) for one in collections})
        self._targets = {one.target_type: one for one in collections if one.target_type is not None}
        self._objects: dict[str, Rows] = {one.name: {} for one in collections}
        self._interval = interval
        self._seen: Seen | None = None
        self._files: dict[str, SecretFiles] = {}
        self._agents: dict[str, Agent] = {}
        self._admins: dict[str, Admin] = {}
        self._api_keys: dict[str, ApiKey] = {}
        self._signing_keys: tuple[SigningKey, ...] = ()
        self._prepared_of: dict[str, int] = {}
        """The revision of each collection that was prepared before it came into force."""
        self._version = 0
        self._in_force = 0
        self._callbacks: list[Callable[[], None]] = []
        self._when_in_force: list[Callable[[], None]] = []
        self._preparers: dict[str, list[Callable[[Rows], Awaitable[None]]]] = {}
        self._looking = asyncio.Lock()
        self._next: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._preparing: set[asyncio.Task[None]] = set()
        self._failed = True
        self._refreshed_at = 0.0

    async def start(self) -> None:
        """Load everything, then follow.

        Raises `ConfigurationError` if the tables are not those of this version, `Unavailable` if the database does not
        answer.
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

        Callers that come during a look share the next one.
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

    def objects(self, collection: str) -> Rows:
        """The objects of a collection by name; empty if no active plugin has declared it."""
        return self._objects.get(collection, {})

    def find_removed(self, target_type: str, target: str) -> str | None:
        """The noun of the collection whose objects are targets of this type, if it has no object of this name; else
        None."""
        collection = self._targets.get(target_type)
        return None if collection is None or target in self._objects[collection.name] else collection.noun

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
        """The latest revision of the database whose sections are all here, and whose followers have been told."""
        return self._in_force

    def before(self, collection: str, prepare: Callable[[Rows], Awaitable[None]]) -> None:
        """Await `prepare` with the new objects of a collection before they are in force: for work that is too long for
        the event loop. The rest of a change does not wait for it."""
        self._preparers.setdefault(collection, []).append(prepare)

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call `callback` in the event loop after each change has been applied."""
        self._callbacks.append(callback)

    def when_in_force(self, callback: Callable[[], None]) -> None:
        """Call `callback` in the event loop when another revision is in force. It must not raise."""
        self._when_in_force.append(callback)

    def _look_soon(self) -> asyncio.Task[None]:
        """The next look to begin. All callers before it begins share it."""
        if self._next is None:
            self._next = asyncio.create_task(self._look_in_turn())
        return self._next

    async def _follow(self) -> None:
        """Look at the database at each interval, whether or not the last look succeeded."""
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
                waiting = {name: found.objects[name] for name in self._preparers if name in found.objects}
                self._apply(found, waiting)
        if found is not None and waiting:  # whatever else changed, such as a revocation, is in force
            preparing = asyncio.create_task(self._prepare(found, waiting))
            self._preparing.add(preparing)
            preparing.add_done_callback(self._end_preparing)

    async def _prepare(self, found: Changes, waiting: Mapping[str, Rows]) -> None:
        """Put collections in force once all their preparers are done. Work that a preparer left undone is done then."""
        try:
            for collection, rows in waiting.items():
                for prepare in self._preparers[collection]:
                    await prepare(rows)
        finally:
            for collection, rows in waiting.items():
                if found.seen.value >= self._prepared_of.get(collection, 0):
                    self._prepared_of[collection] = found.seen.value
                    self._objects[collection] = rows
            self._show(found)

    def _end_preparing(self, task: asyncio.Task[None]) -> None:
        self._preparing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("objects of a collection could not be prepared", exc_info=error)

    def _apply(self, found: Changes, waiting: Mapping[str, Rows]) -> None:
        """Apply the changes, except for the collections in `waiting`, which are applied later."""
        self._seen = found.seen
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
        self._objects |= {name: rows for name, rows in found.objects.items() if name not in waiting}
        if found.signing_keys is not None:
            self._signing_keys = found.signing_keys
        if not waiting:
            self._show(found)
        elif found.is_visible:
            self._call_back()

    def _show(self, found: Changes) -> None:
        """Publish a revision that is completely here. It is in force once the callbacks for changes have been
        called."""
        revision = found.seen.value if found.fresh else max(self._in_force, found.seen.value)
        if found.is_visible:
            self._version = max(self._version + 1, found.seen.value)
            self._call_back()
            asyncio.get_running_loop().call_soon(self._put_in_force, revision)
        else:
            self._put_in_force(revision)

    def _put_in_force(self, revision: int) -> None:
        self._in_force = revision
        for callback in self._when_in_force:
            callback()

    def _call_back(self) -> None:
        if self._callbacks:
            loop = asyncio.get_running_loop()
            for callback in self._callbacks:
                loop.call_soon(callback)  # before whoever waits for this look goes on; a broken one stops no other


SecretFiles = dict[str, Written]
"""The files that secrets were read from, each with its state when it was looked at."""


@dataclass(frozen=True, slots=True)
class Codecs:
    """The key that opens sealed secrets, and the codec of each collection."""

    sealer: Sealer
    objects: Mapping[str, ObjectCodec[Any]]


@dataclass(frozen=True, slots=True)
class Seen:
    """A revision of the database: its number, and the revision of the last change of each section and collection."""

    value: int
    sections: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes up to the revision `seen`. A section that is None has not changed, nor has a collection that is not
    in `objects`; `fresh`: the rows are complete.

    `files` are those that secrets of a collection were read from, with their state before they were read. `lost_agents`
    and `lost_keys` are the ids of damaged rows.
    """

    seen: Seen
    fresh: bool
    agents: dict[str, Agent]
    lost_agents: frozenset[str]
    api_keys: list[ApiKey]
    lost_keys: frozenset[str]
    admins: dict[str, Admin] | None
    signing_keys: tuple[SigningKey, ...] | None
    objects: dict[str, Rows]
    files: dict[str, SecretFiles]

    @property
    def is_visible(self) -> bool:
        """True if anything changed that is kept here: enrolment requests, for one, are not."""
        rows = (self.agents, self.lost_agents, self.api_keys, self.lost_keys, self.objects)
        return self.fresh or any(rows) or self.admins is not None or self.signing_keys is not None


_REVISION = select(tables.revision)
_SECTIONS = select(tables.sections)
_SINCE = {
    table.name: select(table).where(table.c.version > text(":seen")) for table in (tables.agents, tables.api_keys)
}
"""The sections that may be long: only their new rows are read."""


def look_again(files: SecretFiles) -> SecretFiles:
    return {path: look_at_file(path) for path in files}


def load_changes(
    connection: Connection, codecs: Codecs, seen: Seen | None, rewritten: frozenset[str] = frozenset()
) -> Changes | None:
    """The changes since the revision `seen`; None if there are none. `rewritten` are collections to be read in any
    case."""
    row = connection.execute(_REVISION).one()
    if seen is not None and row.value == seen.value and not rewritten:
        return None
    if seen is not None and row.value < seen.value:
        seen = None  # an older database was put in place
    sections = {one.name: one.value for one in connection.execute(_SECTIONS)}
    now = Seen(row.value, {**row._mapping, **sections})

    def since(section: str) -> int | None:
        """The revision of the section in this copy; None if the copy is empty."""
        return None if seen is None else seen.sections.get(section, 0)

    def has_changed(section: str) -> bool:
        return since(section) != now.sections.get(section, 0) or section in rewritten

    def added(section: str) -> list[AnyRow]:
        if not has_changed(section):
            return []
        return read_rows(connection, _SINCE[section], _key(section), {"seen": -1 if seen is None else since(section)})

    def changed(section: str) -> list[AnyRow] | None:
        return _read_all(connection, section) if has_changed(section) else None

    agents, lost_agents = decode_good(added("agents"), decode_agent, "agents")
    api_keys, lost_keys = decode_good(added("api_keys"), decode_api_key, "api_keys")
    admins, signing_keys = changed("admins"), changed("signing_keys")
    objects: dict[str, Rows] = {}
    files: dict[str, SecretFiles] = {}
    for name, codec in codecs.objects.items():
        if has_changed(name):
            rows = read_rows(connection, select_objects(name), tables.objects.c.name)
            files[name] = _look_at_files(rows)  # before they are read
            objects[name] = {item.name: item for item in decode_good(rows, codec.decode, name)[0]}
    return Changes(
        now,
        seen is None,
        {agent.name: agent for agent in agents},
        lost_agents,
        api_keys,
        lost_keys,
        None if admins is None else _decode_admins(admins),
        None if signing_keys is None else _decode_signing_keys(signing_keys, codecs.sealer),
        objects,
        files,
    )


def _key(section: str) -> Column[Any]:
    """The unique column of a section's table."""
    return next(iter(tables.metadata.tables[section].primary_key.columns))


def _read_all(connection: Connection, section: str) -> list[AnyRow]:
    return read_rows(connection, select(tables.metadata.tables[section]), _key(section))


def _look_at_files(rows: list[AnyRow]) -> SecretFiles:
    paths = (getattr(row, "secret_file", None) for row in rows)
    return look_again({path: None for path in paths if isinstance(path, str)})


def _decode_admins(rows: list[AnyRow]) -> dict[str, Admin]:
    return {find_name(admin.token_hash): admin for admin in decode_good(rows, decode_admin, "admins")[0]}


def _decode_signing_keys(rows: list[AnyRow], sealer: Sealer) -> tuple[SigningKey, ...]:
    keys = [key for row in rows if (key := decode_signing_key(row, sealer)) is not None]
    return tuple(sorted(keys, key=lambda key: (key.created_at, key.id)))


async def verify_schema(database: Database) -> None:
    """Verify the tables. Raises `ConfigurationError` unless they are those of this version, `Unavailable` if the
    database does not answer."""

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
