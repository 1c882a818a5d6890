"""How commands find a ledger, read it, and prove what it says."""
