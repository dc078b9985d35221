"""One-time tokens for unattended enrolment. Only their keyed hashes are kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import replace

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from mastio.exchange.errors import BadRequest, Denied
from mastio.exchange.matching import matches
from mastio.exchange.records import EnrollmentToken
from mastio.plugin.services import Keys
from mastio.store.rows import decode_token, encode_token
from mastio.store.sql.changes import Change, Page, read_page
from mastio.store.sql.engine import Database
from mastio.store.sql.tables import enrollment_tokens

TOKEN_PREFIX = "mastio_enroll_"  # noqa: S105
KEEP_SECONDS = 7 * 86_400.0
"""Seconds that an expired token stays in the list."""


_CONSUME = (
    update(enrollment_tokens)
    .where(
        enrollment_tokens.c.token_hash == bindparam("hash"),
        enrollment_tokens.c.uses_left > 0,
        enrollment_tokens.c.expires_at > bindparam("at"),
    )
    .values(uses_left=enrollment_tokens.c.uses_left - 1, version=bindparam("new_version"))
    .returning(enrollment_tokens.c.name)
)


class TokenStore:
    """`store.tokens`."""

    def __init__(self, database: Database, change: Change, keys: Keys) -> None:
        self._database = database
        self._change = change
        self._key = keys.key("enrollment-tokens")

    def hash(self, token: str) -> str:
        """The lookup value of a token: HMAC-SHA256 under the key `enrollment-tokens`, hex."""
        return hmac.digest(self._key, token.encode(), hashlib.sha256).hex()

    async def create(self, name: str, uses: int, expires_at: float, by: str, now: float) -> tuple[EnrollmentToken, str]:
        """A new token and its text, which is not kept."""
        text = TOKEN_PREFIX + secrets.token_urlsafe(32)
        token = EnrollmentToken(f"tok_{secrets.token_urlsafe(12)}", name, uses, now, by, expires_at)

        def work(connection: Connection, version: int) -> EnrollmentToken:
            long_ago = now - KEEP_SECONDS
            connection.execute(delete(enrollment_tokens).where(enrollment_tokens.c.expires_at < long_ago))
            made = replace(token, place=version)
            values = {"version": version, "token_hash": self.hash(text), **encode_token(made)}
            connection.execute(insert(enrollment_tokens).values(values))
            return made

        return await self._change(work), text

    async def list(self, limit: int, after: int) -> Page[EnrollmentToken]:
        """Tokens, the oldest first, beginning behind the `place` given by `after`; spent and expired ones too."""
        table = enrollment_tokens
        statement = select(table).where(table.c.place > after).order_by(table.c.place)
        return await read_page(self._database, statement, limit, decode_token, enrollment_tokens.c.id)

    async def delete(self, identifier: str) -> None:
        """The token is good for nothing any more. Raises `BadRequest` (not_found)."""

        def work(connection: Connection, version: int) -> None:
            del version
            gone = connection.execute(delete(enrollment_tokens).where(enrollment_tokens.c.id == identifier))
            if gone.rowcount == 0:
                raise BadRequest("There is no enrolment token with this id.", code="not_found")

        await self._change(work)


def consume_token(connection: Connection, version: int, token_hash: str, name: str, now: float) -> None:
    """Take one use. Raises `Denied` (invalid_enrollment_token), the same for every reason."""
    found = connection.execute(_CONSUME, {"hash": token_hash, "at": now, "new_version": version})
    pattern = found.scalar_one_or_none()
    if pattern is None or not matches(pattern, name):
        raise Denied("The enrolment token is not good for this name.", code="invalid_enrollment_token")
