"""The scheduler's leader state, turn and term on a real ledger, a bus in memory and virtual time."""
