"""How a ledger is read, by whatever does not write it."""
