"""Signing keys that every worker and replica shares: sealed in the table, in the hot copy of all within a second."""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, delete, insert, select, update

from mastio.exchange.errors import ConfigurationError
from mastio.exchange.records import SigningKey
from mastio.identity.rotation import in_force
from mastio.store.rows import decode_signing_key, encode_signing_key
from mastio.store.secrets.sealed import Sealer
from mastio.store.sql.changes import Change
from mastio.store.sql.damage import read_rows
from mastio.store.sql.engine import Database
from mastio.store.sql.tables import signing_keys

KEEP_SECONDS = 7 * 86_400.0
"""Seconds that a retired key stays in the list."""


class SigningKeyStore:
    """`store.signing_keys`."""

    def __init__(self, database: Database, change: Change, sealer: Sealer) -> None:
        self._database = database
        self._change = change
        self._sealer = sealer

    async def list(self, purpose: str) -> tuple[SigningKey, ...]:
        """Every generation, the oldest first; retired ones for a while too."""
        return await self._database.read(lambda connection: self._list(connection, purpose))

    async def ensure(self, purpose: str, now: float) -> None:
        """Make the first generation, in force at once, unless there is one. Of several calls at once, one does.

        Raises `ConfigurationError` when there are some and none opens: another first one would be a second identity.
        """

        def work(connection: Connection, version: int) -> None:
            if not self._list(connection, purpose):
                if connection.execute(select(signing_keys.c.id).where(signing_keys.c.purpose == purpose)).first():
                    raise ConfigurationError(
                        "What is sealed in the database does not open with this key.",
                        "Give the key that it was sealed with: see secrets.key_file and secrets.key_command.",
                    )
                self._add(connection, version, _new(purpose, now, now))

        if not await self.list(purpose):
            await self._change(work, "signing_keys")

    async def rotate(self, purpose: str, now: float, active_from: float, retire_at: float) -> SigningKey:
        """A new generation, which signs from `active_from`; those before verify until `retire_at`. Unix seconds."""

        def work(connection: Connection, version: int) -> SigningKey:
            known = self._list(connection, purpose)
            for one in in_force(known, now):
                end = retire_at if one.retire_at is None else min(one.retire_at, retire_at)
                statement = update(signing_keys).where(signing_keys.c.id == one.id)
                connection.execute(statement.values(retire_at=end, version=version))
            long_ago = now - KEEP_SECONDS
            connection.execute(
                delete(signing_keys).where(signing_keys.c.purpose == purpose, signing_keys.c.retire_at < long_ago)
            )
            # Never before one that is still to begin: the newest is the one that signs in the end.
            begin = max([active_from, *(one.active_from for one in known)]) if active_from > now else active_from
            return self._add(connection, version, _new(purpose, now, begin))

        return await self._change(work, "signing_keys")

    def _list(self, connection: Connection, purpose: str) -> tuple[SigningKey, ...]:
        statement = select(signing_keys).where(signing_keys.c.purpose == purpose).order_by(signing_keys.c.version)
        rows = read_rows(connection, statement, signing_keys.c.id)
        decoded = (decode_signing_key(row, self._sealer) for row in rows)
        return tuple(sorted((key for key in decoded if key is not None), key=lambda key: (key.created_at, key.id)))

    def _add(self, connection: Connection, version: int, key: SigningKey) -> SigningKey:
        connection.execute(insert(signing_keys).values(version=version, **encode_signing_key(key, self._sealer)))
        return key


def _new(purpose: str, now: float, active_from: float) -> SigningKey:
    return SigningKey(f"{purpose}-{secrets.token_urlsafe(9)}", purpose, secrets.token_bytes(32), now, active_from)
