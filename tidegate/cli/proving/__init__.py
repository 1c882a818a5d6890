"""How a ledger is proved: signed checkpoints, witnesses, and the proof that one event is in it."""
