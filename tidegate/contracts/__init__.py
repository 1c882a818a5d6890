"""The words on the bus and in the ledger: observations, facts, decisions, entries."""
