"""Named admin tokens. Only their keyed hashes are kept; the token is shown once."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from mastio.errors import BadRequest
from mastio.exchange import Role
from mastio.services import Keys
from mastio.store.base import Admin
from mastio.store.changes import Change, Page, read_page
from mastio.store.engine import Database
from mastio.store.rows import decode_admin
from mastio.store.tables import admins

TOKEN_PREFIX = "mastio_admin_"  # noqa: S105


def new_admin_token() -> str:
    """`mastio_admin_` and 43 base64url characters: 256 random bits."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def hash_admin_token(keys: Keys, token: str) -> str:
    """HMAC-SHA256 under the key `admin-tokens`, hex: `Admin.token_hash`."""
    return hmac.digest(keys.key("admin-tokens"), token.encode(), hashlib.sha256).hex()


class AdminStore:
    """`store.admins`."""

    def __init__(self, database: Database, change: Change, keys: Keys) -> None:
        self._database = database
        self._change = change
        self._keys = keys

    async def add(self, name: str, role: Role, token: str, now: float, expires_at: float | None = None) -> Admin:
        """Raises `BadRequest` (conflict) when the name has been given before."""
        admin = Admin(name, role, hash_admin_token(self._keys, token), expires_at)

        def work(connection: Connection, version: int) -> Admin:
            statement = insert(admins).values(
                name=name,
                role=role,
                token_hash=admin.token_hash,
                expires_at=expires_at,
                revoked=False,
                created_at=now,
                version=version,
            )
            try:
                connection.execute(statement)
            except IntegrityError as error:
                raise BadRequest("An admin token has this name.", code="conflict") from error
            return admin

        return await self._change(work, "admins")

    async def list(self, limit: int, after: str = "") -> Page[Admin]:
        """Admin tokens in the order of their names, beginning behind `after`; revoked ones too."""
        statement = select(admins).where(admins.c.name > after).order_by(admins.c.name)
        return await read_page(self._database, statement, limit, decode_admin)

    async def revoke(self, name: str) -> None:
        """The token is refused from now on; its name stays taken. Raises `BadRequest` (not_found)."""

        def work(connection: Connection, version: int) -> None:
            statement = update(admins).where(admins.c.name == name).values(revoked=True, version=version)
            if connection.execute(statement).rowcount == 0:
                raise BadRequest("There is no admin token of this name.", code="not_found")

        await self._change(work, "admins")
