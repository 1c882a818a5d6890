"""The whole system on a real control plane, watched by an observer that reads no ledger."""
