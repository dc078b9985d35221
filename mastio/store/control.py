"""The control plane's repository: one async method per verb, grouped by what they are about.

    store.agents        list get update revoke reactivate renew revoked
    store.enrollments   request issue_with_token find get list approve reject
    store.tokens        create list delete hash
    store.admins        add list get change rotate revoke is_empty count_active
    store.holds         create list get approve reject fail
    store.api_keys      create list get revoke mark_used
    store.signing_keys  list ensure rotate
    store.providers     create list get replace change delete
    store.connections   create list get replace change delete
    store.policies      create list get replace change delete
    store.budgets       create list get replace change delete
    store.detectors     create list get replace change delete
    store.redaction     create list get replace change delete
    store.usage         read

Whatever changes does so in one transaction, which also makes the next revision; when a method returns, the change is
on stable storage and visible in this worker's `HotDirectory`. Every method may raise `Unavailable`.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from mastio.errors import BadRequest, ConfigurationError
from mastio.services import Keys
from mastio.store import tables
from mastio.store.admins import TOKEN_PREFIX, AdminStore, new_admin_token
from mastio.store.agents import AgentStore
from mastio.store.api_keys import ApiKeyStore
from mastio.store.base import BudgetRow, ConnectionRow, DetectorRow, PolicyRow, ProviderRow, RedactionRow
from mastio.store.changes import Change
from mastio.store.collection import Collection
from mastio.store.connections import ConnectionCodec
from mastio.store.engine import Database
from mastio.store.enrollments import EnrollmentStore
from mastio.store.holds import HoldStore
from mastio.store.leases import UsageStore
from mastio.store.rows import (
    ProviderCodec,
    decode_budget,
    decode_detectors,
    decode_policy,
    decode_redaction,
    encode_budget,
    encode_detectors,
    encode_policy,
    encode_redaction,
)
from mastio.store.sealed import Sealer
from mastio.store.signing_keys import SigningKeyStore
from mastio.store.tokens import TokenStore
from mastio_primitives.files import create_private

MOST_BUDGETS = 20_000
"""More than of other objects: there may be one for each agent, and they are found by its name."""


class ControlStore:
    """`refresh` is `HotDirectory.refresh`: awaited after each commit that changes something hot."""

    def __init__(
        self,
        database: Database,
        keys: Keys,
        *,
        refresh: Callable[[], Awaitable[None]],
        secret_folders: tuple[Path, ...] = (),
    ) -> None:
        change = Change(database, refresh)
        sealer = Sealer(keys)
        codec = ProviderCodec(sealer, secret_folders)
        connections = ConnectionCodec(sealer, secret_folders)
        self.secret_folders = secret_folders
        self.agents = AgentStore(database, change)
        self.enrollments = EnrollmentStore(database, change)
        self.tokens = TokenStore(database, change, keys)
        self.admins = AdminStore(database, change, keys)
        self.holds = HoldStore(database, change)
        self.api_keys = ApiKeyStore(database, change, keys)
        self.signing_keys = SigningKeyStore(database, change, sealer)
        self.providers: Collection[ProviderRow] = Collection(
            database, change, tables.providers, "provider", codec.encode, codec.decode
        )
        self.connections: Collection[ConnectionRow] = Collection(
            database, change, tables.connections, "connection", connections.encode, connections.decode
        )
        self.policies: Collection[PolicyRow] = Collection(
            database, change, tables.policies, "policy", encode_policy, decode_policy
        )
        self.budgets: Collection[BudgetRow] = Collection(
            database, change, tables.budgets, "budget", encode_budget, decode_budget, most=MOST_BUDGETS
        )
        self.detectors: Collection[DetectorRow] = Collection(
            database, change, tables.detectors, "detector policy", encode_detectors, decode_detectors
        )
        self.redaction: Collection[RedactionRow] = Collection(
            database, change, tables.redaction, "redaction policy", encode_redaction, decode_redaction
        )
        self.usage = UsageStore(database)


STARTER = PolicyRow(
    name="starter",
    cedar="""\
// Every active agent may use the configured providers,
permit (
  principal is Agent,
  action in [
    Action::"llm.chat",
    Action::"llm.responses",
    Action::"llm.embeddings",
    Action::"llm.moderations",
    Action::"llm.models",
    Action::"llm.count_tokens"
  ],
  resource
);

// see and renew its own identity, and verify what was recorded of it. Everything else is denied
// until a policy permits it.
permit (
  principal is Agent,
  action in [
    Action::"agent.self",
    Action::"agent.renew",
    Action::"audit.checkpoint",
    Action::"audit.entries",
    Action::"audit.proof"
  ],
  resource == Appliance::"self"
);
""",
)


async def bootstrap(
    store: ControlStore, data: Path, providers: Sequence[ProviderRow] = (), now: Callable[[], float] = time.time
) -> Path:
    """Make the first admin token (`secrets/admin-token`, role admin, name `first`), the policy `starter`, the
    `providers`, and the first keys for access tokens and for the log's checkpoints, once.

    Returns the token's path. Called by the supervisor after migration. The second call changes nothing, and what an
    admin has removed since does not come back. After a crash in between it goes on where it was: the file is written
    first, the policy second, and the row of the token, by which the next call knows, last.
    """
    for purpose in ("token", "audit"):
        await store.signing_keys.ensure(purpose, now())
    path = data / "secrets" / "admin-token"
    if not await store.admins.is_empty():
        return path
    try:
        create_private(path, f"{new_admin_token()}\n".encode("ascii"))
        token = path.read_text("ascii").strip()
    except (OSError, ValueError) as error:
        raise ConfigurationError("The first admin token cannot be written.", f"Make {path} writable.") from error
    if not token.startswith(TOKEN_PREFIX):
        raise ConfigurationError("The first admin token's file is not one.", f"Remove {path}.")
    made = [store.providers.create(provider) for provider in providers]
    for step in (store.policies.create(STARTER), *made, store.admins.add("first", "admin", token, now())):
        try:
            await step
        except BadRequest as error:
            if error.code != "conflict":
                raise
    return path
