"""The single writer: pulls observations, decides, appends to the ledger, publishes."""
