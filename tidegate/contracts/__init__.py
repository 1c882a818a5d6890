"""Message types on NATS and event types of the ledger: observations, facts, decisions, entries."""
