"""One table for the objects of all collections, each as one document.

A value that cannot be read is left out of its document, so that its row is as damaged as it was, and the rest of it can
still be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

Read = Callable[[str], Any]


def _flag(text: str) -> bool:
    return {"0": False, "1": True, "false": False, "true": True}[text]


COLUMNS: dict[str, dict[str, tuple[str, Read]]] = {
    "providers": {
        "kind": ("kind", str), "base_url": ("base_url", str), "models": ("models", orjson.loads),
        "aliases": ("aliases", orjson.loads), "allow_addresses": ("allow_addresses", orjson.loads),
        "weight": ("weight", int), "timeouts": ("timeouts", orjson.loads),
    },
    "policies": {"cedar": ("cedar", str), "enabled": ("enabled", _flag), "mode": ("mode", str)},
    "budgets": {
        "unit": ("unit", str), "limit": ("amount", int), "period": ("period", str), "series": ("series", str),
        "scope": ("scope", str), "subject": ("subject", str),
    },
    "connections": {},
    "detectors": {},
    "redaction": {},
}  # fmt: skip
"""By the table: each member of the document, the column that it was in, and how it is read."""

NULLABLE = ("scope", "subject")

SECRETS = {"providers": ("api_key", "api_key_file"), "connections": ("secret", "secret_file")}


def upgrade() -> None:
    op.create_table(
        "sections",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_sections"),
    )
    op.create_table(
        "objects",
        sa.Column("collection", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("secret", sa.Text),
        sa.Column("secret_file", sa.Text),
        sa.Column("key", sa.Text),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("collection", "name", name="pk_objects"),
    )
    op.create_index("ix_objects_key", "objects", ["key"])
    connection = op.get_bind()
    for table in COLUMNS:
        _move(connection, table)
        op.drop_table(table)
    with op.batch_alter_table("revision") as batch:
        for table in COLUMNS:
            batch.drop_column(table)


def downgrade() -> None:
    raise NotImplementedError("Restore the backup from before the upgrade.")


def _move(connection: sa.Connection, table: str) -> None:
    value = connection.execute(sa.text(f"SELECT {table} FROM revision")).scalar_one()  # noqa: S608 - a name of ours
    connection.execute(
        sa.text("INSERT INTO sections (name, value) VALUES (:name, :value)"), {"name": table, "value": value}
    )
    columns = [column for column, _ in COLUMNS[table].values()] or ["document"]
    secrets = SECRETS.get(table, ())
    names = ["name", *columns, *secrets]
    kind = "BLOB" if connection.dialect.name == "sqlite" else "TEXT"  # text that is damaged has no type that holds it
    cells = ", ".join(f'CAST("{name}" AS {kind})' for name in names)
    for row in connection.execute(sa.text(f"SELECT {cells}, version FROM {table}")).all():  # noqa: S608
        texts = dict(zip(names, (_decode(cell) for cell in row), strict=False))
        connection.execute(
            sa.text("INSERT INTO objects VALUES (:collection, :name, :document, :secret, :file, :key, :version)"),
            {
                "collection": table,
                "name": texts["name"] or repr(row[0]),
                "document": _document(table, texts),
                "secret": texts[secrets[0]] if secrets else None,
                "file": texts[secrets[1]] if secrets else None,
                "key": texts.get("series"),
                "version": row[-1],
            },
        )


def _decode(cell: Any) -> str | None:
    try:
        return cell.decode() if isinstance(cell, bytes) else cell
    except ValueError:
        return None


def _document(table: str, texts: dict[str, str | None]) -> str:
    if not COLUMNS[table]:
        return _with_secret(texts["document"] or "") if table == "connections" else texts["document"] or ""
    members: dict[str, Any] = {}
    for member, (column, read) in COLUMNS[table].items():
        text = texts[column]
        try:
            if text is not None:
                members[member] = read(text)
            elif column in NULLABLE:
                members[member] = None
        except (ValueError, KeyError):
            continue
    if table == "providers":
        members |= {"api_key": None, "api_key_file": None}
    return orjson.dumps(members).decode()


def _with_secret(document: str) -> str:
    """The document of a connection, whose credential has the members of a secret, which is kept apart."""
    try:
        members = orjson.loads(document)
        if members["credential"] is not None:
            members["credential"] |= {"secret": None, "secret_file": None}
    except (ValueError, LookupError, TypeError):
        return document
    return orjson.dumps(members).decode()
