"""``tidegate serve``: the ledger's answers over HTTP, read-only, for whoever may see them."""
