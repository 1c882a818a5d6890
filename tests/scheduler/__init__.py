"""The scheduler on a real ledger and a bus in memory, in virtual time: leader state, turn, term."""
