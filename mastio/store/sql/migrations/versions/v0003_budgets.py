"""Budgets, what was spent of them, and what workers hold of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("revision") as batch:
        batch.add_column(sa.Column("budgets", sa.BigInteger, nullable=False, server_default="0"))
    with op.batch_alter_table("revision") as batch:
        batch.alter_column("budgets", server_default=None)
    op.create_table(
        "budgets",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("period", sa.Text, nullable=False),
        sa.Column("scope", sa.Text),
        sa.Column("subject", sa.Text),
        sa.Column("series", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_budgets"),
        sa.UniqueConstraint("series", name="uq_budgets_series"),
    )
    op.create_table(
        "budget_windows",
        sa.Column("series", sa.Text, nullable=False),
        sa.Column("start", sa.BigInteger, nullable=False),
        sa.Column("ends", sa.BigInteger),
        sa.Column("spent", sa.BigInteger, nullable=False),
        sa.Column("leased", sa.BigInteger, nullable=False),
        sa.Column("asked_at", sa.Double, nullable=False),
        sa.Column("asked_by", sa.Text),
        sa.PrimaryKeyConstraint("series", "start", name="pk_budget_windows"),
    )
    op.create_table(
        "budget_leases",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("series", sa.Text, nullable=False),
        sa.Column("start", sa.BigInteger, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("incarnation", sa.Text, nullable=False),
        sa.Column("held", sa.BigInteger, nullable=False),
        sa.Column("idle", sa.BigInteger, nullable=False),
        sa.Column("used", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_budget_leases"),
    )
    op.create_index("ix_budget_leases_series", "budget_leases", ["series", "start"])
    op.create_index("ix_budget_leases_owner", "budget_leases", ["owner"])


def downgrade() -> None:
    for table in ("budget_leases", "budget_windows", "budgets"):
        op.drop_table(table)
    with op.batch_alter_table("revision") as batch:
        batch.drop_column("budgets")
