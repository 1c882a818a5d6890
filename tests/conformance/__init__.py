"""Recorded decisions of Kueue, put to the core."""
