"""The control plane's repository: one async method per verb, grouped by what they are about.

    store.agents        list get update revoke reactivate renew revoked
    store.enrollments   request issue_with_token find get list approve reject
    store.tokens        create list delete hash
    store.admins        add list get change rotate revoke is_empty count_active
    store.holds         create list get approve reject fail
    store.api_keys      create list get revoke mark_used
    store.signing_keys  list ensure rotate
    store.usage         read
    store.of(COLLECTION)  create list get replace change delete

Whatever changes does so in one transaction, which also makes the next revision; when a method returns, the change is
on stable storage and visible in this worker's `HotDirectory`. Every method may raise `Unavailable`.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mastio.exchange.errors import BadRequest, ConfigurationError
from mastio.plugin.collection import Collection, N
from mastio.plugin.services import Keys
from mastio.store.admins import TOKEN_PREFIX, AdminStore, new_admin_token
from mastio.store.agents import AgentStore
from mastio.store.api_keys import ApiKeyStore
from mastio.store.enrollments import EnrollmentStore
from mastio.store.holds import HoldStore
from mastio.store.leases import UsageStore
from mastio.store.objects import ObjectCodec, ObjectStore
from mastio.store.secrets.sealed import Sealer
from mastio.store.secrets.signing_keys import SigningKeyStore
from mastio.store.sql.changes import Change
from mastio.store.sql.engine import Database
from mastio.store.tokens import TokenStore
from mastio_primitives.files import create_private


class ControlStore:
    """`refresh` is `HotDirectory.refresh`: awaited after each commit that changes something hot."""

    def __init__(
        self,
        database: Database,
        keys: Keys,
        *,
        refresh: Callable[[], Awaitable[None]],
        collections: Sequence[Collection[Any]] = (),
        secret_folders: tuple[Path, ...] = (),
    ) -> None:
        change = Change(database, refresh)
        sealer = Sealer(keys)
        self.secret_folders = secret_folders
        self._objects: dict[str, ObjectStore[Any]] = {}
        for one in collections:
            codec = ObjectCodec(one, sealer, secret_folders)
            self._objects[one.name] = ObjectStore(database, change, one, codec)
        self.agents = AgentStore(database, change)
        self.enrollments = EnrollmentStore(database, change, tuple(self._objects.values()))
        self.tokens = TokenStore(database, change, keys)
        self.admins = AdminStore(database, change, keys)
        self.holds = HoldStore(database, change)
        self.api_keys = ApiKeyStore(database, change, keys)
        self.signing_keys = SigningKeyStore(database, change, sealer)
        self.usage = UsageStore(database)
        self.collections = tuple(collections)

    def of(self, collection: Collection[N]) -> ObjectStore[N]:
        """The objects of a collection. Raises `KeyError` for one that no active plugin has declared."""
        return self._objects[collection.name]


async def bootstrap(
    store: ControlStore, data: Path, environment: Mapping[str, str], now: Callable[[], float] = time.time
) -> Path:
    """Make the first admin token (`secrets/admin-token`, role admin, name `first`), the first objects of each
    collection, and the first keys for access tokens and for the log's checkpoints, once.

    Returns the token's path. Called by the supervisor after migration. The second call changes nothing, and what an
    admin has removed since does not come back. After a crash in between it goes on where it was: the file is written
    first, the objects second, and the row of the token, by which the next call knows, last. `environment`: the
    environment variables.
    """
    for purpose in ("token", "audit"):
        await store.signing_keys.ensure(purpose, now())
    path = data / "secrets" / "admin-token"
    if not await store.admins.is_empty():
        return path
    first = [(one, item) for one in store.collections if one.first is not None for item, _ in one.first(environment)]
    try:
        create_private(path, f"{new_admin_token()}\n".encode("ascii"))
        token = path.read_text("ascii").strip()
    except (OSError, ValueError) as error:
        raise ConfigurationError("The first admin token cannot be written.", f"Make {path} writable.") from error
    if not token.startswith(TOKEN_PREFIX):
        raise ConfigurationError("The first admin token's file is not one.", f"Remove {path}.")
    for collection, item in first:
        await _unless_there(store.of(collection).create(item))
    await _unless_there(store.admins.add("first", "admin", token, now()))
    return path


async def _unless_there(creation: Awaitable[Any]) -> None:
    try:
        await creation
    except BadRequest as error:
        if error.code != "conflict":
            raise
