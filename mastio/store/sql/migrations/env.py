"""Run by alembic for each command. The connection is handed in by `mastio.store.sql.migrate`; there is no other way
in."""

from __future__ import annotations

from alembic import context

from mastio.store.sql.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
