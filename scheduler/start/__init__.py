"""The start of a term: the ledger's binding, its snapshots, the state of EVENTS."""
