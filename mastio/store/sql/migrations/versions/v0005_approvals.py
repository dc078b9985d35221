"""Holds of agents: what they are bound to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("holds") as batch:
        batch.add_column(sa.Column("binding", sa.Text))
    op.create_index("ix_holds_binding", "holds", ["binding"])


def downgrade() -> None:
    op.drop_index("ix_holds_binding", "holds")
    with op.batch_alter_table("holds") as batch:
        batch.drop_column("binding")
