"""Archived ranges of the ledger: their file format and which there are."""
