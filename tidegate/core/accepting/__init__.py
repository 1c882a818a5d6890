"""Turns observations into facts: what changed, the fact for each kind, and the state's time."""
