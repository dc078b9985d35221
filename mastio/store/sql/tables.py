"""The tables of the control plane. The migrations make them; a test holds both to be the same.

Every row has `version`: the value of `revision.value` that the transaction which last wrote it made. The one row of
`revision` is taken first by every transaction that writes, so writers are in line, versions are committed in order,
and whoever has seen revision n has seen every row whose version is at most n.
"""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    text,
)
from sqlalchemy.engine import Dialect

SCHEMA = "0008"
"""The migration that makes these tables; what a serving process expects to find in `alembic_version`."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class Document(TypeDecorator[Any]):
    """A JSON value, stored as text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else orjson.dumps(value).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else orjson.loads(value)


def _version() -> Column[int]:
    return Column("version", BigInteger, nullable=False)


revision = Table(
    "revision",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("value", BigInteger, nullable=False),
    # the value at the last change of each section of the kernel that is kept hot
    Column("agents", BigInteger, nullable=False),
    Column("admins", BigInteger, nullable=False),
    Column("api_keys", BigInteger, nullable=False),
    Column("signing_keys", BigInteger, nullable=False),
)

sections = Table(
    "sections",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
)
"""The value of `revision.value` at the last change of each collection."""

objects = Table(
    "objects",
    metadata,
    Column("collection", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("document", Text, nullable=False),  # as text: the hot copy decodes it with the rest
    Column("secret", Text),  # sealed
    Column("secret_file", Text),
    Column("key", Text),
    _version(),
    Index(None, "key"),
)
"""The objects of every `mastio.plugin.collection.Collection`."""

agents = Table(
    "agents",
    metadata,
    Column("name", Text, primary_key=True),
    Column("spiffe_id", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("status_reason", Text),
    Column("groups", Document, nullable=False),
    Column("attributes", Document, nullable=False),
    Column("cert_sha256", Text, nullable=False),
    Column("not_after", Double, nullable=False),
    Column("previous_cert_sha256", Text),
    Column("previous_until", Double, nullable=False),
    Column("dpop_jkt", Text),
    Column("public_jwks", Document, nullable=False),
    Column("api_keys", Boolean, nullable=False),
    Column("created_at", Double, nullable=False),
    _version(),
    Index(None, "version"),
)

certificates = Table(
    "certificates",
    metadata,
    Column("serial", Text, primary_key=True),
    Column("agent", Text, ForeignKey("agents.name"), nullable=False),
    Column("sha256", Text, nullable=False),
    Column("issued_at", Double, nullable=False),
    Column("not_after", Double, nullable=False),
    Column("revoked_at", Double),
    Column("issuer", Text),  # the id of the intermediate that signed it
    _version(),
    Index(None, "agent"),
    Index(None, "revoked_at"),
)

enrollments = Table(
    "enrollments",
    metadata,
    Column("id", Text, primary_key=True),
    Column("place", BigInteger, nullable=False),  # the version at creation: the order of the list
    Column("name", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("public_key", LargeBinary, nullable=False),
    Column("dpop_jwk", Document),
    Column("reason", Text),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("decided_at", Double),
    Column("decided_by", Text),
    Column("decision_reason", Text),
    Column("certificate", Text),
    Column("chain", Text),
    _version(),
    Index(None, "place", unique=True),
    Index(None, "status", "expires_at"),
    Index(
        "uq_enrollments_pending_name",
        "name",
        unique=True,
        sqlite_where=text("status = 'pending'"),
        postgresql_where=text("status = 'pending'"),
    ),
)

enrollment_tokens = Table(
    "enrollment_tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("place", BigInteger, nullable=False),
    Column("token_hash", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("uses_left", Integer, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("expires_at", Double, nullable=False),
    _version(),
    Index(None, "place", unique=True),
)

admins = Table(
    "admins",
    metadata,
    Column("name", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("token_hash", Text, nullable=False, unique=True),
    Column("expires_at", Double),
    Column("revoked", Boolean, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("created_by", Text),
    _version(),
)

budget_windows = Table(
    "budget_windows",
    metadata,
    Column("series", Text, primary_key=True),
    Column("start", BigInteger, primary_key=True),
    Column("ends", BigInteger),
    Column("spent", BigInteger, nullable=False),
    Column("leased", BigInteger, nullable=False),  # the sum of `held` of the leases on this window
    Column("asked_at", Double, nullable=False),
    Column("asked_by", Text),
)
"""The amount spent of each budget in each of its periods. `mastio.store.leases` keeps it exact."""

budget_leases = Table(
    "budget_leases",
    metadata,
    Column("id", Text, primary_key=True),
    Column("series", Text, nullable=False),
    Column("start", BigInteger, nullable=False),
    Column("owner", Text, nullable=False),
    Column("incarnation", Text, nullable=False),
    Column("held", BigInteger, nullable=False),
    Column("idle", BigInteger, nullable=False),
    Column("used", BigInteger, nullable=False),
    Column("seen_at", Double, nullable=False),
    Index(None, "series", "start"),
    Index(None, "owner"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("place", BigInteger, nullable=False),
    Column("agent", Text, ForeignKey("agents.name"), nullable=False),
    Column("name", Text, nullable=False),
    Column("key_hash", Text, nullable=False, unique=True),
    Column("kinds", Document, nullable=False),
    Column("models", Document, nullable=False),
    Column("paths", Document, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("expires_at", Double),
    Column("last_used_at", Double),
    Column("revoked", Boolean, nullable=False),
    _version(),
    Index(None, "agent"),
    Index(None, "version"),
)

signing_keys = Table(
    "signing_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("purpose", Text, nullable=False),
    Column("secret", Text, nullable=False),  # sealed
    Column("created_at", Double, nullable=False),
    Column("active_from", Double, nullable=False),
    Column("retire_at", Double),
    _version(),
)

holds = Table(
    "holds",
    metadata,
    Column("id", Text, primary_key=True),
    Column("place", BigInteger, nullable=False),
    Column("exchange", Text, nullable=False),
    Column("agent", Text),
    Column("requested_by", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("parameters", Document, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("status", Text, nullable=False),
    Column("decided_at", Double),
    Column("decided_by", Text),
    Column("reason", Text),
    Column("binding", Text),  # of what an agent asked for
    _version(),
    Index(None, "place", unique=True),
    Index(None, "binding"),
)

used = Table(
    "used",
    metadata,
    Column("id", Text, primary_key=True),
    Column("expires_at", Double, nullable=False),
    Index(None, "expires_at"),
)
