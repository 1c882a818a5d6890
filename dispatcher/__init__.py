"""The dispatcher: carries what the ledger decides to worker clusters, and tells what is there."""
