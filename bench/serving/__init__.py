"""``tidegate serve`` on a large ledger."""
