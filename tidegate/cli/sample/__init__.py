"""The small ledger of ``tidegate ledger sample``."""
