"""``tidegate ledger``: one file for each group of its commands."""
