"""Applies a write to the state, or refuses it."""
