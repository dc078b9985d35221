"""Named admin tokens. Only their keyed hashes are kept; the token is shown once.

The row of a token that was revoked stays: its name is never given again, so that an entry of the log that names
somebody means one holder for ever.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from mastio.exchange.errors import BadRequest
from mastio.exchange.presented_credentials import (
    CLAIM_MARK,
    CLAIM_PREFIX,
    hash_claim,
    hash_digest,
    hash_secret,
    limit_claim,
)
from mastio.exchange.records import Admin, AdminRole
from mastio.plugin.services import Keys
from mastio.store.rows import decode_admin, encode_admin
from mastio.store.sql.changes import Change, Page, read_page
from mastio.store.sql.damage import decode_good, decode_one, read_rows
from mastio.store.sql.engine import Database
from mastio.store.sql.tables import admins

TOKEN_PREFIX = "mastio_admin_"  # noqa: S105

_NAME = admins.c.name
_IN_FORCE = admins.c.revoked.is_(False)
_CLAIMED = admins.c.token_hash.not_like(f"{CLAIM_MARK}%")
"""There is a token: who was added and has not claimed one can do nothing yet."""

_LASTING = select(func.count()).where(_IN_FORCE, _CLAIMED, admins.c.role == "admin", admins.c.expires_at.is_(None))


def new_admin_token() -> str:
    """`mastio_admin_` and 43 base64url characters: 256 random bits."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def new_claim() -> str:
    """A one-time code, as random as a token."""
    return CLAIM_PREFIX.decode("ascii") + secrets.token_urlsafe(32)


def is_unclaimed(admin: Admin) -> bool:
    """True if there is no token yet, only a one-time code to claim one with."""
    return admin.token_hash.startswith(CLAIM_MARK)


def hash_admin_token(keys: Keys, token: str) -> str:
    """HMAC-SHA256 under the key `admin-tokens`, hex: `Admin.token_hash`."""
    return hash_secret(keys.key("admin-tokens"), token.encode())


class AdminStore:
    """`store.admins`. Every method that changes one raises `BadRequest` (not_found) for a name nobody has any more."""

    def __init__(self, database: Database, change: Change, keys: Keys) -> None:
        self._database = database
        self._change = change
        self._keys = keys

    async def add(
        self, name: str, role: AdminRole, token: str, now: float, expires_at: float | None = None, by: str | None = None
    ) -> Admin:
        """Raises `BadRequest` (conflict) when the name has been given before."""
        return await self.add_hashed(name, role, hash_admin_token(self._keys, token), now, expires_at, by)

    def hash_token(self, token: str) -> str:
        """`Admin.token_hash` of a token that the appliance made."""
        return hash_admin_token(self._keys, token)

    def hash_own(self, digest: str) -> str:
        """`Admin.token_hash` of a token that its holder made, of which `digest` (SHA-256, hex) is known."""
        return hash_digest(self._keys.key("admin-tokens"), digest)

    def hash_claim(self, digest: str, end: float) -> str:
        """The same of a one-time code that is good until `end`."""
        return limit_claim(hash_claim(self._keys.key("admin-tokens"), digest), end)

    async def add_hashed(
        self, name: str, role: AdminRole, token_hash: str, now: float, expires_at: float | None, by: str | None
    ) -> Admin:
        """As `add`, for a token or code that nobody here has seen."""
        admin = Admin(name, role, token_hash, expires_at, False, now, by)

        def work(connection: Connection, version: int) -> Admin:
            try:
                connection.execute(insert(admins).values(version=version, **encode_admin(admin)))
            except IntegrityError as error:
                raise BadRequest("An admin has, or had, this name.", code="conflict") from error
            return admin

        return await self._change(work, "admins")

    async def is_empty(self) -> bool:
        """True if there has never been an admin."""
        return (
            await self._database.read(lambda c: c.execute(select(func.count()).select_from(admins)).scalar_one()) == 0
        )

    async def list(self, limit: int, after: str = "") -> Page[Admin]:
        """In the order of their names, beginning behind `after`; expired ones too, revoked ones not."""
        statement = select(admins).where(admins.c.name > after, _IN_FORCE).order_by(admins.c.name)
        return await read_page(self._database, statement, limit, decode_admin, admins.c.name)

    async def get(self, name: str) -> Admin:
        """Raises `BadRequest` (not_found), for a revoked one too."""
        return await self._database.read(lambda connection: _get(connection, name))

    async def count_active(self, now: float) -> int:
        """The number of active admins with the role admin."""
        statement = select(func.count()).where(_IN_FORCE, _CLAIMED, admins.c.role == "admin", _not_expired(now))
        return await self._database.read(lambda connection: connection.execute(statement).scalar_one())

    async def change(self, name: str, edit: Callable[[Admin], Admin]) -> Admin:
        """Write what `edit` makes of the present one. Raises `BadRequest` (last_admin) as `revoke` does."""

        def work(connection: Connection, version: int) -> Admin:
            before = _get(connection, name)
            after = edit(before)
            try:
                connection.execute(
                    update(admins).where(admins.c.name == name).values(version=version, **encode_admin(after))
                )
            except IntegrityError as error:
                raise BadRequest("An admin has this token.", code="conflict") from error
            if _is_lasting(before) and connection.execute(_LASTING).scalar_one() == 0:
                raise BadRequest("This is the last admin without an end.", code="last_admin")
            return after

        return await self._change(work, "admins")

    async def rotate(self, name: str, token: str) -> Admin:
        """A new token for the same name; the old one is refused from now on."""
        return await self.rotate_hashed(name, hash_admin_token(self._keys, token))

    async def rotate_hashed(self, name: str, token_hash: str) -> Admin:
        """As `rotate`. Raises `BadRequest` (conflict) for a token that somebody has."""
        return await self.change(name, lambda admin: replace(admin, token_hash=token_hash))

    async def claim(self, name: str, token_hash: str) -> Admin:
        """The token of who claims, in place of the one-time code, which works once. Raises `BadRequest` (conflict)."""

        def edit(admin: Admin) -> Admin:
            if not is_unclaimed(admin):
                raise BadRequest("The token of this admin has been claimed.", code="conflict")
            return replace(admin, token_hash=token_hash)

        return await self.change(name, edit)

    async def revoke(self, name: str) -> None:
        """The token is refused from now on; its name stays taken.

        Raises `BadRequest` (last_admin) when nobody of role admin without an end would be left: the appliance would be
        locked, at once or when the last of the others expires.
        """
        await self.change(name, lambda admin: replace(admin, revoked=True))


def find_active_admin(connection: Connection, name: str, now: float) -> Admin | None:
    """The holder of a token in force with this name, whatever its role. Nobody is found in a damaged row."""
    rows = read_rows(connection, select(admins).where(admins.c.name == name, _IN_FORCE, _not_expired(now)), _NAME)
    return next(iter(decode_good(rows, decode_admin, "admins")[0]), None)


def _get(connection: Connection, name: str) -> Admin:
    rows = read_rows(connection, select(admins).where(admins.c.name == name, _IN_FORCE), _NAME)
    if not rows:
        raise BadRequest("There is no admin of this name.", code="not_found")
    return decode_one(rows[0], decode_admin)


def _not_expired(now: float) -> ColumnElement[bool]:
    return or_(admins.c.expires_at.is_(None), admins.c.expires_at > now)


def _is_lasting(admin: Admin) -> bool:
    return admin.role == "admin" and admin.expires_at is None
