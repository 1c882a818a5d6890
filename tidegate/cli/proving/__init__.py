"""Proofs of a ledger: signed checkpoints, witnesses, and the proof that one event is in it."""
