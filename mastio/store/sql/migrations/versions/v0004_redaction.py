"""Redaction policies."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("revision") as batch:
        batch.add_column(sa.Column("redaction", sa.BigInteger, nullable=False, server_default="0"))
    with op.batch_alter_table("revision") as batch:
        batch.alter_column("redaction", server_default=None)
    op.create_table(
        "redaction",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_redaction"),
    )


def downgrade() -> None:
    op.drop_table("redaction")
    with op.batch_alter_table("revision") as batch:
        batch.drop_column("redaction")
