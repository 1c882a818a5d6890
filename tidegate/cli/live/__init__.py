"""Displays that follow a ledger as it grows."""
