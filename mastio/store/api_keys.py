"""API keys of agents. Only their keyed hashes are kept; the key is shown once."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection, bindparam, insert, select, update

from mastio.exchange.errors import BadRequest
from mastio.exchange.presented_credentials import API_KEY_PREFIX, hash_secret
from mastio.exchange.records import ApiKey
from mastio.exchange.values import Restriction
from mastio.plugin.services import Keys
from mastio.store.agents import get_agent
from mastio.store.rows import decode_api_key, encode_api_key
from mastio.store.sql.changes import Change, Page, read_page
from mastio.store.sql.damage import decode_one, read_rows
from mastio.store.sql.engine import Database
from mastio.store.sql.tables import api_keys

_MARK = (
    update(api_keys)
    .where(
        api_keys.c.id == bindparam("this"),
        api_keys.c.last_used_at.is_(None) | (api_keys.c.last_used_at < bindparam("at")),
    )
    .values(last_used_at=bindparam("at"))
)


def new_api_key() -> str:
    """`mastio_sk_` and 43 base64url characters: 256 random bits."""
    return API_KEY_PREFIX.decode("ascii") + secrets.token_urlsafe(32)


def hash_api_key(keys: Keys, key: str) -> str:
    """Under the key `api-keys`: `ApiKey.key_hash`."""
    return hash_secret(keys.key("api-keys"), key.encode())


@dataclass(frozen=True, slots=True)
class NewApiKey:
    """The members of a requested API key. Times are Unix seconds; `expires_at` None: the key does not expire."""

    agent: str
    name: str
    restriction: Restriction
    expires_at: float | None


class ApiKeyStore:
    """`store.api_keys`. A key that was revoked is gone for everybody here; its row stays, so that its end is seen."""

    def __init__(self, database: Database, change: Change, keys: Keys) -> None:
        self._database = database
        self._change = change
        self._keys = keys

    async def create(self, wish: NewApiKey, by: str, now: float) -> tuple[ApiKey, str]:
        """A new key and its text, which is not kept. Raises `BadRequest` (not_found): nobody has the agent's name."""
        text = new_api_key()
        bounds = wish.restriction
        key = ApiKey(
            f"key_{secrets.token_urlsafe(12)}",
            wish.agent,
            wish.name,
            hash_api_key(self._keys, text),
            now,
            by,
            bounds.kinds,
            bounds.models,
            bounds.paths,
            wish.expires_at,
        )

        def work(connection: Connection, version: int) -> ApiKey:
            get_agent(connection, wish.agent)
            made = replace(key, place=version)
            connection.execute(insert(api_keys).values(version=version, **encode_api_key(made)))
            return made

        return await self._change(work, "api_keys"), text

    async def list(self, agent: str, limit: int, after: int) -> Page[ApiKey]:
        """The agent's keys, the oldest first, beginning behind the `place` given by `after`; expired ones too."""
        statement = (
            select(api_keys)
            .where(api_keys.c.agent == agent, api_keys.c.revoked.is_(False), api_keys.c.place > after)
            .order_by(api_keys.c.place)
        )
        return await read_page(self._database, statement, limit, decode_api_key, api_keys.c.id)

    async def get(self, agent: str, identifier: str) -> ApiKey:
        """Raises `BadRequest` (not_found): the agent has no such key."""
        statement = select(api_keys).where(
            api_keys.c.id == identifier, api_keys.c.agent == agent, api_keys.c.revoked.is_(False)
        )
        rows = await self._database.read(lambda connection: read_rows(connection, statement, api_keys.c.id))
        if not rows:
            raise _no_such_key()
        return decode_one(rows[0], decode_api_key)

    async def revoke(self, agent: str, identifier: str) -> None:
        """The key is refused from now on. Raises `BadRequest` (not_found): the agent has no such key."""

        def work(connection: Connection, version: int) -> None:
            statement = update(api_keys).where(
                api_keys.c.id == identifier, api_keys.c.agent == agent, api_keys.c.revoked.is_(False)
            )
            if connection.execute(statement.values(revoked=True, version=version)).rowcount == 0:
                raise _no_such_key()

        await self._change(work, "api_keys")

    async def mark_used(self, uses: Mapping[str, float]) -> None:
        """`services.NoteUses`. Makes no revision: that a key was used is no change that any worker must load."""
        if not uses:
            return
        rows = [{"this": identifier, "at": at} for identifier, at in sorted(uses.items())]

        def work(connection: Connection) -> None:
            connection.execute(_MARK, rows)

        await self._database.write(work)


def revoke_all(connection: Connection, version: int, agent: str) -> None:
    """No key outlives the identity that it was made for, when another gets its name."""
    statement = update(api_keys).where(api_keys.c.agent == agent, api_keys.c.revoked.is_(False))
    connection.execute(statement.values(revoked=True, version=version))


def _no_such_key() -> BadRequest:
    return BadRequest("The agent has no API key with this id.", code="not_found")
