"""Folds each family of events into the state."""
