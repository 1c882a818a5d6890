"""The scheduler's desk, turn and term on a real ledger and a bus in memory, in virtual time."""
