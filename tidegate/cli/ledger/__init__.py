"""Commands find a ledger, read it, and restore what of it is lost."""
