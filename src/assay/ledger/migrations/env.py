"""Alembic's environment: the migrations run on the connection, and in the transaction, of whoever
opened the ledger."""

from __future__ import annotations

from alembic import context

from assay.ledger.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
