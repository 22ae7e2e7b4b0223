"""Migrations of the ledger's tables, carried out by Alembic when a ledger is opened."""
