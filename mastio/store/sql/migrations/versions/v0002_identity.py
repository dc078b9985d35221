"""API keys, signing keys, holds, what may be used only once, and who made an admin."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("revision") as batch:
        for section in ("api_keys", "signing_keys"):
            batch.add_column(sa.Column(section, sa.BigInteger, nullable=False, server_default="0"))
    with op.batch_alter_table("revision") as batch:
        for section in ("api_keys", "signing_keys"):
            batch.alter_column(section, server_default=None)
    op.add_column("certificates", sa.Column("issuer", sa.Text))
    op.add_column("admins", sa.Column("created_by", sa.Text))
    _api_keys()
    _signing_keys()
    _holds()
    op.create_table(
        "used",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_used"),
    )
    op.create_index("ix_used_expires_at", "used", ["expires_at"])


def downgrade() -> None:
    for table in ("used", "holds", "signing_keys", "api_keys"):
        op.drop_table(table)
    with op.batch_alter_table("admins") as batch:
        batch.drop_column("created_by")
    with op.batch_alter_table("certificates") as batch:
        batch.drop_column("issuer")
    with op.batch_alter_table("revision") as batch:
        for section in ("api_keys", "signing_keys"):
            batch.drop_column(section)


def _version() -> sa.Column[int]:
    return sa.Column("version", sa.BigInteger, nullable=False)


def _api_keys() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("key_hash", sa.Text, nullable=False),
        sa.Column("kinds", sa.Text, nullable=False),
        sa.Column("models", sa.Text, nullable=False),
        sa.Column("paths", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Double),
        sa.Column("last_used_at", sa.Double),
        sa.Column("revoked", sa.Boolean, nullable=False),
        _version(),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
        sa.UniqueConstraint("key_hash", name="uq_api_keys_key_hash"),
        sa.ForeignKeyConstraint(["agent"], ["agents.name"], name="fk_api_keys_agent"),
    )
    op.create_index("ix_api_keys_agent", "api_keys", ["agent"])
    op.create_index("ix_api_keys_version", "api_keys", ["version"])


def _signing_keys() -> None:
    op.create_table(
        "signing_keys",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("purpose", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("active_from", sa.Double, nullable=False),
        sa.Column("retire_at", sa.Double),
        _version(),
        sa.PrimaryKeyConstraint("id", name="pk_signing_keys"),
    )


def _holds() -> None:
    op.create_table(
        "holds",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("exchange", sa.Text, nullable=False),
        sa.Column("agent", sa.Text),
        sa.Column("requested_by", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("method", sa.Text, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("parameters", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("decided_at", sa.Double),
        sa.Column("decided_by", sa.Text),
        sa.Column("reason", sa.Text),
        _version(),
        sa.PrimaryKeyConstraint("id", name="pk_holds"),
    )
    op.create_index("ix_holds_place", "holds", ["place"], unique=True)
