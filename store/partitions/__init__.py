"""``ledger_event`` in PostgreSQL: partitions by range of seq, made ahead and taken away whole."""
