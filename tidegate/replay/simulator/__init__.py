"""Simulates a recorded history under other settings, in virtual time."""
