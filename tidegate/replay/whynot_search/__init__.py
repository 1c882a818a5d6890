"""Searches for changes that would let a pending workload start."""
