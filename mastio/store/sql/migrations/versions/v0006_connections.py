"""Connections of agents to other APIs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("revision") as batch:
        batch.add_column(sa.Column("connections", sa.BigInteger, nullable=False, server_default="0"))
    with op.batch_alter_table("revision") as batch:
        batch.alter_column("connections", server_default=None)
    op.create_table(
        "connections",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("secret", sa.Text),
        sa.Column("secret_file", sa.Text),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_connections"),
    )


def downgrade() -> None:
    op.drop_table("connections")
    with op.batch_alter_table("revision") as batch:
        batch.drop_column("connections")
