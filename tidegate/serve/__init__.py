"""``tidegate serve``: the ledger's answers over HTTP, read-only, for users with the rights."""
