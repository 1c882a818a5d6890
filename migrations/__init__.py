"""Alembic's migrations of the ledger's schema, one file a change."""
