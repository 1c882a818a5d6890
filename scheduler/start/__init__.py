"""What a term begins with: the ledger's binding, its snapshots, the state of EVENTS."""
