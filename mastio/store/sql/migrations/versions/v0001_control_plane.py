"""The control plane's first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _revision()
    _identities()
    _enrollments()
    _tokens()
    _described()


def downgrade() -> None:
    for table in (
        "policies",
        "providers",
        "admins",
        "enrollment_tokens",
        "enrollments",
        "certificates",
        "agents",
        "revision",
    ):
        op.drop_table(table)


def _version() -> sa.Column[int]:
    return sa.Column("version", sa.BigInteger, nullable=False)


def _revision() -> None:
    sections = ("agents", "admins", "providers", "policies")
    table = op.create_table(
        "revision",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("value", sa.BigInteger, nullable=False),
        *(sa.Column(section, sa.BigInteger, nullable=False) for section in sections),
        sa.PrimaryKeyConstraint("id", name="pk_revision"),
    )
    op.bulk_insert(table, [{"id": 1, "value": 0, **dict.fromkeys(sections, 0)}])


def _identities() -> None:
    op.create_table(
        "agents",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("spiffe_id", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("status_reason", sa.Text),
        sa.Column("groups", sa.Text, nullable=False),
        sa.Column("attributes", sa.Text, nullable=False),
        sa.Column("cert_sha256", sa.Text, nullable=False),
        sa.Column("not_after", sa.Double, nullable=False),
        sa.Column("previous_cert_sha256", sa.Text),
        sa.Column("previous_until", sa.Double, nullable=False),
        sa.Column("dpop_jkt", sa.Text),
        sa.Column("public_jwks", sa.Text, nullable=False),
        sa.Column("api_keys", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        _version(),
        sa.PrimaryKeyConstraint("name", name="pk_agents"),
    )
    op.create_index("ix_agents_version", "agents", ["version"])
    op.create_table(
        "certificates",
        sa.Column("serial", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("sha256", sa.Text, nullable=False),
        sa.Column("issued_at", sa.Double, nullable=False),
        sa.Column("not_after", sa.Double, nullable=False),
        sa.Column("revoked_at", sa.Double),
        _version(),
        sa.PrimaryKeyConstraint("serial", name="pk_certificates"),
        sa.ForeignKeyConstraint(["agent"], ["agents.name"], name="fk_certificates_agent"),
    )
    op.create_index("ix_certificates_agent", "certificates", ["agent"])
    op.create_index("ix_certificates_revoked_at", "certificates", ["revoked_at"])


def _enrollments() -> None:
    op.create_table(
        "enrollments",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("public_key", sa.LargeBinary, nullable=False),
        sa.Column("dpop_jwk", sa.Text),
        sa.Column("reason", sa.Text),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("decided_at", sa.Double),
        sa.Column("decided_by", sa.Text),
        sa.Column("decision_reason", sa.Text),
        sa.Column("certificate", sa.Text),
        sa.Column("chain", sa.Text),
        _version(),
        sa.PrimaryKeyConstraint("id", name="pk_enrollments"),
    )
    op.create_index("ix_enrollments_place", "enrollments", ["place"], unique=True)
    op.create_index("ix_enrollments_status", "enrollments", ["status", "expires_at"])
    pending = sa.text("status = 'pending'")
    op.create_index(
        "uq_enrollments_pending_name",
        "enrollments",
        ["name"],
        unique=True,
        sqlite_where=pending,
        postgresql_where=pending,
    )


def _tokens() -> None:
    op.create_table(
        "enrollment_tokens",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("token_hash", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("uses_left", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        _version(),
        sa.PrimaryKeyConstraint("id", name="pk_enrollment_tokens"),
        sa.UniqueConstraint("token_hash", name="uq_enrollment_tokens_token_hash"),
    )
    op.create_index("ix_enrollment_tokens_place", "enrollment_tokens", ["place"], unique=True)


def _described() -> None:
    op.create_table(
        "admins",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("token_hash", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Double),
        sa.Column("revoked", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        _version(),
        sa.PrimaryKeyConstraint("name", name="pk_admins"),
        sa.UniqueConstraint("token_hash", name="uq_admins_token_hash"),
    )
    op.create_table(
        "providers",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("base_url", sa.Text, nullable=False),
        sa.Column("api_key", sa.Text),
        sa.Column("api_key_file", sa.Text),
        sa.Column("models", sa.Text, nullable=False),
        sa.Column("aliases", sa.Text, nullable=False),
        sa.Column("allow_addresses", sa.Text, nullable=False),
        sa.Column("weight", sa.Integer, nullable=False),
        sa.Column("timeouts", sa.Text, nullable=False),
        _version(),
        sa.PrimaryKeyConstraint("name", name="pk_providers"),
    )
    op.create_table(
        "policies",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("cedar", sa.Text, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("mode", sa.Text, nullable=False),
        _version(),
        sa.PrimaryKeyConstraint("name", name="pk_policies"),
    )
