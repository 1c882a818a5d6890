"""A server of several partitions shows one ledger, whether in SQLite or in PostgreSQL."""
